import itertools
import re
from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.transfer.properties import (
    FinishedFigure,
    entity_words,
    jaccard,
    read_entities,
    read_features,
    shared_features,
)
from fairseq_xling.papers.transfer.properties import measure_word_order as measure
from fairseq_xling.papers.transfer.zero_shot import Options
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.sources import parse_sources


def test_overlap_counts_as_a_loop_over_all_members_does():
    sets = [set(chosen) for n in range(4) for chosen in itertools.combinations("abcd", n)]
    for first, second in itertools.product(sets, repeat=2):
        either = [x for x in "abcd" if x in first or x in second]
        both = [x for x in either if x in first and x in second]
        assert jaccard(first, second) == (len(both) / len(either) if either else 0)


def test_entity_words_are_those_inside_of_spans_each_once(written):
    path = written("a.conll", "Bob\tB-P\nsees\tO\n\nof\tI-O\nYork\tI-O\nBob\tB-P\nbob\tO\n")
    assert entity_words(path, "ner") == ["Bob", "of", "York"]
    path = written("b.conll", "0\tBob\tx\tB-P\n1\truns\tx\tO\n")
    assert entity_words(path, "slots", "token=1,tag=3") == ["Bob"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tO\n\nb\tPER\n", ":3: the tag must be O, B-TYPE or I-TYPE, got 'PER'"),
        ("a\tO\nb\tO\n", ": has no spans"),
        ("a\nb\n", ": has no spans"),
        ("a\tB-X\nb\n", ":2: must have 2 columns like the rows before, got 1"),
    ],
)
def test_files_without_spans_are_refused(written, text, message):
    path = written("a.conll", text)
    with pytest.raises(UserError, match=f"^{re.escape(str(path) + message)}$"):
        entity_words(path, "ner")


def test_subwords_of_other_words_and_unknown_ones_do_not_count(words_folder, written):
    path = written("a.conll", "dog\tB-X\nhousedog\tI-X\nruns\tO\nred\tB-X\ncat\tO\n")
    subwords, unknown = read_entities(path, "ner", "", words_folder, "en")
    assert subwords == {"▁dog", "▁red"} and unknown == pytest.approx(1 / 3)


def prepared(folder, texts, **options):
    """The data folder ``data`` of a training text in each language."""
    for lang, text in texts.items():
        (folder / lang).write_text(text)
    languages = tuple(texts)
    sources = parse_sources(languages, mono=[f"train.{x}={folder / x}" for x in languages])
    segment = dict.fromkeys(languages, "space")
    prepare(
        folder / "data",
        sources,
        PrepareOptions(languages, segment=segment, aligner="none", **options),
    )


@pytest.mark.parametrize("mode", ["joint", "union", "prefixed", "separate"])
def test_a_subword_is_itself_in_every_language_whatever_its_id(tmp_path, written, mode):
    """In ``separate`` folders equal ids are different subwords, in ``prefixed`` ones none is."""
    texts = {"en": "anna rome anna\n" * 3, "de": "paris anna rom paris\n" * 3}
    prepared(tmp_path, texts, vocab=mode, vocab_type="word", vocab_size=20)
    english = written("en.conll", "anna\tB-P\nrome\tB-L\n")
    german = written("de.conll", "anna\tB-P\nparis\tB-L\n")
    first, _ = read_entities(english, "ner", "", tmp_path / "data", "en")
    second, _ = read_entities(german, "ner", "", tmp_path / "data", "de")
    assert first == {"▁anna", "▁rome"} and second == {"▁anna", "▁paris"}


def test_a_languages_pieces_are_those_that_a_model_reads(tmp_path, written):
    """Pieces of a BPE vocabulary, whose mark of a word's beginning tells two of them apart."""
    text = "anna banana band ananas bandana nana\n" * 20
    prepared(tmp_path, {"en": text}, vocab_type="bpe", vocab_size=14)
    path = written("a.conll", "banana\tB-X\nnana\tI-X\n")
    from fairseq_xling.text.pieces import Pieces

    pieces = Pieces.load(tmp_path / "data" / "sentencepiece.model")
    ids, _ = pieces.encode(["banana", "nana"])
    expected = {pieces.symbols[i] for i in ids}
    assert read_entities(path, "ner", "", tmp_path / "data", "en")[0] == expected
    assert any(piece.startswith("▁") for piece in expected)
    assert any(not piece.startswith("▁") for piece in expected)


def test_shared_features_are_those_that_a_loop_over_all_of_them_finds():
    for first, second in itertools.product(itertools.product(["", "a", "b"], repeat=3), repeat=2):
        shared = known = 0
        for n in range(3):
            if first[n] != "" and second[n] != "":
                known += 1
                if first[n] == second[n]:
                    shared += 1
        assert shared_features(first, second) == (shared, known)


def test_a_table_is_read_by_language(written):
    path = written("f.tsv", "language\torder\tadjective\r\nen\tSVO\t AN \r\nja\tSOV\t\r\n")
    assert read_features(path) == {"en": ["SVO", "AN"], "ja": ["SOV", ""]}


def cell(lang, sources=("en",)):
    return FinishedFigure(Path("run"), Options(), "ours", "ours", sources, lang, (50.0,))


def test_where_nothing_is_known_of_both_there_is_no_number():
    table = {"en": ["SVO", ""], "de": ["SOV", ""], "hi": ["", "NP"]}
    points = measure("f.tsv", table, [cell("en"), cell("de"), cell("hi")])
    assert [point.x for point in points] == [1, 0, None]
    assert [point.details["features"] for point in points] == [
        "1 of 1 known",
        "0 of 1 known",
        "0 of 0 known",
    ]
