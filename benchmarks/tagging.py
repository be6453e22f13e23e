"""Tagging words: ours in batches, and a plain loop over sentences, words and tags.

    python benchmarks/tagging.py [--device cuda]

Both have the same weights, read the same sentences and end with the same tags, which is checked
first. The loop is a tagger as a tutorial writes it: a sentence at a time, the letters of a word at
a time, Viterbi in Python. Sentences have lengths like those of WikiANN. Training is an update of
all weights on L_tag; the loop's forward algorithm goes through positions and tags one by one.
"""

import argparse
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import torch
from common import Step, heading, table, take_turns, turn_arguments

from fairseq_xling.models.tagging.model import FIRST, AdversarialTagger, Contents
from fairseq_xling.tasks.tagging import Spelling, make_part

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TAGS = ["O", *(f"{mark}-{kind}" for kind in ("LOC", "ORG", "PER") for mark in "BI")]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=175, help="units of the shared BiLSTM")
    turn_arguments(parser)
    return parser.parse_args()


class World:
    """Sentences, their batches, and a model with random weights."""

    def __init__(self, args: argparse.Namespace):
        rng = np.random.default_rng(args.seed)
        words = ["".join(rng.choice(list(LETTERS), rng.integers(1, 13))) for _ in range(3000)]
        lengths = np.clip(np.exp(rng.normal(1.95, 0.6, args.sentences)).round(), 1, 60).astype(int)
        self.sentences = [rng.integers(len(words), size=n) for n in np.sort(lengths)]
        self.tags = [torch.from_numpy(rng.integers(len(TAGS), size=len(s))) for s in self.sentences]
        self.spelling = Spelling(LETTERS)
        ids = [
            np.array([row + 1, self.spelling.numbers(words[w] for w in row)])
            for row in self.sentences
        ]
        self.letters = [[FIRST + LETTERS.index(letter) for letter in word] for word in words]
        self.device = args.device
        self.batches = [
            self._to_device(make_part(0, self.spelling, ids[at:end], [t.numpy() for t in tags]))
            for at in range(0, len(ids), args.batch_size)
            for end in (at + args.batch_size,)
            for tags in (self.tags[at:end],)
        ]
        torch.manual_seed(args.seed)
        settings = SimpleNamespace(
            **{"word_dim": 100, "chars": "cnn", "char_filters": "shared", "char_dim": 25},
            **{"char_maps": 25, "char_widths": "2,3,4", "encoder_hidden": args.hidden},
            **{"tagger_hidden": 100, "projection": 100, "dropout": 0.0, "tagger": "crf"},
        )
        self.model = AdversarialTagger(settings, Contents({"en": words}, LETTERS, TAGS, False))
        table = torch.randn(len(words) + 1, 100)
        self.model.set_words([table], torch.eye(100))
        for parameter in self.model.output.parameters():
            torch.nn.init.normal_(parameter)
        self.model.to(args.device)

    def _to_device(self, part: dict) -> dict:
        return {
            name: value.to(self.device) if torch.is_tensor(value) else value
            for name, value in part.items()
        }

    def ours(self, part: dict) -> list[list[int]]:
        with torch.no_grad():
            found = self.model.eval()([part])
        rows = zip(found["tags"].tolist(), found["lengths"].tolist(), strict=True)
        return [row[:length] for row, length in rows]

    def emissions(self, sentence: np.ndarray) -> torch.Tensor:
        """Scores (N, K) of one sentence, word by word."""
        model, rows = self.model, []
        for word in sentence.tolist():
            letters = torch.tensor([self.letters[word]], device=self.device)
            states = model.characters.table(letters).transpose(1, 2)
            found = []
            for layer in model.characters.layers[0].layers:
                short = max(0, layer.kernel_size[0] - states.shape[2])
                found.append(layer(torch.nn.functional.pad(states, (0, short))).relu().amax(2)[0])
            rows.append(torch.cat([model.table_0[word + 1], *found]))
        states = torch.stack(rows)[None]
        for lstm in (model.encoder, model.tagger):
            back = lstm.back(states.flip(1))[0].flip(1)
            states = torch.cat([lstm.forth(states)[0], back], -1)
        return model.emissions(states)[0]

    def viterbi(self, sentence: np.ndarray) -> list[int]:
        with torch.no_grad():
            scores = self.emissions(sentence).tolist()
        start, moves, stop = (part.tolist() for part in self.model.output.transitions)
        best, origins, number = [a + b for a, b in zip(start, scores[0], strict=True)], [], range(7)
        for row in scores[1:]:
            origin = [max(number, key=lambda a, b=b: best[a] + moves[a][b]) for b in number]
            best = [best[origin[b]] + moves[origin[b]][b] + row[b] for b in number]
            origins.append(origin)
        tags = [max(number, key=lambda a: best[a] + stop[a])]
        for origin in origins[::-1]:
            tags.append(origin[tags[-1]])
        return tags[::-1]

    def loss(self, sentence: np.ndarray, tags: torch.Tensor) -> torch.Tensor:
        scores, parts = self.emissions(sentence), self.model.output.transitions
        forward = parts.start + scores[0]
        gold = parts.start[tags[0]] + scores[0, tags[0]]
        for place in range(1, len(tags)):
            forward = torch.stack(
                [torch.logsumexp(forward + parts.moves[:, b], 0) for b in range(len(TAGS))]
            )
            forward = forward + scores[place]
            gold = gold + parts.moves[tags[place - 1], tags[place]] + scores[place, tags[place]]
        return torch.logsumexp(forward + parts.stop, 0) - gold - parts.stop[tags[-1]]

    def check(self) -> None:
        """Both tag alike, and have the same loss."""
        tags = [row for part in self.batches for row in self.ours(part)]
        if tags != [self.viterbi(sentence) for sentence in self.sentences]:
            raise SystemExit("the two systems find other tags")
        part, size = self.batches[-1], len(self.batches[-1]["lengths"])
        ours = self.model.train().tagging_loss(self.model([part]), [part])
        rows = zip(self.sentences[-size:], self.tags[-size:], strict=True)
        theirs = torch.stack([self.loss(*row) for row in rows]).mean()
        if not torch.allclose(ours, theirs, rtol=1e-4):
            raise SystemExit(f"the two systems have other losses, {ours} and {theirs}")


