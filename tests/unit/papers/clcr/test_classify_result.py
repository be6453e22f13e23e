"""The table of entailment on sequences: means, gaps by seed, and rows of other runs beside it."""

from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.papers.clcr.classify_config import LabelledFile
from fairseq_xling.papers.clcr.classify_result import (
    _notes,
    lines_beside,
    measurements,
    named_runs,
    read_beside,
    shown_figures,
    table,
)
from fairseq_xling.reports.tables import cell
from tests.transfer_record import transfer_record

FILES = [LabelledFile(f"{lang}.test", lang, Path("test")) for lang in ("en", "zh", "de")]


RECORD = {
    "source": "en",
    "tests": [[file.name, file.lang] for file in FILES],
    "majority": {"label": "no", "accuracy": {"valid": 40.0}},
}


def trained(row, seed, accuracy=None, empty=None):
    files = dict.fromkeys(accuracy or empty, 0)
    one = {"row": row, "seed": seed, "epoch": 1, "accuracy": accuracy or {}, "vectors": files}
    return {**one, "empty": empty or files}


def tabled(results, beside=()):
    return table(RECORD, shown_figures(RECORD, measurements(RECORD, results, beside)))


@pytest.mark.row("C15")
def test_a_gap_is_points_behind_the_source_of_the_same_seed():
    seeds = ((80.0, 71.0, 81.0), (84.0, 73.0, 82.0))
    rows = [
        trained("T", seed, {"en.test": en, "zh.test": zh, "valid": dev})
        for seed, (en, zh, dev) in enumerate(seeds)
    ]
    header, (always, found) = tabled(rows)
    assert header == ["row", "dev", "en", "zh", "gap zh"]  # nobody was tested on de
    assert list(map(cell, always)) == ["always no", "40.0", "", "", ""]
    assert list(map(cell, found)) == ["T", "81.5 ± 0.7", "82.0 ± 2.8", "72.0 ± 1.4", "10.0 ± 1.4"]


def test_several_files_of_the_source_are_put_together_for_the_gap():
    record = {**RECORD, "tests": [["a", "en"], ["b", "en"], ["c", "zh"]]}
    for accuracy, gap in (({"a": 80.0, "b": 90.0, "c": 75.0}, ["10.0"]), ({"c": 75.0}, [])):
        cells = shown_figures(record, measurements(record, [trained("T", 1, accuracy)]))
        header, (_, found) = table(record, cells)
        assert list(map(cell, found[1 + len(accuracy) + 1 :])) == gap
        assert ("gap zh" in header) == bool(gap)


def transfer_run(path, metric="accuracy", models=2):
    def model(encoder, how, values):
        tests = [
            {"seed": seed, "scores": {lang: {metric: x + seed} for lang, x in values.items()}}
            for seed in (1, 2)
        ]
        name = ", ".join(filter(None, (encoder, how)))
        return {"name": name, "encoder": encoder, "how": how, "tests": tests}

    results = [model("mbert", "", {"en": 80.0, "zh": 60.0, "fr": 50.0})]
    results.append(model("mbert", "translate-train", {"zh": 70.0}))
    write_json(path / "results.json", transfer_record(*results[:models], metric=metric))
    return str(path)


def test_rows_of_fine_tuned_encoders_stand_beside(tmp_path):
    beside = lines_beside(read_beside([transfer_run(tmp_path)]), FILES)
    assert [tuple(line.values()) for line in beside] == [
        *(("mbert", "en.test", 1, 81.0), ("mbert", "en.test", 2, 82.0)),
        *(("mbert", "zh.test", 1, 61.0), ("mbert", "zh.test", 2, 62.0)),
        *(("mbert, translate-train", "zh.test", 1, 71.0),),
        *(("mbert, translate-train", "zh.test", 2, 72.0),),
    ]
    header, (_, *rows) = tabled([], beside)
    assert header[-1] == "gap zh"
    assert str(rows[0][-1]) == "20.0 ± 0.0"
    assert rows[1][1:3] == [None, None] and rows[1][-1] is None


@pytest.mark.row("C15")
def test_baselines_have_names_of_their_own_and_gaps(tmp_path):
    runs = named_runs([f"mBERT={transfer_run(tmp_path)}"])
    lines = lines_beside(read_beside([runs["mBERT"]], "mBERT"), FILES)
    names = list(dict.fromkeys(line["row"] for line in lines))
    assert names == ["mBERT: mbert", "mBERT: mbert, translate-train"]
    beside = lines_beside(read_beside([transfer_run(tmp_path, models=1)], "mBERT"), FILES)
    header, (_, row) = tabled([], beside)
    assert row[0] == "mBERT" and str(row[header.index("gap zh")]) == "20.0 ± 0.0"
    for text, line in (
        (["runs/mbert"], "must look like NAME=RUN, got 'runs/mbert'"),
        (["a=x", "a=y"], "names 'a' twice"),
    ):
        with pytest.raises(UserError, match=f"`--baseline` {line}"):
            named_runs(text)
    with pytest.raises(UserError, match=r"`--baseline` .*nowhere: is not the folder of a finished"):
        read_beside([str(tmp_path / "nowhere")], "mBERT")


def test_empty_sentences_are_said_of_all_seeds():
    counts = [("T", 1, 3), ("T", 2, 900), ("T+E", 1, 7), ("T+E", 2, 7)]
    results = [trained(*one, empty={"zh.test": count, "en.test": 0}) for *one, count in counts]
    found = _notes("1,2", "en", measurements(RECORD, results))
    assert "T, zh.test: 3 to 900, by seed, of the sentences kept no key-point" in "\n".join(found)
    assert "T+E, zh.test: 7 sentences kept no key-point" in "\n".join(found)
    assert not any("en.test" in note for note in found)


def test_runs_that_cannot_stand_beside_are_refused(tmp_path):
    run = str(tmp_path)
    with pytest.raises(UserError, match="is not the folder of a finished run"):
        read_beside([run])
    two = [*FILES, LabelledFile("zh.other", "zh", Path("other"))]
    with pytest.raises(UserError, match=r"names two files of it: zh.test and zh.other"):
        lines_beside(read_beside([transfer_run(tmp_path)]), two)
    assert lines_beside([], two) == []
    transfer_run(tmp_path, "f1")
    with pytest.raises(UserError, match="must be of accuracy, got f1"):
        read_beside([run])
    write_json(tmp_path / "results.json", {"metric": "accuracy"})
    with pytest.raises(UserError, match="contains no results of `fairseq-xling eval transfer`"):
        read_beside([run])
