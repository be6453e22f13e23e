"""D3, D4, A3, A4: how the vocabulary modes number pieces."""

import pytest
from fairseq.data import Dictionary

from fairseq_xling.core.files import read_json
from fairseq_xling.data.folder import SPECIAL_SYMBOLS, read_dictionary
from fairseq_xling.text.pieces import Pieces
from fairseq_xling.text.vocabularies import (
    VocabularyMode,
    collect_symbols,
    id_table,
    modes,
    write_dictionary,
)


def pieces_of(folder, lang: str) -> set[str]:
    return set(Pieces.load(folder / f"sentencepiece.{lang}.model").symbols[1:])


def test_a_union_has_v1_plus_v2_minus_overlap_items(make_folder):
    folder = make_folder(vocab="union")
    first, second = pieces_of(folder, "en"), pieces_of(folder, "de")
    assert first & second
    symbols = read_dictionary(folder / "dict.txt")
    assert len(symbols) == 6 + len(first) + len(second) - len(first & second)
    assert read_json(folder / "meta.json")["vocab"]["sizes"] == {"dict": len(symbols)}


def test_prefixed_items_share_nothing_and_number_overlap_more_than_the_union(make_folder):
    union, prefixed = make_folder(vocab="union"), make_folder(vocab="prefixed")
    overlap = pieces_of(union, "en") & pieces_of(union, "de")
    symbols = read_dictionary(prefixed / "dict.txt")
    assert len(symbols) == len(read_dictionary(union / "dict.txt")) + len(overlap)
    tables = []
    for lang in ("en", "de"):
        pieces = Pieces.load(prefixed / f"sentencepiece.{lang}.model").symbols
        tables.append(set(id_table(modes["prefixed"](), lang, pieces, symbols)[1:]))
    assert not tables[0] & tables[1]
    assert all(name.split(":")[0] in ("en", "de") for name in symbols[6:])


def test_separate_vocabularies_number_on_their_own(make_folder):
    folder = make_folder(vocab="separate")
    assert not (folder / "dict.txt").exists()
    for lang in ("en", "de"):
        symbols = read_dictionary(folder / f"dict.{lang}.txt")
        assert set(symbols[6:]) == pieces_of(folder, lang)
        assert read_json(folder / "meta.json")["vocab"]["sizes"][lang] == len(symbols)


def test_a_joint_vocabulary_has_one_model(make_folder):
    folder = make_folder(vocab="joint")
    assert [path.name for path in folder.glob("*.model")] == ["sentencepiece.model"]
    assert len(read_dictionary(folder / "dict.txt")) <= 66


@pytest.mark.parametrize("mode", ["joint", "union", "prefixed", "separate"])
def test_fairseq_gives_the_same_ids(make_folder, mode):
    folder = make_folder(vocab=mode)
    for path in folder.glob("dict*.txt"):
        theirs = Dictionary.load(str(path))
        assert theirs.symbols == read_dictionary(path)
        assert tuple(theirs.symbols[:6]) == SPECIAL_SYMBOLS
        assert (theirs.bos(), theirs.pad(), theirs.eos(), theirs.unk()) == (0, 1, 2, 3)


def test_counts_are_those_of_the_sample(make_folder, corpus):
    folder = make_folder(vocab="union", vocab_type="word", vocab_size=500)
    lines = (folder / "dict.txt").read_text("utf-8").splitlines()
    counts = dict(line.rsplit(" ", 1) for line in lines)
    words = " ".join(path.read_text("utf-8") for path in corpus.glob("*/train.*")).split()
    for word in set(words):
        assert int(counts[f"▁{word}"]) == words.count(word)


@pytest.mark.parametrize("special", SPECIAL_SYMBOLS)
def test_a_piece_spelt_like_a_special_token_is_unknown(tmp_path, special):
    mode, pieces = VocabularyMode(), ["<unk>", "a", special, "b"]
    found = collect_symbols(mode, {"en": pieces}, {"en": [0, 5, 4, 3]})
    assert found == {"dict.txt": {"a": 5, "b": 3}}
    write_dictionary(tmp_path / "dict.txt", found["dict.txt"])
    assert Dictionary.load(str(tmp_path / "dict.txt")).index("b") == 7
    table = id_table(mode, "en", pieces, read_dictionary(tmp_path / "dict.txt"))
    assert table.tolist() == [3, 6, 3, 7]
