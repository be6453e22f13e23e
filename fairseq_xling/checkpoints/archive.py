"""What is asked of a file before torch unpickles it, since that already takes memory.

torch calls only functions of its own list. Some of these make as much as a file asks for
(``bytearray(10**11)``), and its archive may be compressed, a megabyte to a gigabyte. It does not
look at the archive's checksums either, so a weight with a flipped bit would be read as it is.
"""

import pickletools
import re
import zipfile
from collections.abc import Iterator
from typing import IO, Any

from fairseq_xling.core.errors import UserError

# What torch and fairseq write for tensors, mappings, options, and numbers of numpy.
_WRITTEN = re.compile(
    r"collections (OrderedDict|defaultdict)|argparse Namespace|_codecs encode"
    r"|torch\._utils _rebuild_(tensor|tensor_v2|parameter)"
    r"|torch (\w+Storage|Size|device|float\w*|bfloat16|int\d+|uint8|bool)|torch\.storage \w+Storage"
    r"|numpy(\.\w+)* (ndarray|dtype|dtype\[\w+\]|_reconstruct|scalar|\w+DType)"
)
# Tensors of another kind are found later, and named.
_REFUSED_LATER = re.compile(
    r"torch\._utils _rebuild_\w+|torch\.serialization _get_layout|torch \w+"
)
_GLOBAL = re.compile(rb"c([A-Za-z_][\w.]*)\n([\w.\[\]]+)\n")
_PICKLES = 5  # at the beginning of a file of torch before 1.6, the storages follow


def check_archive(file: IO[bytes], path: Any) -> None:
    """Reject a checkpoint that is compressed or damaged, or calls what no checkpoint needs.

    Args:
        file: open at its beginning, where it is left.
    """
    try:
        called = set(_called(file, path))
    finally:
        file.seek(0)
    for name in sorted(called):
        if not (_WRITTEN.fullmatch(name) or _REFUSED_LATER.fullmatch(name)):
            raise UserError(
                f"{path}: not loaded, because it contains more than plain data and tensors or is "
                f"damaged (found {name[:120].replace(' ', '.')})"
            )


def _called(file: IO[bytes], path: Any) -> Iterator[str]:
    """The functions that the pickles in ``file`` name, as ``module name``."""
    if not zipfile.is_zipfile(file):
        file.seek(0)
        for _ in range(_PICKLES):
            yield from _named(file)
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
                pickled = archive.read(record)
                found = {b" ".join(pair).decode() for pair in _GLOBAL.findall(pickled)}
                # A text can look like a call; only then each operation is read, which is slow.
                strange = not all(map(_WRITTEN.fullmatch, found))
                yield from _named(pickled) if strange else found


def _named(pickled: Any) -> Iterator[str]:
    try:
        for operation, argument, _ in pickletools.genops(pickled):
            if operation.name in ("GLOBAL", "INST"):
                yield argument
            elif operation.name == "STACK_GLOBAL":
                yield operation.name
    except Exception:  # no pickle: torch says so
        return
