"""The command itself: its verbs, their help, and how soon it answers."""

import os
import re
import signal
import subprocess
import sys

import pytest

from fairseq_xling.cli import main
from fairseq_xling.command_line import GROUPS, build_parser, join_words, typed_as, verbs

LIGHT = """
import argparse, sys
from fairseq_xling.command_line import verbs
for verb, found in verbs().items():
    found.add_arguments(argparse.ArgumentParser(verb))
    heavy = {"torch", "gensim", "scipy", "matplotlib", "sklearn", "fairseq"} & set(sys.modules)
    if heavy:
        sys.exit(f"{verb}: imported {heavy}")
"""


ENDED = """
import os, signal, sys, time
from types import SimpleNamespace
import fairseq_xling.cli as command
def run(args):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(20)
found = SimpleNamespace(_actions=[], parse_args=lambda argv: SimpleNamespace(run=run, verb="demo"))
command.build_parser = lambda *given: found
sys.exit(command.main())
"""


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        build_parser([verb]).parse_args([verb, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: fairseq-xling {typed_as(verb)} ") and "options:" in text


def _listed() -> dict[str, list[str]]:
    """The verbs under each heading of the command's help, as printed."""
    listed = {}
    for line in build_parser([]).format_help().splitlines():
        if heading := re.fullmatch(r"([A-Z][\w ]+):", line):
            listed[heading[1]] = under = []
        elif verb := re.match(r"  ([a-z][\w-]*(?: [a-z][\w-]*)?)  ", line):
            under.append(verb[1])
    return listed


def test_help_lists_every_verb_once_in_its_group():
    known = verbs()
    listed = _listed()
    assert tuple(listed) == GROUPS
    assert all(listed.values())
    shown = [(group, name) for group, names in listed.items() for name in names]
    assert sorted(shown) == sorted((verb.group, typed_as(name)) for name, verb in known.items())


def test_the_list_of_verbs_says_what_each_does():
    text = " ".join(build_parser([]).format_help().split())
    for verb in verbs().values():
        first = verb.load().__doc__.strip().splitlines()[0].rstrip(".")
        assert " ".join(first.split()) in text


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (["preprare", "x"], "unknown verb 'preprare'; did you mean 'prepare'? "),
        (["user"], "unknown verb 'user'; did you mean 'user-dir'? "),
        (["xyzzy"], "unknown verb 'xyzzy'; "),
    ],
)
def test_an_unknown_verb_gets_one_line_with_near_matches(typed, line, capsys):
    with pytest.raises(SystemExit) as ended:
        main(typed)
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{line}`fairseq-xling --help` lists all\n"


