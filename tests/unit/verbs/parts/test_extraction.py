"""Vectors of subwords, words and sentences on disk, against loops over an encoder known exactly."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.data.folder import SPECIALS, UNK, DataFolder, text_mask
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.sources import parse_sources
from fairseq_xling.verbs.extract import extract

WORDS = "the dog cat sees a big red house in rain".split()


class Table:
    """A token's state on a layer is a row of a table, plus its place."""

    languages, num_layers, width, max_positions = ["en"], 2, 4, 9

    def __init__(self, dies_at=None):
        generator = torch.Generator().manual_seed(1)
        self.table = torch.randn(3, 40, 4, generator=generator)
        self.left = dies_at

    def embeddings(self, lang):
        assert lang == "en"
        return self.table[0]

    def states(self, sentences, lang, max_tokens=8, unknown=False):
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
        for start in range(0, len(order), 2):
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt
            part = order[start : start + 2]
            rows = [[0, *sentences[i].tolist()][: self.max_positions] for i in part]
            width = max(map(len, rows))
            tokens = torch.tensor([[*row, *[1] * (width - len(row))] for row in rows])
            states = self.table[:, tokens] + torch.arange(width)[None, None, :, None] * 0.1
            yield np.array(part), states, text_mask(tokens, unknown)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("extract")
    (root / "text").write_text("".join(f"{word} {word}\n" for word in WORDS))
    sources = parse_sources(("en",), mono=[f"train.en={root / 'text'}"])
    options = PrepareOptions(
        ("en",), vocab_type="word", vocab_size=50, segment={"en": "space"}, aligner="none"
    )
    prepare(root / "data", sources, options)
    return DataFolder(root / "data")


LINES = [
    "the dog sees a cat",
    "",
    "rain",
    "a big red house in the rain sees the dog",  # longer than the positions
    "the unknownword",
    "the cat",
    "house",
]


@pytest.fixture
def text(tmp_path, monkeypatch):
    monkeypatch.setattr("fairseq_xling.text.blocks.BLOCK_SENTENCES", 3)
    path = tmp_path / "text"
    path.write_text("".join(line + "\n" for line in LINES))
    return path


def options(**changes):
    given = {"unit": "sentences", "layers": "all", "dtype": "float32", "max_tokens": 8}
    given |= {"words": None, "most": 100, "count_unknown": False, "concat_vectors": None}
    return SimpleNamespace(**{**given, **changes})


def run(folder, text, output, encoder=None, origin=(), **changes):
    encoder = encoder or Table()
    own = given = options(text=text, lang="en", **changes)
    return extract(encoder, folder, output, given, own, dict(origin))


def slow_states(folder):
    """Of each line its ids and states (3, n, 4), specials excluded."""
    encode, encoder = TextEncoder.load(folder.path, "en"), Table()
    found = []
    for ids in encode.encode(LINES):
        ((_, states, words),) = encoder.states([ids], "en")
        kept = words[0].nonzero()[:, 0].numpy()
        found.append((ids[kept - 1], states[:, 0, kept].numpy()))
    return found


def test_sentences_are_means_over_subwords_in_the_order_of_the_text(folder, text, tmp_path):
    meta = run(folder, text, tmp_path / "out")
    assert meta["rows"] == len(LINES) and meta["width"] == 4
    for layer in range(3):
        found = np.load(tmp_path / "out" / f"layer0{layer}.npy", mmap_mode="r")
        for row, (ids, states) in zip(found, slow_states(folder), strict=True):
            expected = states[layer].mean(0) if len(ids) else np.zeros(4)
            np.testing.assert_allclose(row, expected, rtol=1e-6)


def test_blank_lines_do_not_go_through_the_encoder(folder, text, tmp_path):
    class Written(Table):
        def states(self, sentences, *rest):
            assert sentences and min(map(len, sentences)) > 1
            return super().states(sentences, *rest)

    text.write_text("\n" * 100 + "rain\n \n")
    run(folder, text, tmp_path / "out", Written(), unit="sentences")
    vectors = np.load(tmp_path / "out" / "layer01.npy")
    assert vectors.any(1).nonzero()[0].tolist() == [100] and len(vectors) == 102


