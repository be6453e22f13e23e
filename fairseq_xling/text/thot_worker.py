"""One direction of sil-thot's fast_align, as a separate process.

``python -m fairseq_xling.text.thot_worker SOURCE TARGET OUTPUT forward|reverse [OPTION ...]``

Options: ``probabilities`` (links are written with them), ``train`` (OUTPUT is the beginning of the
names of the files that keep the trained model, instead of links) and ``model=NAME`` (OUTPUT's links
are those of the model that ``train`` kept as NAME).
"""

import ctypes
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from fairseq_xling.core.files import atomic_write

ITERATIONS = 5
P_NULL = 0.08
_BLOCK_LINES = 4096
_PR_SET_PDEATHSIG = 1


def train_fast_align(source: Path, target: Path, report: Callable[[str], None] = lambda text: None):
    """A trained model that aligns every token of ``target`` with at most one token of ``source``.

    thot itself starts from tension 4 and uses alpha 0.01, and reads the files again in each
    iteration, so only its translation table is in memory.
    """
    from thot.alignment import FastAlignModel

    model = FastAlignModel()
    limit = model.max_sentence_length
    model.fast_align_p0 = P_NULL
    model.variational_bayes = True
    with tempfile.TemporaryDirectory(dir=source.parent, prefix=".short.") as folder:
        model.read_sentence_pairs(*map(str, short_pairs(source, target, limit, Path(folder))))
        model.start_training()
        for i in range(ITERATIONS):
            model.train()
            report(f"iteration {i + 1}")
        model.end_training()
    return model


def short_pairs(source: Path, target: Path, limit: int, folder: Path) -> tuple[Path, Path]:
    """Files without the pairs that have a side of more than ``limit`` tokens, for training.

    `best_orders` leaves these without links, but training time would be proportional to the
    product of their lengths: minutes for one line of some 16,000 tokens. If there are none, the
    files themselves; else copies in ``folder``.
    """

    def pairs() -> Iterator[tuple[bool, str, str]]:
        with open(source, encoding="utf-8") as a, open(target, encoding="utf-8") as b:
            for s, t in zip(a, b, strict=True):
                # A token and its space take two characters at least: most lines are not split.
                fits = all(len(x) <= 2 * limit or len(x.split()) <= limit for x in (s, t))
                yield fits, s, t

    if all(fits for fits, _, _ in pairs()):
        return source, target
    copies = (folder / "source", folder / "target")
    with atomic_write(copies[0], "w") as a, atomic_write(copies[1], "w") as b:
        for fits, s, t in pairs():
            if fits:
                a.write(s)
                b.write(t)
    return copies


def best_orders(model, source: Path, target: Path) -> Iterator[list[int]]:
    """For each line the order of its target tokens: index + 1 of the source token, 0 for none."""
    limit = model.max_sentence_length
    with open(source, encoding="utf-8") as a, open(target, encoding="utf-8") as b:
        while lines := list(islice(a, _BLOCK_LINES)):
            sources = [line.split() for line in lines]
            targets = [line.split() for line in islice(b, _BLOCK_LINES)]
            fits = [
                k
                for k, (s, t) in enumerate(zip(sources, targets, strict=True))
                if 0 < len(s) <= limit and 0 < len(t) <= limit
            ]
            orders = [[0] * len(t) for t in targets]
            best = model.get_best_alignments([sources[k] for k in fits], [targets[k] for k in fits])
            for k, (_, matrix) in zip(fits, best, strict=True):
                orders[k] = matrix.to_list()
            yield from orders


def _end_with_parent() -> None:
    """Exit when the parent is killed, since nothing would read the result."""
    parent = os.getppid()
    if sys.platform == "linux":
        # At once, even inside a training step, which does not let other threads run.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def link_probabilities(model, source: list[str], target: list[str], order: list[int]) -> list[str]:
    """For each target token p(target token | its source token) of ``model``, as decimals; that of
    one without a partner is meaningless."""
    sources = [model.get_src_word_index(word) for word in source]
    targets = [model.get_trg_word_index(word) for word in target]
    return [
        f"{min(1.0, model.translation_prob(sources[i - 1], t)):.9f}"
        for i, t in zip(order, targets, strict=True)
    ]


def main(source: str, target: str, output: str, direction: str, *options: str) -> None:
    """Train, align and write a Pharaoh file; see the module's docstring for the ``options``."""
    _end_with_parent()
    scored = "probabilities" in options
    named = [option.partition("=")[2] for option in options if option.startswith("model=")]
    swap = direction == "reverse"
    files = (Path(target), Path(source)) if swap else (Path(source), Path(target))
    if named:
        from thot.alignment import FastAlignModel

        model = FastAlignModel()
        if not (Path(f"{named[0]}.yml").is_file() and model.load(named[0])):
            sys.exit(f"{named[0]}.yml: no such model of fast_align, or a damaged one")
    else:
        model = train_fast_align(*files, lambda text: print(text, file=sys.stderr, flush=True))
    if "train" in options:
        if not model.print(output):
            sys.exit(f"{output}: cannot be written")
        return
    with atomic_write(output, "w") as file, open(files[0]) as a, open(files[1]) as b:
        for order, *sides in zip(best_orders(model, *files), a, b, strict=True):
            ends = [""] * len(order)
            if scored:
                left, right = (line.split() for line in sides)
                ends = [f":{p}" for p in link_probabilities(model, left, right, order)]
            links = [
                (f"{j}-{i - 1}" if swap else f"{i - 1}-{j}") + ends[j]
                for j, i in enumerate(order)
                if i > 0
            ]
            file.write(" ".join(links) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
