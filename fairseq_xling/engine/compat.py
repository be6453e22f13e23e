"""Every fact about the versions of fairseq and torch that this project works around; nowhere else.

Measured with fairseq-fixed 0.12.3.1 and torch 2.13. `repair_engine` is called once, when fairseq
loads the plug-in (`fairseq_xling.guards.prepare_engine`).
"""

import argparse
import contextlib
import ctypes
import dataclasses
import functools
import importlib.abc
import importlib.util
import logging
import os
import platform
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.install import ENGINE_STEP

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


def repair_engine() -> bool:
    """Make fairseq behave on today's Python and torch; False where that was done before."""
    require_engine()
    bound_shape_caches()
    root_level = logging.getLogger().level
    # Importing all tasks asks for tensorboardX, which those of text never use.
    logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)
    import fairseq.checkpoint_utils as checkpoint_utils

    if getattr(checkpoint_utils, "_xling_repaired", False):
        return False
    checkpoint_utils._xling_repaired = True

    # Importing fairseq sets the root logger to DEBUG, which drowns its programs' own output.
    if logging.getLogger().level == logging.DEBUG != root_level:
        logging.getLogger().setLevel(root_level)
    # fairseq calls old names of torch at every step, and of Hydra for every configuration.
    warnings.filterwarnings("ignore", message=".*torch.cuda.amp.autocast.*")
    warnings.filterwarnings("ignore", module="hydra")
    warnings.filterwarnings("ignore", message="\\s*'config' is validated against ConfigStore")
    from fairseq import options

    options.parse_args_and_arch = _bf16_on_a_gpu(_late_help(options.parse_args_and_arch))
    return True


# oneDNN keeps what it has compiled for a shape, by default for the last 1,024, and torch's layer
# above it, which makes the products of bf16, as many more. With each goes memory that the heap
# around it cannot give back: a training over batches of many shapes grows by hundreds of megabytes
# (`benchmarks/cpu_memory.py`; with 64 it grows, too). With fewer than one batch has, each layer
# compiles again what the layer before it had, which doubles the time of a small model. They are
# caches: results are the same bits.
_SHAPES = "16"
SHAPE_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")


def bound_shape_caches() -> None:
    """Keep the memory of a CPU flat over many batch shapes; a variable that is set stays.

    They are read at the first product, in this process and in those that it starts.
    """
    for name in SHAPE_CACHES:
        os.environ.setdefault(name, _SHAPES)


def keep_shapes_of_sentences() -> None:
    """Keep more shapes in a process that translates; a variable that a user set stays.

    Sentences that come one by one have some 40 lengths, and each length some 10 shapes. It has no
    effect after the first product.
    """
    for name in SHAPE_CACHES:
        if os.environ.get(name) == _SHAPES:
            os.environ[name] = "256"


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


def keep_freed_memory(mebibytes: int = 256) -> None:
    """Have the C library keep so much of what is freed, for what is allocated next.

    A model that only reads frees the states of a layer before the next; given back to the system
    each time, they come again page by page, which takes up to a third of the time of products in 8
    bits. Nothing happens where the library is not glibc, or a ``MALLOC_`` variable sets it up.
    """
    if any(name.startswith("MALLOC_") for name in os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)  # the most that there can be
        mallopt(_M_TRIM_THRESHOLD, mebibytes << 20)


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


_HELP = {"-h", "--help"}


def _late_help(parse: Callable[..., Any]) -> Callable[..., Any]:
    """fairseq prints its help before it adds the options of the task, architecture and criterion
    that were named, and raises a bare RuntimeError where no architecture was."""

    @functools.wraps(parse)
    def wrapper(parser: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> Any:
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
            return parse(parser, *args, **kwargs)
        finally:
            parser.parse_known_args = read

    return wrapper


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


COMPILER = "inductor"  # torch's own


def require_compiler(on_gpu: bool) -> None:
    """Compile something small for a GPU or the CPU.

    Raises:
        UserError: where torch's compiler, or one that it calls, is missing or does not work.
    """
    import torch
    import torch._inductor.config as inductor

    device = "cuda" if on_gpu else "cpu"
    try:
        with inductor.patch(force_disable_caches=True), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that caches are off
            torch.compile(torch.square, backend=COMPILER)(torch.ones(4, device=device))
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[0] if lines else type(error).__name__
        needs = "Triton and a C compiler" if on_gpu else "a C++ compiler, such as g++"
        raise UserError(
            f"`--compile` needs {needs}; leave it out, or install what is missing ({reason})"
        ) from None


def has_flash_attention(width: int) -> bool:
    """Whether the current GPU has attention over segments for heads of ``width`` units."""
    import torch

    if not torch.cuda.is_available() or torch.version.hip or width % 8 or width > 256:
        return False
    return torch.cuda.get_device_capability() >= (8, 0)


@functools.cache
def packs_weights(dtype: Any) -> bool:
    """Whether this torch, on this processor, has products of weights in oneDNN's own layout.

    They are operators that torch has for its compiler, and not public. In bf16 they need AVX512.
    """
    import torch

    with torch.no_grad():
        try:
            states, weight = torch.ones(2, 8, dtype=dtype), torch.ones(4, 8, dtype=dtype)
            weight = torch.ops.mkldnn._reorder_linear_weight(weight)
            product = torch.ops.mkldnn._linear_pointwise(states, weight, None, "gelu", [], "none")
            plus = torch.ops.mkldnn._linear_pointwise.binary(states, product, weight, None, "add")
        except (AttributeError, RuntimeError):
            return False
    return bool((plus == 16).all())


def lstm_states(lstm: Any, states: Any) -> Any:
    """What ``lstm`` makes of ``states``: under autocast to bf16 on a CPU without AVX512, in fp32.

    torch 2.13 hands such an LSTM to oneDNN without asking whether it has one for this processor,
    and without AVX512 it has none: "could not create a primitive descriptor for the LSTM".
    """
    import torch

    wanted = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
    if not wanted or states.device.type != "cpu" or _lstm_computes_in_bf16():
        return lstm(states)[0]
    with torch.autocast("cpu", enabled=False):
        return lstm(states.float())[0]


@functools.cache
def _lstm_computes_in_bf16() -> bool:
    import torch

    try:  # with its gradient: a processor may have the one without the other
        with torch.random.fork_rng([]), torch.enable_grad(), torch.autocast("cpu", torch.bfloat16):
            torch.nn.LSTM(1, 1)(torch.zeros(1, 1, 1))[0].sum().backward()
    except RuntimeError:
        return False
    return True
