"""Components of one's own: folders that a user names, and installed packages.

Importing one registers what is in it. Folders are named on the command line (`--user-dir`), by the
environment (``FAIRSEQ_XLING_USER_DIR``) or in Python (`load_plugins`), never by a file. Packages
name a module as an entry point of the group ``fairseq_xling.plugins``. Verbs are the files of a
folder ``verbs`` next to the ``__init__.py``.
"""

import contextlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairseq_xling.core.errors import UserError, program_error
from fairseq_xling.version import USER_DIR

OPTION = "--user-dir"
# The folders of a program and those that it starts; as those of PATH.
VARIABLE = "FAIRSEQ_XLING_USER_DIR"
GROUP = "fairseq_xling.plugins"

_loaded: list[str] = []  # names of modules
_packages_loaded = False
_held = False


def load_plugins(*folders: str | os.PathLike) -> None:
    """Import folders of components of one's own, for this program and those that it starts.

    So are the folders that the environment variable ``FAIRSEQ_XLING_USER_DIR`` names, and the
    plug-ins among the installed packages. A folder that is named twice is imported once.

    Raises:
        UserError: if a folder is missing, has no ``__init__.py``, has the name of another module,
            or if its import fails.
    """
    if not _held:
        load_folders(folders)
        load_packages()


def load_folders(folders: Sequence[str | os.PathLike], naming: str = "`load_plugins`") -> None:
    """Import those of the environment, then ``folders``, which join them.

    Args:
        naming: what names ``folders``, for messages.
    """
    known = named_folders()
    for folder in known:
        _load_folder(folder, f"`{VARIABLE}`")
    for folder in map(os.path.abspath, folders):
        if os.pathsep in folder:
            raise UserError(f"{naming} must not contain {os.pathsep!r}, got {folder}")
        _load_folder(folder, naming)
        if folder not in known:
            known.append(folder)
            os.environ[VARIABLE] = os.pathsep.join(known)


def load_packages() -> None:
    """Import what installed packages declare as a plug-in, once."""
    global _packages_loaded
    if not _packages_loaded and _declared():
        from importlib.metadata import entry_points  # only now: it takes as long as a short verb

        for point in entry_points(group=GROUP):
            package = point.dist.name if point.dist else point.value
            with importing(f"plug-in {point.name!r} of the installed package {package!r}"):
                point.load()
                _add(point.module)
    _packages_loaded = True  # only now: after a failed import the next call must fail, too


def named_folders() -> list[str]:
    """The folders that the environment names, absolute, without repetition."""
    pieces = filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))
    return list(dict.fromkeys(map(os.path.abspath, pieces)))


def verb_packages() -> list[str]:
    """The packages of verbs of what is loaded."""
    return [f"{name}.verbs" for name in _loaded if f"{name}.verbs" in sys.modules]


