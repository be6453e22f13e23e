"""What plans and messages are about: a little text in four languages, a data folder, an encoder.

Text and data are made anew each time, since they are the same everywhere; the encoder is kept, so
that what is planned from it does not depend on this machine's arithmetic.
"""

import contextlib
import functools
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fairseq_xling.cli import main
from tests.tiny_world import SQUAD, write_vectors

KEPT = Path(__file__).parent / "records" / "lm.pt"
SYNTHESIZE = (
    "synthesize w/text --languages en,de,zh,id --sentences 40 --held-out 10 "
    "--parallel-sentences 40 --annotated 16 --nli 16"
)
PREPARE = "prepare w/data --languages en,de --from w/text --vocab-type word --vocab-size 300"


def call(words: str | list[str]) -> tuple[int, str, str]:
    """One of our verbs in this process: exit status, output and errors."""
    output, errors = io.StringIO(), io.StringIO()
    argv = words.split() if isinstance(words, str) else words
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            status = main(argv)
        except SystemExit as end:
            status = int(end.code or 0)
    return status, output.getvalue(), errors.getvalue()


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[Path]:
    """The working directory is ``folder`` for a while."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)


@functools.cache
def _holder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="golden-")


def scratch() -> Path:
    """A folder for what is only read again at once."""
    return Path(_holder().name).resolve()


@functools.cache
def world() -> Path:
    """A folder with ``w/``: ``text``, ``data``, ``lm.pt`` and files of vectors and questions."""
    folder = scratch()
    (folder / "w").mkdir()
    with inside(folder):
        for words in (SYNTHESIZE, PREPARE):
            status, _, errors = call(words)
            if status:
                raise RuntimeError(f"{words}: {errors}")
        if KEPT.is_file():
            shutil.copyfile(KEPT, "w/lm.pt")
        Path("w/squad.json").write_text(SQUAD)
        for lang in ("en", "de"):
            write_vectors(Path(f"w/{lang}.vec"), Path(f"w/text/mono/train.{lang}.txt"))
    # Of test files that no step may look into, times are part of a step's key.
    for path in (folder / "w").rglob("*"):
        os.utime(path, (10**9, 10**9))
    return folder
