"""The example scripts run as they stand, with their own configurations, cut short."""

import gzip
from pathlib import Path

import pytest

from tests.end_to_end.engine import run_script

EXAMPLES = Path(__file__).parents[2] / "examples" / "emerging_structure"
SHORT = "--settings A1 --seeds 1 --updates 2 --every 2 --vocab-size 300 --words-limit 50".split()


def _script(name: str, *arguments: str, folder: Path, **sizes: str) -> None:
    run_script(EXAMPLES / name, *arguments, folder=folder, timeout=300, **sizes)


@pytest.mark.slow
def test_the_synthetic_study_runs_from_nothing(tmp_path):
    sizes = {"SENTENCES": "300", "HELD_OUT": "60", "PAIRS": "60", "ANNOTATED": "60"}
    _script("1_synthetic.sh", "run", *SHORT, "--tasks", "pos", folder=tmp_path, **sizes)
    table = " ".join((tmp_path / "run/table.md").read_text().split())
    assert "| A1 | Default |" in table and "| POS, de |" in table


@pytest.mark.slow
def test_the_real_study_runs_on_files_named_like_the_real_ones(tmp_path):
    text = [f"a sentence about the number {n} and its neighbour {n + 1} ." for n in range(60)]

    def write(name: str, lines: list[str]) -> None:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    for lang in ("en", "de"):
        write(f"multi30k/train.{lang}.gz", text)
        write(f"multi30k/val.{lang}.gz", text[:10])
        write(f"multi30k/test_2016_flickr.{lang}.gz", text[:10])
    write("mono_eltec/de.txt.gz", text * 3)
    write("muse_dict/en-de.5000-6500.txt.gz", ["number number", "sentence about"])
    options = [*SHORT, "--vocab-type", "word"]
    options[options.index("A1")] = "A1,A2"
    _script("2_multi30k.sh", "data", "run", *options, folder=tmp_path)
    table = " ".join((tmp_path / "run/table.md").read_text().split())
    assert "| A1 | Default |" in table and "| A2 | Other domain |" in table
