"""The notebooks run from the first cell to the last, and show what they say."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def outputs(path: Path) -> list[dict]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [output for cell in cells for output in cell.get("outputs", ())]


def printed(path: Path) -> str:
    return "".join("".join(found.get("text", "")) for found in outputs(path))


def figures(path: Path) -> int:
    return sum("image/png" in found.get("data", {}) for found in outputs(path))


def shares(pattern: str, text: str) -> list[float]:
    """The percentages that ``pattern`` finds, in [0, 1]."""
    found = re.search(pattern, text)
    assert found, text
    return [int(number) / 100 for number in found.groups()]


def check_one_space(text: str) -> None:
    plain, shifted, rotated = shares(r"plain (\d+)%, shifted (\d+)%, rotated (\d+)%", text)
    assert rotated > 5 / 200  # five times chance, that is, one of the 200 pairs tested on
    assert rotated > plain
    assert shifted >= plain


def check_english_learns_german(text: str) -> None:
    assert text.count("translation  ") == 3
    guesses = [float(found) for found in re.findall(r"^ *(\d+\.\d)%", text, flags=re.M)]
    assert len(guesses) == 10
    # Of a thousand words five are offered; together they are likelier than by chance by far.
    assert min(sum(guesses[:5]), sum(guesses[5:])) > 10


def check_layer_8(text: str) -> None:
    found = re.search(r"layer 8: language (\d+)%, length R2 (-?[\d.]+), meaning (\d+)%", text)
    assert found, text
    assert int(found[1]) > 90
    assert float(found[2]) > 0.3
    assert int(found[3]) > 2


CHECKS = {
    "1_one_space": (check_one_space, 2),
    "2_english_learns_german": (check_english_learns_german, 1),
    "3_what_is_in_layer_8": (check_layer_8, 2),
}


def test_there_is_a_check_for_each_notebook():
    assert [path.stem for path in NOTEBOOKS] == sorted(CHECKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_what_it_shows(path):
    check, pictures = CHECKS[path.stem]
    check(printed(path))
    assert figures(path) == pictures
    text = path.read_text(encoding="utf-8")
    assert "Traceback" not in text
    assert not re.search(r"/(home|root|work|tmp)/", text)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path, tmp_path):
    pytest.importorskip("nbclient", reason="needs the extra notebooks")
    subprocess.run(
        [sys.executable, FOLDER / "run.py", path.stem, "--output", tmp_path],
        check=True,
        timeout=1700,
    )
    check, pictures = CHECKS[path.stem]
    check(printed(tmp_path / path.name))
    assert figures(tmp_path / path.name) == pictures


def test_an_unknown_notebook_is_refused_in_one_line():
    done = subprocess.run(
        [sys.executable, FOLDER / "run.py", "4_nothing"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "`NOTEBOOK` must be one of 1_one_space," in done.stderr.splitlines()[-1]
