"""Pairs and ready alignments, from text to token files."""

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.text.encoder import TextEncoder

TRAIN = ["aa bb cc dd", "bb aa", "cc dd aa"] * 5
TEXTS = ["aa bb cc", "aa", "dd cc"], ["cc aa", "dd dd", "aa bb"]


@pytest.fixture
def prepared(tmp_path, helpers):
    """A data folder of parallel text and Pharaoh lines; vocabulary from simple words."""

    def make(left, right, links, **changes):
        write = helpers.write_lines
        sides = f"{write(tmp_path / 'l', left)},{write(tmp_path / 'r', right)}"
        files = {
            "mono": [f"train.{x}={write(tmp_path / f'mono.{x}', TRAIN)}" for x in ("en", "de")],
            "parallel": [f"valid.en-de={sides}"],
            "alignment": [f"valid.en-de={write(tmp_path / 'a.pharaoh', links)}"],
        }
        return helpers.prepare_folder(tmp_path / "bin", files, **changes)

    return make


def orders(folder):
    stems = [folder / "parallel" / f"valid.{pair}.order" for pair in ("en-de", "de-en")]
    return [[x.tolist() for x in TokenFile(stem)] for stem in stems]


def test_links_of_words_become_orders_of_whole_words(prepared):
    folder = prepared(
        ["aa bb cc", "aa", "dd cc"],
        ["cc aa", "dd dd", "aa bb"],
        ["0-1 2-0", "", "0-0 1-0"],
        vocab_type="word",
    )
    to_de, to_en = orders(folder)
    assert to_de == [[3, 1, 4], [0, 0, 2], [1, 0, 3]]
    assert to_en == [[2, 0, 1, 3], [0, 3], [1, 1, 3]]


def test_links_from_one_become_the_same_orders(prepared, caplog):
    settings = {"vocab_type": "word", "align_unit": "word"}
    links = ["1-2 3-1", "", "1-1 2-1"]
    with pytest.raises(UserError, match=r"no link has a 0, so .*: give `--links-from 1`$"):
        prepared(*TEXTS, links, **settings)
    folder = prepared(*TEXTS, links, links_from=1, **settings)
    assert orders(folder)[0] == [[3, 1, 4], [0, 0, 2], [1, 0, 3]]
    many = [["aa bb cc"] * 12, ["cc aa"] * 12, ["1-1"] * 12]
    prepared(*many, overwrite=True, **settings)
    assert "a.pharaoh: no link of 12 sentence pairs has a 0; if the words count" in caplog.text


def test_links_may_connect_subwords(prepared):
    folder = prepared(["abcd"], ["dcba"], ["0-1 1-0"], vocab_size=12, align_unit="subword")
    to_de, to_en = orders(folder)
    assert to_de[0][:2] == [2, 1] and to_en[0][:2] == [2, 1]


def test_a_link_beyond_the_subwords_is_refused_and_leaves_nothing(tmp_path, prepared):
    message = r"a\.pharaoh:2: link 0-99 points past the \d+ subword\(s\) of the target sentence"
    with pytest.raises(UserError, match=message):
        prepared(["aa", "aa"], ["bb", "bb"], ["", "0-99"], align_unit="subword")
    assert not (tmp_path / "bin").exists()


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (["0-0", "1-0"], r"a\.pharaoh:2: link 1-0 points past the 1 word\(s\) of the source"),
        (["0-0"], r"a\.pharaoh: needs a line for each of 2 sentence pairs, got 1"),
        (["0-0"] * 3, r"a\.pharaoh: needs a line for each of 2 sentence pairs, got 3"),
    ],
)
def test_an_alignment_that_does_not_fit_is_refused_before_anything_is_written(
    tmp_path, prepared, links, message
):
    with pytest.raises(UserError, match=message):
        prepared(["aa", "aa"], ["bb", "bb"], links)
    assert not (tmp_path / "bin").exists()


def test_a_pair_with_an_empty_side_is_left_out_on_both_sides_and_counted(prepared):
    folder = prepared(
        ["aa bb", "", "cc", "\u200b", "dd"],
        ["aa", "bb", " ", "cc", "dd aa"],
        ["1-0", "", "", "", "0-1"],
        vocab_type="bpe",
    )
    counts = read_json(folder / "meta.json")["parallel"]["valid"]["en-de"]
    assert (counts["pairs"], counts["dropped"]) == (2, 3)
    sides = [TokenFile(folder / "parallel" / f"valid.en-de.{x}") for x in ("en", "de")]
    assert [len(side) for side in sides] == [2, 2]
    encoder = TextEncoder.load(folder, "de")
    assert [encoder.decode(ids) for ids in sides[1]] == ["aa", "dd aa"]
    assert counts["tokens"] == {"en": len(sides[0].tokens), "de": len(sides[1].tokens)}
    assert len(orders(folder)[0]) == 2


def test_words_that_normalisation_cuts_or_deletes_keep_their_links(prepared):
    # U+00A8 unfolds to a space and a mark; U+200B vanishes: word counts of text and pieces differ.
    folder = prepared(["aa¨bb cc", "\u200b aa"], ["cc", "bb"], ["1-0", "1-0"], vocab_size=20)
    encoder = TextEncoder.load(folder, "en")
    before = len(encoder.encode(["aa¨bb"])[0]) - 1
    to_de, _ = orders(folder)
    assert to_de[0][0] == before + 1
    assert to_de[1][0] == 1


@pytest.mark.parametrize("kind", ["bpe", "word"])
@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000", "\u2003", "\x85"])
def test_links_count_the_words_between_blanks(space, kind, prepared, caplog):
    """As fast_align does, which wrote them; where others would differ, that is said."""
    changes = {"vocab_type": kind, "align_unit": "word", "vocab_size": 20}
    folder = prepared([f"aa{space}bb cc dd"], ["bb cc dd aa"], ["0-0 1-1 2-2"], **changes)
    (order, _), encoder = orders(folder), TextEncoder.load(folder, "en")
    alone = [len(encoder.encode([word])[0]) - 1 for word in (f"aa{space}bb", "cc")]
    partner = dict(zip(["bb", "cc", "dd", "aa"], order[0], strict=False))
    assert partner["cc"] == alone[0] + 1 and partner["dd"] == sum(alone) + 1
    assert f"l:1: has U+{ord(space):04X}, as 1 line(s) have" in caplog.text
