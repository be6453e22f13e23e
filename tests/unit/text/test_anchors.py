"""A5's dictionary, as ids."""

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.text.anchors import read_entries
from fairseq_xling.text.encoder import TextEncoder

WORDS = {"en": ["dog", "cat", "big", "house"], "de": ["hund", "katze", "grosser", "haus", "gross"]}


@pytest.fixture
def make(tmp_path, helpers):
    def build(entries, vocab="union", **changes):
        write = helpers.write_lines
        mono = [
            f"train.{lang}={write(tmp_path / f'{lang}.txt', [' '.join(words)] * 9)}"
            for lang, words in WORDS.items()
        ]
        table = write(tmp_path / "en-de.tsv", entries)
        files = {"mono": mono, "dictionary": [f"en-de={table}"]}
        folder = helpers.prepare_folder(tmp_path / "bin", files, vocab=vocab, **changes)
        return folder, [TextEncoder.load(folder, lang) for lang in ("en", "de")]

    return build


def one(encoder, word):
    return encoder.encode([word])[0][:-1].tolist()


@pytest.mark.parametrize("mode", ["joint", "union", "prefixed"])
@pytest.mark.parametrize("kind", ["bpe", "word"])
def test_word_pairs_become_entries_of_both_languages(make, mode, kind):
    pairs = ["dog\thund\t0.7", "big\tgross\t3", "big\tgrosser"]
    folder, (en, de) = make(pairs, mode, vocab_type=kind)
    big = sorted([[one(de, "gross"), 3.0, "de"], [one(de, "grosser"), 1.0, "de"]])
    english = [[one(en, "dog"), [[one(de, "hund"), 0.7, "de"]]], [one(en, "big"), big]]
    assert DataFolder(folder).anchors("en") == sorted(english)
    german = [("hund", "dog", 0.7), ("gross", "big", 3.0), ("grosser", "big", 1.0)]
    expected = [[one(de, word), [[one(en, other), w, "en"]]] for word, other, w in german]
    assert DataFolder(folder).anchors("de") == sorted(expected)


def test_a_source_of_several_words_or_an_unknown_one_is_left_out(make):
    folder, (en, de) = make(["big dog\thund", "dog\tgrosser hund", "cat\t☃", "☃\tkatze"])
    data = DataFolder(folder)
    assert data.anchors("en") == [[one(en, "dog"), [[one(de, "grosser hund"), 1.0, "de"]]]]
    assert data.anchors("de") == [[one(de, "hund"), [[one(en, "big dog"), 1.0, "en"]]]]
    assert data.meta["anchors"] == {"used": 2, "skipped": 6}


def test_a_pair_given_twice_counts_once_with_the_higher_weight(make):
    folder, (en, de) = make(["dog\thund\t0.2", "dog\thund\t0.9", "dog\thund\t0.5"])
    assert DataFolder(folder).anchors("en") == [[one(en, "dog"), [[one(de, "hund"), 0.9, "de"]]]]


def test_separate_dictionaries_have_no_anchors(make):
    message = "`--dictionary` needs a vocabulary that the languages share, got `--vocab separate`"
    with pytest.raises(UserError, match=message):
        make(["dog\thund"], "separate")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("dog", "must be source TAB target"),
        ("dog\thund\t1\t2", "must be source TAB target"),
        ("dog\thund\theavy", "weight must be a positive number, got 'heavy'"),
        ("dog\thund\tinf", "weight must be a positive number, got 'inf'"),
        ("", "contains no word pairs"),
    ],
)
def test_a_malformed_dictionary_is_refused_with_file_and_line(tmp_path, line, message):
    (tmp_path / "d.tsv").write_text(f"cat\tkatze\n{line}\n" if line else "\n\n")
    with pytest.raises(UserError, match=rf"d\.tsv{':2' if line else ''}: {message}"):
        read_entries(tmp_path / "d.tsv")
