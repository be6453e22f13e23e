"""Facts about the versions of fairseq and torch that this project works around.

Measured with fairseq-fixed 0.12.3.1 and torch 2.13. What is replaced in them is in `patches`.
"""

import contextlib
import ctypes
import functools
import importlib.metadata
import importlib.util
import logging
import os
import platform
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.install import ENGINE, ENGINE_STEP

_VERSIONS = "0.12."  # of fairseq, by which all are called that have what is replaced


def require_engine() -> None:
    """Say how to install fairseq if it is missing, or of another version.

    It is not an ordinary requirement: its metadata asks for torchaudio, which text work never
    imports and which breaks other packages where its build does not match torch.

    Raises:
        UserError: if fairseq cannot be found, or is not one that this package was written for.
    """
    if importlib.util.find_spec("fairseq") is None:
        raise UserError(f"the engine, fairseq, is not installed; install it with: {ENGINE_STEP}")
    for name in (ENGINE.partition("==")[0], "fairseq"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            if not (version := importlib.metadata.version(name)).startswith(_VERSIONS):
                raise UserError(
                    f"the engine must be {ENGINE}, got {name} {version}; install it with: "
                    f"{ENGINE_STEP}"
                )
            return


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


def operator(name: str) -> Callable[..., Any] | None:
    """torch's function of this name that is not public, such as ``ops.mkldnn._linear_pointwise``;
    None where this version of torch has none, so that something public is used instead."""
    import torch

    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


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
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).strip()
        needs = "Triton and a C compiler" if on_gpu else "a C++ compiler, such as g++"
        raise UserError(
            f"`--compile` needs {needs}; leave it out, or install what is missing ({reason})"
        ) from None


# Attention over segments, with blocks of 64 and of 128 states.
SHORT_KERNEL = "ops.aten._efficient_attention_forward"
KERNEL = "ops.aten._flash_attention_forward"


def has_flash_attention(width: int) -> bool:
    """Whether the current GPU has attention over segments for heads of ``width`` units."""
    import torch

    if None in map(operator, (SHORT_KERNEL, KERNEL)):
        return False
    if not torch.cuda.is_available() or torch.version.hip or width % 8 or width > 256:
        return False
    return torch.cuda.get_device_capability() >= (8, 0)


@functools.cache
def packs_weights(dtype: Any) -> bool:
    """Whether this torch, on this processor, has products of weights in oneDNN's own layout.

    They are operators that torch has for its compiler, and not public. In bf16 they need AVX512.
    """
    import torch

    reorder = operator("ops.mkldnn._reorder_linear_weight")
    product = operator("ops.mkldnn._linear_pointwise")
    plus = operator("ops.mkldnn._linear_pointwise.binary")
    if reorder is None or product is None or plus is None:
        return False
    with torch.no_grad():
        try:
            states, weight = torch.ones(2, 8, dtype=dtype), torch.ones(4, 8, dtype=dtype)
            weight = reorder(weight)
            found = plus(
                states, product(states, weight, None, "gelu", [], "none"), weight, None, "add"
            )
        except RuntimeError:
            return False
    return bool((found == 16).all())


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
