"""The options of translation, which `--task cdlm` has beside those of training."""

from dataclasses import dataclass, field
from typing import Optional

from fairseq.dataclass import FairseqDataclass
from omegaconf import II


@dataclass
class TranslationOptions(FairseqDataclass):
    source_lang: Optional[str] = field(
        default=None,
        metadata={
            "help": "translation: language to read (default: the first of --directions, else of "
            "the data folder's first pair)",
            "argparse_alias": "-s",
        },
    )
    target_lang: Optional[str] = field(
        default=None,
        metadata={"help": "translation: language to write", "argparse_alias": "-t"},
    )
    ordering: str = field(
        default="identity",
        metadata={
            "help": "translation: where the order and the length come from: identity (the source), "
            "oracle (alignments of the data folder), predicted (a head of the model: --auxiliary "
            "order), relative (one that orders a part of the source's tokens: --auxiliary relative)"
        },
    )
    length_candidates: int = field(
        default=2,
        metadata={
            "help": "translation: lengths to try for each sentence with predicted or relative"
        },
    )
    order_beam: int = field(
        default=10,
        metadata={"help": "translation: hypotheses kept while an order is searched with relative"},
    )
    length_weight: float = field(
        default=1.0,
        metadata={
            "help": "translation: weight of a candidate order's log-probability beside that of "
            "its tokens"
        },
    )
    keep_repeats: bool = field(
        default=False,
        metadata={"help": "translation: do not turn equal neighbouring tokens into one"},
    )
    # Whether fairseq joins the symbols of its output itself (its --remove-bpe).
    post_process: Optional[str] = II("common_eval.post_process")
