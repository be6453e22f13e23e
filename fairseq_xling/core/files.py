"""Write files atomically, read small ones of ours and of settings, and compute checksums.

Users' texts, packed or columns of a table, are read by `fairseq_xling.core.texts`.
"""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from fairseq_xling.core.errors import UserError, shown, writing
from fairseq_xling.core.ranges import bound, check_bound, exceeds

TO_UTF8 = "convert it, as with `iconv -f LATIN1 -t UTF-8`"
_PACKED = r"(?:\.gz|\.xz)?"
_WITH_COLUMN = re.compile(
    rf"(.+\.(?:parquet|arrow|(?:jsonl|tsv|csv){_PACKED}))(?::[^/]+)|(.+\.txt{_PACKED}):[0-9]+"
)


@contextlib.contextmanager
def atomic_write(path: str | Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """A file that is written to ``path`` atomically.

    It is written in the same folder, flushed to disk and renamed; if killed or after an error, the
    previous file is kept. What killed writes of the same file have left is removed. A link is
    replaced by the file: in a folder from elsewhere it could lead to any file of ours. Only those
    of the system, such as ``/dev/stdout``, are followed.

    Raises:
        UserError: if ``path`` is a folder, a pipe or a device, or is `kept`. A link such as
            ``/dev/stdout`` is written to as it stands.
    """
    if is_systems_link(path) and not os.path.isfile(path):  # a pipe or a terminal
        with open(path, mode, **({} if "b" in mode else {"encoding": "utf-8"})) as file:
            yield file
        return
    path = Path(os.path.realpath(path) if is_systems_link(path) else path)
    if path.exists() and not path.is_file():
        raise _no_file(path)
    if is_kept(path):
        raise UserError(f"{path}: is read by this command, and must not be written over by it")
    path.parent.mkdir(parents=True, exist_ok=True)
    for name in os.listdir(path.parent):
        if name.startswith(f".{path.name}."):
            _remove_if_abandoned(path.parent, name)
    handle, name = _unfinished(path)
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    held = os.dup(handle)  # locked until it has its name
    try:
        with writing(path), os.fdopen(handle, mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    finally:
        os.close(held)


_kept: set[tuple[int, int]] = set()  # by device and inode


@contextlib.contextmanager
def kept(paths: Iterable[Path]) -> Iterator[None]:
    """Meanwhile `atomic_write` replaces none of these files, under whatever name."""
    before = set(_kept)
    _kept.update(map(_identity, paths))
    try:
        yield
    finally:
        _kept.intersection_update(before)


def is_kept(path: Path) -> bool:
    """Whether ``path`` is `kept`."""
    return path.is_file() and _identity(path) in _kept


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def is_systems_link(path: str | Path) -> bool:
    """Whether it is one such as ``/dev/stdout``."""
    return os.path.islink(path) and Path(os.path.abspath(path)).parts[1] in ("dev", "proc")


def opened_output(path: str | Path | None) -> contextlib.AbstractContextManager[IO[Any]]:
    """A text file that is written atomically, or standard output, in UTF-8 like all files."""
    if path:
        return atomic_write(path, "w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return contextlib.nullcontext(sys.stdout)


def _unfinished(path: Path) -> tuple[int, str]:
    """A new file next to ``path``, open, and locked to show others that it is being written."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        if _lock(handle) is not False and os.path.exists(name):
            return handle, name
        os.close(handle)  # another process has just taken it for one that is abandoned


def _lock(handle: int) -> bool | None:
    """Lock an open file; False where another process holds it, None where files have no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_if_abandoned(folder: str | Path, name: str) -> None:
    """Remove an unfinished write that no process is at any more."""
    if is_unfinished(name):
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(os.path.join(folder, name), os.O_RDONLY)
            try:
                if _lock(handle):
                    os.unlink(os.path.join(folder, name))
            finally:
                os.close(handle)


@contextlib.contextmanager
def exclusive(path: str | Path, taken: str) -> Iterator[int]:
    """Hold a lock on the existing file or folder ``path``; it ends with the process.

    Unfinished writes of killed processes in a folder are removed. Yields the lock's file
    descriptor: a child that receives it also holds the lock.
    """
    # On NFS only a file that can be written can be locked.
    handle = os.open(path, os.O_RDONLY if os.path.isdir(path) else os.O_RDWR)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(taken) from None
        # Renamed or removed by its former holder in between, it guards nothing any more.
        if not os.path.exists(path) or not os.path.samestat(os.fstat(handle), os.stat(path)):
            raise UserError(taken)
        if os.path.isdir(path):
            remove_unfinished(path)
        yield handle
    finally:
        os.close(handle)


def remove_unfinished(folder: str | Path) -> None:
    """Remove what killed processes had begun to write in ``folder``, and nothing that is being
    written."""
    for name in os.listdir(folder):
        _remove_if_abandoned(folder, name)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there; of a link nothing but itself."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_links(folder: str | Path) -> None:
    """Remove every link where ``folder`` is to be, in it and below.

    None of our programs makes one among its unfinished files. What is written or removed there next
    then is nowhere else.
    """
    unlink_link(folder)
    for above, folders, names in os.walk(folder):
        for name in (*folders, *names):
            unlink_link(os.path.join(above, name))


def unlink_link(path: str | Path) -> None:
    """Remove ``path`` if it is a link, so that what is written to it next stays where it is."""
    if os.path.islink(path):
        os.unlink(path)


def replace_link(path: Path) -> None:
    """Replace a link to a file by a copy of the file, so that more can be appended to it."""
    if path.is_file() and path.is_symlink():
        with open(path, "rb") as old, atomic_write(path) as new:
            shutil.copyfileobj(old, new)
    unlink_link(path)


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


def refuse_special(option: str, path: str | Path) -> None:
    """Refuse a pipe, a socket or a device: it never ends, or can be read only once."""
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise _no_file(path, f"`{option}`")


def same_place(one: str | Path, other: str | Path) -> bool:
    """Whether two paths lead to one place, which need not exist.

    >>> same_place("a/../b", "b")
    True
    """
    return os.path.realpath(one) == os.path.realpath(other)  # unlike `resolve`, of loops as well


def decode_json(
    path: str | Path,
    text: str,
    line: int = 1,
    made: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """The JSON value in ``text``, which begins at that line of the file ``path``.

    Args:
        made: makes an object of its keys and values, instead of ``dict``.
    """
    # Each value but the first follows one of these; some of them may be in a text.
    check_bound("values", sum(map(text.count, ",[{")), f"{path}:{line}")
    try:
        return json.loads(text, object_pairs_hook=made)
    except json.JSONDecodeError as error:
        place = f"{path}:{line + error.lineno - 1}"
        raise UserError(f"{place}: not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, deep nesting
        raise UserError(f"{path}:{line}: not JSON that can be read ({error})") from None


def parse_json(path: str | Path, text: str, line: int = 1) -> Any:
    """The JSON value in ``text``, which begins at that line of the file."""
    return decode_json(path, text, line, _object)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # json would silently keep the last
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {shown(twice)} occurs twice in one object")
    return found


def write_json(path: str | Path, value: Any) -> None:
    """``value`` as indented JSON with sorted keys, atomically."""
    with atomic_write(path, "w") as file:
        json.dump(value, file, indent=2, sort_keys=True, ensure_ascii=False)
        file.write("\n")


def read_json(path: str | Path) -> Any:
    """The value in a JSON file."""
    return decode_json(path, read_plain(path, "json"))


def read_plain(path: str | Path, kind: str) -> str:
    """All of a small UTF-8 file of ours or of settings, neither packed nor a table, of at most the
    bytes that the bound ``kind`` allows."""
    with _plain(path) as file:
        return decoded(path, file.read(bound(kind) + 1), kind)


def plain_lines(path: str | Path) -> Iterator[str]:
    """The lines of such a file without their ends, one at a time."""
    most = bound("line")
    with _plain(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(most + 1), b""), start=1):
            if len(line) > most:
                raise exceeds("line", len(line), f"{path}:{number}")
            yield decoded_line(path, number, line)


def _plain(path: str | Path) -> IO[bytes]:
    if not Path(path).is_file():
        raise _no_file(path)
    return open(path, "rb")


def read_record(path: str | Path, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """What a command noted in a JSON file for the next one: the entries of these types, by name.

    What is missing, damaged or of another type is as if it had never been noted.
    """
    try:
        found = read_json(path)
    except UserError:
        return {}
    entries = found.items() if isinstance(found, dict) else ()
    return {name: value for name, value in entries if isinstance(value, kinds.get(name, ()))}


def without_bom(line: str) -> str:
    """``line`` without the mark that some editors put at the start of a UTF-8 file."""
    return line.removeprefix("\ufeff")


def decoded_line(path: str | Path, number: int, line: bytes) -> str:
    """The text of a line without its end, and without the mark of a UTF-8 file's start."""
    try:
        return without_bom(line.decode("utf-8").rstrip("\r\n"))
    except UnicodeDecodeError as error:
        where = f"byte {error.start}: {error.reason}"
        raise UserError(f"{path}:{number}: not UTF-8 ({where}); {TO_UTF8}") from None


def decoded(path: str | Path, data: bytes, kind: str) -> str:
    """The text of a file of at most the bytes of the bound ``kind``."""
    if len(data) > bound(kind):
        raise exceeds(kind, len(data), path)
    try:
        return without_bom(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        place = error.start - data.rfind(b"\n", 0, error.start) - 1
        raise UserError(f"{path}:{line}: not UTF-8 (byte {place}: {error.reason})") from None


def on_disk(path: str | Path) -> Path:
    """The file that ``path`` names, without its column.

    >>> on_disk("a/train.parquet:text").name, on_disk("a:b.txt").name, on_disk("b.txt:2").name
    ('train.parquet', 'a:b.txt', 'b.txt')
    """
    found = _WITH_COLUMN.fullmatch(str(path))
    return Path(found[1] or found[2] if found else path)


def check_files(*paths: str | Path | None, of: str = "") -> None:
    """Nothing, if each of ``paths`` is a file, or a column of one (`columns`); None is left out.

    Args:
        of: the option that names them, as a message has it.
    """
    for path in paths:
        if path is not None and not on_disk(path).is_file():
            raise _no_file(path, of)


def stat_of(path: str | Path) -> os.stat_result:
    """What the disk says of a file that the user named; of a column, of its whole file."""
    return on_disk(path).stat()


def _no_file(path: str | Path, of: str = "") -> UserError:
    what = "no such file"
    if Path(path).exists():
        what = f"is {'a folder' if Path(path).is_dir() else 'a pipe or a device'}, not a file"
    return UserError(f"{of} {path}: {what}".lstrip())


def sha256(path: str | Path) -> str:
    """Hex digest of a file's bytes, read in pieces; of a column, of its whole file and its name."""
    digest, file_path = hashlib.sha256(), on_disk(path)
    with open(file_path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    digest.update(str(Path(path)).removeprefix(str(file_path)).encode())
    return digest.hexdigest()