def test_the_vector_of_its_word_is_appended_to_each_subword(folder, text, tmp_path):
    (tmp_path / "v.vec").write_text("the 1 2 3\nhouse 4 5 6\n")
    vectors = {"the": [1, 2, 3], "house": [4, 5, 6]}
    run(folder, text, tmp_path / "alone", unit="tokens")
    given = str(tmp_path / "v.vec")
    meta = run(folder, text, tmp_path / "both", unit="tokens", concat_vectors=given)
    assert meta["width"] == 4 + 3
    names = [
        TextEncoder.load(folder.path, "en").decode([i]) for i in range(folder.vocab_sizes["en"])
    ]
    ids = np.load(tmp_path / "both" / "ids.npy")
    expected = np.array([vectors.get(names[i], [0, 0, 0]) for i in ids])
    assert expected.any()
    for layer in range(3):
        h, z = (np.load(tmp_path / n / f"layer0{layer}.npy") for n in ("alone", "both"))
        np.testing.assert_array_equal(z, np.concatenate([h, expected], 1))


def test_an_unknown_word_is_part_of_a_sentence_if_it_is_asked_for(folder, text, tmp_path):
    run(folder, text, tmp_path / "out", layers="1")
    run(folder, text, tmp_path / "counted", layers="1", count_unknown=True)
    without, counted = (np.load(tmp_path / n / "layer01.npy") for n in ("out", "counted"))
    differ = [n for n in range(len(LINES)) if not np.array_equal(without[n], counted[n])]
    assert differ == [4]
    table = Table().table[1].numpy()
    the = TextEncoder.load(folder.path, "en").encode(["the"])[0][0]
    np.testing.assert_allclose(without[4], table[the] + 0.1, rtol=1e-6)
    expected = (table[the] + 0.1 + table[UNK] + 0.2) / 2
    np.testing.assert_allclose(counted[4], expected, rtol=1e-6)


def test_tokens_are_all_subwords_with_their_numbers_and_sentences(folder, text, tmp_path):
    run(folder, text, tmp_path / "out", unit="tokens", layers="2")
    slow = slow_states(folder)
    found = np.load(tmp_path / "out" / "layer02.npy")
    np.testing.assert_allclose(found, np.concatenate([states[2] for _, states in slow]), rtol=1e-6)
    ids = np.load(tmp_path / "out" / "ids.npy")
    assert ids.tolist() == np.concatenate([ids for ids, _ in slow]).tolist()
    sizes = np.load(tmp_path / "out" / "sentences.npy")
    assert sizes.tolist() == [len(ids) for ids, _ in slow] and sizes[1] == 0
    assert not (tmp_path / "out" / "layer00.npy").exists()


def test_tokens_know_their_place_among_the_words_of_the_whole_line(folder, text, tmp_path):
    run(folder, text, tmp_path / "out", unit="tokens", layers="2")
    found = {p.stem: np.load(p) for p in (tmp_path / "out").glob("*.npy")}
    row, vocabulary = 0, TextEncoder.load(folder.path, "en")
    for line, size, lengths in zip(LINES, found["sentences"], found["lengths"], strict=True):
        words = line.split()
        assert lengths.tolist() == [len(words), len(words)]  # a word is a subword here
        for k in range(row, row + size):
            assert vocabulary.decode([found["ids"][k]]) == words[found["words"][k]]
            assert found["places"][k] == found["words"][k]
        row += size
    assert found["sentences"][4] == 1 and found["lengths"][4, 0] == 2  # one is unknown
    assert found["sentences"][3] < found["lengths"][3, 0]  # cut at the model's positions


