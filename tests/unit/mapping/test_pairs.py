"""Which vectors belong together, against loops over lines and words."""

import argparse

import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import values_of
from fairseq_xling.mapping.pairs import PAIRS
from fairseq_xling.mapping.pairs import alignments as module
from fairseq_xling.mapping.states import States


def find(kind, moving, fixed, file=None, unit="word", swap=False, links_from=0):
    args = argparse.Namespace(align_unit=unit, swap=swap, links_from=links_from)
    options = values_of(PAIRS[kind].options, args)
    return PAIRS[kind](States(moving), States(fixed), file, options)


def vectors(pairs, moving, fixed):
    """All pairs of vectors, one below the other, (P, 2, D)."""
    blocks = [
        [States(f).take(0, s) for f, s in zip((moving, fixed), b, strict=True)] for b in pairs
    ]
    return np.concatenate([np.stack(block, 1) for block in blocks])


@pytest.fixture
def rows():
    return lambda n, seed=1: np.random.default_rng(seed).normal(size=(n, 4)).astype("float32")


def test_row_n_belongs_to_row_n(rows, write_states, monkeypatch):
    monkeypatch.setattr("fairseq_xling.mapping.pairs.rows.BLOCK", 2)
    x, y = rows(5), rows(5, 2)
    folders = write_states("de", {0: x}), write_states("en", {0: y})
    found = find("rows", *folders)
    assert found.count == 5 and sum(len(one) for one, _ in found) == 5
    np.testing.assert_array_equal(vectors(found, *folders), np.stack([x, y], 1))


def test_rows_must_be_equally_many(rows, write_states):
    five, four = write_states("de", {0: rows(5)}), write_states("en", {0: rows(4)})
    with pytest.raises(UserError, match="must have equally many rows, got 5 and 4"):
        find("rows", five, four)


ENTRIES = [("Hund", "dog"), ("Katze", "cat"), ("Haus", "house"), ("Haus", "home"), ("x", "dog")]


@pytest.mark.parametrize("turned", [False, True])
def test_words_may_have_several_translations_in_either_column(
    rows, write_states, tmp_path, turned, monkeypatch
):
    monkeypatch.setattr("fairseq_xling.mapping.pairs.dictionary.BLOCK", 2)
    de, en = ["Haus", "Hund", "dog"], ["home", "the", "dog", "house"]
    folders = (
        write_states("de", {0: rows(3)}, unit="types", vocabulary=de),
        write_states("en", {0: rows(4, 2)}, unit="types", vocabulary=en),
    )
    file = tmp_path / "dictionary.tsv"
    file.write_text("".join("\t".join(e[::-1] if turned else e) + "\n" for e in ENTRIES))
    found = find("dictionary", *folders, file)
    expected = [
        (rows(3)[de.index(a)], rows(4, 2)[en.index(b)]) for a, b in ENTRIES if a in de and b in en
    ]
    assert found.count == len(expected) == 3
    np.testing.assert_array_equal(vectors(found, *folders), expected)
    assert found.facts == {
        "entries": 5,
        "with an unknown word": 2,
        "first column": "en" if turned else "de",
    }


def test_a_dictionary_of_other_words_or_of_none_is_refused(rows, write_states, tmp_path):
    folders = [write_states(n, {0: rows(1)}, unit="types", vocabulary=[n]) for n in ("de", "en")]
    file = tmp_path / "d.tsv"
    file.write_text("chien\tperro\nde\tperro\n")
    message = "d.tsv: none of its 2 entries has one word in .*de and the other in .*en"
    with pytest.raises(UserError, match=message):
        find("dictionary", *folders, file)
    file.write_text("")
    with pytest.raises(UserError, match=r"d.tsv: the dictionary is empty"):
        find("dictionary", *folders, file)
    sentences = write_states("s", {0: rows(1)})
    file.write_text("de\tperro\n")
    with pytest.raises(UserError, match=r"s: has no words, its rows are sentences; extract with"):
        find("dictionary", folders[0], sentences, file)


# Of each line, its words; of each word its subwords, and whether each has a row.
GERMAN = [[[1, 1], [1]], [], [[1, 0, 1], [0], [1, 1]], [[1]]]
ENGLISH = [[[1], [1], [1]], [], [[1], [1, 1], [1]], [[1, 1]]]
LINKS = [[(0, 0), (1, 2), (0, 2)], [], [(0, 1), (1, 0), (2, 2)], [(0, 0)]]


def tokens(write_states, rows, name, lines):
    """A folder of such lines, and for each unit the rows of each word, or subword, of each line."""
    arrays = {"sentences": [], "places": [], "words": [], "lengths": []}
    units, row = {"word": [], "subword": []}, 0
    for words in lines:
        place, before = 0, row
        of_words, of_subwords = [], []
        for number, word in enumerate(words):
            own = []
            for present in word:
                of_subwords.append([row] if present else [])
                if present:
                    own.append(row)
                    arrays["places"].append(place)
                    arrays["words"].append(number)
                row, place = row + present, place + 1
            of_words.append(own)
        arrays["sentences"].append(row - before)
        arrays["lengths"].append((place, len(words)))
        units["word"].append(of_words), units["subword"].append(of_subwords)
    states = rows(row, len(name))
    return write_states(name, {0: states}, unit="tokens", **arrays), states, units


def both(write_states, rows):
    return (tokens(write_states, rows, *one)[0] for one in (("de", GERMAN), ("eng", ENGLISH)))


