"""Sides of CLCR: other people's encoders up to a layer, reading our ids."""

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.papers.clcr.encoder import LayerEncoder
from fairseq_xling.papers.clcr.start import read_side
from tests.tiny_sources import write_fairseq_roberta, write_folder

WORDS, KNOWN = 14, 12


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A BERT of two layers that knows the first of the English words, in another order."""
    path = tmp_path_factory.mktemp("bert")
    model = write_folder(path, "bert")
    words = [f"en{k}" for k in reversed(range(KNOWN))]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, "##s", "##t", "##u"]
    (path / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    return path, model, {token: number for number, token in enumerate(tokens)}


@pytest.fixture
def folder(make_corpus):
    return DataFolder(make_corpus(mode="separate", words=WORDS).path)


def side_of(path, folder, layer):
    config, weights = read_side(path, folder, "en", layer)
    side = LayerEncoder(config)
    missing, unexpected = side.load_state_dict(weights, strict=False)
    assert not missing and not unexpected
    return side.eval()


def states(side, chosen):
    """Of words by number, between the symbols of a sentence."""
    ours = torch.tensor([[0, *(SPECIALS + word for word in chosen), 2]])
    places = torch.arange(ours.shape[1])[None]
    return side({"tokens": ours, "langs": torch.ones_like(ours), "positions": places})


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_the_states_are_those_of_the_source_model_at_that_layer(bert, folder, layer):
    path, model, theirs = bert
    side = side_of(path, folder, layer)
    words = [3, 0, 7, 13]  # the last is unknown to it
    known = [theirs.get(f"en{word}", theirs["[UNK]"]) for word in words]
    ids = torch.tensor([[theirs["[CLS]"], *known, theirs["[SEP]"]]])
    with torch.no_grad():
        expected = model(input_ids=ids, output_hidden_states=True).hidden_states[layer]
        torch.testing.assert_close(states(side, words), expected, atol=1e-4, rtol=1e-4)


def test_what_lies_above_the_layer_is_not_kept(bert, folder):
    names = side_of(bert[0], folder, 1).state_dict()
    assert any("layers.0." in name for name in names)
    assert not any("layers.1." in name or "softmax" in name for name in names)


def test_a_layer_that_is_not_there_and_another_vocabulary_are_refused(bert, folder):
    for lang, layer, line in (
        ("en", 9, r"`--clcr-layer` of en must lie in \[0, 2\] .*, got 9"),
        ("de", 1, r"no embedding for 100\.0 % of the de text"),
    ):
        with pytest.raises(UserError, match=line):
            read_side(bert[0], folder, lang, layer)


@pytest.mark.parametrize("layer", [0, 2])
def test_a_fairseq_roberta_with_a_dictionary_of_other_ids_is_read_by_spelling(
    folder, tmp_path, layer
):
    model = write_fairseq_roberta(tmp_path)
    words = [f"▁en{k}" for k in reversed(range(WORDS))]
    (tmp_path / "dict.txt").write_text("".join(f"{word} 1\n" for word in words))
    side = side_of(tmp_path / "model.pt", folder, layer)
    chosen = [3, 0, 7, 13]
    ids = torch.tensor([[0, *(4 + WORDS - 1 - word for word in chosen), 2]])
    model.eval()
    with torch.no_grad():
        _, more = model(ids, features_only=True, return_all_hiddens=True)
        expected = more["inner_states"][layer].transpose(0, 1)
        torch.testing.assert_close(states(side, chosen), expected, atol=1e-4, rtol=1e-4)
