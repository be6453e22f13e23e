"""The options of translation, which `--task cdlm` has in addition to those of training, and checks
of those that would have no effect, or that the models cannot follow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from fairseq.dataclass import FairseqDataclass
from omegaconf import II

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import ANY, CANDIDATES, HYPOTHESES, NATS, option_name, ranged
from fairseq_xling.models.emissions import Emission

# fairseq's options of left-to-right search that would silently have no effect, and the values
# that they must have.
_WITHOUT_EFFECT = {
    "prefix_size": 0,
    "constraints": None,
    "sampling": False,
    "replace_unk": None,
    "score_reference": False,
    "print_step": False,
    "retain_iter_history": False,
    "lm_path": None,
    "no_repeat_ngram_size": 0,
    "diverse_beam_groups": -1,
    "match_source_len": False,
}


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
            "sentence), oracle (alignments of the data folder), predicted (the model's "
            "--auxiliary order head), relative (its --auxiliary relative head, which orders some "
            "of the source tokens)"
        },
    )
    length_candidates: int = field(
        default=2,
        metadata=ranged(
            "translation: lengths to try per sentence with predicted or relative", CANDIDATES
        ),
    )
    order_beam: int = field(
        default=10,
        metadata=ranged(
            "translation: beam width of the search for an order with relative", HYPOTHESES
        ),
    )
    length_weight: float = field(
        default=1.0,
        metadata=ranged(
            "translation: weight of a candidate order's log-probability relative to that of its "
            "tokens",
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
            "makes translations longer (default: the model's own)",
            ANY,
        ),
    )
    word_bonus: Optional[float] = field(
        default=None,
        metadata=ranged(
            "translation: added to the score of a path for each word, in nats, with `--emission "
            "lattice`; more makes translations longer (default: the model's own)",
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


def check_request(args: Any) -> None:
    """Reject fairseq's options of generation that this project has no use for."""
    for name, value in _WITHOUT_EFFECT.items():
        if getattr(args, name, value) != value:
            raise UserError(
                f"`--{option_name(name)}` has no effect on a model that predicts all words at "
                f"once, got {getattr(args, name)!r}"
            )
    if getattr(args, "print_alignment", None) == "soft":
        raise UserError("`--print-alignment` must be hard with this task, got 'soft'")


def shared_emission(models: Sequence[Any], ordering: str) -> Emission:
    """The emission of the models, which must have the same."""
    for model in models:
        if not getattr(model, "reorders", False):
            raise UserError(
                "`--path` must name a model with a TRILayer, such as tri_bert_base, got "
                f"{type(model).__name__}"
            )
    facts = [model.emission.facts() for model in models]
    for one in facts:
        if one != facts[0]:
            raise UserError(
                f"`--path` must name models of one `--emission`, got {_as_options(facts[0])} and "
                f"{_as_options(one)}"
            )
    emission = models[0].emission
    if emission.orderings and ordering not in emission.orderings:
        raise UserError(
            f"`--ordering` must be {' or '.join(emission.orderings)} for a model with `--emission "
            f"{_as_options(facts[0])}`, got {ordering}"
        )
    return emission


def check_reading(cfg: Any, emission: Emission) -> None:
    """Reject options of reading that have no effect on the emission or with another option."""
    said = _as_options(emission.facts())
    for name in ("blank_penalty", "word_bonus", "lookahead"):
        value = getattr(cfg, name)
        given = value is not None and value is not False
        if given and name not in {*emission.tuned, *emission.options}:
            raise UserError(
                f"`--{option_name(name)}` has no effect on a model with `--emission {said}`"
                + ("" if value is True else f", got {value}")
            )
    if cfg.lookahead:
        if cfg.slot_beam > 1:
            raise UserError(
                "`--lookahead` has no effect on a search, which `--slot-beam` "
                f"{cfg.slot_beam} asks for"
            )
        if cfg.word_bonus is not None:
            raise UserError(
                f"`--word-bonus` has no effect with `--lookahead`, got {cfg.word_bonus}"
            )
    if cfg.slot_beam > 1 and not emission.searches:
        raise UserError(
            f"`--slot-beam` must be 1 for a model with `--emission {said}`, which has no search, "
            f"got {cfg.slot_beam}"
        )
    if cfg.shortlist is not None and not emission.lists:
        raise UserError(
            f"`--shortlist` has no effect on a model with `--emission {said}`, got {cfg.shortlist}"
        )


def check_candidates(cfg: Any, emission: Emission, candidates: int, nbest: int) -> None:
    """Reject more hypotheses, ``nbest``, than the ``candidates`` for each sentence."""
    if nbest > candidates:
        more = " and a larger `--slot-beam` has more" if emission.searches else ""
        raise UserError(
            f"`--nbest` must be at most {candidates}, the number of candidates of "
            f"`--ordering {cfg.ordering}`{more}, got {nbest}"
        )


def _as_options(facts: Mapping[str, Any]) -> str:
    """As options.

    >>> _as_options({"emission": "ctc", "upsample": 2}), _as_options({})
    ('ctc --upsample 2', 'aligned')
    """
    settings = (f"--{option_name(k)} {v}" for k, v in facts.items() if k != "emission")
    return " ".join([facts.get("emission", "aligned"), *settings])
