import dataclasses

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.transfer.structures.batch import (
    ROOT,
    Batch,
    Examples,
    distances,
    near_path,
)
from fairseq_xling.papers.transfer.structures.data import ModelSettings
from fairseq_xling.papers.transfer.structures.features import (
    Tables,
    Words,
    features,
    parse_features,
)
from fairseq_xling.papers.transfer.structures.model import StructureModel
from fairseq_xling.papers.transfer.structures.networks import dropped, networks
from fairseq_xling.papers.transfer.structures.sentence import RELATIONS, Mention, Sentence

CHOSEN = ("word", "pos", "entity", "relation")
DEPRELS = ["nsubj", "obj", "nmod:poss", "root"]


def sentence(rng, size):
    return Sentence(
        "x.jsonl",
        1,
        "1",
        tuple(f"w{rng.integers(50)}" for _ in range(size)),
        tuple(str(one) for one in rng.choice(["NOUN", "VERB"], size)),
        tuple(int(head) + 1 for head in random_heads(rng, size)),
        tuple(str(one) for one in rng.choice(DEPRELS, size)),
        tuple(Mention(n, n + 1, f"T{n % 2}") for n in range(0, size, 3)),
    )


def world(sizes, chosen=CHOSEN, seed=1, **settings):
    """Sentences of those sizes, their examples, and a model in double precision."""
    rng = np.random.default_rng(seed)
    sentences = [sentence(rng, size) for size in sizes]
    table = rng.normal(size=(51, 7)).astype(np.float32)
    tables = Tables.of(sentences, chosen)

    def examples(given):
        rows = [np.array([1 + int(word[1:]) for word in one.words]) % 51 for one in given]
        candidates = [RELATIONS.candidates(one) for one in given]
        return Examples(given, candidates, [Words(table, rows)], tables, ["NONE", "A"])

    torch.manual_seed(seed)
    rows = {name: 1 + len(names) for name, names in tables.names.items()}
    model = StructureModel(7, rows, 4, ModelSettings(width=12, hidden=9, **settings))
    return sentences, examples, model.double().eval()


def double(batch: Batch) -> Batch:
    return dataclasses.replace(batch, vectors=batch.vectors.double())


def whole(model, examples, count):
    return model(double(examples.batch(range(count))))


@pytest.mark.parametrize("network", list(networks))
@pytest.mark.parametrize("prune", [-1, 0, 1])
def test_a_batch_of_one_equals_the_row_of_a_padded_batch(network, prune):
    sentences, examples, model = world((4, 11, 7), network=network, prune=prune)
    together = whole(model, examples(sentences), 3)
    alone = torch.cat([whole(model, examples([one]), 1) for one in sentences])
    assert len(together) == 2 + 4 * 3 + 3 * 2
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)


def plain(model, batch):
    """The logits by loops over sentences, words and candidates; the formulas of the modules."""
    x = torch.cat(model.nodes(batch), -1)
    heads = batch.heads.tolist()
    edges = {(w, h) for w, h in enumerate(heads) if h >= 0}
    near = [[n for n in range(len(x)) if n == w or {(w, n), (n, w)} & edges] for w in range(len(x))]
    for layer in model.network.layers:
        means = [sum(x[n] for n in own) / len(own) for own in near]
        x = torch.stack([torch.relu(layer.weight @ one + layer.bias) for one in means])
    ends = np.cumsum(batch.sizes.tolist()).tolist()
    found = []
    for graph, (a, to_a, b, to_b) in zip(batch.graph.tolist(), batch.spans.tolist(), strict=True):
        whole = x[ends[graph] - int(batch.sizes[graph]) : ends[graph]]
        maxima = [one.max(0).values for one in (x[a:to_a], whole, x[b:to_b])]
        found.append(model.classifier(torch.cat(maxima)))
    return torch.stack(found)


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_logits_and_gradients_equal_those_of_a_plain_loop(layers):
    sentences, examples, model = world((4, 11, 1, 7), layers=layers)
    wide = [Mention(1, 4, "T0"), Mention(2, 3, "T1"), Mention(0, 4, "T1")]
    sentences[1] = dataclasses.replace(sentences[1], entities=tuple(wide))
    batch = double(examples(sentences).batch([3, 1, 2, 0]))
    assert len(batch.labels) == 3 * 2 + 3 * 2 + 0 + 2
    gradients = []
    for logits in (model(batch), plain(model, batch)):
        model.zero_grad()
        (logits * torch.arange(logits.numel()).view_as(logits)).sum().backward()
        gradients.append([logits.detach(), *(one.grad for one in model.parameters())])
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-9)


