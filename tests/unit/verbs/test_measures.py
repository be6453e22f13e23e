import math

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.reports.pivot import pivot
from fairseq_xling.reports.rows import distinct, select
from fairseq_xling.verbs.measures import parse_measures
from fairseq_xling.verbs.measures.words import NEIGHBOUR


def table(found):
    """The lines of its table, figures as numbers."""
    section = found.section("x")
    lines = pivot([{**row, "task": "x"} for row in found.rows], section.table)[1]
    return [[getattr(cell, "mean", cell) for cell in line] for line in lines]


def score(found, measure, target="de"):
    """The value of a measure at the chosen layer, if there are layers."""
    rows = select(found.rows, {"measure": measure, "target": target})
    (row,) = select(rows, {"best": 1}) or rows
    return row["value"]


def test_a_measure_named_twice_or_none_at_all_is_refused():
    with pytest.raises(UserError, match="names 'bpw' twice"):
        parse_measures("bpw, bpw")
    with pytest.raises(UserError, match="at least one of bpw"):
        parse_measures(" , ")


def test_retrieval_finds_the_planted_layer(measure):
    found = measure("retrieval")
    chance = pytest.approx(0.2)
    assert table(found) == [
        ["en-de", 0, 0.0, 0.0, 0.0, chance, 5],  # all vectors tied
        ["en-de", 1, 1.0, 1.0, 1.0, chance, 5],
    ]
    assert {row["layer"] for row in select(found.rows, {"best": 1})} == {1}


def test_retrieval_reads_two_text_files(measure, tmp_path):
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("the house\nred tree\n")
    target.write_text("rot baum\ndas haus\n")
    found = measure("retrieval", "--retrieval-text", source, target)
    assert score(found, "mean") == 0.0
    target.write_text("das haus\nrot baum\n")
    found = measure("retrieval", "--retrieval-text", source, target)
    assert score(found, "mean") == 1.0
    assert table(found)[0][-1] == 2


def test_retrieval_counts_unknown_words_if_it_is_asked_to(measure, tmp_path):
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("the house\nred tree\nzzz\n")
    target.write_text("das haus\nrot baum\nzzz\n")
    texts = ("--retrieval-text", source, target)
    assert score(measure("retrieval", *texts), "mean") == pytest.approx(2 / 3)
    found = measure("retrieval", *texts, "--retrieval-unknown")
    assert score(found, "mean") == 1.0


def test_unequal_files_are_named_with_both_counts(measure, tmp_path):
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("the house\nred tree\n")
    target.write_text("das haus\n")
    with pytest.raises(UserError, match=r"a and .*b must have equally many lines, got 2 and 1"):
        measure("retrieval", "--retrieval-text", source, target)


def test_an_empty_line_is_named(measure, tmp_path):
    (tmp_path / "a").write_text("the house\n\nred tree\n")
    with pytest.raises(UserError, match=r"a:2: an empty line cannot be retrieved"):
        measure("retrieval", "--retrieval-text", tmp_path / "a", tmp_path / "a")


def test_retrieval_needs_two_sentences(measure):
    with pytest.raises(UserError, match="at least 2 sentence pairs, got 1"):
        measure("retrieval", "--retrieval-limit", 1)


def test_two_files_fit_one_target_language_only(measure, tmp_path):
    with pytest.raises(UserError, match="needs one language in `--targets`, got de,fr"):
        measure("retrieval", "--retrieval-text", "a", "b", targets=["de", "fr"])


def test_bpw_of_a_uniform_model_is_log2_of_its_choices(measure):
    found = measure("bpw")
    uniform = pytest.approx(math.log2(12))
    assert table(found)[0] == ["en", pytest.approx(2.0), uniform, 5]  # one of each sentence
    assert score(found, "bits per word") == pytest.approx(3.0)


def test_special_symbols_are_never_masked(measure, subject):
    class Watch(type(subject.encoder)):
        def masked_log_probs(self, sentences, positions, lang, max_tokens=4):
            for sentence, chosen in zip(sentences, positions, strict=True):
                assert (sentence[chosen] >= SPECIALS).all()
                yield torch.zeros(len(chosen))

    for seed in range(20):
        found = measure("bpw", "--mask-seed", seed, encoder=Watch())
        assert score(found, "bits per word", "en") == 0.0


def test_bpw_keeps_to_its_limit(measure):
    assert table(measure("bpw", "--bpw-limit", 2))[0][-1] == 2


@pytest.fixture
def dictionary(tmp_path):
    path = tmp_path / "en-de.tsv"
    path.write_text("house\thaus\t1.0\ntree\tbaum\nred\trot\nthe\tdas\nsky\thimmel\n.\t.\n")
    return path


def test_word_retrieval_finds_the_planted_translations(measure, dictionary):
    found = measure("words", "--dictionary", dictionary)
    chance = pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert table(found) == [
        ["en-de", 0, pytest.approx(0.25), 0.0, chance, 4, 4],
        ["en-de", 1, 1.0, 1.0, chance, 4, 4],  # without the unknown word, and "." spelt alike
    ]
    assert (score(found, "MRR"), score(found, "P@1")) == (1.0, 1.0)


def test_neighbours_are_listed_by_frequency_with_the_right_ones_marked(measure, dictionary):
    found = measure("words", "--dictionary", dictionary, "--neighbours", 2)
    near = select(found.rows, {"measure": NEIGHBOUR})
    assert distinct(near, "word") == ["house", "red"]  # three times each, in alphabetical order
    first, second = near[:2]
    assert (first["nearest"], first["right"]) == ("haus", "yes")
    assert first["value"] == pytest.approx(1.0) and second["right"] == "no"


def test_a_folder_of_dictionaries_serves_every_pair(measure, dictionary):
    assert score(measure("words", "--dictionary", dictionary.parent), "P@1") == 1.0
    with pytest.raises(UserError, match=r"has no dictionary en-fr.tsv"):
        measure("words", "--dictionary", dictionary.parent, targets=["fr"])


def test_words_without_a_dictionary_says_what_is_missing(measure):
    with pytest.raises(UserError, match="`--measure words` needs `--dictionary`"):
        measure("words")


def test_a_dictionary_without_overlap_is_one_line(measure, tmp_path):
    (tmp_path / "d.tsv").write_text("sky\thimmel\nsea\tmeer\n")
    message = r"d.tsv: none of its 2 entries has both words in the 'train' text of en and de"
    with pytest.raises(UserError, match=message):
        measure("words", "--dictionary", tmp_path / "d.tsv")


def test_an_empty_or_malformed_dictionary_is_one_line(measure, tmp_path):
    path = tmp_path / "d.tsv"
    path.write_text("\n\n")
    with pytest.raises(UserError, match=r"d.tsv: the dictionary is empty"):
        measure("words", "--dictionary", path)
    for line in ("tree", "tree\t", "\tbaum", "red tree baum"):
        path.write_text(f"house\thaus\n{line}\n")
        with pytest.raises(
            UserError, match=r"d.tsv:2: must be two words separated by a tab or a space"
        ):
            measure("words", "--dictionary", path)
    with pytest.raises(UserError, match=r"none.tsv: no such file"):
        measure("words", "--dictionary", tmp_path / "none.tsv")
