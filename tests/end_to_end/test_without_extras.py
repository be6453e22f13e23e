"""What works without the packages of any extra, and how what needs one says so."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_xling.core.extras import EXTRAS, OF_STUDIES
from tests.end_to_end.engine import BIN, apart, training_options

# Python imports this when it starts: no package of an extra is found.
LACKING = f"""
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, *more: None if name.split(".")[0] in {sorted(EXTRAS)} else find(name, *more)
)
"""
# Runs commands in one process; prints the status of each, and what it wrote to standard error.
COMMANDS = """
import contextlib, io, json, sys
from fairseq_xling.cli import main

found = []
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            status = main(words)
        except SystemExit as error:  # bad usage
            status = error.code
    found.append([status, said.getvalue()])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("lacking")
    (folder / "sitecustomize.py").write_text(LACKING)
    return folder


def run(work: Path, *command: object) -> str:
    """What a Python program prints where the packages are lacking."""
    path = os.pathsep.join([str(work), str(Path(__file__).parents[2])])
    env = {**apart(), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=work, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def run_verbs(work: Path, *lines: str) -> list[tuple[int, str]]:
    """The status and the errors of commands, one after the other."""
    return json.loads(run(work, "-c", COMMANDS, json.dumps([line.split() for line in lines])))


@pytest.mark.slow
def test_text_is_prepared_and_a_model_trained_and_evaluated(work):
    run(work, "-c", f"import importlib.util as u; assert not any(map(u.find_spec, {[*EXTRAS]}))")
    made = run_verbs(
        work,
        "synthesize text --languages en,de --sentences 200 --parallel-sentences 200 --held-out 20",
        "prepare data --languages en,de --from text --vocab union --vocab-type word",
    )
    assert [status for status, _ in made] == [0, 0], made
    options = training_options(work / "data", work / "encoder", "--max-update", "2")
    run(work, BIN / "fairseq-train", *options)
    model = "encoder/checkpoint_last.pt --data data"
    states = [
        f"extract {model} --lang {lang} --text text/parallel/valid.en-de.{lang}.txt "
        f"--unit sentences --output {lang}"
        for lang in ("en", "de")
    ]
    done = run_verbs(
        work,
        f"eval {model} --measure retrieval,words,bpw,langmass --dictionary text/dictionary",
        *states,
        "eval tatoeba en de --output tatoeba.json",
        "eval cka en de",
    )
    assert [status for status, _ in done] == [0] * len(done), done


FILES = "--data data --train en=a --valid en=a --test de=a --output out"


NEED_STUDIES = (
    "demo --output out",
    "ablate size-window --output out",
    "trelm run --output out",
    "clcr run --output out --data data",
    "eval transfer --output out",
    "report a.json --output out",
    "eval overlap run --output out",
    "eval word-order run --features a.tsv --output out",
    "embed train data --output out.safetensors",
    "embed inspect a --word b --output out",
    "embed words data --lang en --text a --output out",
    f"probe a.pt {FILES}",
    f"clcr probe --vectors T=en,de {FILES}",
    "clcr classify --output out",
    "eval matrix --output out",
    "struct matrix --task roles --output out",
    "translate mds a.pt --data data --from en --to de --text a --layers 1 --alphas 1 "
    "--reference b --output out",
)


def test_what_needs_the_extra_of_studies_ends_in_one_line_that_names_it(work):
    packages, pip = "|".join(OF_STUDIES), r"pip install 'fairseq_xling\[studies\]'"
    for line, (status, said) in zip(NEED_STUDIES, run_verbs(work, *NEED_STUDIES), strict=True):
        begin = rf"`fairseq-xling {line.split()[0]}\b[^`]*` needs the library"
        message = rf"fairseq-xling: error: {begin} ({packages}): {pip}\n"
        assert status == 1 and re.fullmatch(message, said), (line, said)
    assert not list(work.glob("out*"))


def test_figures_and_the_frames_of_python_ask_for_it_too(work):
    ((status, said),) = run_verbs(work, "eval cka a b --figure cka.svg")
    assert status == 1
    assert said == (
        "fairseq-xling: error: `--figure` needs the library matplotlib: "
        "pip install 'fairseq_xling[studies]'\n"
    )
    script = "try: from fairseq_xling import read_study\nexcept ValueError as error: print(error)"
    needs = "`read_study` needs the library pandas: pip install 'fairseq_xling[studies]'\n"
    assert run(work, "-c", script) == needs
