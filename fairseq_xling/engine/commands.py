"""The command lines of fairseq's programs: ranges of our options, help, files that they name."""

import argparse
import ast
import contextlib
import dataclasses
import functools
import importlib.util
import itertools
import operator
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import torch

from fairseq_xling.core.errors import UserError, exits_on_user_error, usage_line
from fairseq_xling.core.ranges import check_fields
from fairseq_xling.core.registry import did_you_mean
from fairseq_xling.core.texts import open_binary, read_sentences
from fairseq_xling.engine.devices import loader_processes_by_default
from fairseq_xling.engine.patches import replace, replace_eval
from fairseq_xling.engine.processes import check_joined
from fairseq_xling.engine.reading import refuse_proteins

_LONGEST = 10_000  # characters of the text, and items of a list
_JOINED = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def literal(text: Any, *_: Any) -> Any:
    """The value of ``text``: numbers, texts, lists, tuples, dicts; sums and multiples of them.

    Nothing is called and no name is looked up. Further arguments are those of Python's ``eval``,
    for which this stands; they are ignored.

    >>> literal("(0.9, 0.98)"), literal("[(512, 3)] * 2 + [(9, 1)]"), literal("-1e-6")
    ((0.9, 0.98), [(512, 3), (512, 3), (9, 1)], -1e-06)
    """
    if not isinstance(text, str):
        raise TypeError(f"must be text, got {type(text).__name__}")
    shown = repr(text if len(text) <= 80 else f"{text[:60]}...")
    try:
        if len(text) > _LONGEST:
            raise ValueError
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        raise UserError(
            f"an option must be a plain value such as 0.1, (0.9, 0.98) or [1, 2], got {shown}"
        ) from None


