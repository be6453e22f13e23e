"""BLEU-1 to BLEU-4 of fairseq-generate's output (TreLM, Table 6).

Both definitions of "BLEU-n" are reported, without smoothing: the precision of n-grams alone, as
printed by sacrebleu, and the cumulative score, the geometric mean of the precisions up to n with
the brevity penalty.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sacrebleu

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.texts import read_lines

ORDERS = 4
# Languages that are written without spaces between words, by their codes of ISO 639; all others use
# sacrebleu's default tokenizer.
_TOKENIZERS = {
    **dict.fromkeys("zh zho chi cmn yue wuu nan hak gan hsn cdo lzh".split(), "zh"),
    **dict.fromkeys("ja jpn th tha lo lao km khm my mya bur bo bod tib dz dzo".split(), "char"),
}


@dataclass(frozen=True)
class Sample:
    """A sentence of the test text, its translation, and a model's output."""

    number: int
    source: str
    reference: str
    hypothesis: str


def read_samples(path: str | Path) -> list[Sample]:
    """The sentences in an output file of fairseq-generate, in the order of the test text."""
    found: dict[str, dict[int, str]] = {"S": {}, "T": {}, "D": {}}
    for line in read_lines(path):
        kind, dash, rest = line.partition("-")
        if not dash or kind not in found:
            continue
        number, *fields = rest.split("\t")
        if number.isdigit() and fields:
            found[kind].setdefault(int(number), fields[-1])
    numbers = sorted(found["S"].keys() & found["T"].keys() & found["D"].keys())
    if not numbers:
        raise UserError(f"{path}: contains no translations with references")
    return [Sample(n, found["S"][n], found["T"][n], found["D"][n]) for n in numbers]


def tokenizer_for(lang: str, chosen: str = "") -> str:
    """sacrebleu's tokenizer for ``lang``, a code that may have a script or a region behind it,
    unless one is ``chosen``.

    >>> tokenizer_for("de"), tokenizer_for("zh_Hans"), tokenizer_for("jpn-JP")
    ('13a', 'zh', 'char')
    >>> tokenizer_for("de", "intl")
    'intl'
    """
    return chosen or _TOKENIZERS.get(re.split("[-_]", lang.lower())[0], "13a")


def score(samples: list[Sample], tokenizer: str) -> dict[str, Any]:
    """``precisions`` and ``cumulative`` (percent, for 1 to 4), ``bleu`` (the cumulative of 4),
    ``brevity_penalty``, ``length_ratio``, ``sentences``, sacrebleu's ``signature``, and ``chrf``
    with its ``chrf_signature``.

    >>> found = score([Sample(0, "", "a b c d", "a b c d")], "none")
    >>> round(found["bleu"], 6), found["precisions"]
    (100.0, [100.0, 100.0, 100.0, 100.0])
    """
    hypotheses = [sample.hypothesis for sample in samples]
    references = [[sample.reference for sample in samples]]
    cumulative, chrf = [], sacrebleu.CHRF()
    for order in range(1, ORDERS + 1):
        metric = sacrebleu.BLEU(
            tokenize=tokenizer, smooth_method="none", max_ngram_order=order, force=True
        )
        found = metric.corpus_score(hypotheses, references)
        cumulative.append(found.score)
    return {
        "precisions": list(found.precisions),
        "cumulative": cumulative,
        "bleu": cumulative[-1],
        "brevity_penalty": found.bp,
        "length_ratio": found.sys_len / max(found.ref_len, 1),
        "sentences": len(samples),
        "signature": str(metric.get_signature()),
        "chrf": chrf.corpus_score(hypotheses, references).score,
        "chrf_signature": str(chrf.get_signature()),
    }
