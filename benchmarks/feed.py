"""How fast one process makes batches: sentences, blocks of 256 and pairs of made-up text.

    python benchmarks/feed.py
    python benchmarks/feed.py --unpadded --max-tokens 65536

What a loader's process does, without a model: rows are read from mapped files, objectives applied,
batches padded. Only the source's real tokens count. The clock is processor time, which a machine
in use changes little; what plans the batches is not timed.
"""

import argparse
import functools
import itertools
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from common import Step, heading, table, take_turns, turn_arguments

from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.folder import SEP, SPECIALS
from fairseq_xling.data.iterator import BatchDataset
from fairseq_xling.data.mmap import TokenFile, best_dtype, write_items
from fairseq_xling.data.plan import Feed, Limits, in_order
from fairseq_xling.data.sources import Pairs, Sentences, Source, Stream
from fairseq_xling.data.unpadded import unpadded_layout
from fairseq_xling.objectives import objectives

LONGEST = 256
OPTIONS = {
    "mask_prob": 0.15,
    "leave_unmasked": 0.1,
    "random_token": 0.1,
    "random_within_language": False,
}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=50_000)
    parser.add_argument("--mean", type=float, default=12, help="tokens, <s> and </s> among them")
    parser.add_argument("--vocab", type=int, default=30_000)
    parser.add_argument("--max-tokens", type=int, default=16_384, help="of a batch, padded")
    parser.add_argument("--unpadded", action="store_true", help="with the layout of real tokens")
    turn_arguments(parser)
    parser.set_defaults(clock="cpu", threads=1)
    return parser.parse_args()


def write(args: argparse.Namespace, folder: Path) -> None:
    """Sentences of two languages, word by word made up, and links of each word or of none."""
    rng = np.random.default_rng(args.seed)
    dtype = best_dtype(args.vocab)
    sizes = np.clip(rng.gamma(3, (args.mean - 2) / 3, (2, args.sentences)).round(), 1, 120) + 2
    for lang, lengths in zip(("en", "de"), sizes.astype(int), strict=True):
        words = (rng.integers(SPECIALS, args.vocab, n - 2) for n in lengths)
        write_items(folder / lang, (np.append(line, SEP) for line in words), dtype)
    # A link is the number of a word of the source, from 1; 0 is none.
    links = (rng.integers(0, n, m - 1) for n, m in sizes.astype(int).T)
    write_items(folder / "order", links, dtype)


def systems(args: argparse.Namespace, folder: Path) -> dict[str, Step]:
    """By name, what makes the next batch and says how many tokens are in it, and rows."""
    en, de, order = (TokenFile(folder / name) for name in ("en", "de", "order"))
    sentences, blocks = Sentences(en, "en", LONGEST), Stream(en, "en", LONGEST)
    pairs = Pairs(en, de, ("en", "de"), LONGEST, order)
    return {
        "mlm, sentences": maker(args, "mlm", sentences),
        "mlm, blocks": maker(args, "mlm", blocks),
        "tlm, pairs": maker(args, "tlm", pairs),
        "cdlm, pairs": maker(args, "cdlm", pairs),
        "translation, pairs": maker(args, "translation", pairs),
    }


def maker(args: argparse.Namespace, name: str, source: Source) -> Step:
    vocabulary = Vocabulary(dict.fromkeys(("en", "de"), args.vocab), {"en": 0, "de": 1})
    objective = objectives[name](SimpleNamespace(**OPTIONS), vocabulary)
    feed, limits = Feed(objective, source, 1.0), Limits(args.max_tokens, None)
    null = objective.reorders
    layout = functools.partial(unpadded_layout, null=null) if args.unpadded else None
    dataset = BatchDataset([feed], {name: 0}, args.seed, layout=layout)
    specs = list(in_order([feed], limits))
    np.random.default_rng(args.seed).shuffle(specs)
    turn = itertools.cycle(specs)

    def step() -> tuple[int, int]:
        batch = dataset[next(turn)]
        return batch["ntokens"], batch["nsentences"]

    return step


def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        write(args, Path(folder))
        found = take_turns(args, systems(args, Path(folder)))
    print(heading("feed.py", args.device))
    print(
        table(
            ["batches of", "tokens/s", "spread", "tokens a row", "us a row"],
            [
                [
                    name,
                    f"{measured.median:,.0f}",
                    f"{measured.spread:.0%}",
                    f"{measured.work / measured.slots:.1f}",
                    f"{1e6 * measured.work / measured.slots / measured.median:.1f}",
                ]
                for name, measured in found.items()
            ],
        )
    )


if __name__ == "__main__":
    main()
