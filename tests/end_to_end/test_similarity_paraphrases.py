"""Paraphrases for one language twice, through the real command (Figure 7 of the paper)."""

import random

import numpy as np
import pytest

from fairseq_xling.analysis.extracted import Extracted
from fairseq_xling.cli import main
from tests.records import values

pytestmark = pytest.mark.slow
SIZES = "--sentences 120 --held-out 150 --parallel-sentences 150 --languages en,de".split()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """``study(name, paraphrases)``: the folder of a finished run, and CKA by layer."""
    root = tmp_path_factory.mktemp("paraphrases")
    assert main(["synthesize", str(root / "text"), *SIZES]) == 0

    def make(name, change=None):
        given = []
        if change is not None:
            for split in ("valid", "test"):
                lines = (root / f"text/parallel/{split}.en-de.en.txt").read_text().splitlines()
                (root / f"{name}.{split}").write_text("".join(f"{x}\n" for x in change(lines)))
            files = ",".join(f"{split}={root / name}.{split}" for split in ("valid", "test"))
            given = ["--paraphrase", files]
        run = root / f"run-{name}"
        command = [
            *("ablate", "similarity", "--data-text", str(root / "text"), "--output", str(run)),
            *"--rows sep-emb --measures cka --seeds 1 --updates 2 --every 2 --layers 2".split(),
            *"--vocab-size 600 --max-tokens 400".split(),
            *given,
        ]
        assert main(command) == 0
        return run, values(run, measure="CKA")

    return make


def test_the_same_sentences_give_the_same_figures_and_shuffled_ones_those_of_chance(study):
    _, plain = study("plain")
    _, same = study("same", list)
    assert same == plain
    run, shuffled = study("shuffled", lambda lines: random.Random(1).sample(lines, len(lines)))
    first, second = sorted((run / "states").iterdir())
    for layer, found in enumerate(shuffled):
        states = [next(folder.iterdir()) for folder in (first, second)]
        x, y = (Extracted(each).whole(layer).double().numpy() for each in states)
        assert found == pytest.approx(by_chance(x, y), rel=0.25)
        assert found < plain[layer] / 2


def by_chance(x, y):
    """Mean CKA of rows in random order, (N, D) each; D / (N + D) if all directions vary alike.

    The mean of ||X' P Y||^2 over permutations P is tr(X X') tr(Y Y') / (N - 1), of centred X and Y.
    """
    x, y = x - x.mean(0), y - y.mean(0)
    sizes = np.linalg.norm(x.T @ x), np.linalg.norm(y.T @ y)
    return np.square(x).sum() * np.square(y).sum() / ((len(x) - 1) * sizes[0] * sizes[1])