def take_folders(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The values of every `--user-dir` of a command line, and the other words.

    >>> take_folders(["--user-dir", "mine", "eval", "x.pt", "--user-dir=yours", "--", "a"])
    (['mine', 'yours'], ['eval', 'x.pt', '--', 'a'])

    Raises:
        UserError: if one has no value.
    """
    folders, rest, words = [], [], iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--":
            rest += [word, *words]
        elif name != OPTION:
            rest.append(word)
        elif equals or (value := next(words, "")):
            folders.append(value)
        if name == OPTION and (not value or value.startswith("-")):
            raise UserError(f"`{OPTION}` must be a folder, got {value!r}")
    return folders, rest


def folder_options() -> list[str]:
    """The options that name the same folders again, for a command that starts elsewhere."""
    return [word for folder in named_folders() for word in (OPTION, folder)]


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside, `load_plugins` does nothing: the programs that are forked from this one load."""
    global _held
    _held = True
    try:
        yield
    finally:
        _held = False


def _load_folder(folder: str, naming: str) -> None:
    """Import ``folder``, an absolute path, as fairseq imports its user directory.

    fairseq puts the parent on ``sys.path`` for it, which hides modules of the same name as any
    folder there; here only the name of the folder itself counts.
    """
    place, name = Path(folder), os.path.basename(folder)
    file, said = place / "__init__.py", f"{naming} {folder}"
    if not place.exists():
        raise UserError(f"{said}: no such folder")
    if not place.is_dir():
        raise UserError(f"{said}: must be a folder with an `__init__.py`, got a file")
    if not file.is_file():
        raise UserError(f"{said}: must have an `__init__.py`, which registers what is in it")
    if "." in name:
        raise UserError(f"{said}: its name is that of a module and must not have a dot")
    alone = all(one.name in ("__init__.py", "__pycache__") for one in place.iterdir())
    if alone and file.read_bytes() == Path(USER_DIR, "__init__.py").read_bytes():
        return  # ours, which adds nothing to our command; its imports take four seconds
    modules = (sys.modules.get(other) for other in (name, *_loaded))
    paths = [path for one in modules for path in getattr(one, "__path__", None) or ()]
    if any(_same(path, place) for path in paths):  # imported already
        if name in sys.modules:
            _add(name)  # fairseq may have imported it, or be about to
        return
    if name in sys.modules:
        other = getattr(sys.modules[name], "__file__", None) or "a part of Python"
    else:
        spec = importlib.util.find_spec(name)
        other = spec.origin if spec is not None else None
    if other is not None and not _same(other, file):
        raise UserError(f"{said}: {other} has the same name, {name!r}; rename the folder")
    with importing(said, place):
        spec = importlib.util.spec_from_file_location(
            name, file, submodule_search_locations=[folder]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
            _add(name)
        except BaseException:
            for one in [n for n in sys.modules if n == name or n.startswith(f"{name}.")]:
                del sys.modules[one]
            raise


def _add(name: str) -> None:
    """Note a module, and import the package of its verbs, which are not imported themselves."""
    if name in _loaded:
        return
    places = getattr(sys.modules[name], "__path__", [])
    if any(Path(place, "verbs").is_dir() for place in places):
        importlib.import_module(f"{name}.verbs")
    _loaded.append(name)


def _same(first: str | Path, second: str | Path) -> bool:
    return os.path.exists(first) and os.path.samefile(first, second)


@contextlib.contextmanager
def importing(what: str, place: Path | None = None) -> Iterator[None]:
    """Has whatever fails inside end in one line with the place in the user's own code."""
    from fairseq_xling.engine.compat import quiet_engine  # only now: it takes NumPy
    from fairseq_xling.engine.lean import lean_engine

    lean_engine()
    try:
        with quiet_engine():
            yield
    except (Exception, SystemExit) as error:
        where = _line_of(error, place)
        said = str(program_error(error)) if isinstance(error, SystemExit) else str(error)
        first = next(iter(said.splitlines()), "")
        plain = isinstance(error, UserError | SystemExit)
        first = first if plain else f"{type(error).__name__}: {first}"
        raise UserError(f"{what}: its import fails{where}: {first}") from error


def _line_of(error: BaseException, place: Path | None) -> str:
    """The last line of a user's own code that an error came through."""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno))
    own = [at for at in lines if place is not None and Path(at[0]).is_relative_to(place)]
    return f" at {own[-1][0]}:{own[-1][1]}" if own else ""


def _declared() -> bool:
    """Whether any installed package declares a plug-in: a few milliseconds, unlike asking
    `importlib.metadata` for them."""
    wanted = f"[{GROUP}]".encode()
    for folder in dict.fromkeys(sys.path):
        with contextlib.suppress(OSError):  # of what is no folder, or has no entry points
            for entry in os.scandir(folder or "."):
                if entry.name.endswith((".dist-info", ".egg-info")):
                    with (
                        contextlib.suppress(OSError),
                        open(os.path.join(entry.path, "entry_points.txt"), "rb") as file,
                    ):
                        if wanted in file.read():
                            return True
    return False
