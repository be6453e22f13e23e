"""`fairseq-xling clcr measure report` on sequences with a planted gap and planted scores."""

import numpy as np
import pytest

from fairseq_xling.cli import main
from fairseq_xling.papers.clcr.measures.report import BY_SCORE, HISTOGRAM, PAIRS
from fairseq_xling.reports.record import read_record
from tests.records import rows, values
from tests.sequence_folder import write_folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """x; y, which is x up to noise; what is unlike x; and pairs as alike as their scores."""
    root, generator = tmp_path_factory.mktemp("report"), np.random.default_rng(0)
    sentences = [generator.normal(size=(n, 6)) for n in generator.integers(2, 6, 60)]
    near = [one + 0.1 * generator.normal(size=one.shape) for one in sentences]
    write_folder(root / "x", sentences)
    write_folder(root / "y", near, "de")
    write_folder(root / "unlike", [generator.normal(size=one.shape) for one in near], "de")
    scores = generator.uniform(0, 5, 60)
    noise = [generator.normal(size=one.shape) for one in sentences]
    alike = [
        one + (5 - score) / 5 * other
        for one, other, score in zip(sentences, noise, scores, strict=True)
    ]
    write_folder(root / "alike", alike)
    lines = [f"text\tpair\t{score:.3f}\n" for score in scores]
    (root / "scores.tsv").write_text("first\tsecond\tscore\n" + "".join(lines))
    (root / "bare.tsv").write_text("".join(lines))
    return root


def report(folders, *words):
    given = [str(folders / word) if (folders / word).exists() else word for word in words]
    return main(["clcr", "measure", "report", *given])


def distances(folders, tmp_path, *words):
    """What is reported, by way to compare and measure."""
    output = tmp_path / "report.json"
    assert report(folders, *words, "--output", str(output)) == 0
    return figures_of(output)


def figures_of(path):
    found = {}
    for row in rows(path, task="distances"):
        found.setdefault(row["distance"], {})[row["measure"]] = row.get("value")
    return found


def test_a_planted_gap_and_a_planted_score_are_found(folders, tmp_path, capsys):
    output, figure = tmp_path / "conditions.json", tmp_path / "conditions.svg"
    scored = ["--scored", "x", "alike", "--scores", "bare.tsv"]
    end = ["--output", str(output), "--figure", str(figure)]
    assert report(folders, "x", "y", *scored, *end) == 0
    assert "Distance of sequences, en-de" in capsys.readouterr().out
    for name, one in figures_of(output).items():
        assert one["AUC"] == 1.0
        assert 5 * one["translations"] < one["random"]
        assert one["Pearson"] < -0.7 and one["Spearman"] < -0.7
        for pairs in PAIRS.values():
            drawn = values(output, task=HISTOGRAM, distance=name, pairs=pairs)
            assert sum(drawn) == pytest.approx(1)
        means = values(output, task=BY_SCORE, distance=name)
        assert len(means) == 5 and means == sorted(means, reverse=True)
    assert figure.exists()
    assert main(["report", str(output), "--output", str(tmp_path / "pages")]) == 0
    page = (tmp_path / "pages" / "conditions.html").read_text()
    assert "CLCR, 2.1" in page and "<svg" in page


def test_where_translations_are_not_alike_there_is_no_gap(folders, tmp_path):
    for one in distances(folders, tmp_path, "x", "unlike", "--random", "5").values():
        assert one["AUC"] == pytest.approx(0.5, abs=0.12)


def test_scores_may_stand_under_a_heading(folders, tmp_path):
    scored = ["--scored", "x", "alike", "--scores", "scores.tsv", "--score-column", "score"]
    output = tmp_path / "scored.json"
    command = ["x", "y", "--distance", "matched", *scored, "--output", str(output)]
    assert report(folders, *command) == 0
    notes = read_record(output).sections[0].notes
    assert any(note.startswith("matched: correlations with the score of 60") for note in notes)


def test_pairs_without_key_points_are_told_and_left_out(tmp_path, capsys):
    sides = [[np.ones((1, 2)), np.zeros((0, 2)), np.eye(2)], [np.ones((1, 2))] * 3]
    for name, side in zip("xy", sides, strict=True):
        write_folder(tmp_path / name, side)
    assert main(["clcr", "measure", "report", str(tmp_path / "x"), str(tmp_path / "y")]) == 0
    assert "1 pairs have a sentence without key-points" in capsys.readouterr().out
    write_folder(tmp_path / "none", [np.zeros((0, 2))] * 3)
    assert main(["clcr", "measure", "report", str(tmp_path / "none"), str(tmp_path / "y")]) == 1
    assert "no pair of sentences has key-points on both sides" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--distance", "matched,matched"], "`--distance` must name different ones"),
        (["--distance", "matchd"], "unknown `--distance` 'matchd'; did you mean 'matched'?"),
        (
            ["--scored", "x", "alike", "--scores", "scores.tsv"],
            "scores.tsv:1: the score must be a number, got 'score'",
        ),
        (
            ["--scored", "x", "alike", "--scores", "bare.tsv", "--score-column", "7"],
            "bare.tsv:1: has no column 7, only 3 columns",
        ),
    ],
)
def test_mistakes_are_named(folders, capsys, words, message):
    assert report(folders, "x", "y", *words) == 1
    assert message in capsys.readouterr().err


def test_scores_of_other_pairs_are_refused(folders, tmp_path, capsys):
    (tmp_path / "few.tsv").write_text("1\n2\n")
    words = ["--scored", "x", "alike", "--scores", str(tmp_path / "few.tsv")]
    assert report(folders, "x", "y", *words) == 1
    assert "must have a score for each of 60 pairs of sentences, got 2" in capsys.readouterr().err
