import numpy as np
import pytest

from fairseq_xling.core.files import read_json
from fairseq_xling.core.texts import read_lines
from fairseq_xling.data.folder import UNK
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.prepare import summary

MODES = ["joint", "union", "prefixed", "separate"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
def test_text_comes_back(make_folder, corpus, mode, kind):
    folder = make_folder(vocab=mode, vocab_type=kind, vocab_size=400)
    for lang in ("en", "de"):
        encoder = TextEncoder.load(folder, lang)
        lines = list(read_lines(corpus / "mono" / f"train.{lang}.txt"))
        assert [encoder.decode(ids) for ids in encoder.encode(lines)] == lines


def test_what_a_small_alphabet_cannot_spell_is_counted_for_both_corpora(make_folder, corpus):
    folder = make_folder(vocab="joint", alphabet=9)
    meta = read_json(folder / "meta.json")
    shares = []
    for lang in ("en", "de"):
        lines = list(read_lines(corpus / "mono" / f"train.{lang}.txt"))
        ids = np.concatenate(TextEncoder.load(folder, lang).encode(lines))
        counts = meta["mono"]["train"][lang]
        assert (counts["unknown"], counts["tokens"]) == ((ids == UNK).sum(), len(ids))
        shares.append(f"({100 * counts['unknown'] / counts['tokens']:.2f} % unknown)")
    text = summary(folder, meta)
    assert all(share in text for share in shares) and shares[0] != shares[1]


@pytest.mark.parametrize("mode", MODES)
def test_lines_become_what_the_folder_stores(make_folder, corpus, mode):
    folder = make_folder(vocab=mode)
    encoder = TextEncoder.load(folder, "de")
    stored = TokenFile(folder / "mono" / "valid.de")
    items = encoder.encode(list(read_lines(corpus / "mono" / "valid.de.txt")))
    assert len(stored) == len(items) == 20
    assert {ids.dtype for ids in items} == {np.dtype(np.int64)}
    assert [ids.tolist() for ids in stored] == [ids.tolist() for ids in items]


def test_every_line_ends_in_its_own_end_and_a_blank_one_is_nothing_else(make_folder):
    encoder = TextEncoder.load(make_folder(), "en")
    (first, *blank, last) = (ids.tolist() for ids in encoder.encode(["abc", "", "  ", "abc"]))
    assert first == last and first[-1] == 2 and blank == [[2], [2]]
    assert encoder.encode([]) == []


def test_neighbouring_unknown_words_stay_apart_among_whole_words(make_folder):
    encoder = TextEncoder.load(make_folder(vocab_type="word"), "en")
    (ids,) = encoder.encode(["☃ ☃☃"])
    assert ids.tolist() == [3, 3, 2]
    assert encoder.decode(ids) == "<unk> <unk>"
    assert encoder.starts_word(ids).tolist() == [True, True, False]


def test_special_tokens_are_not_decoded(make_folder):
    encoder = TextEncoder.load(make_folder(), "en")
    (ids,) = encoder.encode(["abc abd"])
    assert encoder.decode([0, *ids, 1, 1, 4, 5]) == encoder.decode(ids) == "abc abd"


def test_the_segmentation_of_the_folder_is_used(make_folder):
    encoder = TextEncoder.load(make_folder(segment=("en=space",)), "en")
    first, second = encoder.encode(["abc, abc", "abc , abc"])
    assert first.tolist() == second.tolist()