def _value(node: ast.AST) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        kind = {ast.Tuple: tuple, ast.List: list, ast.Set: set}[type(node)]
        return kind(_value(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {_value(key): _value(value) for key, value in pairs if key is not None}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else +value
    if isinstance(node, ast.BinOp) and type(node.op) in _JOINED:
        left, right = _value(node.left), _value(node.right)
        if _size(left) * _size(right) > _LONGEST:
            raise ValueError
        return _JOINED[type(node.op)](left, right)
    raise ValueError(type(node).__name__)


def _size(value: Any) -> int:
    """What a product with it may be a multiple of."""
    if isinstance(value, int):
        return max(1, abs(value))
    return max(1, len(value)) if hasattr(value, "__len__") else 1


_PROJECT = __name__.partition(".")[0]


def install() -> None:
    """Replace what every program of fairseq passes through."""
    replace("fairseq.options:parse_args_and_arch", _checked)
    replace("fairseq_cli.generate:main", exits_on_user_error)
    replace_eval(exits_on_user_error(literal))


def _checked(parse: Callable[..., Any]) -> Callable[..., Any]:
    """Options count before there is a task, so they are checked where they are read."""

    @functools.wraps(parse)
    @exits_on_user_error
    def wrapper(parser: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> Any:
        def refuse(message: str) -> NoReturn:
            if unknown := re.match(r"unrecognized arguments: (--[\w-]+)", message):
                message += did_you_mean(unknown[1], parser._option_string_actions)
            raise SystemExit(usage_line(parser.prog, message))

        parser.error = refuse
        if parser.get_default("num_workers") is not None:
            parser.set_defaults(num_workers=_Unsaid(parser.get_default("num_workers")))
        with _late_help(parser):
            parsed = parse(parser, *args, **kwargs)
        found = parsed[0] if isinstance(parsed, tuple) else parsed  # with the unknown ones
        if getattr(found, "bf16", False) and importlib.util.find_spec("torch_xla") is None:
            found.tpu = False  # fairseq takes the one for the other, which hides a GPU
        ours = _is_ours(found)
        if isinstance(getattr(found, "num_workers", None), _Unsaid):
            on_gpu = torch.cuda.is_available() and not found.cpu
            found.num_workers = (
                loader_processes_by_default(on_gpu) if ours else int(found.num_workers)
            )
        if ours and hasattr(found, "context_window"):  # of fairseq-eval-lm alone
            raise UserError(
                "`fairseq-eval-lm` needs a model that predicts the next word, got `--task "
                f"{found.task}`; `fairseq-xling eval` has bits per word of ours, and "
                "fairseq-validate their loss"
            )
        _check_ranges(found)
        if not ours:
            refuse_proteins(getattr(found, "data", None))
        # Named before any model is loaded.
        if hasattr(found, "buffer_size") and "fairseq_cli.interactive" in sys.modules:
            if found.input != "-":
                open_binary(found.input).close()
            replace("fairseq_cli.interactive:buffered_read", _read_input)
        return parsed

    return wrapper


def _read_input(buffered_read: Callable[..., Any]) -> Callable[..., Any]:
    """Sentences of the file ``--input`` in blocks."""

    @functools.wraps(buffered_read)
    def wrapper(input: str, buffer_size: int) -> Iterator[list[str]]:
        if input == "-":
            yield from buffered_read(input, buffer_size)
            return
        lines = read_sentences(input)
        take = exits_on_user_error(lambda: list(itertools.islice(lines, max(buffer_size, 1))))
        while block := take():
            yield [line.strip() for line in block]

    return wrapper


_HELP = {"-h", "--help"}


@contextlib.contextmanager
def _late_help(parser: argparse.ArgumentParser) -> Iterator[None]:
    """fairseq prints its help before it adds the options of the task, architecture and criterion
    that were named, and raises a bare RuntimeError where no architecture was."""

    def first(words: Sequence[str] | None = None, namespace: Any = None) -> Any:
        words = list(sys.argv[1:] if words is None else words)
        asked = not _HELP.isdisjoint(words)
        found, rest = read([word for word in words if word not in _HELP], namespace)
        # fairseq-generate has one by default, for sound.
        if asked and getattr(found, "arch", "") == parser.get_default("arch"):
            del found.arch
        elif getattr(found, "arch", "") is None:
            parser.error("the following arguments are required: --arch")
        parser.parse_known_args = last if asked else read
        named.update(vars(found))
        return found, rest

    def last(words: Sequence[str] | None = None, namespace: Any = None) -> Any:
        _group_options(parser, named)
        return read(words, namespace)

    named: dict[str, Any] = {}
    read, parser.parse_known_args = parser.parse_known_args, first
    try:
        yield
    finally:
        parser.parse_known_args = read


def _group_options(parser: argparse.ArgumentParser, named: Mapping[str, Any]) -> None:
    """Give what was named by option, such as ``task``, a group of its own in the help."""
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY
    from fairseq.registry import REGISTRIES
    from fairseq.tasks import TASK_DATACLASS_REGISTRY

    arch = ARCH_MODEL_NAME_REGISTRY.get(named.get("arch"), named.get("arch"))
    configs = {
        kind: one["dataclass_registry"].get(named.get(kind)) for kind, one in REGISTRIES.items()
    }
    configs["arch"] = MODEL_DATACLASS_REGISTRY.get(arch)
    configs["task"] = TASK_DATACLASS_REGISTRY.get(named.get("task"))
    for kind, config in configs.items():
        # Without those that stand for an option of all trainings, such as the seed.
        fields = {
            field.name
            for field in (dataclasses.fields(config) if config else ())
            if not str(field.default).startswith("${")
        }
        own = parser.add_argument_group(f"{kind.replace('_', '-')} {named.get(kind)}")
        for group in parser._action_groups:
            moved = [a for a in group._group_actions if a.option_strings and a.dest in fields]
            if group is not own and moved:
                own._group_actions += moved
                group._group_actions = [a for a in group._group_actions if a not in moved]


class _Unsaid(int):
    """The default of an option, which a user did not type."""


def _is_ours(found: argparse.Namespace) -> bool:
    """Whether the task is one of this project."""
    from fairseq.tasks import TASK_REGISTRY

    chosen = TASK_REGISTRY.get(getattr(found, "task", None))
    return chosen is not None and chosen.__module__.partition(".")[0] == _PROJECT


def _check_ranges(found: argparse.Namespace) -> None:
    """Of what a command line names; only ours declare any."""
    from fairseq.criterions import CRITERION_DATACLASS_REGISTRY
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY
    from fairseq.tasks import TASK_DATACLASS_REGISTRY

    arch = getattr(found, "arch", None)
    for registry, name in (
        (TASK_DATACLASS_REGISTRY, getattr(found, "task", None)),
        (MODEL_DATACLASS_REGISTRY, ARCH_MODEL_NAME_REGISTRY.get(arch, arch)),
        (CRITERION_DATACLASS_REGISTRY, getattr(found, "criterion", None)),
    ):
        if name in registry:
            check_fields(registry[name], found)


def check_hydra_processes(cfg: Any) -> None:
    """Check the processes of `fairseq-hydra-train`, which imports us after joining them.

    Args:
        cfg: a part of its whole configuration, such as that of the task.
    """
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig

    root = cfg._get_root() if isinstance(cfg, DictConfig) else cfg
    if root is not cfg and HydraConfig.initialized() and "distributed_training" in root:
        check_joined(root.distributed_training, os.environ)
