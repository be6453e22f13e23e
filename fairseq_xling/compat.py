"""Every fact about the versions of fairseq and torch that this project works around; nowhere else.

Measured with fairseq-fixed 0.12.3.1 and torch 2.13. `prepare_engine` is called once, when fairseq
loads the plug-in.
"""

import argparse
import contextlib
import contextvars
import functools
import importlib.abc
import importlib.util
import itertools
import logging
import math
import os
import pickle
import platform
import re
import shutil
import sys
import types
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from fairseq_xling import checkpoints, compose
from fairseq_xling.engine import ENGINE_STEP
from fairseq_xling.engine_options import check_engine_options, literal_list
from fairseq_xling.errors import UserError, about, exits_on_user_error, program_error, usage_line
from fairseq_xling.files import open_binary, read_lines
from fairseq_xling.literals import literal
from fairseq_xling.locks import hold
from fairseq_xling.ranges import check_fields
from fairseq_xling.registry import unknown_name

logger = logging.getLogger(__name__)


def require_engine() -> None:
    """Say how to install fairseq if it is missing.

    It is not an ordinary requirement: its metadata asks for torchaudio, which text work never
    imports and which breaks other packages where its build does not match torch.

    Raises:
        UserError: if fairseq cannot be found.
    """
    if importlib.util.find_spec("fairseq") is None:
        raise UserError(f"the engine, fairseq, is not installed; install it with: {ENGINE_STEP}")


class _LateModule(types.ModuleType):
    """Stands for a module whose functions are imported when one of them is called."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(importlib.import_module(self.__name__), name)(*args, **kwargs)

        return call


class _LeanEngine(importlib.abc.MetaPathFinder):
    """Waits for the first import of fairseq, which asks for scikit-learn and scipy's statistics.

    They take a third of the time until a verb begins, for metrics of tasks that are not ours.
    """

    late = ("sklearn", "sklearn.metrics", "scipy.stats")

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "fairseq":
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)  # it may have been asked where fairseq is, no more
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = functools.partial(self._without, spec.loader.exec_module)
        return spec

    def _without(self, execute: Callable[..., None], module: types.ModuleType) -> None:
        sys.meta_path.remove(self)
        made = {name: _LateModule(name) for name in self.late if name not in sys.modules}
        for name, one in made.items():
            parent, _, own = name.rpartition(".")
            if parent in made:
                setattr(made[parent], own, one)
        sys.modules.update(made)
        try:
            execute(module)
        finally:
            for name in made:
                del sys.modules[name]


def lean_engine() -> None:
    """Have fairseq imported without what we do not need of it, if it was not imported yet."""
    if "fairseq" not in sys.modules and not any(isinstance(f, _LeanEngine) for f in sys.meta_path):
        sys.meta_path.insert(0, _LeanEngine())


@contextlib.contextmanager
def quiet_engine() -> Iterator[None]:
    """fairseq's modules log while they are imported; inside, only their warnings are shown.

    One of them sets up logging at DEBUG for all packages, which does nothing where it is set up.
    """
    engine, root = logging.getLogger("fairseq"), logging.getLogger()
    level, own = engine.level, None if root.handlers else logging.StreamHandler()
    engine.setLevel(logging.WARNING)
    if own is not None:
        own.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        root.addHandler(own)
    try:
        yield
    finally:  # a program that calls a verb in passing keeps its own logs
        engine.setLevel(level)
        if own is not None:
            root.removeHandler(own)


def prepare_engine() -> None:
    """Make fairseq behave on today's Python and torch; safe to call more than once."""
    require_engine()
    bound_primitive_cache()
    root_level = logging.getLogger().level
    # Importing all tasks asks for tensorboardX, which those of text never use.
    logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)
    import fairseq.checkpoint_utils as checkpoint_utils
    import torch
    from fairseq.file_io import PathManager
    from fairseq.models import BaseFairseqModel

    if getattr(checkpoint_utils, "_xling_prepared", False):
        return
    checkpoint_utils._xling_prepared = True

    # Importing fairseq sets the root logger to DEBUG, which drowns its programs' own output.
    if logging.getLogger().level == logging.DEBUG != root_level:
        logging.getLogger().setLevel(root_level)
    # fairseq calls torch.cuda.amp.autocast at every step, which warns on today's torch.
    warnings.filterwarnings("ignore", message=".*torch.cuda.amp.autocast.*")
    _allow_fairseq_checkpoints()
    checkpoint_utils.torch = _CheckedTorch(torch)
    checkpoint_utils.load_checkpoint_to_cpu = _one_line_load(
        checkpoint_utils.load_checkpoint_to_cpu
    )
    checkpoint_utils.load_model_ensemble_and_task = _one_line_build(
        checkpoint_utils.load_model_ensemble_and_task
    )
    checkpoint_utils.load_checkpoint = _checked_restore(checkpoint_utils.load_checkpoint)
    checkpoint_utils.torch_persistent_save = _one_line_save(checkpoint_utils.torch_persistent_save)
    checkpoint_utils.verify_checkpoint_directory = exits_on_user_error(
        checkpoint_utils.verify_checkpoint_directory
    )
    PathManager.copy = staticmethod(_atomic_copy)
    compose.install()
    from fairseq import options
    from fairseq.dataclass import utils as dataclass_utils

    options.parse_args_and_arch = _checked_input(
        _checked(_bf16_on_a_gpu(options.parse_args_and_arch))
    )
    dataclass_utils.eval_str_list = literal_list  # fairseq's own ends in odd ways for odd texts
    from fairseq.distributed import utils as distributed_utils
    from fairseq_cli import generate

    # Through these two pass all of its programs, and what they open themselves.
    distributed_utils.call_main = exits_on_user_error(distributed_utils.call_main)
    generate.main = exits_on_user_error(generate.main)
    from fairseq.trainer import Trainer

    Trainer.train_step = _one_line_divergence(_without_cuda(Trainer.train_step))
    Trainer.load_checkpoint = _one_line_restore(Trainer.load_checkpoint)
    BaseFairseqModel.load_state_dict = _same_kinds(BaseFairseqModel.load_state_dict)
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
        lines = read_lines(input)
        take = exits_on_user_error(lambda: list(itertools.islice(lines, max(buffer_size, 1))))
        while block := take():
            yield [line.strip() for line in block]

    return wrapper