@pytest.mark.parametrize(
    ("typed", "program"),
    [("train", "train"), ("trian", "train"), ("genrate", "generate"), ("validat", "validate")],
)
def test_a_program_of_fairseq_that_is_typed_as_a_verb_is_named(typed, program, capsys):
    with pytest.raises(SystemExit) as ended:
        main([typed, "data"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"unknown verb {typed!r}; fairseq's own program does it: `fairseq-{program} ... --user-dir "
        "$(fairseq-xling user-dir)`\n"
    )


def test_a_verb_may_be_typed_as_two_words():
    assert join_words(["eval", "cka", "x"], verbs()) == ["eval-cka", "x"]
    assert join_words(["eval", "model.pt"], verbs()) == ["eval", "model.pt"]


@pytest.mark.parametrize(
    ("typed", "shown"),
    ((["eval", "cka"], "eval cka"), (["eval-cka"], "eval cka"), (["eval"], "eval")),
)
def test_usage_shows_a_verb_in_two_words_however_typed(typed, shown, capsys):
    with pytest.raises(SystemExit):
        main([*typed, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: fairseq-xling {shown} [-h]")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("prepare d --langs en,de", "--langs; did you mean '--languages'? `fairseq-xling prepare"),
        ("prepare d --vcab=union", "--vcab=union; did you mean '--vocab'? `fairseq-xling prepare"),
        ("translate m -s en -t de", "-s -t; did you mean '--from' or '--to'? `fairseq-xling tran"),
        ("translate m --source-lang en", "--source-lang; did you mean '--from'? `"),
        ("map procrustes a b --nothing 1", "--nothing; `fairseq-xling map procrustes --help` expl"),
    ],
)
def test_an_unknown_option_is_named_before_those_that_are_missing(typed, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(typed.split())
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"fairseq-xling: error: unrecognized arguments: {said}")
    assert error.count("\n") == 1


def test_words_after_two_hyphens_are_no_options():
    parsed = build_parser(["eval"]).parse_args(["eval", "--data", "d", "--", "-x", "--y"])
    assert parsed.checkpoint == ["-x", "--y"]


@pytest.mark.parametrize(
    "typed",
    [
        *("demo", "trelm run", "clcr run", "clcr train", "eval transfer", "eval matrix"),
        *("ablate emerging-structure", "ablate similarity", "ablate mapped-layers"),
        *("ablate size-window", "ablate trelm-init", "ablate adversarial-tagging"),
        *("ablate clcr-pairs", "ablate clcr-readings"),
    ],
)
def test_what_trains_leaves_its_precision_to_the_machine_by_default(typed, capsys):
    with pytest.raises(SystemExit):
        main([*typed.split(), "--help"])
    text = " ".join(capsys.readouterr().out.split())
    own = text.rpartition(" --precision ")[2].partition(" --")[0]
    assert "auto" in own and "(default: auto)" in own


def test_heavy_packages_are_not_imported_to_know_a_verbs_options():
    command = [sys.executable, "-c", LIGHT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command",
    ["synthesize out", "demo", "embed train data --output v", "eval meanshift x y", "init s d"],
)
def test_a_seed_that_no_generator_takes_is_refused_by_every_verb(command, capsys, tmp_path):
    words = command.replace("init s d", "init s --data d --output o").split()
    for seed in ("-1", "4294967296"):
        assert main([*words, "--seed", seed]) == 1
        assert capsys.readouterr().err == (
            f"fairseq-xling: error: `--seed` must lie in [0, 4294967295], got {seed}\n"
        )


def test_bad_usage_is_one_line_that_names_the_verb(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["eval", "overlap", "--no-such"])
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert (
        line.startswith("fairseq-xling: error: ") and "`fairseq-xling eval overlap --help`" in line
    )


def test_help_shows_the_range_of_a_number_that_is_not_plain(capsys):
    with pytest.raises(SystemExit):
        main(["prepare", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "(in [0, 1]) (default: 0.7)" in text and "(above 0) (default: 8.0)" in text


@pytest.mark.parametrize("background", [False, True])
def test_a_scheduler_ends_a_verb_even_where_the_shell_has_it_ignore_ctrl_c(background):
    ignored = signal.SIG_IGN if background else signal.default_int_handler
    done = subprocess.run(
        [sys.executable, "-c", ENDED],
        preexec_fn=lambda: signal.signal(signal.SIGINT, ignored),
        capture_output=True,
        text=True,
        timeout=15,
    )
    assert done.returncode == 130
    assert "run the same command again to resume" in done.stderr


def test_help_does_not_wait_for_numpy():
    code = (
        "import sys\n"
        "from fairseq_xling.cli import main\n"
        "try: main(['--help'])\n"
        "finally: print('numpy' in sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.strip() == "False"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("fairseq-xling tran", ["translate", "translate-mds"]),
        ("fairseq-xling prepare data --vocab-t", ["--vocab-type"]),
    ],
)
def test_a_shell_completes_verbs_and_options(line, offered, tmp_path):
    pytest.importorskip("argcomplete", reason="argcomplete is not installed (extra completion)")
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "offered"),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    code = "from fairseq_xling.cli import main; main()"
    subprocess.run([sys.executable, "-c", code], env=os.environ | asked, check=True)
    assert (tmp_path / "offered").read_text().split() == offered


@pytest.mark.parametrize("name", ["straße", b"\xff\xfe".decode(errors="surrogateescape")])
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_name_that_a_terminal_cannot_show_is_escaped(name, encoding, tmp_path):
    words = ["eval", "tatoeba", str(tmp_path / name), str(tmp_path / name)]
    program = "import sys; from fairseq_xling.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
    )
    lines = done.stderr.decode(encoding).splitlines()
    assert done.returncode == 1 and len(lines) == 1, done.stderr
    assert lines[0].startswith("fairseq-xling: error: ")
