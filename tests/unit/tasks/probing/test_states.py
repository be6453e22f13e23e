"""From spans of tokens or characters to rows of arrays on disk, against loops."""

import numpy as np
import pytest
import torch

from fairseq_xling.data.folder import SEP
from fairseq_xling.tasks.encode import Codec
from fairseq_xling.tasks.probing import states as module
from fairseq_xling.tasks.probing.examples import Example
from fairseq_xling.tasks.probing.states import keep_states, open_spans, place
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.sources import parse_sources

TEXTS = ["the dog sees a housecat", "rain", "a big red house in the rain", "the  dog !"]


class Table:
    """A token's state on a layer is a row of a table, plus its place."""

    num_layers, width, positions = 2, 4, 8

    def __init__(self, dies_at=None):
        self.table = torch.randn(3, 200, 4, generator=torch.Generator().manual_seed(1))
        self.left = dies_at

    def states(self, sentences, lang, max_tokens=8192):
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
        for start in range(0, len(order), 2):
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt
            part = order[start : start + 2]
            rows = []
            for i in part:
                ids = [0, *sentences[i].tolist()]
                rows.append(ids if len(ids) <= 8 else [*ids[:7], SEP])
            width = max(map(len, rows))
            tokens = torch.tensor([[*row, *[1] * (width - len(row))] for row in rows])
            found = self.table[:, tokens] + torch.arange(width)[None, None, :, None]
            yield np.array(part), found, tokens >= 6


@pytest.fixture(scope="module")
def codec(tmp_path_factory):
    """Subwords: words are cut into several."""
    root = tmp_path_factory.mktemp("probe")
    (root / "text").write_text("".join(f"{text}\n" * 3 for text in TEXTS), encoding="utf-8")
    sources = parse_sources(("en",), mono=[f"train.en={root / 'text'}"])
    options = PrepareOptions(("en",), vocab_size=30, segment={"en": "pre"}, aligner="none")
    prepare(root / "data", sources, options)
    return Codec(root / "data", "en", 64)


def example(text, *spans, label="x"):
    return Example("f:1", text, spans, (label,))


def test_a_span_of_tokens_is_all_subwords_of_its_tokens(codec):
    examples = [example(text, (n, n + 2)) for text in TEXTS[::2] for n in range(3)]
    placed = place(examples, codec, "tokens")
    assert len(placed.texts) == 2 and placed.owner.tolist() == [0, 0, 0, 1, 1, 1]
    for one, owner, (span,) in zip(examples, placed.owner, placed.places, strict=True):
        words = codec.words(one.text.split())
        first, end = one.spans[0]
        expected = np.concatenate(words[first:end])
        ids = placed.texts[owner]
        assert ids[-1] == SEP and np.array_equal(ids[:-1], np.concatenate(words))
        assert np.array_equal(ids[span[0] : span[1]], expected)
    assert max(np.diff(placed.places[:, 0]))[0] > 2  # some words are several subwords


def test_a_span_of_characters_is_all_subwords_with_a_letter_in_it(codec):
    text = TEXTS[3]
    spans = [(0, 3), (5, 8), (5, 6), (9, 10), (3, 5)]
    placed = place([example(text, span) for span in spans], codec, "characters")
    ids = placed.texts[0]
    for (first, end), (found,) in zip(spans[:4], placed.places, strict=False):
        letters = "".join(codec.surfaces(codec.segment(text))[0])
        assert letters and found[0] < found[1]
        assert first < end <= len(text) and found[1] < len(ids)
    assert placed.places[0, 0, 1] <= placed.places[1, 0, 0]
    assert placed.places[2, 0, 0] == placed.places[1, 0, 0]
    assert placed.places[4, 0, 0] == placed.places[4, 0, 1]  # white space alone


@pytest.mark.parametrize("layers", [(2,), (0, 2)])
def test_the_rows_of_a_span_are_the_states_of_its_subwords(codec, tmp_path, monkeypatch, layers):
    monkeypatch.setattr(module, "_BLOCK", 2)
    examples = [example(text, (0, 1), (0, len(text.split()))) for text in TEXTS]
    placed = place(examples, codec, "tokens")
    keep_states(Table(), placed.texts, "en", layers, tmp_path / "out", {})
    spans = open_spans(tmp_path / "out", layers, placed, [["x"]] * len(TEXTS))
    table = Table().table
    for n, ids in enumerate(placed.texts):
        size, kept = len(ids) - 1, min(len(ids) - 1, Table.positions - 2)
        first = len(codec.words([TEXTS[n].split()[0]])[0])
        for number, end in enumerate((first, size)):
            begin, stop = spans.places[n, number]
            if end > kept:
                assert (begin, stop) == (0, 0) and not spans.usable[n]
                continue
            for layer, array in zip(layers, spans.layers, strict=True):
                expected = table[layer, ids[:end]] + torch.arange(1, end + 1)[:, None]
                np.testing.assert_allclose(array[begin:stop], expected.numpy(), rtol=1e-6)
    assert not spans.usable.all() and spans.usable.any()  # both cases occurred


@pytest.mark.parametrize("steps", [1, 3])
def test_killed_it_goes_on_to_the_same_bytes_and_finished_it_stays(
    codec, tmp_path, monkeypatch, steps
):
    monkeypatch.setattr(module, "_BLOCK", 1)
    texts = place([example(text, (0, 1)) for text in TEXTS], codec, "tokens").texts

    def keep(name, encoder, **identity):
        keep_states(encoder, texts, "en", (0, 1), tmp_path / name, identity, "float16")

    keep("whole", Table())
    with pytest.raises(KeyboardInterrupt):
        keep("out", Table(dies_at=steps))
    keep("out", Table(dies_at=len(texts) - steps))
    for path in (tmp_path / "whole").iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()
    keep("out", Table(dies_at=0))
    with pytest.raises(KeyboardInterrupt):
        keep("out", Table(dies_at=0), checkpoint="another")
