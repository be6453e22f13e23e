"""The files and folders that a command names, declared with its options.

The metavar of such an option is a `Named`, which says whether it is read or written. From this
`check_outputs` knows all of them, and keeps every command from writing over what it reads.
"""

import argparse
import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import (
    is_systems_link,
    on_disk,
    refuse_files_above,
    refuse_special,
    same_place,
)


class Named(str):
    """The metavar of an option that names files or folders."""


class Input(Named):
    """Of what is read."""


class HeldOut(Input):
    """Of files to test on, which nobody may look into before that."""


class Listed(Input):
    """Of a folder of which only those files are read that the verb's ``reads(args)`` yields."""


class OutputFolder(Named):
    """Of a folder that is filled."""


class OutputFile(Named):
    """Of a file that is written.

    Args:
        also: what else is written: ``{}`` stands for the file's name, ``{stem}`` for its name
            without the ending.
    """

    def __new__(cls, text: str, *also: str) -> "OutputFile":
        self = super().__new__(cls, text)
        self.also = also
        return self


FILE, DATA, CHECKPOINT, MODEL, LANG_FILE, RUN, LABELS, YAML = map(
    Input, ("FILE", "DATA", "CHECKPOINT", "MODEL", "LANG=FILE", "RUN", "LABELS", "YAML")
)
NEW_FILE, NEW_FOLDER = OutputFile("FILE"), OutputFolder("DIR")
NEW_RESULTS, NEW_REPORTED = OutputFile("JSON", "{stem}.csv"), OutputFile("FILE", "{}.json")
Argument = tuple[str, Named, str]  # how a message calls it, its metavar, and its text


def arguments_of(parser: argparse.ArgumentParser, args: argparse.Namespace) -> Iterator[Argument]:
    """Every file or folder that ``args`` name, by the declarations of ``parser``."""
    for action in parser._actions:
        value = getattr(args, action.dest, None)
        if isinstance(action, argparse._SubParsersAction):
            if value in action.choices:
                yield from arguments_of(action.choices[value], args)
        elif how := _named(action):
            name = [*action.option_strings, how][0]
            for text in _texts(value):
                yield name, how, text


def _named(action: argparse.Action) -> Named | None:
    marks = action.metavar if isinstance(action.metavar, tuple) else (action.metavar,)
    return next((mark for mark in marks if isinstance(mark, Named)), None)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
    elif value:
        yield str(value)


def check_outputs(arguments: Iterable[Argument]) -> list[Path]:
    """Refuse an output that would destroy an input, or another output of the same command; and
    pipes, devices and places below them, which are neither read nor written.

    An output may be a new file of a folder that is read, and may lie next to inputs.

    Returns:
        The files that are read.
    """
    given = list(arguments)
    named = [(name, text) for name, how, text in given if isinstance(how, Input)]
    for name, text in named:
        for piece in pieces(text):
            refuse_special(name, piece)
    inputs = [(name, place) for name, text in named for place in existing(text)]
    files: dict[str, str] = {}  # of the outputs, by place
    for name, how, text in given:
        for path in _written(how, text):
            if not is_systems_link(path):
                refuse_special(name, path)
                refuse_files_above(name, path)
            kind = "folder" if isinstance(how, OutputFolder) else "file"
            for other, source in inputs:
                same = same_place(path, source) or (path.exists() and path.samefile(source))
                if same and source.is_dir() == (kind == "folder"):
                    raise UserError(f"`{name}` must be another {kind} than `{other}`, got {path}")
                inside = kind == "file" and path.is_file() and source.is_dir()
                if inside and _lies_in(path, source):
                    raise UserError(
                        f"`{name}` must not be a file of `{other}` {source}, which is read, got "
                        f"{path}; choose another name, or remove it first"
                    )
            place = os.path.realpath(path)
            if isinstance(how, OutputFile) and files.setdefault(place, name) != name:
                raise UserError(f"`{name}` must be another file than `{files[place]}`, got {path}")
    return [source for _, source in inputs if source.is_file()]


def _lies_in(path: Path, folder: Path) -> bool:
    place = Path(os.path.realpath(folder))
    own = Path(os.path.realpath(path.parent), path.name)  # a link there is replaced
    return place in own.parents or place in Path(os.path.realpath(path)).parents


def _written(how: Named, text: str) -> list[Path]:
    if isinstance(how, Input):
        return []
    path = Path(text)
    beside = how.also if isinstance(how, OutputFile) and path.name else ()
    return [path, *(path.with_name(one.format(path.name, stem=path.stem)) for one in beside)]


def pieces(text: str) -> list[str]:
    """All that ``text`` may name: a path, NAME=PATH, several with commas between.

    >>> pieces("train.de=a.txt,b.txt")
    ['train.de=a.txt,b.txt', 'train.de=a.txt', 'b.txt', 'a.txt,b.txt', 'a.txt']
    """
    parts = (text, *text.split(","))
    return [*filter(None, dict.fromkeys((*parts, *(part.partition("=")[2] for part in parts))))]


def existing(text: str) -> list[Path]:
    """The files and folders that there are among all that ``text`` may mean: a path, one with its
    column, NAME=PATH, several of these with commas between, MODEL:FOLDER, and names in braces that
    stand for several."""
    found: set[Path] = set()
    for piece in pieces(text):
        file, pattern = on_disk(piece), re.sub(r"\{\w+\}", "*", piece)
        found |= {file, *map(Path, piece.split(":") if file == Path(piece) else ())}
        found |= set(map(Path, glob.glob(pattern) if pattern != piece else ()))
    # Unlike `Path.is_file`, of names that are too long as well.
    return sorted(path for path in found if os.path.isfile(path) or os.path.isdir(path))
