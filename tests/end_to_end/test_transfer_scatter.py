"""`eval overlap` and `eval word-order` on a run folder written by hand, through the CLI."""

import json
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from fairseq_xling.cli import main
from fairseq_xling.reports.record import read_record
from fairseq_xling.tasks.items import parse_files
from tests.end_to_end.engine import run
from tests.records import measured, rows
from tests.transfer_record import transfer_record

LANGUAGES = ("en", "de", "fr", "es")
KNOWN = "Anna Ben Carl Dora Emil Rome Oslo Paris lives in and sees"
ENTITIES = {  # Zoe is in no vocabulary
    "en.train": "Anna Ben Rome Oslo",
    "en.test": "Anna Ben",
    "de.test": "Anna Ben Rome Carl",
    "fr.test": "Anna Dora",
    "es.test": "Emil Paris Zoe",
}
SCORES = {  # of the encoders, by language: f1 for each of two seeds
    "joint": {"en": (90, 92), "de": (70, 74), "fr": (50, 52), "es": (50, 46)},
    "prefixed": {"en": (80, 80), "de": (10, 20), "fr": (40, 40), "es": (30, 36)},
}
FEATURES = (
    "language\tverb and object\tadjective and noun\tgenitive and noun\n"
    "en\tVO\tAN\t\n"
    "de\tVO\tAN\tNG\n"
    "fr\tVO\tNA\tNG\n"
    "es\tVO\t\tNG\n"
    "ja\tOV\tAN\tGN\n"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Folders ``joint`` and ``prefixed`` of data, files with tags, and the run ``ner``."""
    root = tmp_path_factory.mktemp("scatter")
    before = os.getcwd()
    os.chdir(root)
    try:
        Path("text").write_text(f"{KNOWN}\n{KNOWN}\n")
        mono = [part for lang in LANGUAGES for part in ("--mono", f"train.{lang}=text")]
        options = f"--languages {','.join(LANGUAGES)} --vocab-type word --vocab-size 60".split()
        for mode in ("joint", "prefixed"):
            made = main(["prepare", mode, *options, "--vocab", mode, "--aligner", "none", *mono])
            assert made == 0
        for name, words in ENTITIES.items():
            write_tags(f"{name}.conll", words.split())
        write_run("ner", SCORES)
        Path("features.tsv").write_text(FEATURES)
    finally:
        os.chdir(before)
    return root


@pytest.fixture
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)
    return home


def write_tags(name, words):
    """Spans of one word, and once of all, with words outside between them."""
    lines = [f"{word}\tB-PER\nsees\tO\n" for word in words]
    lines.append("".join(f"{word}\t{'I' if n else 'B'}-ORG\n" for n, word in enumerate(words)))
    Path(name).write_text("\n".join([*lines, "lives\tO\nZed\tO\n"]))


def write_run(name, scores, head="ner", metric="f1", **config):
    """The results of an `eval transfer` from English, in its own form."""
    languages = next(iter(scores.values()))
    settings = {
        "encoder": [f"{one}=gone/{one}.pt" for one in scores],
        "data": [f"{one}={one}" for one in scores],
        "head": head,
        "train": ["en=en.train.conll"],
        "valid": ["en=en.test.conll"],
        "test": [f"{lang}={lang}.test.conll" for lang in languages],
        **config,
    }
    results = [
        {
            "encoder": one,
            "name": one,
            "sources": [lang for lang, _ in parse_files("--train", ",".join(settings["train"]))],
            "dev": [{"setting": "lr5e-05-b16", "seed": 1, "value": 90.0}],
            "tests": [
                {
                    "setting": "lr5e-05-b16",
                    "seed": seed,
                    "scores": {
                        lang: {metric: float(found[seed - 1])} for lang, found in by_lang.items()
                    },
                }
                for seed in (1, 2)
            ],
        }
        for one, by_lang in scores.items()
    ]
    Path(name).mkdir(exist_ok=True)
    record = {"config": settings, **transfer_record(*results, metric=metric)}
    Path(name, "results.json").write_text(json.dumps(record))


def fails(capsys, *arguments):
    """The single line that the command prints for bad input."""
    assert main(["eval", *map(str, arguments)]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("fairseq-xling: error: ")
    return line.removeprefix("fairseq-xling: error: ")


def test_overlap_is_that_of_the_files_whatever_ids_the_languages_have(home, tmp_path):
    done = run(*("fairseq-xling eval overlap ner --output".split()), str(tmp_path), cwd=home)
    found = rows(tmp_path, measure="f1")
    assert [(row["row"], row["target"]) for row in found] == [
        (one, lang) for one in SCORES for lang in LANGUAGES
    ]
    # Of English: Anna, Ben, Rome, Oslo. German shares three of five, French one of five, Spanish
    # none of six, as Zoe is unknown, whether the two languages' Anna is one symbol or two.
    expected = {"en": (0.5, 2, 2), "de": (0.6, 3, 4), "fr": (0.2, 1, 2), "es": (0.0, 0, 2)}
    for row in found:
        overlap, shared, size = expected[row["target"]]
        assert row["overlap"] == row["x"] == pytest.approx(overlap)
        assert (row["shared"], row["in test"]) == (shared, size)
        assert row["in train"] == 4 and row["source"] == "en" and row["over"] == 2
        assert row["unknown (%)"] == pytest.approx(100 / 3 if row["target"] == "es" else 0)
        assert row["zero-shot"] == (row["target"] != "en")
        assert row["value"] == np.mean(SCORES[row["row"]][row["target"]])
    joint, prefixed = (measured(tmp_path, row=one, target=None) for one in SCORES)
    assert joint["points"] == 3
    assert joint["Pearson"] == pytest.approx(np.corrcoef([0.6, 0.2, 0.0], [72, 51, 48])[0, 1])
    assert joint["Spearman"] == pytest.approx(1)
    assert prefixed["Pearson"] == pytest.approx(np.corrcoef([0.6, 0.2, 0.0], [15, 40, 33])[0, 1])
    assert f"joint          3    {joint['Pearson']:.3f}     1.000" in done.stdout
    record = read_record(tmp_path)
    inputs = record.provenance["inputs"]
    assert set(inputs) == {
        *("run ner", "train en.train.conll", "data joint", "data prefixed"),
        *(f"test {lang}.test.conll" for lang in LANGUAGES),
    }
    assert record.command.startswith("fairseq-xling eval overlap ner")
    assert ElementTree.parse(tmp_path / "plot.svg").getroot().tag.endswith("svg")
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<svg" in report and inputs["run ner"]["sha256"][:16] in report


def test_word_order_counts_what_is_known_of_both(home, tmp_path):
    done = run(
        *("fairseq-xling eval word-order ner --features features.tsv --output".split()),
        str(tmp_path),
        cwd=home,
    )
    found = {row["target"]: row for row in rows(tmp_path, measure="f1", row="joint")}
    counts = {lang: (row["shared"], row["known"]) for lang, row in found.items()}
    assert counts == {"en": (2, 2), "de": (2, 2), "fr": (1, 2), "es": (1, 1)}
    assert found["fr"]["features"] == "1 of 2 known" and "1 of 2 known" in done.stdout
    assert measured(tmp_path, row="joint", target=None)["Pearson"] == pytest.approx(
        np.corrcoef([2, 1, 1], [72, 51, 48])[0, 1]
    )
    assert set(read_record(tmp_path).provenance["inputs"]) == {"run ner", "features"}
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [
        *("correlation.md", "plot.md", "plot.svg", "report.html", "results.json", "table.csv")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "none: no such folder of a run"),
        (["joint"], "joint: is not the folder of a finished run (no results.json)"),
        (["other"], "other/results.json: is no record of `fairseq-xling`"),
        (["ner", "tags"], "tags: head must be 'ner' like that of ner, got 'pos'"),
        (["tags"], "tags: entities need a head of BIO spans (ner, slots), got 'pos'"),
        (["own"], "own: no figure of a language that was not trained on"),
        (["lost"], "it.test.conll: no such file; the files of the run lost are relative to the"),
        (["strange"], "unknown language of joint 'nl'; known: en, de"),
        (["nowhere"], "`--data` must say which folder is 'joint''s"),
    ],
)
def test_mistakes_about_runs_are_answered_in_one_line(at_home, capsys, arguments, message):
    write_run("tags", SCORES, head="pos", metric="accuracy")
    write_run("own", {"joint": {"en": (90, 90)}})
    write_run("lost", {"joint": {"de": (9, 9), "it": (9, 9)}})
    write_run("strange", {"joint": {"nl": (9, 9)}}, test=["nl=de.test.conll"])
    write_run("nowhere", SCORES, data=["a=joint", "b=prefixed"])
    Path("other").mkdir(exist_ok=True)
    Path("other/results.json").write_text('{"results": [1]}')
    assert message in fails(capsys, "overlap", *arguments, "--output", "made")
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "f.tsv: contains no languages"),
        ("language\tx\n", "f.tsv: contains no languages"),
        ("code\tx\nen\t1\n", "f.tsv:1: the first row must be 'language' and names of features"),
        ("language\n", "f.tsv:1: the first row must be 'language' and names of features"),
        ("language\tx\tx\n", "f.tsv:1: features must have different names, got 'x'"),
        ("language\tx\ty\nen\t1\t2\nde\t1\n", "f.tsv:3: must have 3 columns, got 2"),
        ("language\tx\nen\t1\n\nde\t1\n", "f.tsv:3: must have 2 columns, got 1"),
        ("language\tx\n\t1\n", "f.tsv:2: the language is empty"),
        ("language\tx\nen\t1\nen\t2\n", "f.tsv:3: there is already a row of language 'en'"),
        ("language\tx\nen\t?\n", "f.tsv:2: an unknown 'x' must be an empty cell, got '?'"),
        ("language\tx\nen\t1\nfr\t1\n", "f.tsv: has no row of 'de', 'es'; it has en, fr"),
    ],
)
def test_mistakes_in_the_features_are_answered_in_one_line(at_home, capsys, table, message):
    Path("f.tsv").write_text(table)
    line = fails(capsys, "word-order", "ner", "--features", "f.tsv", "--output", "made")
    assert line.startswith(message)
    assert not Path("made").exists()


def test_word_order_needs_one_training_language(at_home, capsys):
    write_run("two", {"joint": {"fr": (9, 9)}}, train=["en=en.train.conll", "de=de.test.conll"])
    line = fails(capsys, "word-order", "two", "--features", "features.tsv", "--output", "made")
    assert line == (
        "two: must have one training language to compare the word order with, got en, de"
    )