def test_types_are_means_over_occurrences_and_those_without_any_are_left_out(
    folder, text, tmp_path
):
    words = tmp_path / "words"
    words.write_text("the der\nrain Regen\nzzz\ncat\nin\n")
    meta = run(folder, text, tmp_path / "out", unit="types", layers="1", words=str(words))
    found = (tmp_path / "out" / "words.txt").read_text().split()
    encode = TextEncoder.load(folder.path, "en")
    places: dict[str, list] = {word: [] for word in ("the", "rain", "cat", "in")}
    for ids, states in slow_states(folder):
        for place, number in enumerate(ids):
            word = encode.decode([number])
            if word in places:
                places[word].append(states[1, place])
    assert found == [word for word, vectors in places.items() if vectors]
    vectors = np.load(tmp_path / "out" / "layer01.npy")
    for word, vector in zip(found, vectors, strict=True):
        np.testing.assert_allclose(vector, np.mean(places[word], 0), rtol=1e-6)
    counts = np.load(tmp_path / "out" / "counts.npy").tolist()
    assert counts == [len(places[word]) for word in found] and counts[0] == 4
    assert meta["left out, as they never occur"] == 5 - len(found) - 1


def test_the_most_frequent_words_of_the_text_are_the_default(folder, text, tmp_path):
    run(folder, text, tmp_path / "out", unit="types", most=2)
    assert (tmp_path / "out" / "words.txt").read_text().split() == ["the", "dog"]


@pytest.fixture(scope="module")
def subwords(tmp_path_factory):
    """A data folder whose vocabulary is subwords: frequent words are one, others several."""
    root = tmp_path_factory.mktemp("static")
    lines = [f"{word} {word} the dog" for word in WORDS] * 5 + ["dogs housecat reddog"]
    (root / "text").write_text("".join(f"{line}\n" for line in lines))
    sources = parse_sources(("en",), mono=[f"train.en={root / 'text'}"])
    options = PrepareOptions(("en",), vocab_size=45, segment={"en": "space"}, aligner="none")
    prepare(root / "data", sources, options)
    return DataFolder(root / "data")


def test_static_rows_are_raw_embeddings_of_the_words_that_are_single_subwords(
    subwords, tmp_path, capsys
):
    text = tmp_path / "text"
    text.write_text("the dog dogs\nthe housecat the dog in\n\nreddog zzz\n")
    encoder = Table(dies_at=0)  # no state is asked for
    meta = run(subwords, text, tmp_path / "out", encoder, unit="static")
    encode = TextEncoder.load(subwords.path, "en")
    words = ["the", "dog", "dogs", "housecat", "in", "reddog", "zzz"]
    single = {
        w: ids[0] for w, ids in zip(words, encode.encode(words), strict=True) if len(ids) == 2
    }
    single = {word: number for word, number in single.items() if number >= SPECIALS}
    found = (tmp_path / "out" / "words.txt").read_text().split()
    assert found[:2] == ["the", "dog"] and set(found) == set(single) < set(words)
    rows = np.load(tmp_path / "out" / "layer00.npy")
    expected = Table().table[0][[single[word] for word in found]].numpy()
    assert rows.tolist() == expected.tolist()  # bit for bit: nothing is added or normalised
    assert np.load(tmp_path / "out" / "counts.npy")[:2].tolist() == [3, 2]
    assert meta["settings"]["layers"] == [0] and meta["rows"] == len(single)
    assert meta["left out, as they are no single subword"] == len(words) - len(single)


