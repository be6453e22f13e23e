"""References of fairseq-generate: the text, not what its tokens decode to."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary

from fairseq_xling.data.folder import PAD, SEP, UNK
from fairseq_xling.generation.codec import RawReference, References, difference
from fairseq_xling.generation.dataset import Sentences, TranslationDataset


@pytest.fixture
def dictionary():
    found = Dictionary()
    for word in ("<mask>", "<null>", "dog", "runs"):
        found.add_symbol(word)
    return found


def rows(*ids):
    return Sentences([np.array([*row, SEP]) for row in ids])


def test_rows_of_the_same_tokens_get_their_own_text(dictionary):
    references = References(dictionary)
    target = torch.tensor([[6, UNK, SEP], [6, UNK, SEP], [7, SEP, PAD]])
    references.expect({"target": target, "references": ["dog a", "dog b", "RUNS"]})
    asked = [target[0], target[1], target[2, :2]]
    found = [dictionary.string(row, escape_unk=True) for row in asked]
    assert found == ["dog a", "dog b", "RUNS"]
    assert all(type(one) is RawReference for one in found)


def test_all_other_text_is_decoded(dictionary):
    references = References(dictionary)
    row = torch.tensor([6, UNK, SEP])
    references.expect({"target": row[None], "references": ["dog a"]})
    assert dictionary.string(row) == "dog <unk>"
    assert dictionary.string(torch.tensor([7, UNK, SEP]), escape_unk=True) == "runs <<unk>>"


def test_what_differs_is_counted_with_an_example():
    target, raw = rows([6, 7], [6, UNK]), ["dog runs", "dog Ω"]
    texts = {6: "dog", 7: "runs", UNK: "<unk>"}
    decode = lambda ids: " ".join(texts[i] for i in ids.tolist() if i != SEP)  # noqa: E731
    load = lambda: SimpleNamespace(decode=decode)  # noqa: E731
    line = difference(TranslationDataset(target, 64, target, raw=raw), load)
    assert line.startswith("1 of 2 references are not what their tokens say, such as 'dog Ω', of ")
    assert "'dog <unk>'" in line
    alike = TranslationDataset(target, 64, target, raw=["dog runs", "dog <unk>"])
    assert difference(alike, load) is None


def test_references_of_an_earlier_version_count_unknown_tokens():
    target = rows([6], [UNK])
    line = difference(TranslationDataset(target, 64, target), None)
    assert line.startswith("1 of 2 references have unknown tokens, compared as <<unk>>; prepare")
