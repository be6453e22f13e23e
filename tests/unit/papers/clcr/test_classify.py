"""The table of entailment on sequences: means, gaps by seed, and rows of other runs beside it."""

from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.classify import (
    classify_record,
    measurements,
    rows_beside,
    runs_beside,
)
from fairseq_xling.papers.clcr.labelled import ClassifyConfig, LabelledFile
from fairseq_xling.reports.record import RESULTS, Record, write_record
from tests.records import table

LABELLED = [LabelledFile(name, "en", Path(name)) for name in ("train", "valid")]
FILES = [LabelledFile(f"{lang}.test", lang, Path("test")) for lang in ("en", "zh", "de")]


def trained(row, seed, accuracy=None, empty=None):
    files = dict.fromkeys(accuracy or empty, 0)
    one = {"row": row, "seed": seed, "epoch": 1, "accuracy": accuracy or {}, "vectors": files}
    return {**one, "empty": empty or files}


def recorded(results, beside=(), tests=FILES, seeds="1"):
    rows = measurements([*LABELLED, *tests], results, ("no", {"valid": 40.0}), beside)
    return classify_record(rows, ClassifyConfig(seeds=seeds))


def test_a_gap_is_points_behind_the_source_of_the_same_seed():
    seeds = ((80.0, 71.0, 81.0), (84.0, 73.0, 82.0))
    rows = [
        trained("T", seed, {"en.test": en, "zh.test": zh, "valid": dev})
        for seed, (en, zh, dev) in enumerate(seeds)
    ]
    header, (always, found) = table(recorded(rows))
    assert header == ["row", "dev", "en", "zh", "gap zh"]  # nobody was tested on de
    assert always == ["always no", "40.0", "", "", ""]
    assert found == ["T", "81.5 ± 0.7", "82.0 ± 2.8", "72.0 ± 1.4", "10.0 ± 1.4"]


def test_several_files_of_the_source_are_put_together_for_the_gap():
    tests = [
        LabelledFile(name, lang, Path(name))
        for name, lang in (("a", "en"), ("b", "en"), ("c", "zh"))
    ]
    for accuracy, gap in (({"a": 80.0, "b": 90.0, "c": 75.0}, ["10.0"]), ({"c": 75.0}, [])):
        header, (_, found) = table(recorded([trained("T", 1, accuracy)], tests=tests))
        assert found[1 + len(accuracy) + 1 :] == gap
        assert ("gap zh" in header) == bool(gap)


def transfer_run(path, metric="accuracy", models=2):
    """The folder of an `eval transfer` of so many models."""
    figures = {
        "mbert": {"en": 80.0, "zh": 60.0, "fr": 50.0},
        "mbert, translate-train": {"zh": 70.0},
    }
    rows = [
        {"row": name, "line": name, "part": "test", "measure": metric, "target": lang}
        | {"seed": seed, "value": value + seed}
        for name, values in list(figures.items())[:models]
        for seed in (1, 2)
        for lang, value in values.items()
    ]
    write_record(path / RESULTS, Record("Transfer", rows, facts={"metric": metric}))
    return str(path)


def beside(run, name="", tests=FILES):
    return rows_beside([(name, run)], tests)


def test_rows_of_fine_tuned_encoders_stand_beside(tmp_path):
    lines = beside(transfer_run(tmp_path))
    assert [tuple(x[name] for name in ("row", "task", "seed", "value")) for x in lines] == [
        *(("mbert", "en.test", 1, 81.0), ("mbert", "en.test", 2, 82.0)),
        *(("mbert", "zh.test", 1, 61.0), ("mbert", "zh.test", 2, 62.0)),
        *(("mbert, translate-train", "zh.test", 1, 71.0),),
        *(("mbert, translate-train", "zh.test", 2, 72.0),),
    ]
    header, (_, *rows) = table(recorded([], lines))
    assert header[-1] == "gap zh"
    assert rows[0][-1] == "20.0 ± 0.0"
    assert rows[1][1:3] == ["", ""] and rows[1][-1] == ""


def test_baselines_have_names_of_their_own_and_gaps(tmp_path):
    lines = beside(transfer_run(tmp_path), "mBERT")
    names = list(dict.fromkeys(line["row"] for line in lines))
    assert names == ["mBERT: mbert", "mBERT: mbert, translate-train"]
    header, (_, row) = table(recorded([], beside(transfer_run(tmp_path, models=1), "mBERT")))
    assert row[0] == "mBERT" and row[header.index("gap zh")] == "20.0 ± 0.0"
    for text, line in (
        (["runs/mbert"], "must look like NAME=RUN, got 'runs/mbert'"),
        (["a=x", "a=y"], "names 'a' twice"),
    ):
        with pytest.raises(UserError, match=f"`--baseline` {line}"):
            runs_beside(ClassifyConfig(baseline=text))
    with pytest.raises(UserError, match=r"`--baseline` .*nowhere: is not the folder of a finished"):
        beside(tmp_path / "nowhere", "mBERT")


def test_empty_sentences_are_said_of_all_seeds():
    counts = [("T", 1, 3), ("T", 2, 900), ("T+E", 1, 7), ("T+E", 2, 7)]
    results = [trained(*one, empty={"zh.test": count, "en.test": 0}) for *one, count in counts]
    found = recorded(results, seeds="1,2").sections[0].notes
    assert "T, zh.test: 3 to 900, by seed, of the sentences kept no key-point" in "\n".join(found)
    assert "T+E, zh.test: 7 sentences kept no key-point" in "\n".join(found)
    assert not any("en.test" in note for note in found)


def test_runs_that_cannot_stand_beside_are_refused(tmp_path):
    run = str(tmp_path)
    with pytest.raises(UserError, match="is not the folder of a finished run"):
        beside(run)
    two = [*FILES, LabelledFile("zh.other", "zh", Path("other"))]
    with pytest.raises(UserError, match=r"names two files of it: zh.test and zh.other"):
        beside(transfer_run(tmp_path), tests=two)
    assert rows_beside([], two) == []
    transfer_run(tmp_path, "f1")
    with pytest.raises(UserError, match="must be of accuracy, got f1"):
        beside(run)
    write_record(tmp_path / RESULTS, Record("Something else", [{"value": 1}]))
    with pytest.raises(UserError, match="contains no results of `fairseq-xling eval transfer`"):
        beside(run)
