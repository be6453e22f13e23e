"""Scores of token translation: how many tokens changed language, and how many are correct.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 4.2.2:

    convert rate = #(y in Vt minus Vs) / (#y - #(y in Vs and Vt))

over a model's output tokens y, with Vs and Vt the sets of tokens that occur in a corpus of the
source and of the target language. Tokens of both are excluded, since they do not reveal the
language; tokens of neither count as not converted, and are counted by themselves: the paper never
saw a third language decoded.

Both languages must share their ids: with a separate vocabulary for each language, one id is two
different tokens and the sets are meaningless.

Symbols: ``V`` size of the vocabulary.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sacrebleu
import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError


def vocabulary(texts: Iterable[Tensor], size: int) -> Tensor:
    """Which tokens occur in a corpus: (V,) bool.

    Args:
        texts: ids of any shape, a sentence or a batch at a time; without special symbols, unless
            they should count for the language.
        size: V.

    Raises:
        UserError: for an id outside [0, V).

    >>> vocabulary([torch.tensor([2, 0]), torch.tensor([2])], 4).tolist()
    [True, False, True, False]
    """
    found = torch.zeros(size, dtype=torch.bool)
    for ids in texts:
        if ids.numel() and not (int(ids.min()) >= 0 and int(ids.max()) < size):
            wrong = ids[(ids < 0) | (ids >= size)]
            raise UserError(f"token ids must lie in [0, {size}), got {int(wrong[0])}")
        found[ids.cpu()] = True
    return found


class ConvertRate:
    """The convert rate of tokens that come in batches.

    Args:
        source, target: Vs and Vt, (V,) bool, of `vocabulary`.
        others: the same of further languages, by name.

    Attributes:
        tokens: all tokens so far; shared: those in both sets; converted: those of the target only;
            neither: those in none of the two.
        other: of ``neither``, those in the set of each further language; one may be in several.

    >>> rate = ConvertRate(torch.tensor([True, True, False, False]),
    ...                    torch.tensor([False, True, True, False]))
    >>> rate.update(torch.tensor([[0, 1], [2, 2]]))  # source, shared, target, target
    >>> rate.update(torch.tensor([3]))  # of neither
    >>> rate.value(), rate.converted, rate.tokens, rate.shared
    (0.5, 2, 5, 1)
    >>> rate.neither
    1
    """

    def __init__(self, source: Tensor, target: Tensor, others: Mapping[str, Tensor] | None = None):
        self._both, self._new = source & target, target & ~source
        self._none = ~(source | target)
        self._others = {lang: self._none & one for lang, one in (others or {}).items()}
        self.tokens = self.shared = self.converted = self.neither = 0
        self.other = dict.fromkeys(self._others, 0)

    def update(self, ids: Tensor) -> None:
        """Count output tokens, of any shape; the caller drops padding and special symbols."""
        ids = ids.to(self._new.device)
        self.tokens += ids.numel()
        self.shared += int(self._both[ids].sum())
        self.converted += int(self._new[ids].sum())
        self.neither += int(self._none[ids].sum())
        for lang, own in self._others.items():
            self.other[lang] += int(own[ids].sum())

    def value(self) -> float:
        """The rate in [0, 1]; nan if no token reveals a language (0/0)."""
        counted = self.tokens - self.shared
        return self.converted / counted if counted else math.nan


@dataclass(frozen=True)
class Bleu1:
    """BLEU-1 in percent, as precision and as score, without smoothing.

    Attributes:
        precision: of unigrams, counts clipped by the reference, as sacrebleu prints it.
        score: ``precision * brevity_penalty``.
        brevity_penalty: in [0, 1]; 1 unless the output is shorter than its references.
        signature: sacrebleu's.
    """

    precision: float
    score: float
    brevity_penalty: float
    signature: str


def bleu_1(hypotheses: Sequence[str], references: Sequence[str], tokenizer: str = "13a") -> Bleu1:
    """BLEU-1 of a corpus by sacrebleu; word order is ignored.

    Args:
        hypotheses: one line of text per sentence; references: one translation each.
        tokenizer: sacrebleu's; ``none`` for text that is already tokenised.

    Raises:
        UserError: if the two have not equally many lines or none, or for a tokenizer that is
            unknown or not installed.

    >>> found = bleu_1(["b a x"], ["a b c d"], "none")
    >>> round(found.precision, 2), round(found.brevity_penalty, 4), round(found.score, 2)
    (66.67, 0.7165, 47.77)
    """
    if len(hypotheses) != len(references) or not references:
        raise UserError(
            "BLEU-1 needs one reference for each line and at least 1 line, "
            f"got {len(hypotheses)} lines and {len(references)} references"
        )
    if tokenizer not in sacrebleu.BLEU.TOKENIZERS:
        known = ", ".join(sorted(sacrebleu.BLEU.TOKENIZERS))
        raise UserError(f"`tokenizer` must be one of {known}, got {tokenizer!r}")
    try:
        metric = sacrebleu.BLEU(
            tokenize=tokenizer, smooth_method="none", max_ngram_order=1, force=True
        )
    except (ImportError, RuntimeError, OSError) as error:  # a package or a download is missing
        reason = " ".join(str(error).split())
        raise UserError(f"`tokenizer` {tokenizer}: cannot be used here ({reason})") from None
    found = metric.corpus_score(list(hypotheses), [list(references)])
    return Bleu1(found.precisions[0], found.score, found.bp, str(metric.get_signature()))
