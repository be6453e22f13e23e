"""The types of the public interface, as the checker of someone who uses it sees them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

RIGHT = """
import numpy as np
import fairseq_xling as xling

encoder = xling.Encoder.load("encoder.pt", device="cpu")
filled: list[xling.api.encoder.Filled] = encoder.fill_mask("a <mask>", "en", top_k=3)
probability: float = filled[0].probability
near = encoder.retrieve(["a"], ["b"], ("en", "de"), top=2)
first: int = int(near.index[0, 0])
found = xling.Translator.load("translator", int8=True, ordering="identity")
lines: list[str] = found.translate(["a"])
text: str = next(found.hypotheses(["a"], nbest=2))[0].text
mean: float = xling.measures.tatoeba(np.eye(3), np.eye(3)).mean
aligner: xling.Aligner = xling.Aligner("procrustes").fit(np.eye(3), np.eye(3))
"""

WRONG = {
    'xling.Encodr.load("e.pt")': "has no attribute",
    "xling.Encoder.load(3)": "incompatible type",
    'encoder.fill_mask("a <mask>", "en", top_k="3")': "incompatible type",
    'encoder.fill_mask("a <mask>", language="en")': "Unexpected keyword argument",
    "encoder.encode()": "Missing positional argument",
    'encoder.retrieve(["a"], ["b"], "en")': "incompatible type",
    'xling.Translator.load("t").translate(["a"])[0].text': "has no attribute",
    "xling.measures.cka([[1.0]], [[1.0]]).upper()": "has no attribute",
    "xling.read_study(None)": "incompatible type",
}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """By line of a program in which every line of `WRONG` follows those of `RIGHT`."""
    folder = tmp_path_factory.mktemp("types")
    lines = [*RIGHT.splitlines(), *WRONG]
    (folder / "user.py").write_text("\n".join(lines) + "\n")
    # With the cache that `make lint` has just filled.
    command = [sys.executable, "-m", "mypy", folder / "user.py"]
    done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    found = {}
    for line in done.stdout.splitlines():
        place, _, message = line.partition(": error: ")
        if message:
            found[lines[int(place.rpartition(":")[2]) - 1]] = message
    return found


def test_a_correct_program_passes(complaints):
    assert [line for line in complaints if line not in WRONG] == []


@pytest.mark.parametrize("line", WRONG)
def test_a_mistake_is_refused_at_its_line(complaints, line):
    assert WRONG[line] in complaints[line]
