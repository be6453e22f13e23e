"""The options that the language-modelling tasks have in common."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import List, Optional

from omegaconf import II, MISSING

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import COUNT, NOT_NEGATIVE, SHARE, Range, ranged
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.training.precision import PrecisionConfig


def parse_weights(
    option: str, text: str, names: Sequence[str], kind: str = "objective"
) -> dict[str, float]:
    """``name=number`` items separated by commas; names that are left out are 1.

    >>> parse_weights("--objective-weights", "tlm=0.5", ["mlm", "tlm"])
    {'mlm': 1.0, 'tlm': 0.5}
    """
    weights = {name: 1.0 for name in names}
    for item in names_in(text):
        name, _, value = item.partition("=")
        if name not in weights:
            raise UserError(f"`{option}`: {unknown_name(kind, name, list(names))}")
        try:
            weights[name] = float(value)
        except ValueError:
            weights[name] = -1.0
        if not 0 <= weights[name] < math.inf:
            raise UserError(f"`{option}` must be name=number with numbers >= 0, got {item!r}")
    return weights


@dataclass
class UnifiedTaskConfig(PrecisionConfig):
    data: str = field(
        default=MISSING,
        metadata={
            "help": "data folder made by `fairseq-xling prepare`; or its folder of shards, or some "
            "of them separated by colons, which the epochs read in turn"
        },
    )
    languages: Optional[str] = field(
        default=None,
        metadata={"help": "languages to train on, e.g. en,de (default: all of the data folder)"},
    )
    objectives: str = field(
        default="mlm",
        metadata={"help": "objectives, e.g. mlm,tlm; each has an equal share of the batches"},
    )
    objective_shares: str = field(
        default="", metadata={"help": "shares of the batches, e.g. mlm=3,tlm=1 (default: equal)"}
    )
    objective_weights: str = field(
        default="", metadata={"help": "factors on the loss per token, e.g. mlm=0.5 (default: 1)"}
    )
    mix_in_batch: bool = field(
        default=False,
        metadata={"help": "mix languages and objectives in a batch (requires no private parts)"},
    )
    directions: str = field(
        default="",
        metadata={
            "help": "directions of parallel objectives, e.g. en-de,de-en (default: as prepared)"
        },
    )
    mono_languages: str = field(
        default="",
        metadata={"help": "languages of monolingual objectives, e.g. de (default: all)"},
    )
    mono_text: str = field(
        default="mono",
        metadata={
            "help": "text for monolingual objectives: mono, or parallel (one side of the pairs)"
        },
    )
    alternate: bool = field(
        default=False,
        metadata={
            "help": "alternate languages and objectives by their shares, instead of sampling"
        },
    )
    too_long: str = field(
        default="truncate",
        metadata={
            "help": "sentences longer than the position table: truncate, or refuse; refuse also "
            "refuses translations longer than the slots of an --emission"
        },
    )
    lang_sampling_alpha: float = field(
        default=0.7,
        metadata=ranged("languages are sampled by (share of sentences)^alpha; 0 is uniform", SHARE),
    )
    sample_break_mode: str = field(
        default="none",
        metadata={"help": "none: continuous text in blocks; sentence: one sentence per row"},
    )
    tokens_per_sample: Optional[int] = field(
        default=None,
        metadata=ranged(
            "length of a block in tokens, including its <s> (default: 256, or as many as the model "
            "has positions)",
            Range(2),
        ),
    )
    mask_prob: float = field(
        default=0.15, metadata=ranged("share of tokens that are predicted", SHARE)
    )
    leave_unmasked: float = field(
        default=0.1,
        metadata=ranged("share of the predicted tokens left unchanged in the input", SHARE),
    )
    random_token: float = field(
        default=0.1,
        metadata=ranged("share of the predicted tokens replaced by a random token", SHARE),
    )
    random_within_language: bool = field(
        default=False,
        metadata={"help": "draw random tokens from the same language's training text"},
    )
    extra_anchors: bool = field(
        default=False,
        metadata={"help": "code-switch words with the data folder's dictionary (training only)"},
    )
    anchor_prob: float = field(
        default=0.3, metadata=ranged("share of dictionary words that are replaced", SHARE)
    )
    anchor_cap: float = field(
        default=0.15,
        metadata=ranged("maximum share of a batch's words that may be replaced", SHARE),
    )
    epoch_updates: int = field(
        default=0,
        metadata=ranged(
            "optimiser steps per epoch; 0 is about one pass over the data", NOT_NEGATIVE
        ),
    )
    sort_window: int = field(
        default=32768,
        metadata=ranged("rows sorted by length together; more rows, less padding", COUNT),
    )
    unpadded: str = field(
        default="auto",
        metadata={
            "help": "leave padding out of the encoder: on, off, or auto, which is on a GPU in half "
            "precision, where attention has a kernel for it"
        },
    )
    compile: bool = field(
        default=False,
        metadata={
            "help": "compile the layers, the output layer and the loss (torch.compile); the first "
            "steps take longer"
        },
    )
    print_params: bool = field(
        default=False, metadata={"help": "print the number of parameters, part by part"}
    )
    seed: int = II("common.seed")
    update_freq: List[int] = II("optimization.update_freq")
