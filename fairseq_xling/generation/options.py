"""The options of translation, which `--task cdlm` has in addition to those of training."""

from dataclasses import dataclass, field
from typing import Optional

from fairseq.dataclass import FairseqDataclass
from omegaconf import II

from fairseq_xling.ranges import ANY, CANDIDATES, HYPOTHESES, NATS, NOT_NEGATIVE, SHARE, ranged


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
        metadata=ranged(
            "translation: lengths to try per sentence with predicted or relative",
            CANDIDATES,
        ),
    )
    order_beam: int = field(
        default=10,
        metadata=ranged(
            "translation: beam width of the search for an order with relative",
            HYPOTHESES,
        ),
    )
    length_weight: float = field(
        default=1.0,
        metadata=ranged(
            "translation: weight of a candidate order's log-probability relative to that "
            "of "
            "its tokens",
            ANY,
        ),
    )
    keep_repeats: bool = field(
        default=False,
        metadata={"help": "translation: do not collapse consecutive repeated tokens"},
    )
    blank_penalty: Optional[float] = field(
        default=None,
        metadata=ranged(
            "translation: taken from the logit of writing nothing, with `--emission ctc`; more "
            "makes translations longer (default: the model's own, see `fairseq-xling tune`)",
            ANY,
        ),
    )
    word_bonus: Optional[float] = field(
        default=None,
        metadata=ranged(
            "translation: added to the score of a path for each word, in nats, with `--emission "
            "lattice`; more makes translations longer (default: the model's own, see "
            "`fairseq-xling tune`)",
            NATS,
        ),
    )
    lookahead: bool = field(
        default=False,
        metadata={
            "help": "translation: with `--emission lattice`, take the likeliest next slot with its "
            "word, as in its paper, not the likeliest path"
        },
    )
    slot_beam: int = field(
        default=1,
        metadata=ranged(
            "translation: prefixes that a search over the slots of --emission ctc or lattice "
            "keeps; 1 takes the likeliest alignment or path",
            HYPOTHESES,
        ),
    )
    ngram: Optional[str] = field(
        default=None,
        metadata={
            "help": "translation: n-gram model (ARPA) of text in the target language's pieces, as "
            "`fairseq-xling pieces` writes it, whose score the search over slots adds to its own"
        },
    )
    ngram_weight: Optional[float] = field(
        default=None,
        metadata=ranged(
            "translation: weight of the log-probability by --ngram (default: 0.4)", NOT_NEGATIVE
        ),
    )
    ngram_bonus: Optional[float] = field(
        default=None,
        metadata=ranged(
            "translation: added to the score for each word with --ngram, in nats; more is longer "
            "(default: 1.5)",
            ANY,
        ),
    )
    rescore: Optional[str] = field(
        default=None,
        metadata={
            "help": "translation: checkpoint of `--task translation` with the same vocabulary, "
            "which chooses among the hypotheses"
        },
    )
    rescore_weight: Optional[float] = field(
        default=None,
        metadata=ranged(
            "translation: share of the log-probability by --rescore in a hypothesis's score, next "
            "to its own (default: 0.7)",
            SHARE,
        ),
    )
    rescore_bonus: Optional[float] = field(
        default=None,
        metadata=ranged(
            "translation: added to the score for each word with --rescore, in nats; more is longer "
            "(default: 0.5)",
            ANY,
        ),
    )
    shortlist: Optional[str] = field(
        default=None,
        metadata={
            "help": "translation: file of `fairseq-xling shortlist`; only its words for the "
            "sentence's words, and the most frequent ones, are written, which is faster"
        },
    )
    int8: bool = field(
        default=False,
        metadata={"help": "translation: products with weights in 8 bits, on a CPU in fp32"},
    )
    # Shares of the text for several processes; fairseq has the options, and no use for them.
    num_shards: int = II("dataset.num_shards")
    shard_id: int = II("dataset.shard_id")
    # Whether fairseq joins the symbols of its output itself (its --remove-bpe).
    post_process: Optional[str] = II("common_eval.post_process")