def _one_line_divergence(train_step: Callable[..., Any]) -> Callable[..., Any]:
    """Gradients that are NaN or infinite, and a loss scale at its minimum, are the end of a
    training: fairseq leaves a traceback, and a checkpoint from which nothing can be resumed."""

    @functools.wraps(train_step)
    @exits_on_user_error
    def wrapper(trainer: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return train_step(trainer, *args, **kwargs)
        except FloatingPointError as error:
            Path(trainer.cfg.checkpoint.save_dir, "crash.pt").unlink(missing_ok=True)
            reason = str(error).partition(".")[0]
            raise UserError(
                f"the training diverged at update {trainer.get_num_updates() + 1} ({reason}); "
                "lower `--lr`, or the maximum gradient norm, `--clip-norm`"
            ) from error

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
        parsed = parse(parser, *args, **kwargs)
        found = parsed[0] if isinstance(parsed, tuple) else parsed
        check_engine_options(vars(found))
        for config in _configurations(found):
            check_fields(config, found)
        return parsed

    return wrapper


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


def check_engine_command(program: str, arguments: Sequence[str]) -> None:
    """Read the arguments of one of fairseq's programs as it would, and do nothing with them.

    Args:
        program: such as `fairseq-train`; those that we never start pass.

    Raises:
        UserError: for the first argument that it would refuse.
    """
    prepare_engine()
    from fairseq import options

    import fairseq_xling.plugin

    parsers = {
        "fairseq-train": options.get_training_parser,
        "fairseq-generate": options.get_generation_parser,
        "fairseq-validate": options.get_validation_parser,
    }
    if program not in parsers:
        return
    words, ours = list(arguments), str(fairseq_xling.USER_DIR)
    for at in [i for i, word in enumerate(words[:-1]) if word == "--user-dir"][::-1]:
        if words[at + 1] == ours:  # the plug-in is loaded; fairseq would change where modules are
            del words[at : at + 2]
    try:
        parser = parsers[program]()
        parser.prog = program
        options.parse_args_and_arch(parser, words)
    except SystemExit as error:  # one line, meant for fairseq's own programs
        raise program_error(error) from None


# oneDNN keeps what it has compiled for a shape, by default for the last 1,024, and with each some
# memory that the heap around it cannot give back: a training over batches of many shapes grows by
# hundreds of megabytes (`benchmarks/cpu_memory.py`; with 64 it grows, too). Compiling again costs
# little beside the products. It is a cache: results are the same bits.
PRIMITIVE_CACHE, _PRIMITIVES = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", 1


def bound_primitive_cache() -> None:
    """Keep the memory of a CPU flat over many batch shapes; a variable that is set stays.

    It is read at the first product, in this process and in those that it starts.
    """
    os.environ.setdefault(PRIMITIVE_CACHE, str(_PRIMITIVES))


_GROUPS = (
    *("common", "common_eval", "distributed_training", "dataset", "optimization", "checkpoint"),
    *("generation", "optimizer", "lr_scheduler"),
)


def check_hydra_options(cfg: Any) -> None:
    """Check fairseq's options where no command line of its own was read: with hydra.

    Args:
        cfg: a part of its whole configuration, such as that of the task.

    Raises:
        UserError: for the first that is out of its range.
    """
    from omegaconf import DictConfig, OmegaConf

    root = cfg._get_root() if isinstance(cfg, DictConfig) else cfg
    if root is cfg:
        return
    values: dict[str, Any] = {}
    for group in _GROUPS:
        if isinstance(root.get(group), DictConfig):
            values |= OmegaConf.to_container(root[group])
    check_engine_options(values)


def task_config(task: type) -> type:
    """The dataclass of options that a task was registered with."""
    return getattr(task, "__dataclass")


def _bf16_on_a_gpu(parse: Callable[..., Any]) -> Callable[..., Any]:
    """On the command line fairseq takes `--bf16` for `--tpu`, which needs torch_xla and hides the
    GPU that there may be."""

    @functools.wraps(parse)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        parsed = parse(*args, **kwargs)
        found = parsed[0] if isinstance(parsed, tuple) else parsed  # with the unknown ones
        if getattr(found, "bf16", False) and importlib.util.find_spec("torch_xla") is None:
            found.tpu = False
        return parsed

    return wrapper


def _without_cuda(train_step: Callable[..., Any]) -> Callable[..., Any]:
    """Half precision on a CPU: where gradients overflow, fairseq skips the step, as it should, and
    then puts a zero on a GPU that need not be there."""
    import torch

    @functools.wraps(train_step)
    def wrapper(trainer: Any, *args: Any, **kwargs: Any) -> Any:
        if trainer.cuda:
            return train_step(trainer, *args, **kwargs)
        before = torch.Tensor.__dict__.get("cuda")  # none: what torch has is inherited
        torch.Tensor.cuda = lambda tensor, *_, **__: tensor
        try:
            return train_step(trainer, *args, **kwargs)
        finally:
            if before is None:
                del torch.Tensor.cuda
            else:
                torch.Tensor.cuda = before

    return wrapper


def _allow_fairseq_checkpoints() -> None:
    """torch loads only plain data (`weights_only`); this adds what else fairseq stores."""
    import torch

    torch.serialization.add_safe_globals(
        [
            argparse.Namespace,
            np.ndarray,
            np.dtype,
            np.array(0).__reduce__()[0],
            np.float64(0).__reduce__()[0],
            type(np.dtype("int64")),
            type(np.dtype("float64")),
        ]
    )


def _one_line_load(load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    @exits_on_user_error
    def wrapper(path: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return load(path, *args, **kwargs)
        except FileNotFoundError:
            raise UserError(f"{path}: no such checkpoint") from None
        except pickle.UnpicklingError as error:
            # Either not a checkpoint, or one that names code to run; nothing of it was run. torch's
            # first line advises to load it unsafely, so only what it stumbled over is passed on.
            found = re.search(r"GLOBAL (\S+)|Unsupported \w+ \w+", str(error))
            reason = f"found {found[1] or found[0]}" if found else type(error).__name__
            raise UserError(
                f"{path}: not loaded, because it contains more than plain data and tensors or is "
                f"damaged ({reason})"
            ) from None
        except (
            RuntimeError,
            EOFError,
            KeyError,
            TypeError,
            AttributeError,
            IndexError,
            ValueError,
            zipfile.BadZipFile,
            OSError,
        ) as error:
            reason = str(error).splitlines()[0].split(". ")[0] if str(error) else "it is empty"
            raise UserError(f"{path}: truncated or not a checkpoint ({reason})") from None

    return wrapper


class _CheckedTorch(types.ModuleType):
    """torch for fairseq's module that reads checkpoints: what its `load` returns was checked."""

    def __init__(self, torch: Any):
        super().__init__(torch.__name__)
        self._torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def load(self, file: Any, **kwargs: Any) -> Any:
        """As torch's, of a whole checkpoint in the open ``file``.

        Raises:
            UserError: for what is no checkpoint, or not one that may be used.
        """
        path, budget = file.name, checkpoints.current()
        checkpoints.check_archive(file, path)
        state = self._torch.load(file, weights_only=True, **kwargs)
        checkpoints.check_layout(state, path, checkpoints.TRAINED)
        checkpoints.check_tensors(state["model"], path)
        checkpoints.check_served(state, path)
        if _restoring.get():  # nothing is built from it: the options of the command line hold
            checkpoints.check_optimizer(state, path)
        elif budget is not None:
            budget.allow(state["model"], path)
            budget.check_layers(checkpoints.settings_of(state["cfg"].get("model")))
        return state


# Whether a training is being resumed.
_restoring: contextvars.ContextVar[bool] = contextvars.ContextVar("restoring", default=False)


def load_plain(path: str | os.PathLike, needed: tuple[str, ...] = ()) -> Any:
    """The contents of a fairseq checkpoint, as on disk; nothing in it can run.

    What is there is of the right kind, and its weights are finite numbers.

    Args:
        needed: places that must be there, such as ``cfg.task``.

    Raises:
        UserError: if it is missing, damaged, or contains more than plain data and tensors.
    """
    import torch

    _allow_fairseq_checkpoints()

    def load(path: str) -> Any:
        with open(path, "rb") as file:
            checkpoints.check_archive(file, path)
            state = torch.load(file, map_location="cpu", weights_only=True)
        checkpoints.check_layout(state, path, needed)
        checkpoints.check_tensors(state.get("model", {}), path)
        return state

    try:
        return _one_line_load(load)(str(path))
    except SystemExit as error:  # one line, meant for fairseq's own programs
        raise program_error(error) from None


def load_trained(path: str | os.PathLike, needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """`load_plain` of a checkpoint that fairseq has trained, whose settings are read.

    Raises:
        UserError: as `load_plain`, and for settings of what we do not serve or of another type than
            declared.
    """
    state = load_plain(path, ("model", "cfg.model", "cfg.task", *needed))
    prepare_engine()
    checkpoints.check_served(state, path)
    checkpoints.Budget.of(state["model"], path).check_layers(
        checkpoints.settings_of(state["cfg"]["model"])
    )
    return state


def _one_line_build(load: Callable[..., Any]) -> Callable[..., Any]:
    """A model and its task from a checkpoint: no larger than its weights, and in one line."""

    @functools.wraps(load)
    @exits_on_user_error
    def wrapper(filenames: Any, *args: Any, **kwargs: Any) -> Any:
        with (
            about(*filenames, from_file=True),
            checkpoints.building(", ".join(map(str, filenames))),
        ):
            return load(filenames, *args, **kwargs)

    return wrapper


def _one_line_restore(load: Callable[..., Any]) -> Callable[..., Any]:
    """The trainer's state from a checkpoint: whole, and in one line."""

    @functools.wraps(load)
    @exits_on_user_error
    def wrapper(trainer: Any, filename: str, *args: Any, **kwargs: Any) -> Any:
        token = _restoring.set(True)
        try:
            found = load(trainer, filename, *args, **kwargs)
            if found is not None and trainer._optimizer is not None:
                checkpoints.check_restored(trainer.optimizer, filename)
            return found
        except (UserError, OSError):
            raise
        except Exception as error:  # fairseq's own says only that something was wrong
            reason = checkpoints.reason(error.__context__ or error)
            raise UserError(f"{filename}: cannot be resumed ({reason})") from error
        finally:
            _restoring.reset(token)

    return wrapper


def _same_kinds(load: Callable[..., Any]) -> Callable[..., Any]:
    """torch turns integers in a file into a model's floating-point numbers, and back."""

    @functools.wraps(load)
    @exits_on_user_error
    def wrapper(model: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        checkpoints.check_kinds(model, state_dict)
        return load(model, state_dict, *args, **kwargs)

    return wrapper


@contextlib.contextmanager
def _without_tracebacks(name: str) -> Iterator[None]:
    """Inside, the logger ``name`` leaves out tracebacks of errors that are raised anyway."""

    def keep(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith("Traceback")

    named = logging.getLogger(name)
    named.addFilter(keep)
    try:
        yield
    finally:
        named.removeFilter(keep)


def _one_line_save(save: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(save)
    @exits_on_user_error
    def wrapper(obj: Any, filename: str, *args: Any, **kwargs: Any) -> Any:
        try:
            with _without_tracebacks("fairseq.checkpoint_utils"):
                return save(obj, filename, *args, **kwargs)
        except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{filename}.tmp")
            reason = str(error).splitlines()[0]
            raise UserError(
                f"{filename}: could not be written ({reason}); earlier checkpoints are kept"
            ) from None

    return wrapper


def _checked_restore(load: Callable[..., Any]) -> Callable[..., Any]:
    """Reject a missing `--restore-file`, make every worker read the checkpoint, and lock folders.

    fairseq only logs that the file is missing and trains from scratch, and notices an unknown
    `--best-checkpoint-metric` after the first epoch. It continues a training that is finished.
    And where one worker reads for all, it sends the configuration as pickled objects that torch's
    safe loading refuses.
    """

    @functools.wraps(load)
    @exits_on_user_error
    def wrapper(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        named = cfg.restore_file != "checkpoint_last.pt"
        if named and not os.path.isfile(cfg.restore_file):
            raise UserError(f"`--restore-file` {cfg.restore_file}: no such checkpoint")
        if cfg.finetune_from_model and not os.path.isfile(cfg.finetune_from_model):
            raise UserError(f"`--finetune-from-model` {cfg.finetune_from_model}: no such file")
        reported = getattr(trainer.get_criterion(), "metric_names", None)
        chosen = cfg.best_checkpoint_metric
        if reported and chosen not in reported and not trainer.cfg.dataset.disable_validation:
            raise unknown_name("`--best-checkpoint-metric`", chosen, reported)
        trainer.cfg.checkpoint.load_checkpoint_on_all_dp_ranks = True
        _hold_folders(cfg, trainer)
        first = cfg.finetune_from_model or cfg.restore_file
        place = first if named or cfg.finetune_from_model else Path(cfg.save_dir, first)
        with checkpoints.reading(place):
            result = load(cfg, trainer, **kwargs)
        # fairseq compares with --max-update only after a step, so every repetition of a finished
        # training would add one.
        if 0 < trainer.cfg.optimization.max_update <= trainer.get_num_updates():
            logger.info("--max-update %d is reached already", trainer.cfg.optimization.max_update)
            trainer.cfg.optimization.stop_min_lr = math.inf
        return result

    return wrapper


def _hold_folders(cfg: Any, trainer: Any) -> None:
    """Keep other trainings from writing the same checkpoints, which fairseq does not notice, and
    `prepare` from replacing the data folder while it is read.

    Raises:
        UserError: if another training holds `--save-dir`, or `prepare` is replacing the folder.
    """
    from fairseq.distributed.utils import is_master

    from fairseq_xling.data.folder import DataFolder

    if is_master(trainer.cfg.distributed_training) and not cfg.no_save:
        taken = f"`--save-dir` {cfg.save_dir}: another training is writing it"
        hold(Path(cfg.save_dir, ".lock"), taken, trainer)
    if isinstance(folder := getattr(trainer.task, "folder", None), DataFolder):
        taken = f"{folder.path}: is being prepared again"
        hold(folder.path / "meta.json", taken, trainer, shared=True)


@exits_on_user_error
def _atomic_copy(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
    """fairseq copies checkpoint_last.pt in place; a kill in between would leave half of it."""
    temporary = f"{dst_path}.tmp"
    shutil.copyfile(src_path, temporary)
    os.replace(temporary, dst_path)
    return True


def early_stopping_state() -> dict[str, Any]:
    """What `--patience` has counted; fairseq keeps it on a function and forgets it."""
    from fairseq_cli.train import should_stop_early

    return {name: getattr(should_stop_early, name) for name in vars(should_stop_early)}


def restore_early_stopping(state: dict[str, Any]) -> None:
    """Undo the forgetting that `early_stopping_state` works around."""
    from fairseq_cli.train import should_stop_early

    for name, value in state.items():
        setattr(should_stop_early, name, value)


def cpu_capabilities() -> Mapping[str, Any]:
    """What torch knows about the processor; empty where its version has no public way to ask."""
    import torch

    ask = getattr(torch.cpu, "get_capabilities", None)
    return ask() if ask is not None else {}


def native_bf16() -> bool | None:
    """Whether the processor has instructions for products of bfloat16; None if torch cannot tell.

    Before `torch.cpu.get_capabilities` only private functions tell, and only of x86. On ARM the
    instructions alone do not mean that torch was built to use them. `_is_mkldnn_bf16_supported` is
    no help: it is true of any processor with AVX512, most of which emulate bfloat16.
    """
    import torch

    if found := cpu_capabilities():
        if "avx512_bf16" in found:
            return bool(found["avx512_bf16"] or found.get("amx_bf16"))
        return None if found.get("bf16") or found.get("sve_bf16") else False
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    asked = [getattr(torch.cpu, name, None) for name in names]
    if platform.machine().lower() not in ("x86_64", "amd64") or None in asked:
        return None
    return any(ask() for ask in asked)
