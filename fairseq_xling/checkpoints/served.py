"""Which tasks, architectures and criterions a checkpoint may name, and with which options.

All of this project and of a plug-in that the user names with ``--user-dir``: code that the user
chose. fairseq registers some 200 more, many of which evaluate an option as Python, read a file or
start a program; a file must not choose among these. The few that we use on purpose are declared
here, with what keeps them harmless.
"""

import argparse
import dataclasses
import enum
import itertools
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairseq_xling.checkpoints.layout import Kind
from fairseq_xling.core.errors import OWN, UserError, shown
from fairseq_xling.core.ranges import BELOW_ONE, SHARE, Range

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PATH = re.compile(r"[\w./~ +=@,:-]+")


def _is_plain(value: Any) -> bool:
    """Whether neither a shell nor a path nor an ``eval`` reads more into ``value`` than a name.

    >>> [_is_plain(value) for value in ("zh-Hans", None, True, "a;b", "../a", "-a", 1)]
    [True, True, True, False, False, False, False]
    """
    if isinstance(value, str):
        return _NAME.fullmatch(value) is not None
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool)


PLAIN = Kind("a plain name (letters, digits, `_`, `.` and `-`) or a flag", _is_plain)
# The folders of data, with a colon between; as a text it may still not mean more than that.
PATHS = Kind(
    "a path of letters, digits, spaces and any of `. / ~ + = @ , : _ -`",
    lambda value: value is None or _PATH.fullmatch(value) is not None,
)
UNSET = Kind("unset", lambda value: not value)


def _numbers(allowed: Range, *names: str) -> dict[str, Kind]:
    """The options ``names``, which are numbers in a range: the weights do not show all of them."""
    rule = Kind(
        f"a number {allowed.words}",
        lambda v: v is None or (isinstance(v, int | float) and v in allowed),
    )
    return dict.fromkeys(names, rule)


def _rise(value: Any) -> bool:
    return value is None or all(a < b for a, b in itertools.pairwise([0, *value]))


@dataclass(frozen=True)
class Served:
    """One of fairseq's own that we serve.

    Attributes:
        why: what uses it.
        allowed: what an option may be where that is not `PLAIN`, as all others must be: each number
            has a range of its own.
        left: options for training alone, some of which name files or programs. They are removed,
            so that their defaults hold.
    """

    why: str
    allowed: Mapping[str, Kind] = field(default_factory=dict)
    left: tuple[str, ...] = ()


def _both(name: str) -> tuple[str, str]:
    return f"encoder_{name}", f"decoder_{name}"


_SIZE = Range(1, 1 << 16)
_FORMATS = ("mmap", "cached", "lazy", "raw", "huffman")
_PEER = "the autoregressive model that TreLM's generation is compared with"
SERVED: dict[str, dict[str, Served]] = {
    "task": {
        "translation": Served(
            _PEER,
            # What is not listed: fairseq passes the name of a file of proteins to a shell.
            allowed={
                "data": PATHS,
                "dataset_impl": Kind(
                    f"one of {', '.join(_FORMATS)}",
                    lambda value: value is None or value in _FORMATS,
                ),
                **_numbers(_SIZE, "max_source_positions", "max_target_positions"),
                **_numbers(Range(1, 128), "required_seq_len_multiple"),
            },
            # Validation by BLEU builds tokenisers, which read files that an option names.
            left=(
                *("num_batch_buckets", "upsample_primary"),
                *("eval_bleu", "eval_bleu_args", "eval_bleu_detok", "eval_bleu_detok_args"),
                *("eval_bleu_remove_bpe", "eval_bleu_print_samples", "eval_tokenized_bleu"),
            ),
        )
    },
    "model": {
        "transformer": Served(
            _PEER,
            allowed={
                # Evaluated, though they are declared as text.
                **dict.fromkeys(_both("xformers_att_config"), UNSET),
                # The weights would be others than those that are saved.
                **dict.fromkeys(_both("layers_to_keep"), UNSET),
                **dict.fromkeys(("base_layers", "quant_noise_scalar"), UNSET),
                "adaptive_softmax_cutoff": Kind("a list of numbers that rise from 1", _rise),
                **_numbers(Range(1, 64), "adaptive_softmax_factor"),
                **_numbers(_SIZE, *_both("embed_dim"), *_both("ffn_embed_dim")),
                **_numbers(_SIZE, "decoder_output_dim", "decoder_input_dim"),
                **_numbers(_SIZE, "max_source_positions", "max_target_positions"),
                **_numbers(Range(1, 1024), *_both("layers"), *_both("attention_heads")),
                **_numbers(SHARE, "dropout", "attention_dropout", "activation_dropout"),
                **_numbers(SHARE, "relu_dropout", "adaptive_softmax_dropout", *_both("layerdrop")),
                **_numbers(Range(0, 16), "base_sublayers", "base_shuffle"),
            },
            left=(
                *("encoder_embed_path", "decoder_embed_path", "min_params_to_wrap"),
                *("quant_noise_pq", "quant_noise_pq_block_size"),
            ),
        )
    },
    "criterion": {
        "label_smoothed_cross_entropy": Served(
            _PEER,
            allowed={
                **_numbers(BELOW_ONE, "label_smoothing"),
                **_numbers(Range(0, 1 << 16), "ignore_prefix_size"),
            },
        ),
        "cross_entropy": Served(_PEER),
    },
}
# Under which names fairseq looks for the choice, in each part of a configuration.
_NAMES = {
    "task": ("_name", "task"),
    "model": ("_name", "arch"),
    "criterion": ("_name", "criterion"),
}
# Options of older versions without which a model would be another one.
_GONE = {"compat": "are read by version 0.3.0 and older"}
_KINDS = {"task": "a task", "model": "an architecture", "criterion": "a criterion"}


