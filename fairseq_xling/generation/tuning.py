"""The values of decoding that suit a translation model, found on a split with references.

What an emission has to choose, such as the penalty of `ctc` for writing nothing, changes as a model
learns. The best value by BLEU is kept among the model's weights, so that every program uses it.
"""

from dataclasses import dataclass
from pathlib import Path

import sacrebleu
import torch

from fairseq_xling.analysis.sampled_bleu import tokenizer_for
from fairseq_xling.checkpoints.files import load_trained
from fairseq_xling.checkpoints.fresh import NEEDED, trained_by, write_fresh_checkpoint
from fairseq_xling.errors import UserError
from fairseq_xling.generation.translator import Translator
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
        raise UserError(f"a model with `--emission {name}` has no value of decoding to tune")
    dataset = task.sentences(split)
    if dataset.target is None:
        raise UserError(f"`--split` {split}: has no parallel text {'-'.join(translator.pair)}")
    references = [
        [translator.target.decode(dataset.target[i][:-1].tolist()) for i in range(len(dataset))]
    ]
    metric = sacrebleu.BLEU(tokenize=tokenizer_for(translator.pair[1], tokenizer))
    bleu: dict[str, dict[float, float]] = {}
    chosen: dict[str, float] = {}
    total = sum(map(len, emission.tuned.values()))
    with progress(total, "tune", " values", checks=True) as bar:
        for name, values in emission.tuned.items():
            found = {}
            for value in values:
                setattr(task.cfg, name, value)
                written = translator.of_dataset(dataset)
                found[value] = metric.corpus_score(written, references).score
                bar.update()
            bleu[name], chosen[name] = found, max(found, key=lambda v: (found[v], -v))
            setattr(task.cfg, name, chosen[name])
    return Tuned(bleu, chosen, str(metric.get_signature()))


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
