"""The study of token translation: what is chosen where, and what its plan trains and controls."""

import dataclasses

import pytest

from fairseq_xling.analysis.shift_grid import Shift, best_shift
from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.mbert.token_translation import (
    BLEU,
    CONTROL,
    NONE,
    OTHER,
    RATE,
    SHIFT,
    Options,
    TokenTranslation,
)
from fairseq_xling.reports.record import Record, write_record
from fairseq_xling.reports.rows import select
from fairseq_xling.verbs.translate_mds import record_of
from fairseq_xling.workflow.recipe import Cell


def cell(layer, alpha, precision, rate):
    counts = {**dict.fromkeys(("shared", "converted", "neither", "cut"), 0), "tokens": 10}
    figures = {"precision": precision, "bleu": precision / 2, "convert_rate": rate}
    return Shift(layer, alpha), {**figures, **counts, "other_languages": {"id": 1}}


@pytest.fixture
def grids(tmp_path):
    """Valid and test sentences disagree on the best cell; a negative alpha is the best of all."""
    found = {
        "valid": [cell(0, 0.0, 9, 0.0), cell(1, -1.0, 50, 0.0), cell(1, 2.0, 30, 0.7)],
        "test": [cell(0, 0.0, 8, 0.1), cell(1, -1.0, 40, 0.0), cell(1, 2.0, 10, 0.6)],
    }
    found["valid"].append(cell(2, 2.0, 20, 0.8))
    found["test"].append(cell(2, 2.0, 30, 0.9))
    paths = {}
    for split, cells in found.items():
        paths[split] = tmp_path / f"{split}.json"
        summary = {"pair": ("en", "de"), "sizes": (1, 1), "common": 0, "split": "train"}
        summary |= {"mean_tokens": (1, 1), "lines": 1}
        scores = dict(cells)
        record = record_of(summary, scores, {"best": best_shift(scores)})
        write_record(paths[split], record)
    return paths


def rows(row, grids):
    study = TokenTranslation()
    about = {"row": row, "seed": 1, "target": "de"}
    return [{**about, **one} for one in study.read(Cell(about, grids))]


def test_what_is_best_on_validation_sentences_is_scored_on_the_test(grids):
    found = rows(SHIFT, grids)
    chosen = {
        (one["row"], one["measure"]): one["value"] for one in select(found, {"cell": "chosen"})
    }
    assert chosen[SHIFT, RATE] == 0.6 and chosen[SHIFT, BLEU] == 5
    assert chosen[NONE, RATE] == 0.1 and chosen[SHIFT, OTHER] == 0.1
    grid = select(found, {"cell": "grid", "measure": RATE})
    assert {(one["layer"], one["alpha"]): one["value"] for one in grid} == {
        (1, -1.0): 0.0,
        (1, 2.0): 0.6,
        (2, 2.0): 0.9,
    }


def test_the_control_does_not_repeat_the_unshifted_model(grids):
    assert {one["row"] for one in rows(CONTROL, grids)} == {CONTROL}


@pytest.fixture
def config(tmp_path):
    for folder in ("mono", "parallel", "gold"):
        (tmp_path / "text" / folder).mkdir(parents=True)
    for lang in ("en", "de", "id"):
        (tmp_path / "text" / "mono" / f"train.{lang}.txt").write_text("a\n")
    for split in ("train", "valid", "test"):
        for lang in ("en", "de", "id"):
            (tmp_path / "text" / "gold" / f"tags.{split}.{lang}.tsv").write_text("a\tX\tO\n")
    return Options(data_text=str(tmp_path / "text"), tasks="pos", seeds="1,2")


def test_translations_found_by_layer_are_rows_beside_the_control(tmp_path):
    rows = [
        {"measure": curve, "layer": layer, "chance": 0.5, "value": value}
        for curve, values in (("before", (0.5, 0.6)), ("after", (0.7, 1)))
        for layer, value in enumerate(values)
    ]
    write_record(tmp_path / "found.json", Record("", rows))
    about = {"source": "en", "target": "de", "seed": 1, "cell": "sentences"}
    files = dict.fromkeys((SHIFT, CONTROL), tmp_path / "found.json")
    found = list(TokenTranslation().read(Cell(about, files)))
    assert [(row["row"], row["layer"], row["value"]) for row in found] == [
        *((SHIFT, 0, 0.7), (SHIFT, 1, 1), (NONE, 0, 0.5), (NONE, 1, 0.6)),
        *((CONTROL, 0, 0.7), (CONTROL, 1, 1)),
    ]
    assert {row["chance"] for row in found} == {0.5}


def test_epochs_and_options_of_prepare_are_heeded(config, tmp_path):
    given = {"epochs": 2, "epoch_size": 20, "batch_size": 5, "prepare_args": "--vocab-sample 9"}
    study = TokenTranslation()
    run = study.planned(tmp_path / "run", study.check(dataclasses.replace(config, **given)))
    steps = run.steps.values()
    words = {step.name: " ".join(step.commands[0]) for step in steps}
    assert words["prepare"].endswith("--vocab-sample 9")
    assert "--max-update 8 --epoch-updates 4" in words["train-1"]


def test_what_cannot_work_is_refused_before_anything_runs(config, tmp_path):
    study = TokenTranslation()
    assert study.check(config) == config
    for changes, message in (
        ({"alphas": "1,1"}, "`--alphas`"),
        ({"data_text": str(tmp_path)}, "`--data-text` must be a folder with text in mono/"),
        ({"vocab_type": "bytes"}, "`--vocab-type`: unknown value 'bytes'"),
        ({"prepare_args": "'"}, "`--prepare-args`: No closing quotation"),
        ({"tasks": "ner,chess"}, "unknown `--tasks` 'chess'"),
        ({"languages": "en"}, "`--languages` must name at least two, got 'en'"),
    ):
        with pytest.raises(UserError, match=message):
            study.steps(tmp_path, study.check(dataclasses.replace(config, **changes)))
