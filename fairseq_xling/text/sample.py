"""The bounded sample of training text from which a vocabulary is learnt.

Languages that share a vocabulary are drawn with the smoothed shares of Conneau et al. (2020),
Section 3.1, so that small languages get their own pieces.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.data.sampling import smoothed_shares
from fairseq_xling.files import open_binary, without_bom
from fairseq_xling.text.scan import TextFacts


def sample_quotas(
    facts: Mapping[str, TextFacts], alpha: float, budget: float
) -> dict[str, tuple[float, int]]:
    """Share q and number of sentences to draw for each language.

    As many sentences as there are in total, or fewer if they would exceed ``budget`` bytes.

    >>> facts = {"en": TextFacts(900, 900, 90_000), "sw": TextFacts(100, 100, 10_000)}
    >>> sample_quotas(facts, 1.0, 50_000)
    {'en': (0.9, 450), 'sw': (0.1, 50)}
    >>> sample_quotas(facts, 0.0, 1e9)
    {'en': (0.5, 500), 'sw': (0.5, 500)}
    """
    shares = smoothed_shares({lang: fact.sentences for lang, fact in facts.items()}, alpha)
    per_sentence = sum(q * facts[lang].bytes / facts[lang].sentences for lang, q in shares.items())
    total = min(sum(fact.sentences for fact in facts.values()), budget / per_sentence)
    return {lang: (round(q, 12), max(1, round(total * q))) for lang, q in shares.items()}


def draw_lines(
    paths: Sequence[Path],
    total: int,
    wanted: int,
    seed: int,
    advance: Callable[[int], Any] = lambda n: None,
    salt: str = "",
) -> Iterator[str]:
    """``wanted`` of the ``total`` lines of ``paths``, spread evenly, in the order of the files.

    One line is drawn from each of ``wanted`` equal ranges, so only the drawn line numbers are in
    memory. If ``wanted`` exceeds ``total``, all lines are repeated. The choice depends on ``salt``,
    or on the name of the first file: both sides of parallel text need the same.
    """
    rng = np.random.default_rng([seed, zlib.crc32((salt or paths[0].name).encode())])
    rounds, rest = divmod(wanted, total)
    if rest == 0:
        chosen = np.empty(0, dtype=np.int64)
    else:
        chosen = ((np.arange(rest) + rng.random(rest)) * (total / rest)).astype(np.int64)
        chosen = np.minimum(chosen, total - 1)
    pointer, number = 0, 0
    picks = chosen.tolist()
    for path in paths:
        read = 0
        with open_binary(path) as file:
            for line in file:
                times = rounds
                while pointer < len(picks) and picks[pointer] == number:
                    times += 1
                    pointer += 1
                if times:
                    text = without_bom(line.decode("utf-8").rstrip("\r\n"))
                    for _ in range(times):
                        yield text
                number += 1
                read += len(line)
                if read > 1 << 20:
                    advance(read)
                    read = 0
        advance(read)
