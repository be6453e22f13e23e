"""The command itself: its verbs, their help, and how soon it answers."""

import subprocess
import sys

import pytest

from fairseq_xling.cli.main import build_parser, join_words, verbs

LIGHT = """
import sys
from fairseq_xling.cli.main import build_parser
build_parser(["prepare"]).parse_args(["prepare", "out", "--languages", "en"])
heavy = {"torch", "gensim", "scipy", "matplotlib", "sklearn", "fairseq"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else 0)
"""


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        build_parser([verb]).parse_args([verb, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: fairseq-xling {verb} ") and "options:" in text


def test_the_list_of_verbs_says_what_each_does():
    text = " ".join(build_parser([]).format_help().split())
    for module in verbs().values():
        first = module.__doc__.strip().splitlines()[0].rstrip(".")
        assert " ".join(first.split()) in text


def test_a_verb_may_be_typed_as_two_words():
    assert join_words(["eval", "cka", "x"], verbs()) == ["eval-cka", "x"]
    assert join_words(["eval", "model.pt"], verbs()) == ["eval", "model.pt"]


def test_heavy_packages_are_not_imported_to_read_a_light_verbs_options():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
