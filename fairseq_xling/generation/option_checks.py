"""Options of a translation that would have no effect, or that its models cannot follow."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.models.emissions import Emission
from fairseq_xling.ranges import option_name

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


def check_request(args: Any) -> None:
    """Reject fairseq's options of generation that this project has no use for.

    Raises:
        UserError: for one that has another value than that of leaving it out.
    """
    for name, value in _WITHOUT_EFFECT.items():
        if getattr(args, name, value) != value:
            raise UserError(
                f"`--{option_name(name)}` has no effect on a model that predicts all words at "
                f"once, got {getattr(args, name)!r}"
            )
    if getattr(args, "print_alignment", None) == "soft":
        raise UserError("`--print-alignment` must be hard with this task, got 'soft'")


def shared_emission(models: Sequence[Any], ordering: str) -> Emission:
    """The emission of the models, which must have the same.

    Raises:
        UserError: if one cannot translate, if they have several, or if the ordering cannot arrange
            its slots.
    """
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
                f"`--path` must name models of one `--emission`, got {_shown(facts[0])} and "
                f"{_shown(one)}"
            )
    emission = models[0].emission
    if emission.orderings and ordering not in emission.orderings:
        raise UserError(
            f"`--ordering` must be {' or '.join(emission.orderings)} for a model with `--emission "
            f"{_shown(facts[0])}`, got {ordering}"
        )
    return emission


def check_reading(cfg: Any, emission: Emission) -> None:
    """Reject options of reading that have no effect on the emission, or only with another option.

    Args:
        cfg: `TranslationOptions`.

    Raises:
        UserError: see above.
    """
    for name in ("blank_penalty", "word_bonus", "lookahead"):
        value = getattr(cfg, name)
        given = value is not None and value is not False
        if given and name not in {*emission.tuned, *emission.options}:
            raise UserError(
                f"`--{option_name(name)}` has no effect on a model with `--emission "
                f"{_shown(emission.facts())}`" + ("" if value is True else f", got {value}")
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
            "`--slot-beam` must be 1 for a model with `--emission "
            f"{_shown(emission.facts())}`, which has no search, got {cfg.slot_beam}"
        )
    if cfg.ngram is not None and cfg.slot_beam == 1:
        raise UserError(
            "`--ngram` has no effect without a search: give a `--slot-beam` above 1, for a "
            f"model with `--emission ctc` or lattice, got {cfg.ngram}"
        )
    for other, name in itertools.product(("ngram", "rescore"), ("weight", "bonus")):
        value = getattr(cfg, f"{other}_{name}")
        if getattr(cfg, other) is None and value is not None:
            raise UserError(f"`--{other}-{name}` has no effect without `--{other}`, got {value}")
    if cfg.shortlist is not None and not emission.lists:
        raise UserError(
            "`--shortlist` has no effect on a model with `--emission "
            f"{_shown(emission.facts())}`, got {cfg.shortlist}"
        )


def check_candidates(cfg: Any, emission: Emission, candidates: int, nbest: int) -> None:
    """Reject more hypotheses than there are, and a choice from one.

    Args:
        candidates: hypotheses for each sentence.

    Raises:
        UserError: see above.
    """
    if nbest > candidates:
        more = " and a larger `--slot-beam` has more" if emission.searches else ""
        raise UserError(
            f"`--nbest` must be at most {candidates}, the number of candidates of "
            f"`--ordering {cfg.ordering}`{more}, got {nbest}"
        )
    if cfg.rescore is not None and candidates == 1:
        more = "a larger `--slot-beam`" if emission.searches else "another `--ordering`"
        raise UserError(
            f"`--rescore` needs several hypotheses to choose from: give {more}, got 1 for each "
            "sentence"
        )


def _shown(facts: Mapping[str, Any]) -> str:
    """As options.

    >>> _shown({"emission": "ctc", "upsample": 2}), _shown({})
    ('ctc --upsample 2', 'aligned')
    """
    settings = (f"--{option_name(k)} {v}" for k, v in facts.items() if k != "emission")
    return " ".join([facts.get("emission", "aligned"), *settings])