def test_static_words_may_come_from_a_file_and_be_limited(subwords, tmp_path):
    text = tmp_path / "text"
    text.write_text("the dog the cat\n")
    run(subwords, text, tmp_path / "most", unit="static", most=1)
    assert (tmp_path / "most" / "words.txt").read_text() == "the\n"
    (tmp_path / "words").write_text("rain Regen\nhousecat\nthe der\n")
    run(subwords, text, tmp_path / "out", unit="static", words=str(tmp_path / "words"))
    assert (tmp_path / "out" / "words.txt").read_text().split() == ["rain", "the"]
    assert np.load(tmp_path / "out" / "counts.npy").tolist() == [0, 2]
    with pytest.raises(UserError, match=r"`--layers` must lie in \[0, 0\], got '1'"):
        run(subwords, text, tmp_path / "other", unit="static", layers="1")
    (tmp_path / "words").write_text("housecat\n")
    with pytest.raises(UserError, match=r"words: none of its words is a single subword"):
        run(subwords, text, tmp_path / "other", unit="static", words=str(tmp_path / "words"))


@pytest.mark.parametrize("unit", ["sentences", "tokens", "types"])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_killed_at_any_block_it_goes_on_to_the_same_bytes(
    folder, text, tmp_path, monkeypatch, unit, steps
):
    monkeypatch.setattr("fairseq_xling.verbs.units.types._KEEP_EVERY", 1)
    run(folder, text, tmp_path / "whole", unit=unit)
    with pytest.raises(KeyboardInterrupt):
        run(folder, text, tmp_path / "out", encoder=Table(dies_at=steps), unit=unit)
    assert not (tmp_path / "out").exists()
    for path in (tmp_path / ".out.partial").glob("*.npy"):
        with open(path, "ab") as file:
            file.write(b"half a row")  # what a kill in the middle of a block leaves
    encoder = Table()
    run(folder, text, tmp_path / "out", encoder=encoder, unit=unit)
    names = {path.name for path in (tmp_path / "whole").iterdir()}
    assert names == {path.name for path in (tmp_path / "out").iterdir()}
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_finished_folder_is_left_as_it_is_and_another_is_not_overwritten(folder, text, tmp_path):
    first = run(folder, text, tmp_path / "out", origin={"text": "a"})
    assert run(folder, text, tmp_path / "out", Table(dies_at=0), {"text": "a"}) == first
    with pytest.raises(UserError, match="out: must be new; it contains something else"):
        run(folder, text, tmp_path / "out", origin={"text": "b"})
    with pytest.raises(KeyboardInterrupt):
        run(folder, text, tmp_path / "other", Table(dies_at=2), {"text": "a"})
    run(folder, text, tmp_path / "other", origin={"text": "b"}, layers="0")
    names = {path.name for path in (tmp_path / "other").iterdir()}
    assert names == {"layer00.npy", "lines.npy", "meta.json"}
    assert read_json(tmp_path / "other" / "meta.json")["settings"]["layers"] == [0]


@pytest.mark.parametrize(
    "layers", ["3", "1-3", "x", "", "-1", "2-1", "0,2-1", "0-", "0-1-2", "²", "0-9999999999999"]
)
def test_layers_that_are_not_there_are_refused(layers):
    with pytest.raises(UserError, match="`--layers` must"):
        parse_layers(layers, 2)


def test_an_empty_text_and_words_that_cannot_be_spelt_are_refused(folder, text, tmp_path):
    (tmp_path / "empty").write_text("")
    with pytest.raises(UserError, match="empty: contains no lines"):
        run(folder, tmp_path / "empty", tmp_path / "out")
    (tmp_path / "words").write_text("zzz\n")
    with pytest.raises(UserError, match="words: none of its words can be spelt"):
        run(folder, text, tmp_path / "out", unit="types", words=str(tmp_path / "words"))
    (tmp_path / "words").write_text("red\n")
    (tmp_path / "unknown").write_text("zzz\n\n")
    with pytest.raises(UserError, match=r"unknown: has none of the 1 words of .*words"):
        run(folder, tmp_path / "unknown", tmp_path / "out", unit="types", words=tmp_path / "words")
    with pytest.raises(UserError, match="unknown: has no subword that the vocabulary contains"):
        run(folder, tmp_path / "unknown", tmp_path / "out", unit="tokens")
    assert {path.name for path in tmp_path.iterdir()} == {"text", "empty", "words", "unknown"}