def test_dropout_leaves_out_that_share_and_scales_the_others():
    torch.manual_seed(1)
    x = torch.full((300, 300), 2.0)
    found = dropped(x, 0.3, True)
    zero, kept = found.unique().tolist()
    assert zero == 0 and kept == pytest.approx(2 / 0.7)
    assert abs(float((found == 0).float().mean()) - 0.3) < 0.01
    assert dropped(x, 0.3, False) is x and dropped(x, 0.0, True) is x


@pytest.mark.parametrize("number", range(1, 32))
def test_the_width_of_a_node_is_the_sum_of_the_chosen_representations(number):
    names = ["word", *features]
    assert len(names) == 5
    chosen = tuple(name for bit, name in enumerate(names) if number >> bit & 1)
    sentences, examples, model = world((4,), chosen=chosen)
    if "word" in chosen:
        nodes = model.nodes(double(examples(sentences).batch([0])))
        assert torch.cat(nodes, -1).shape == (4, model.inputs)
    else:
        model = StructureModel(0, dict.fromkeys(chosen, 3), 2, ModelSettings())
    expected = 7 * ("word" in chosen) + 30 * len(set(chosen) - {"word"})
    assert model.inputs == model.network.layers[0].in_features == expected


def test_the_sentence_vector_can_be_left_out():
    _, _, model = world((5,), sentence_vector=False)
    assert model.classifier[0].in_features == 24


def test_settings_outside_of_their_range_and_unknown_features_are_refused():
    with pytest.raises(UserError, match="unknown network 'cnn'"):
        ModelSettings(network="cnn")
    with pytest.raises(UserError, match="`--prune` must be at least -1, got -2"):
        ModelSettings(prune=-2)
    with pytest.raises(UserError, match="`--width` must be even for the network lstm, got 7"):
        StructureModel(3, {}, 2, ModelSettings(network="lstm", width=7))
    with pytest.raises(UserError, match="unknown feature 'poss'"):
        parse_features("word,poss")
    with pytest.raises(UserError, match="must be different names, at least one, got 'pos,pos'"):
        parse_features("pos,pos")


def random_heads(rng, size):
    """A tree with one root, words in any order."""
    order = rng.permutation(size)
    heads = np.full(size, ROOT)
    for place in range(1, size):
        heads[order[place]] = order[rng.integers(place)]
    return heads


def padded(trees):
    """Heads and mask."""
    sizes = torch.tensor([len(tree) for tree in trees])
    longest = int(sizes.max())
    heads = torch.tensor([[*tree, *[ROOT] * (longest - len(tree))] for tree in trees])
    return heads, torch.arange(longest) < sizes[:, None]


def walked(heads):
    """Distances by Floyd and Warshall."""
    size = len(heads)
    found = np.full((size, size), np.inf)
    np.fill_diagonal(found, 0)
    for word, head in enumerate(heads):
        if head != ROOT:
            found[word, head] = found[head, word] = 1
    for k in range(size):
        found = np.minimum(found, found[:, k, None] + found[None, k])
    return found


def test_distances_are_those_of_a_walk_for_every_size():
    rng = np.random.default_rng(1)
    trees = [random_heads(rng, size) for size in range(1, 34)]
    trees += [np.arange(size) - 1 for size in range(1, 40)]  # each word below the one before
    found = distances(*padded(trees)).numpy()
    for row, tree in zip(found, trees, strict=True):
        np.testing.assert_array_equal(row[: len(tree), : len(tree)], walked(tree))
        assert np.isinf(row[len(tree) :]).all() and np.isinf(row[:, len(tree) :]).all()


def test_words_near_the_path_are_those_that_a_walk_finds():
    rng = np.random.default_rng(2)
    for most in (0, 1, 2):
        trees, kept, spans = [], [], []
        for size in rng.integers(2, 15, 20):
            tree = random_heads(rng, size)
            a, b = np.zeros((2, 15), dtype=bool)
            edges = np.sort(rng.choice(size + 1, 2, replace=False))
            a[edges[0] : edges[1]] = True
            b[rng.integers(size)] = True
            apart = walked(tree)
            firsts, seconds = np.flatnonzero(a), np.flatnonzero(b)
            shortest = min(apart[i, j] for i in firsts for j in seconds)
            path = {
                k
                for k in range(size)
                for i in firsts
                for j in seconds
                if apart[i, k] + apart[k, j] == apart[i, j] == shortest
            }
            near = {k for k in range(size) if min(apart[k, p] for p in path) <= most}
            trees.append(tree)
            spans.append((a, b))
            kept.append(near | set(firsts) | set(seconds))
        heads, mask = (one[:-1] for one in padded([*trees, np.full(15, ROOT)]))
        a, b = (torch.from_numpy(np.stack(side)) for side in zip(*spans, strict=True))
        found = near_path(heads, mask, a, b, most)
        assert [set(row.nonzero().flatten().tolist()) for row in found] == kept
