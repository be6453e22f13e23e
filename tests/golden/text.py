"""Text as goldens keep it: without what differs between machines, days and versions."""

import difflib
import fnmatch
import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import fairseq_xling

ROOT = Path(__file__).parents[2]
_SAID = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d|Z)?"), "{date}"),
    (re.compile(r"\d+ processors, Linux \w+"), "{machine}"),
    (re.compile(rf"(?<![\d.]){re.escape(fairseq_xling.__version__)}(?![\d.]*\d)"), "{version}"),
    (re.compile(r"(?<![\d.])\d+(?:\.\d+)? (s|seconds)\b"), r"{number} \1"),
)


def normalise(text: str, *folders: Path | str) -> str:
    """``text`` without paths of this machine, versions of this package, dates and seconds.

    Args:
        folders: what is below these is named as if they were the working directory.
    """
    named = {str(folder): "" for folder in folders}
    named |= {str(Path(folder).resolve()): "" for folder in folders}
    named |= {str(fairseq_xling.USER_DIR): "{user-dir}", str(ROOT): "{root}"}
    for folder in sorted(named, key=len, reverse=True):
        stands = named[folder]
        text = text.replace(f"{folder}/", f"{stands}/" if stands else "")
        text = text.replace(folder, stands or ".")
    for pattern, stands in _SAID:
        text = pattern.sub(stands, text)
    return text


def digest(text: str | bytes) -> str:
    """The beginning of the SHA-256 of ``text``."""
    data = text.encode() if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest()[:16]


def block(name: str, text: str) -> Iterator[str]:
    """Lines of one item, under its name."""
    yield f"== {name}"
    yield from text.splitlines()
    yield ""


def _common(one: str, other: str) -> int:
    """How many characters two lines begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def differences(kept: str, made: str, allowed: Sequence[str] = (), least: int = 12) -> list[str]:
    """The first lines in which two texts differ, with the item that they are in; none if equal.

    Args:
        allowed: patterns of lines that are not compared, as of `fnmatch`.
        least: how many lines are shown.
    """

    def compared(text: str) -> list[str]:
        return [
            line
            for line in text.splitlines()
            if not any(fnmatch.fnmatchcase(line, pattern) for pattern in allowed)
        ]

    old, new = compared(kept), compared(made)
    if old == new:
        return []
    shown: list[str] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        items = [line for line in old[: i + 1] if line.startswith("== ")]
        shown += [f"  in {items[-1][3:83]}, line {i + 1}:" if items else f"  line {i + 1}:"]
        # Long lines from shortly before where the first two differ.
        same = _common("".join(old[i:j][:1]), "".join(new[k:m][:1]))
        begin = max(0, same - 60) if same > 100 else 0
        dots = "... " if begin else ""
        shown += [f"    - {dots}{line[begin:][:200]}" for line in old[i:j][:least]]
        shown += [f"    + {dots}{line[begin:][:200]}" for line in new[k:m][:least]]
        if len(shown) >= least:
            break
    return shown
