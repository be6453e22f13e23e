"""fairseq's options: it declares no ranges, and reads files without a look."""

import argparse
import functools
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from fairseq_xling.checkpoints import current
from fairseq_xling.core.errors import UserError, exits_on_user_error, usage_line
from fairseq_xling.core.files import open_binary
from fairseq_xling.core.literals import literal
from fairseq_xling.core.ranges import check_fields
from fairseq_xling.core.sentences import read_sentences
from fairseq_xling.engine.devices import loader_processes_by_default
from fairseq_xling.engine.options import check_engine_options, literal_list

_PROJECT = __name__.partition(".")[0]


def install() -> None:
    """Wrap what every program of fairseq passes through."""
    from fairseq import options
    from fairseq.dataclass import utils as dataclass_utils
    from fairseq.distributed import utils as distributed_utils
    from fairseq_cli import generate

    options.parse_args_and_arch = _checked_input(_checked(options.parse_args_and_arch))
    dataclass_utils.eval_str_list = literal_list  # fairseq's own ends in odd ways for odd texts
    # Through these two pass all of its programs, and what they open themselves.
    distributed_utils.call_main = exits_on_user_error(distributed_utils.call_main)
    generate.main = exits_on_user_error(generate.main)
    _evaluate_values_alone()


def _evaluate_values_alone() -> None:
    """Where fairseq evaluates an option as Python, only plain values are read.

    In the module, the name ``eval`` takes precedence over Python's own.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("fairseq", "fairseq_cli") and module is not None:
            module.__dict__.setdefault("eval", exits_on_user_error(literal))


def _checked_input(parse: Callable[..., Any]) -> Callable[..., Any]:
    """A missing ``--input`` is named before any model is loaded, and one that is no text when it is
    read: fairseq-interactive opens it after all else, without a look."""

    @functools.wraps(parse)
    @exits_on_user_error
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        parsed = parse(*args, **kwargs)
        found = parsed[0] if isinstance(parsed, tuple) else parsed  # with the unknown ones
        interactive = sys.modules.get("fairseq_cli.interactive")
        if interactive is not None and hasattr(found, "buffer_size"):
            if found.input != "-":
                open_binary(found.input).close()
            if not hasattr(interactive.buffered_read, "__wrapped__"):
                interactive.buffered_read = _read_input(interactive.buffered_read)
        return parsed

    return wrapper


def _read_input(buffered_read: Callable[..., Any]) -> Callable[..., Any]:
    """Sentences of the file ``--input``, which fairseq opens without a look, in blocks."""

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


def _checked(parse: Callable[..., Any]) -> Callable[..., Any]:
    """fairseq declares no ranges, and its options count before there is a task. And what its
    parser refuses comes after its whole usage, of two hundred lines."""

    @functools.wraps(parse)
    @exits_on_user_error
    def wrapper(parser: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> Any:
        def refuse(message: str) -> NoReturn:
            raise SystemExit(usage_line(parser.prog, message))

        parser.error = refuse
        if parser.get_default("num_workers") is not None:
            parser.set_defaults(num_workers=_Unsaid(parser.get_default("num_workers")))
        parsed = parse(parser, *args, **kwargs)
        found = parsed[0] if isinstance(parsed, tuple) else parsed
        if isinstance(getattr(found, "num_workers", None), _Unsaid):
            found.num_workers = _loader_processes(found)
        check_engine_options(vars(found))
        _check_program(found)
        for config in _configurations(found):
            check_fields(config, found)
        return parsed

    return wrapper


class _Unsaid(int):
    """The default of an option, which a user did not type."""


def _loader_processes(found: argparse.Namespace) -> int:
    """How many processes make batches by default: enough, for tasks of this project."""
    import torch

    if not _is_ours(found):
        return int(found.num_workers)
    return loader_processes_by_default(torch.cuda.is_available() and not found.cpu)


def _is_ours(found: argparse.Namespace) -> bool:
    """Whether the task is one of this project."""
    from fairseq.tasks import TASK_REGISTRY

    chosen = TASK_REGISTRY.get(getattr(found, "task", None))
    return chosen is not None and chosen.__module__.partition(".")[0] == _PROJECT


def _check_program(found: argparse.Namespace) -> None:
    """Refuse fairseq-eval-lm, which alone has a context window, for tasks of this project."""
    if hasattr(found, "context_window") and _is_ours(found):
        raise UserError(
            "`fairseq-eval-lm` needs a model that predicts the next word, got `--task "
            f"{found.task}`; `fairseq-xling eval` has bits per word of ours, and fairseq-validate "
            "their loss"
        )


def _configurations(found: argparse.Namespace) -> Iterator[type]:
    """The dataclasses of what a command line names; only ours declare ranges."""
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
            yield registry[name]


_GROUPS = (
    *("common", "common_eval", "distributed_training", "dataset", "optimization", "checkpoint"),
    *("generation", "optimizer", "lr_scheduler"),
)


def check_hydra_options(cfg: Any) -> None:
    """Check fairseq's options where no command line of its own was read: with hydra.

    Args:
        cfg: a part of its whole configuration, such as that of the task.
    """
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig, OmegaConf

    from fairseq_xling.guards.processes import check_joined

    root = cfg._get_root() if isinstance(cfg, DictConfig) else cfg
    if root is cfg:
        return
    if HydraConfig.initialized() and "distributed_training" in root:
        check_joined(root.distributed_training, os.environ)
    values: dict[str, Any] = {}
    for group in _GROUPS:
        if isinstance(root.get(group), DictConfig):
            values |= OmegaConf.to_container(root[group])
    check_engine_options(values, trained=current() is not None)
