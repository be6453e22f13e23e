"""The options of `--task adversarial_tagging`."""

from dataclasses import dataclass, field
from typing import List

from omegaconf import II, MISSING

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import COUNT, NOT_NEGATIVE, Range, ranged
from fairseq_xling.models.tagging.adversaries import adversaries
from fairseq_xling.tasks.items import SKIP_BAD_HELP
from fairseq_xling.tasks.spans import SCHEMES
from fairseq_xling.training.base import check_choices
from fairseq_xling.training.precision import PrecisionConfig, check_precision

SCHEDULES = ("constant", "ramp")


@dataclass
class AdversarialTaggingConfig(PrecisionConfig):
    languages: str = field(
        default=MISSING,
        metadata={"help": "the annotated language and the target, e.g. en,de, or one language"},
    )
    vectors: str = field(
        default=MISSING,
        metadata={"help": "word vectors: en=FILE,de=FILE, of `fairseq-xling embed`, or .vec text"},
    )
    map: str = field(
        default="none",
        metadata={
            "help": "map of the first language's vectors into the second's space: none, "
            "adversarial (learnt here), or a file of `fairseq-xling map`"
        },
    )
    normalize: str = field(
        default="none",
        metadata={"help": "normalisation of both vectors before the map, e.g. centre,scale"},
    )
    most_words: int = field(
        default=200_000, metadata=ranged("most frequent words of each language", COUNT)
    )
    head: str = field(default="ner", metadata={"help": "what is predicted: ner, slots or pos"})
    scheme: str = field(default="bio", metadata={"help": "tags that are predicted: bio, or iobes"})
    train_file: str = field(
        default="", metadata={"help": "annotated training files: en=FILE[,de=FILE]"}
    )
    valid_file: str = field(
        default="", metadata={"help": "annotated files for selecting the checkpoint: en=FILE"}
    )
    text_file: str = field(
        default="",
        metadata={"help": "the target's text, words separated by spaces: de=FILE"},
    )
    valid_text_file: str = field(
        default="",
        metadata={"help": "more of it, for the discriminator's accuracy in validation: de=FILE"},
    )
    low_resource: bool = field(
        default=False,
        metadata={"help": "also train on annotated sentences of the target, and select by them"},
    )
    adversary: str = field(
        default="none", metadata={"help": "against the language: none, reversal or flip"}
    )
    adversary_weight: float = field(
        default=1.0, metadata=ranged("weight of the adversary's gradient", NOT_NEGATIVE)
    )
    adversary_schedule: str = field(
        default="constant",
        metadata={"help": "this weight: constant, or ramp, from 0 over the whole training"},
    )
    flip_steps: int = field(
        default=6, metadata=ranged("updates of the tagger for one of D, with flip", COUNT)
    )
    language_smoothing: float = field(
        default=0.3,
        metadata=ranged("smoothing of the labels that D learns", Range(0, 0.5, below=True)),
    )
    epoch_sentences: int = field(
        default=0,
        metadata=ranged(
            "sentences of each language per epoch; 0 is the larger side once", NOT_NEGATIVE
        ),
    )
    format: str = field(default="", metadata={"help": "format of the files (default: conll)"})
    columns: str = field(
        default="", metadata={"help": "which column holds what, e.g. token=1,tag=2"}
    )
    skip_bad: int = field(default=0, metadata=ranged(SKIP_BAD_HELP, NOT_NEGATIVE))
    unknown_labels: str = field(
        default="wrong",
        metadata={"help": "labels not seen in training: refuse, or wrong (count as mistakes)"},
    )
    seed: int = II("common.seed")
    max_epoch: int = II("optimization.max_epoch")
    max_update: int = II("optimization.max_update")
    update_freq: List[int] = II("optimization.update_freq")
    save_dir: str = II("checkpoint.save_dir")


def check_config(cfg: AdversarialTaggingConfig, languages: list[str]) -> None:
    """Reject options that cannot be combined."""
    check_choices(
        cfg,
        unknown_labels=("refuse", "wrong"),
        adversary_schedule=SCHEDULES,
        scheme=tuple(SCHEMES),
    )
    if len(languages) > 2:
        raise UserError(f"`--languages` must be one or two, got {cfg.languages!r}")
    needs_two = [
        option
        for option, chosen in (
            (f"--adversary {cfg.adversary}", adversaries[cfg.adversary].discriminates),
            ("--low-resource", cfg.low_resource),
            (f"--map {cfg.map}", cfg.map != "none"),
        )
        if chosen
    ]
    if needs_two and len(languages) < 2:
        raise UserError(
            f"`--languages` must be two with `{needs_two[0]}`, e.g. en,de, got {cfg.languages!r}"
        )
    check_precision(cfg)