def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    world = World(args)
    world.check()
    words = [len(sentence) for sentence in world.sentences]
    place = {"ours": 0, "a sentence at a time": 0}
    optimizer = torch.optim.SGD(world.model.parameters(), lr=1e-6)

    def step(name: str, work: Callable) -> Step:
        def run() -> tuple[int, int]:
            at = place[name] = (place[name] + 1) % len(world.batches)
            work(at)
            return int(world.batches[at]["lengths"].sum()), 0

        return run

    def rows(at: int) -> slice:
        return slice(at * args.batch_size, (at + 1) * args.batch_size)

    def update(loss) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def learn(at: int) -> None:
        part = world.batches[at]
        update(world.model.train().tagging_loss(world.model([part]), [part]))

    def learn_one_by_one(at: int) -> None:
        pairs = zip(world.sentences[rows(at)], world.tags[rows(at)], strict=True)
        update(torch.stack([world.loss(*pair) for pair in pairs]).mean())

    kinds = {
        "prediction": (
            lambda at: world.ours(world.batches[at]),
            lambda at: [world.viterbi(s) for s in world.sentences[rows(at)]],
        ),
        "training": (learn, learn_one_by_one),
    }
    lines = []
    for kind, work in kinds.items():
        systems = {name: step(name, one) for name, one in zip(place, work, strict=True)}
        found = take_turns(args, systems)
        slow = found["a sentence at a time"].median
        lines += [
            [f"{kind}: {name}", f"{one.median:,.0f}", f"{100 * one.spread:.0f} %",
             f"{one.median / slow:.1f}"]
            for name, one in found.items()
        ]  # fmt: skip
    print(heading("tagging.py", args.device))
    print(f"{len(words)} sentences of {np.mean(words):.1f} words, batches of {args.batch_size}\n")
    print(table(["system", "words/s", "spread", "times the loop"], lines))


if __name__ == "__main__":
    main()
