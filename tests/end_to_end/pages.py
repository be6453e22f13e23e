"""Running the commands of a page of documentation as a reader would type them.

The blocks of a page run from top to bottom in one shell and one folder: ```` ```bash ```` as it
stands; ```` ```python ```` as a program, or, where its first line names a file (``# plugin/a.py``),
that file is written. A block below ``<!-- not run: REASON -->`` is left out.

README and the first tutorial run in `make test`, all other pages in `make test-slow`. README and
the tutorials train for minutes. What other pages and quick tests need of them is files, not
figures, so they get these from the same commands with smaller numbers (`LESS`).

Front matter says what a page needs: ``starts_with: tutorials/train.md`` begins with a copy of the
folder that the commands of that page leave behind (run once in a test session, whichever worker
comes first).
"""

import dataclasses
import functools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.end_to_end.engine import run_script
from tests.once import once

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
FIRST = "tutorials/train.md"

_FRONT = re.compile(r"\A---\n(.*?)^---\n", re.M | re.S)
_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*\Z")
_FILE = re.compile(r"# (\S+/\S+\.py)\b")
_END = "END_OF_BLOCK"
# The largest number that a quick run passes with each of these options.
LESS = {
    **dict.fromkeys(("sentences", "parallel-sentences"), 2000),
    "held-out": 100,
    "max-tokens": 1000,
    **dict.fromkeys(("max-update", "transform-steps"), 60),
    **dict.fromkeys(("extract-steps", "order-steps"), 20),
    **dict.fromkeys(("transfer-steps", "translator-steps"), 16),
    **dict.fromkeys(("commonality-steps", "language-steps"), 10),
    "warmup": 5,
    "warmup-updates": 50,
    "every": 8,
    **dict.fromkeys(("max-epoch", "epochs"), 1),
}
_NUMBER = re.compile(rf"--({'|'.join(LESS)}) (\d+)\b")


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of commands; ``line`` is where it begins in its page, ``not_run`` says why not."""

    language: str
    text: str
    line: int
    not_run: str = ""


@dataclasses.dataclass(frozen=True)
class Page:
    """A page by its path below ``docs/`` (``README.md`` is the root's)."""

    name: str

    @property
    def path(self) -> Path:
        return README if self.name == "README.md" else DOCS / self.name

    @functools.cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def settings(self) -> dict:
        """Its front matter."""
        front = _FRONT.match(self.text)
        return yaml.safe_load(front[1]) if front else {}

    def blocks(self) -> list[Block]:
        """Its commands and programs, in order."""
        found = []
        for match in _BLOCK.finditer(self.text):
            if match["language"] not in ("bash", "python"):
                continue
            indent = match["indent"]
            lines = [line.removeprefix(indent) for line in match["text"].splitlines(keepends=True)]
            reason = _NOT_RUN.search(self.text, 0, match.start())
            number = self.text.count("\n", 0, match.start()) + 1
            found.append(
                Block(match["language"], "".join(lines), number, reason[1] if reason else "")
            )
        return found

    @property
    def trains(self) -> bool:
        """Whether its commands train for minutes."""
        return self.path == README or self.path.parent.name == "tutorials"

    def script(self, whole: bool = False) -> str:
        """One shell script of all that is run; unless it is the ``whole``, with small numbers."""
        text = "".join(self._parts())
        return _NUMBER.sub(_less, text) if self.trains and not whole else text

    def _parts(self) -> Iterator[str]:
        yield "set -euo pipefail\n"
        for block in self.blocks():
            if block.not_run:
                continue
            yield f"echo '--- {self.name}, line {block.line}' >&2\n"
            if block.language == "bash":
                yield block.text
                continue
            named = _FILE.match(block.text)
            to = f'mkdir -p "$(dirname {named[1]})"; cat > {named[1]}' if named else "python -"
            yield f"{to} <<'{_END}'\n{block.text}{_END}\n"


def _less(match: re.Match) -> str:
    return f"--{match[1]} {min(int(match[2]), LESS[match[1]])}"


def pages(*folders: str) -> list[Page]:
    """Every page below these folders of ``docs/`` that has commands to run."""
    files = [file for folder in folders for file in sorted((DOCS / folder).rglob("*.md"))]
    found = [Page(str(file.relative_to(DOCS))) for file in files]
    return [page for page in found if any(not block.not_run for block in page.blocks())]


def parameters(found: list[Page]) -> list:
    """A test's parameters: a page each, by name, all but the `FIRST` marked as slow."""
    return [
        pytest.param(page, id=page.name, marks=pytest.mark.slow if page.name != FIRST else ())
        for page in found
    ]


def folder_of(page: Page, root: Path, whole: bool = False) -> Path:
    """The folder that the page's commands leave behind, below ``root``, which workers share.

    They run once, quickly or as the ``whole``: whoever comes second waits, and finds the folder.
    What they print is in ``FOLDER.out``.
    """
    place = page.name.removesuffix(".md").replace("/", "-") + ("-whole" if whole else "")

    def make(folder: Path) -> None:
        if before := page.settings.get("starts_with"):
            shutil.copytree(folder_of(Page(before), root, whole), folder, dirs_exist_ok=True)
        script = root / f"{place}.sh"
        script.write_text(page.script(whole), encoding="utf-8")
        printed = run_script(script, folder=folder, timeout=3000 if whole else 900)
        Path(f"{folder}.out").write_text(printed, encoding="utf-8")

    return once(root / place, make)
