"""The options that the language-modelling tasks have in common."""

from dataclasses import dataclass, field
from typing import List, Optional

from omegaconf import II, MISSING

from fairseq_xling.training.precision import PrecisionConfig


@dataclass
class UnifiedTaskConfig(PrecisionConfig):
    data: str = field(
        default=MISSING, metadata={"help": "data folder made by `fairseq-xling prepare`"}
    )
    languages: Optional[str] = field(
        default=None,
        metadata={"help": "languages to train on, e.g. en,de (default: all of the data folder)"},
    )
    objectives: str = field(
        default="mlm", metadata={"help": "objectives, e.g. mlm,tlm; batches are dealt out evenly"}
    )
    objective_shares: str = field(
        default="", metadata={"help": "shares of the batches, e.g. mlm=3,tlm=1 (default: equal)"}
    )
    objective_weights: str = field(
        default="", metadata={"help": "factors on the loss per token, e.g. mlm=0.5 (default: 1)"}
    )
    mix_in_batch: bool = field(
        default=False,
        metadata={"help": "let languages and objectives share a batch (nothing may be private)"},
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
            "help": "what monolingual objectives read: mono, or parallel (a side of the pairs)"
        },
    )
    alternate: bool = field(
        default=False,
        metadata={"help": "languages and objectives take turns by their shares, not by chance"},
    )
    too_long: str = field(
        default="truncate",
        metadata={"help": "sentences longer than the position table: truncate, or refuse"},
    )
    lang_sampling_alpha: float = field(
        default=0.7,
        metadata={"help": "languages are drawn by (share of sentences)^alpha; 0 is uniform"},
    )
    sample_break_mode: str = field(
        default="none",
        metadata={"help": "none: continuous text in blocks; sentence: a sentence a row"},
    )
    tokens_per_sample: int = field(
        default=256, metadata={"help": "length of a block, in tokens, its <s> included"}
    )
    mask_prob: float = field(default=0.15, metadata={"help": "share of tokens that are predicted"})
    leave_unmasked: float = field(
        default=0.1, metadata={"help": "share of the predicted that the model sees as they are"}
    )
    random_token: float = field(
        default=0.1, metadata={"help": "share of the predicted that become a random token"}
    )
    random_within_language: bool = field(
        default=False,
        metadata={"help": "draw random tokens from those of the same language's training text"},
    )
    extra_anchors: bool = field(
        default=False,
        metadata={"help": "code-switch words by the data folder's dictionary (training only)"},
    )
    anchor_prob: float = field(
        default=0.3, metadata={"help": "share of dictionary words that are replaced"}
    )
    anchor_cap: float = field(
        default=0.15, metadata={"help": "most words of a batch that may be replaced, as a share"}
    )
    epoch_updates: int = field(
        default=0,
        metadata={"help": "optimiser steps per epoch; 0 is about one pass over the data"},
    )
    sort_window: int = field(
        default=32768, metadata={"help": "rows sorted by length together: more is less padding"}
    )
    print_params: bool = field(
        default=False, metadata={"help": "print the number of parameters, part by part"}
    )
    seed: int = II("common.seed")
    update_freq: List[int] = II("optimization.update_freq")
