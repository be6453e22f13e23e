"""Where translations fall short of their references: the words, their order, repetitions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import sacrebleu

from fairseq_xling.analysis.sampled_bleu import Sample


def faults(samples: Iterable[Sample], tokenizer: str) -> dict[str, float | None]:
    """Figures over a whole text, in percent, of words as sacrebleu's ``tokenizer`` has them.

    Length is the `length_ratio` of `sampled_bleu.score`.

    Returns:
        ``words``: F1 of the words, whatever their order. ``order``: of the pairs of words that both
        sides have exactly once, those in the order of the reference (chance: 50), None if there is
        no pair; the agreement of RIBES (Isozaki et al., 2010), over all pairs of the text.
        ``repeated``: words that repeat the one before them.

    >>> found = faults([Sample(0, "", "a b c d", "b a c c")], "none")
    >>> [round(value, 1) for value in found.values()]
    [75.0, 0.0, 25.0]
    """
    cut = sacrebleu.BLEU(tokenize=tokenizer).tokenizer
    matched = sizes = agreeing = pairs = repeated = written = 0
    for sample in samples:
        hypothesis, reference = cut(sample.hypothesis).split(), cut(sample.reference).split()
        there, wanted = Counter(hypothesis), Counter(reference)
        matched += (there & wanted).total()
        sizes += len(hypothesis) + len(reference)
        repeated += sum(a == b for a, b in pairwise(hypothesis))
        written += len(hypothesis)
        same, all_pairs = _ordered(hypothesis, reference, there, wanted)
        agreeing, pairs = agreeing + same, pairs + all_pairs
    return {
        "words": 200 * matched / max(sizes, 1),
        "order": 100 * agreeing / pairs if pairs else None,
        "repeated": 100 * repeated / max(written, 1),
    }


def _ordered(
    hypothesis: Sequence[str], reference: Sequence[str], there: Counter, wanted: Counter
) -> tuple[int, int]:
    """Pairs of unambiguous words in the order of the reference, and all pairs."""
    place = {word: n for n, word in enumerate(reference) if wanted[word] == 1}
    found = np.array([place[w] for w in hypothesis if there[w] == 1 and w in place], dtype=int)
    later = np.triu(found[None, :] > found[:, None], 1)
    return int(later.sum()), len(found) * (len(found) - 1) // 2
