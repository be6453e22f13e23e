import itertools
from pathlib import Path

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.studies.transfer.config import TransferConfig
from fairseq_xling.studies.transfer.finished import FinishedFigure
from fairseq_xling.studies.transfer.word_order import measure, read_features, shared_features


@pytest.mark.row("E10")
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["SVO", "AN"], ["SVO", "AN"], (2, 2)),
        (["SVO", "AN"], ["SOV", "AN"], (1, 2)),
        (["SVO", ""], ["SVO", ""], (1, 1)),
        (["", "AN"], ["SVO", ""], (0, 0)),
        (["AN", "SVO"], ["SVO", "AN"], (0, 2)),
        ([], [], (0, 0)),
    ],
)
def test_features_are_shared_where_both_are_known_and_equal(first, second, expected):
    assert shared_features(first, second) == expected
    assert shared_features(second, first) == expected


def test_shared_features_are_those_that_a_loop_over_all_of_them_finds():
    for first, second in itertools.product(itertools.product(["", "a", "b"], repeat=3), repeat=2):
        shared = known = 0
        for n in range(3):
            if first[n] != "" and second[n] != "":
                known += 1
                if first[n] == second[n]:
                    shared += 1
        assert shared_features(first, second) == (shared, known)


@pytest.mark.row("E10")
def test_a_table_is_read_by_language(written):
    path = written("f.tsv", "language\torder\tadjective\r\nen\tSVO\t AN \r\nja\tSOV\t\r\n")
    assert read_features(path) == {"en": ["SVO", "AN"], "ja": ["SOV", ""]}


def cell(lang, sources=("en",)):
    return FinishedFigure(Path("run"), TransferConfig(), "ours", "ours", sources, lang, (50.0,))


def test_where_nothing_is_known_of_both_there_is_no_number():
    table = {"en": ["SVO", ""], "de": ["SOV", ""], "hi": ["", "NP"]}
    points = measure("f.tsv", table, [cell("en"), cell("de"), cell("hi")])
    assert [point.x for point in points] == [1, 0, None]
    assert [point.details["features"] for point in points] == [
        "1 of 1 known",
        "0 of 1 known",
        "0 of 0 known",
    ]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([cell("de"), cell("fr"), cell("it")], "f.tsv: has no row of 'fr', 'it'; it has en, de"),
        ([cell("en", ("nl",))], "f.tsv: has no row of 'nl'; it has en, de"),
        (
            [cell("de", ("en", "nl"))],
            "run: must have one training language to compare the word order with, got en, nl",
        ),
    ],
)
def test_languages_that_cannot_be_compared_are_named(cells, message):
    with pytest.raises(UserError) as error:
        measure("f.tsv", {"en": ["a"], "de": ["b"]}, cells)
    assert str(error.value) == message