def check_served(state: dict[str, Any], path: Any) -> None:
    """Reject a checkpoint that would have anything built that is not served, or served with it.

    Options that the classes do not declare are removed from ``state``, as fairseq does where it
    builds a model, and of fairseq's own classes those that only a training needs.

    Args:
        state: what `check_layout` has accepted.
    """
    if state.get("args") is not None:
        raise UserError(
            f"{path}: `args` must be None, got options of an older fairseq, whose checkpoints "
            "are read as weights only"
        )
    for part in _NAMES:
        section = state["cfg"].get(part)
        if section is None:
            continue
        values = vars(section) if isinstance(section, argparse.Namespace) else section
        if not isinstance(values, dict):
            raise UserError(f"{path}: `cfg.{part}` must be a mapping, got {shown(section)}")
        place = f"{path}: `cfg.{part}"
        _check_options(part, values, place, *_chosen(part, values, place, SERVED[part]))


def check_architecture(settings: Mapping[str, Any], place: str) -> type:
    """The class of the architecture that an encoder's settings name, one of the project's.

    Args:
        settings: the options of its model.
        place: where they are from, for the message.
    """
    values, place = dict(settings), f"{place}: `encoder_config"
    chosen, served = _chosen("model", values, place, {})
    _check_options("model", values, place, chosen, served)
    return chosen


def is_project(chosen: type) -> bool:
    """Whether ``chosen`` is of this project or of a plug-in of the user's, not of fairseq itself.

    The module that defines it tells, so nothing needs to be listed.
    """
    return chosen.__module__.partition(".")[0] != "fairseq"


def _registered(part: str, name: str) -> tuple[type | None, str]:
    """The class that fairseq would build, and the name that it was registered under."""
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    if part == "model":
        name = ARCH_MODEL_NAME_REGISTRY.get(name, name)
        return MODEL_REGISTRY.get(name), name
    return {"task": TASK_REGISTRY, "criterion": CRITERION_REGISTRY}[part].get(name), name


def _chosen(
    part: str, values: Mapping[str, Any], place: str, served: Mapping[str, Served]
) -> tuple[type, Served | None]:
    """The class that a part names, and its entry of ``served`` if it is fairseq's."""
    given = [values[key] for key in _NAMES[part] if values.get(key) is not None]
    if not given or any(name != given[0] or not isinstance(name, str) for name in given):
        got = ", ".join(map(shown, given)) or "none"
        raise UserError(f"{place}` must name {_KINDS[part]}, and one alone, got {got}")
    chosen, name = _registered(part, given[0])
    if chosen is None or not (is_project(chosen) or name in served):
        also = f", or {' or '.join(served)}" if served else ""
        raise UserError(
            f"{place}` must name {_KINDS[part]} of fairseq_xling or of your own{also}, got "
            f"{shown(given[0])}{OWN}"
        )
    return chosen, None if is_project(chosen) else served[name]


