"""What is asked of a file before torch unpickles it, since that already takes memory.

torch calls only functions of its own list. Some of these make as much as a file asks for
(``bytearray(10**11)``), or give away what was in memory (``torch.Tensor(32)``), and its archive may
be compressed, a megabyte to a gigabyte. So a pickle is first read with stand-ins for everything
that it names: each call is one of `_CALLS`, with arguments as torch, fairseq and numpy write them.
torch does not look at the archive's checksums either: a weight with a flipped bit would be read as
it is.
"""

import functools
import io
import pickle
import re
import zipfile
from collections.abc import Callable
from typing import IO, Any

from fairseq_xling.core.errors import UserError

_PICKLES = 5  # at the beginning of a file of torch before 1.6, the storages follow
_LONGEST = 32  # characters of the name of a type or a device


def _named(name: Any = "", *flags: Any) -> bool:
    short = isinstance(name, str) and len(name) <= _LONGEST
    return short and all(isinstance(flag, int) for flag in flags)


def _always(*arguments: Any) -> bool:
    return True


# What torch and fairseq write for tensors, mappings, options, and numbers of numpy, and which
# arguments it is called with; what is never called is passed as an argument. Tensors of another
# kind are found later, and named.
_CALLS: dict[str, Callable[..., bool]] = {
    r"collections OrderedDict|argparse Namespace|numpy(\.\w+)* \w+DType": lambda: True,
    r"collections defaultdict": _always,
    r"_codecs encode": lambda text, codec: codec == "latin1",
    r"torch\._utils _rebuild_\w+|torch\.serialization _get_layout|torch Size": _always,
    r"torch device|numpy(\.\w+)* (dtype|dtype\[\w+\])": _named,
    r"numpy(\.\w+)* _reconstruct": lambda kind, shape, letter: shape == (0,),
    r"numpy(\.\w+)* scalar": _always,
    r"numpy(\.\w+)* ndarray|torch \w+|torch\.storage \w+": lambda *arguments: False,
}


class _StandIn:
    """In place of what a pickle names: does nothing, but for asking whether it may be called."""

    called = ""
    allowed: Callable[..., bool]

    def __new__(cls, *arguments: Any) -> "_StandIn":
        try:
            allowed = cls.allowed(*arguments)
        except TypeError:  # of other number
            allowed = False
        if not allowed:
            raise _Refused(f"{cls.called}()")
        return super().__new__(cls)

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        # Of numpy's types: no parts of a row, of which one may be as large as memory.
        if "dtype" in self.called and any(part is not None for part in state[2:5]):
            raise _Refused(self.called)


class _Refused(Exception):
    pass


@functools.cache
def _stand_in(name: str) -> type[_StandIn]:
    allowed = next((rule for what, rule in _CALLS.items() if re.fullmatch(what, name)), None)
    called = name.replace(" ", ".")
    if allowed is None:
        raise _Refused(called[:120])
    return type("_StandIn", (_StandIn,), {"called": called, "allowed": staticmethod(allowed)})


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_StandIn]:
        return _stand_in(f"{module} {name}")

    def persistent_load(self, pid: Any) -> None:
        """A storage: torch reads it."""


def check_archive(file: IO[bytes], path: Any) -> None:
    """Reject a checkpoint that is compressed or damaged, or calls what no checkpoint needs.

    Args:
        file: open at its beginning, where it is left.

    Raises:
        UserError: as said.
        EOFError, OSError, ValueError, zipfile.BadZipFile: for what is no checkpoint at all.
    """
    try:
        _read(file, path)
    except _Refused as found:
        raise UserError(
            f"{path}: not loaded, because it contains more than plain data and tensors or is "
            f"damaged (found {found})"
        ) from None
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError) as error:
        raise ValueError(type(error).__name__) from None
    except pickle.UnpicklingError as error:
        raise ValueError(error) from None
    finally:
        file.seek(0)


def _read(file: IO[bytes], path: Any) -> None:
    if not zipfile.is_zipfile(file):
        file.seek(0)
        for _ in range(_PICKLES):
            _Reader(file).load()
        return
    with zipfile.ZipFile(file) as archive:
        for record in archive.infolist():
            if record.compress_type != zipfile.ZIP_STORED:
                raise UserError(
                    f"{path}: must not be compressed, got a record of {record.file_size} bytes in "
                    f"{record.compress_size}"
                )
        if (damaged := archive.testzip()) is not None:
            raise UserError(
                f"{path}: damaged, or saved without checksums: {damaged} does not have the one "
                "that the archive gives"
            )
        for record in archive.infolist():
            if record.filename.endswith(".pkl"):
                _Reader(io.BytesIO(archive.read(record))).load()
