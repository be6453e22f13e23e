"""The values of decoding that suit a translation model, found on a split with references.

What an emission has to choose, such as the penalty of `ctc` for writing nothing or the bonus of
`lattice` for each word, changes as a model learns. The best value by BLEU is kept among the model's
weights, so that every program uses it. How much an n-gram model should count, or one that rescores,
depends on that other model, too, so it is not kept.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sacrebleu
import torch

from fairseq_xling.analysis.sampled_bleu import tokenizer_for
from fairseq_xling.checkpoints.files import load_trained
from fairseq_xling.checkpoints.fresh import NEEDED, trained_by, write_fresh_checkpoint
from fairseq_xling.errors import UserError
from fairseq_xling.generation.references import reference_texts
from fairseq_xling.generation.rescoring import PARTS, weighed
from fairseq_xling.generation.translator import Translator
from fairseq_xling.models.guide import Guide
from fairseq_xling.progress import progress
from fairseq_xling.provenance import provenance


@dataclass(frozen=True)
class Tuned:
    """What was tried for a model.

    Attributes:
        bleu: by name of a value and number, the BLEU of the split.
        chosen: by name, the best number; the smallest of several.
        signature: sacrebleu's.
    """

    bleu: dict[str, dict[float, float]]
    chosen: dict[str, float]
    signature: str


Pair = tuple[float, float]  # a weight and a bonus
# What `tune_ngram` and `tune_rescoring` try: weights of a log-probability, and nats for each word.
NGRAM_WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
NGRAM_BONUSES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
RESCORE_WEIGHTS = (0.3, 0.5, 0.7, 0.85, 1.0)
RESCORE_BONUSES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


def tune(translator: Translator, split: str, tokenizer: str = "") -> Tuned:
    """Translate ``split`` of the model's data folder with each value, one name after the other.

    Args:
        tokenizer: sacrebleu's (default: by the language).

    Raises:
        UserError: if the emission has nothing to choose, or the split has no parallel text.
    """
    task, emission = translator.task, translator.models[0].emission
    if not emission.tuned:
        name = emission.shape.emission
        raise UserError(f"a model with `--emission {name}` has no value of its own to tune")
    metric, score = _scorer(translator, split, tokenizer)
    bleu: dict[str, dict[float, float]] = {}
    chosen: dict[str, float] = {}
    total = sum(map(len, emission.tuned.values()))
    with progress(total, "tune", " values", checks=True) as bar:
        for name, values in emission.tuned.items():
            found = {}
            for value in values:
                setattr(task.cfg, name, value)
                found[value] = score()
                bar.update()
            bleu[name], chosen[name] = found, max(found, key=lambda v: (found[v], -v))
            setattr(task.cfg, name, chosen[name])
    return Tuned(bleu, chosen, str(metric.get_signature()))


def tune_ngram(
    translator: Translator, ngram: str, beam: int, split: str, tokenizer: str = ""
) -> dict[Pair, float]:
    """BLEU of ``split`` with pairs of `NGRAM_WEIGHTS` and `NGRAM_BONUSES` of an n-gram model, until
    none next to the best one is better.

    Of twelve translators eleven had the best of all pairs so, the other one .01 less, with a third
    of the searches (`benchmarks/README.md`).

    Args:
        beam: hypotheses of the search; the others, and errors, are those of `tune`.
    """
    translator.task.choose_translation({"ngram": ngram, "slot_beam": beam})
    config = translator.task.cfg
    _, score = _scorer(translator, split, tokenizer)
    with progress(None, "tune", " searches", checks=True) as bar:

        def searched(weight: float, bonus: float) -> float:
            config.ngram_weight, config.ngram_bonus = weight, bonus
            found = score()
            bar.update()
            return found

        return climb(searched, NGRAM_WEIGHTS, NGRAM_BONUSES, (Guide.weight, Guide.bonus))


def climb(
    score: Callable[[float, float], float],
    ones: Sequence[float],
    others: Sequence[float],
    start: Pair,
) -> dict[Pair, float]:
    """The pairs that were tried, in the order of ``ones`` and ``others``: what is around the one
    nearest to ``start``, and then around the best so far, until that is the best around it.

    >>> climb(lambda x, y: -abs(x - 3) - abs(y - 2), range(9), range(9), (2, 2)).keys()
    ... # doctest: +ELLIPSIS
    dict_keys([(1, 1), (1, 2), (1, 3), (2, 1), ..., (4, 3)])
    """
    axes = (ones, others)
    here = tuple(
        min(range(len(axis)), key=lambda i: abs(axis[i] - value))
        for axis, value in zip(axes, start, strict=True)
    )
    found: dict[tuple[int, ...], float] = {}
    while True:
        near = [
            range(max(0, i - 1), min(len(axis), i + 2)) for i, axis in zip(here, axes, strict=True)
        ]
        for place in itertools.product(*near):
            if place not in found:
                found[place] = score(ones[place[0]], others[place[1]])
        best = max(sorted(found), key=lambda place: found[place])
        if best == here or found[best] == found[here]:
            return {(ones[i], others[j]): found[i, j] for i, j in sorted(found)}
        here = best


def tune_rescoring(
    translator: Translator, checkpoint: str, beam: int, split: str, tokenizer: str = ""
) -> dict[Pair, float]:
    """BLEU of ``split`` with each pair of `RESCORE_WEIGHTS` and `RESCORE_BONUSES` for the model in
    ``checkpoint``, from one search with the other options that are set.

    Args:
        beam: hypotheses of the search; the others, and errors, are those of `tune`.
    """
    translator.task.choose_translation({"rescore": checkpoint, "slot_beam": beam})
    metric, references = _metric(translator, split, tokenizer)
    dataset = translator.task.sentences(split)
    parts: list[np.ndarray] = [np.empty(0)] * len(dataset)
    texts: list[list[str]] = [[]] * len(dataset)
    with progress(len(dataset), "tune", " sentences", checks=True) as bar:
        for index, found in translator.lists_of_dataset(dataset):
            parts[index] = np.stack([one[PARTS] for one in found])
            texts[index] = [translator.text(one) for one in found]
            bar.update()
    bleu = {}
    for pair in itertools.product(RESCORE_WEIGHTS, RESCORE_BONUSES):
        best = [int(weighed(part, *pair).argmax()) for part in parts]
        chosen = [text[place] for text, place in zip(texts, best, strict=True)]
        bleu[pair] = metric.corpus_score(chosen, references).score
    return bleu


def _scorer(
    translator: Translator, split: str, tokenizer: str
) -> tuple[sacrebleu.BLEU, Callable[[], float]]:
    """The metric, and what translates ``split`` once and gives its BLEU."""
    metric, references = _metric(translator, split, tokenizer)
    dataset = translator.task.sentences(split)
    return metric, lambda: metric.corpus_score(translator.of_dataset(dataset), references).score


def _metric(
    translator: Translator, split: str, tokenizer: str
) -> tuple[sacrebleu.BLEU, list[list[str]]]:
    """The metric, and the references of ``split``."""
    dataset = translator.task.sentences(split)
    if dataset.target is None:
        raise UserError(f"`--split` {split}: has no parallel text {'-'.join(translator.pair)}")
    references = [reference_texts(dataset, translator.target)]
    if tokenizer and tokenizer not in sacrebleu.BLEU.TOKENIZERS:
        known = ", ".join(sacrebleu.BLEU.TOKENIZERS)
        raise UserError(f"`--tokenizer` must be one of sacrebleu's, {known}; got {tokenizer!r}")
    return sacrebleu.BLEU(tokenize=tokenizer_for(translator.pair[1], tokenizer)), references


def write_tuned(checkpoint: str | Path, output: str | Path, found: Tuned) -> None:
    """The model in ``checkpoint`` with its best values, as a checkpoint without the optimiser's
    state, written atomically."""
    state = load_trained(checkpoint, ("cfg.checkpoint", *NEEDED))
    own = {f"emission.{name}": torch.tensor(value) for name, value in found.chosen.items()}
    write_fresh_checkpoint(
        output,
        {**state["cfg"], "checkpoint": {**state["cfg"]["checkpoint"], "finetune_from_model": None}},
        {**state["model"], **own},
        trained_by(state),
        {"tuned": {"chosen": found.chosen, **provenance({"checkpoint": checkpoint})}},
    )