def write_links(path, links):
    path.write_text("".join(" ".join(f"{i}-{j}" for i, j in line) + "\n" for line in links))
    return path


@pytest.mark.parametrize("block", [1, 2, 128])
@pytest.mark.parametrize("unit", ["word", "subword"])
@pytest.mark.parametrize("swap", [False, True])
def test_links_pair_the_means_of_words_or_subwords(
    rows, write_states, tmp_path, monkeypatch, block, unit, swap
):
    monkeypatch.setattr(module, "_LINES", block)
    de, x, of_german = tokens(write_states, rows, "de", GERMAN)
    en, y, of_english = tokens(write_states, rows, "eng", ENGLISH)
    written = [[(j, i) for i, j in line] if swap else line for line in LINKS]
    found = find("alignments", de, en, write_links(tmp_path / "links", written), unit, swap)
    expected, left_out = [], 0
    for line, links in enumerate(LINKS):
        for i, j in links:
            own, other = of_german[unit][line][i], of_english[unit][line][j]
            if own and other:
                expected.append((x[own].mean(0), y[other].mean(0)))
            else:
                left_out += 1
    np.testing.assert_allclose(vectors(found, de, en), np.array(expected), rtol=1e-6)
    assert found.count == len(expected) and left_out == 1
    assert found.facts == {"links": len(expected) + 1, "unknown or cut": 1}
    assert len(vectors(found, de, en)) == found.count  # they can be read again


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([[(0, 0)], [], []], r"links: must have a line for each of the 4 lines .*, got 3"),
        ([[(0, 0)], [], [], [], [], []], "for each of the 4 lines of the folders, got 6"),
        ([[], [], [(0, 3)], []], r"links:3: link 0-3 points past the 3 word.*with `--swap`\?"),
        ([[], [(0, 0)], [], []], "links:2: link 0-0 points past the 0 word"),
        ([[], [], [(1, 0)], []], "has no link between words that both folders have"),
    ],
)
@pytest.mark.parametrize("block", [1, 128])
def test_links_that_do_not_fit_the_folders_are_refused(
    rows, write_states, tmp_path, links, message, block, monkeypatch
):
    monkeypatch.setattr(module, "_LINES", block)
    de, en = both(write_states, rows)
    with pytest.raises(UserError, match=message):
        find("alignments", de, en, write_links(tmp_path / "links", links))


@pytest.mark.parametrize("swap", [False, True])
def test_links_from_one_are_the_same_pairs(rows, write_states, tmp_path, swap):
    de, en = both(write_states, rows)
    turned = [[(j, i) if swap else (i, j) for i, j in line] for line in LINKS]
    more = [[(i + 1, j + 1) for i, j in line] for line in turned]
    expected = vectors(
        find("alignments", de, en, write_links(tmp_path / "a", turned), swap=swap), de, en
    )
    file = write_links(tmp_path / "links", more)
    found = find("alignments", de, en, file, swap=swap, links_from=1)
    np.testing.assert_array_equal(vectors(found, de, en), expected)
    with pytest.raises(UserError, match=r"so they may count from 1: give `--links-from 1`$"):
        find("alignments", de, en, file, swap=swap)


def test_links_that_may_count_from_one_are_doubted_once(rows, write_states, tmp_path, caplog):
    lines = [[[1], [1], [1]]] * 12
    de, en = (tokens(write_states, rows, name, lines)[0] for name in ("de", "eng"))
    links = write_links(tmp_path / "links", [[(1, 1), (2, 2)]] * 12)
    found = find("alignments", de, en, links)
    assert "no link of 12 sentence pairs has a 0; if the words count from 1" in caplog.text
    assert sum(len(chosen) for chosen, _ in found) == found.count == 24  # read again
    assert len(caplog.records) == 1


def test_other_mistakes_about_alignments_are_one_line(rows, write_states, tmp_path):
    de, short = (
        tokens(write_states, rows, name, lines)[0]
        for name, lines in (("de", GERMAN), ("eng", ENGLISH[:3]))
    )
    file = write_links(tmp_path / "links", LINKS)
    with pytest.raises(UserError, match=r"parallel text, got 4 lines in .*de and 3 in .*eng"):
        find("alignments", de, short, file)
    with pytest.raises(UserError, match="`--align-unit`: unknown value 'letter'"):
        find("alignments", de, de, file, unit="letter")
    sentences = write_states("s", {0: rows(1)})
    with pytest.raises(UserError, match="s: must contain tokens, got sentences; extract with"):
        find("alignments", de, sentences, file)
    file.write_text("0-0\n\n0:1\n\n")
    with pytest.raises(UserError, match="links:3: links must look like 0-0, got '0:1'"):
        find("alignments", de, de, file)
    file.write_text("\n" * len(GERMAN))
    for name, value, message in (
        ("words", 10**9, r"places and lengths must fit each other, got place 1000000000 in a line"),
        ("words", -1, r"places and lengths must fit each other, got place -1 in a line"),
        ("lengths", -1, r"lengths\.npy must lie in \[0, 1048576\]"),
        ("sentences", 99, r"sentences\.npy: must share the \d+ rows of the folder among lines"),
    ):
        array = np.load(de / f"{name}.npy")
        np.save(de / f"{name}.npy", np.full_like(array, value))
        with pytest.raises(UserError, match=message):
            find("alignments", de, de, file)
        np.save(de / f"{name}.npy", array)
    (de / "words.npy").unlink()
    with pytest.raises(UserError, match=r"words.npy: no such file; extract the folder again"):
        find("alignments", de, de, file)
