"""Graph convolution: ours in batches and a plain loop over sentences, training and predicting.

    python benchmarks/structures.py [--device cuda]

Sentences have lengths like those of UD English-EWT, random trees and one pair of mentions each,
in batches of similar length as in training. Both systems begin with the same batches and weights. A
training step is forward, backward and SGD, prediction is forward alone, both with the collation,
which is also measured by itself. That both have the same loss and gradients is checked first.
"""

import argparse
import copy
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from common import Step, heading, table, take_turns, turn_arguments

from fairseq_xling.papers.transfer.structures.batch import Examples
from fairseq_xling.papers.transfer.structures.data import ModelSettings
from fairseq_xling.papers.transfer.structures.features import Tables, Words
from fairseq_xling.papers.transfer.structures.model import StructureModel
from fairseq_xling.papers.transfer.structures.sentence import RELATIONS, Link, Mention, Sentence

CHOSEN = ("word", "pos", "entity", "relation")
LABELS = ["NONE", "A", "B", "C"]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--vectors", type=int, default=300, help="width of word vectors")
    parser.add_argument("--width", type=int, default=200)
    turn_arguments(parser)
    return parser.parse_args()


def sentence(rng: np.random.Generator, size: int) -> Sentence:
    """Random words and tree; two mentions."""
    order, heads = rng.permutation(size), np.zeros(size, dtype=int)
    for place in range(1, size):
        heads[order[place]] = order[rng.integers(place)] + 1
    a, b = rng.choice(size, 2, replace=False)
    return Sentence(
        "random", 1, "1",
        tuple(str(word) for word in rng.integers(1, 1000, size)),
        tuple(str(tag) for tag in rng.integers(17, size=size)),
        tuple(heads.tolist()),
        tuple(str(kind) for kind in rng.integers(37, size=size)),
        (Mention(a, a + 1, "X"), Mention(b, b + 1, "Y")),
        relations=(Link(0, 1, str(rng.choice(LABELS[1:]))),),
        pairs=((0, 1),),
    )  # fmt: skip


def world(args: argparse.Namespace) -> tuple[Examples, StructureModel, list[np.ndarray]]:
    """Sentences, a model and batches; EWT's logarithms have mean 2.37 and deviation 0.96."""
    rng = np.random.default_rng(args.seed)
    lengths = np.clip(np.round(np.exp(rng.normal(2.37, 0.96, args.sentences))), 2, 159)
    sentences = [sentence(rng, int(size)) for size in lengths]
    tables = Tables.of(sentences, CHOSEN)
    vectors = rng.normal(size=(1000, args.vectors)).astype(np.float32)
    rows = [np.array([int(word) for word in one.words]) for one in sentences]
    candidates = [RELATIONS.candidates(one) for one in sentences]
    examples = Examples(sentences, candidates, [Words(vectors, rows)], tables, LABELS)
    torch.manual_seed(args.seed)
    sizes = {name: 1 + len(names) for name, names in tables.names.items()}
    settings = ModelSettings(width=args.width, dropout=0.0)
    model = StructureModel(args.vectors, sizes, len(LABELS), settings).to(args.device)
    return examples, model, examples.shuffled(rng, args.batch_size)


def batched(model: StructureModel, examples: Examples, chosen: np.ndarray) -> torch.Tensor:
    device = next(model.parameters()).device
    batch = examples.batch(chosen).to(device)
    return F.cross_entropy(model(batch), batch.labels)


def one_by_one(model: StructureModel, examples: Examples, chosen: np.ndarray) -> torch.Tensor:
    """A plain loop over sentences, each layer as (D^-1 (A + I)) H W + b."""
    device = next(model.parameters()).device
    losses = []
    for number in chosen:
        one = examples.batch([number]).to(device)
        states = torch.cat(model.nodes(one), -1)
        size = len(states)
        edges = torch.eye(size, device=device)
        for word, head in enumerate(one.heads.tolist()):
            if head >= 0:
                edges[word, head] = edges[head, word] = 1.0
        edges = edges / edges.sum(1, keepdim=True)
        for layer in model.network.layers:
            states = torch.relu(edges @ states @ layer.weight.T + layer.bias)
        a, to_a, b, to_b = one.spans[0].tolist()
        maxima = [states[a:to_a].amax(0), states.amax(0), states[b:to_b].amax(0)]
        logits = model.classifier(torch.cat(maxima)[None])
        losses.append(F.cross_entropy(logits, one.labels))
    return torch.stack(losses).mean()


SYSTEMS = {"ours": batched, "a loop over sentences": one_by_one}


def check(examples: Examples, model: StructureModel, chosen: np.ndarray) -> None:
    """Both have the same loss and gradients."""
    found = []
    for system in SYSTEMS.values():
        model.zero_grad()
        loss = system(model, examples, chosen)
        loss.backward()
        found.append([loss.detach(), *(one.grad.clone() for one in model.parameters())])
    for one, other in zip(*found, strict=True):
        if not torch.allclose(one, other, atol=1e-5, rtol=1e-3):
            raise SystemExit("the systems have other losses or gradients")


def training(
    name: str, examples: Examples, model: StructureModel, batches: list[np.ndarray]
) -> Step:
    """Steps over all batches, with its own copy of the model."""
    model = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def one(chosen: np.ndarray) -> None:
        loss = SYSTEMS[name](model, examples, chosen)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return over(batches, one)


def prediction(
    name: str, examples: Examples, model: StructureModel, batches: list[np.ndarray]
) -> Step:
    """The loss of all batches, without gradients."""

    @torch.no_grad()
    def one(chosen: np.ndarray) -> None:
        SYSTEMS[name](model, examples, chosen)

    return over(batches, one)


def over(batches: list[np.ndarray], one: Callable[[np.ndarray], object]) -> Step:
    """``one`` for each batch; counts sentences."""

    def step() -> tuple[int, int]:
        for chosen in batches:
            one(chosen)
        done = sum(map(len, batches))
        return done, done

    return step


def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    examples, model, batches = world(args)
    check(examples, model, batches[0])
    systems = {
        f"{part.__name__}, {name}": part(name, examples, model, batches)
        for part in (training, prediction)
        for name in SYSTEMS
    }
    systems["collation, ours"] = over(batches, examples.batch)
    results = take_turns(args, systems)
    print(heading("structures.py", args.device))
    sizes = examples.sizes
    print(f"{args.sentences} sentences of {sizes.mean():.1f} words (the longest {sizes.max()})")
    rows = []
    for name, result in results.items():
        peer = results.get(f"{name.split(', ')[0]}, a loop over sentences")
        times = f"{result.median / peer.median:.1f}" if peer else ""
        rows.append([name, f"{result.median:.0f}", f"{result.spread:.0%}", times])
    print("\n" + table(["system", "sentences / s", "spread", "x a loop"], rows))


if __name__ == "__main__":
    main()
