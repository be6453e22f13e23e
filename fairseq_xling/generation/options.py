"""The options of translation, which `--task cdlm` has in addition to those of training."""

from dataclasses import dataclass, field
from typing import Optional

from fairseq.dataclass import FairseqDataclass
from omegaconf import II


@dataclass
class TranslationOptions(FairseqDataclass):
    source_lang: Optional[str] = field(
        default=None,
        metadata={
            "help": "translation: source language (default: the first of --directions, else of "
            "the data folder's first pair)",
            "argparse_alias": "-s",
        },
    )
    target_lang: Optional[str] = field(
        default=None,
        metadata={"help": "translation: target language", "argparse_alias": "-t"},
    )
    ordering: str = field(
        default="identity",
        metadata={
            "help": "translation: source of the order and the length: identity (the source "
            "sentence), "
            "oracle (alignments of the data folder), predicted (the model's --auxiliary order "
            "head), relative (its --auxiliary relative head, which orders some of the source "
            "tokens)"
        },
    )
    length_candidates: int = field(
        default=2,
        metadata={"help": "translation: lengths to try per sentence with predicted or relative"},
    )
    order_beam: int = field(
        default=10,
        metadata={"help": "translation: beam width of the search for an order with relative"},
    )
    length_weight: float = field(
        default=1.0,
        metadata={
            "help": "translation: weight of a candidate order's log-probability relative to that "
            "of "
            "its tokens"
        },
    )
    keep_repeats: bool = field(
        default=False,
        metadata={"help": "translation: do not collapse consecutive repeated tokens"},
    )
    # Whether fairseq joins the symbols of its output itself (its --remove-bpe).
    post_process: Optional[str] = II("common_eval.post_process")
