"""Read text safely, write files atomically, and compute checksums."""

import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from fairseq_xling.errors import UserError


@contextlib.contextmanager
def atomic_write(path: str | Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """A file that is written to ``path`` atomically.

    It is written in the same folder, flushed to disk and renamed; if killed or after an error, the
    previous file is kept.

    Raises:
        UserError: if ``path`` is a folder.
    """
    path = Path(path)
    if path.is_dir():
        raise UserError(f"{path}: is a folder, not a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        with os.fdopen(handle, mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def exclusive(path: str | Path, taken: str) -> Iterator[int]:
    """Hold a lock on the existing file or folder ``path``; it ends with the process.

    Unfinished writes of killed processes in a folder are removed. Yields the lock's file
    descriptor: a child that receives it also holds the lock.

    Raises:
        UserError: with the text ``taken``, if another process (or this one) holds it.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(taken) from None
        # Renamed or removed by its former holder in between, it guards nothing any more.
        if not os.path.exists(path) or not os.path.samestat(os.fstat(handle), os.stat(path)):
            raise UserError(taken)
        if os.path.isdir(path):
            for name in os.listdir(path):
                if is_unfinished(name):
                    os.unlink(os.path.join(path, name))
        yield handle
    finally:
        os.close(handle)


def is_unfinished(name: str) -> bool:
    """Whether a file of this name is what `atomic_write` writes before it renames it.

    >>> is_unfinished(".table.csv.fi6fvjhf.tmp"), is_unfinished("table.tmp")
    (True, False)
    """
    return re.fullmatch(r"\..+\.[a-z0-9_]{8}\.tmp", name) is not None


def refuse_files_above(option: str, path: str | Path) -> None:
    """Check that folders can be made for ``path``, before anything is computed.

    Raises:
        UserError: if there is a file instead of a folder.
    """
    for above in Path(path).parents:
        if above.exists() and not above.is_dir():
            raise UserError(f"`{option}` {path}: {above} is a file, not a folder")


def write_json(path: str | Path, value: Any) -> None:
    """``value`` as indented JSON with sorted keys, atomically."""
    with atomic_write(path, "w") as file:
        json.dump(value, file, indent=2, sort_keys=True, ensure_ascii=False)
        file.write("\n")


def read_json(path: str | Path) -> Any:
    """The value in a JSON file.

    Raises:
        UserError: if the file is missing or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a JSON file ({error})") from None


def open_binary(path: str | Path) -> IO[bytes]:
    """``path`` opened for reading bytes, through gzip if its name ends in ``.gz``.

    Raises:
        UserError: if the file does not exist or is a folder.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: {'is a folder, not a file' if path.is_dir() else 'no such file'}")
    return gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")


def without_bom(line: str) -> str:
    """``line`` without the mark that some editors put at the start of a UTF-8 file."""
    return line.removeprefix("\ufeff")


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a UTF-8 text file, one at a time, without their ``\\n`` (or ``\\r\\n``).

    Only ``\\n`` ends a line: ``str.splitlines`` would also split at control characters that occur
    inside real sentences, and shift every line after them.

    Raises:
        UserError: if the file is missing, is not gzip where its name says so, or is not UTF-8
            (names file and line).
    """
    number = 0
    try:
        with open_binary(path) as file:
            for number, line in enumerate(file, start=1):  # noqa: B007  named in the error
                yield without_bom(line.decode("utf-8").rstrip("\r\n"))
    except UnicodeDecodeError as error:
        where = f"byte {error.start}: {error.reason}"
        raise UserError(f"{path}:{number}: not UTF-8 ({where})") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path}: damaged gzip file ({error})") from None


def sha256(path: str | Path) -> str:
    """Hex digest of a file's bytes, read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
