"""The data-size and window study on a little text, through the real command."""

import json

import pytest

from fairseq_xling.cli import main
from tests.records import values

OPTIONS = "--windows 24,6 --vocab-type word --vocab-size 600 --dim 16 --layers 1"
TRAINING = "--vector-epochs 2 --updates 4 --every 2 --max-tokens 256 --contexts 50"


@pytest.fixture
def command(tmp_path):
    text = tmp_path / "text"
    assert main(["synthesize", str(text), "--sentences", "150", "--held-out", "20"]) == 0
    command = ["ablate", "size-window", "--data-text", str(text), "--output", str(tmp_path / "run")]
    return [*command, *OPTIONS.split(), *TRAINING.split()]


@pytest.mark.slow
def test_the_study_gives_a_row_for_each_model_and_size_and_goes_on_where_it_was(
    command, tmp_path, capsys
):
    run = tmp_path / "run"
    assert main([*command, "--models", "glove", "--sizes", "60,150"]) == 0
    assert "train-glove-150-6-1: done in" in capsys.readouterr().out
    assert rows(run) == [("GloVe", "60"), ("GloVe", "150")]
    totals = {}
    for size in ("60", "150"):
        for window in ("24", "6"):
            meta = json.loads((run / "data" / f"size{size}-window{window}/meta.json").read_text())
            totals[size, window] = [meta["mono"]["train"][x]["tokens"] for x in ("en", "de")]
    assert totals["60", "24"] == totals["60", "6"] < totals["150", "24"] == totals["150", "6"]
    assert main([*command, "--models", "glove,word2vec", "--sizes", "60"]) == 0
    printed = capsys.readouterr().out
    assert "train-glove-60-24-1: done before" in printed
    assert (run / "table.md").read_text().splitlines()[0] in printed
    assert rows(run) == [(model, "60") for model in ("GloVe", "Word2Vec")]
    found = values(run, measure="word_mrr")
    assert len(found) == 4 and all(0 < value <= 1 for value in found)
    assert (run / "plot.svg").is_file()
    assert "Exact commands" in (run / "report.html").read_text()


@pytest.mark.slow
def test_a_masked_lm_stands_beside_the_vectors(command, tmp_path):
    assert main([*command, "--sizes", "60"]) == 0
    models = ("GloVe", "Word2Vec", "masked LM")
    assert rows(tmp_path / "run") == [(model, "60") for model in models]
    record = json.loads((tmp_path / "run" / "results.json").read_text())
    assert len(record["provenance"]["inputs"]) == 6


def rows(run):
    """Model and size of each row of the table."""
    lines = (run / "table.md").read_text().splitlines()
    cells = [line.split("|")[1:3] for line in lines if line.startswith("| ")][1:]
    return [(model.strip(), size.strip()) for model, size in cells]