def _check_options(
    part: str, values: dict[str, Any], place: str, chosen: type, served: Served | None
) -> None:
    """Compare the options with what they may be, and keep no others where all are declared."""
    declared = declared_types(chosen)
    if served is not None or getattr(chosen, "__dataclass", None) is not None:
        for name in [n for n in values if n not in declared and n not in _NAMES[part]]:
            if values.pop(name) and name in _GONE:
                raise UserError(f"{place}.{name}` must be false: its models {_GONE[name]}")
    for name in served.left if served is not None else ():
        values.pop(name, None)
    for name, value in values.items():
        rules = list(declared.get(name, ()))
        if served is not None:
            rules.append(served.allowed.get(name, PLAIN))
        for rule in rules:
            if not rule.holds(value):
                raise UserError(f"{place}.{name}` must be {rule.words}, got {shown(value)}")


def declared_types(chosen: type) -> dict[str, list[Kind]]:
    """What options may be that a class declares, by a dataclass or, in older ones, to a parser."""
    options = getattr(chosen, "__dataclass", None)
    if options is not None:
        return {option.name: _of_field(option) for option in dataclasses.fields(options)}
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    if hasattr(chosen, "add_args"):
        chosen.add_args(parser)
    return {action.dest: [_of_action(action)] for action in parser._actions}


def _of_field(option: "dataclasses.Field[Any]") -> list[Kind]:
    """The declared type of an option of a dataclass, and its range where it is `ranged`."""
    rules = [Kind(_words(option.type), _holder(option.type, option.default))]
    if allowed := option.metadata.get("range"):
        rules.append(Kind(allowed.words, lambda v: v is None or isinstance(v, str) or v in allowed))
    return rules


def _holder(kind: Any, default: Any) -> Callable[[Any], bool]:
    return lambda value: value == "???" or value == default or fits(value, kind)


def fits(value: Any, kind: Any) -> bool:
    """Whether ``value`` is of the declared type ``kind``.

    >>> fits(1, float), fits(True, int), fits("1", int), fits([1, 2], list[int])
    (True, False, False, True)
    >>> fits(None, typing.Optional[int]), fits({}, typing.Any)
    (True, False)
    """
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if kind is None or kind is types.NoneType:
        return value is None
    if origin in (list, tuple) or kind in (list, tuple):
        item = inner[0] if inner else Any
        return isinstance(value, Sequence) and not isinstance(value, str) and _all(value, item)
    if kind is bool or kind is str:
        return isinstance(value, kind)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return value in [one.value for one in kind] or value in [one.name for one in kind]
    if dataclasses.is_dataclass(kind):
        known = {option.name: option for option in dataclasses.fields(kind)}
        return isinstance(value, dict) and all(
            _holder(known[n].type, known[n].default)(v) for n, v in value.items() if n in known
        )
    if isinstance(value, list | tuple):
        return _all(value, Any)
    return value is None or isinstance(value, str | int | float)


def _all(values: Sequence[Any], kind: Any) -> bool:
    return all(fits(value, kind) for value in values)


def _words(kind: Any) -> str:
    return f"of type {getattr(kind, '__name__', None) or str(kind).replace('typing.', '')}"


def _of_action(action: argparse.Action) -> Kind:
    """The declared type of an option of a parser: None is always possible."""
    if action.nargs == 0:
        return Kind("a flag", lambda v: v is None or isinstance(v, bool))
    if action.choices is not None:
        listed = list(action.choices)
        return Kind("one of its choices", lambda v: v is None or v in listed)
    if action.type in (None, str, int, float):
        kind = action.type or typing.Union[str, int, float]
        return Kind(_words(kind), lambda v: v is None or fits(v, kind))
    # A function that reads a list from text; what it has read is no text any more.
    numbers = list[typing.Union[int, float]]
    return Kind("a list of numbers", lambda v: v is None or fits(v, numbers))
