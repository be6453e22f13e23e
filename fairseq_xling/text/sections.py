"""Training text cut into shards: which lines of which files each of them reads.

Every shard has a contiguous range of lines of every training text, as long as the others' but for
one line, so that continuous text stays continuous. Only where the ranges begin is kept.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.errors import UserError
from fairseq_xling.files import open_binary
from fairseq_xling.text.blocks import BLOCK_BYTES, Section
from fairseq_xling.text.scan import TextFacts
from fairseq_xling.text.sources import Sources

Sections = dict[str, list[list[int]]]  # by role: [number of the file, *fields of `Section`]


def cut_text(sources: Sources, facts: Mapping[Path, TextFacts], shards: int) -> list[Sections]:
    """The sections of each of ``shards`` shards, by the roles of ``sources`` (see `by_role`).

    Raises:
        UserError: if a training text has fewer lines.
    """
    cuts: list[Sections] = [{} for _ in range(shards)]
    # Alignments last: of parallel text with too few lines the text is named.
    roles = sorted(sources.by_role().items(), key=lambda item: item[0].startswith("alignment/"))
    for role, files in roles:
        kind, _, name = role.partition("/")
        if not name.startswith("train.") or kind not in ("mono", "parallel", "alignment"):
            continue
        if kind == "mono":
            _cut(cuts, role, 0, files, [facts[file].lines for file in files], facts)
            continue
        a, b = name.removeprefix("train.").split("-")
        lines = facts[sources.parallel["train", (a, b)][0]].lines
        for number, file in enumerate(files):
            _cut(cuts, role, number, [file], [lines], facts)
    return cuts


def check_lines(sources: Sources, shards: int) -> None:
    """Refuse more ``shards`` than a training text has lines, which reads no more lines than that.

    Raises:
        UserError: if a training text has fewer lines.
    """
    texts = [files for (split, _), files in sources.mono.items() if split == "train"]
    pairs = [files for (split, _), files in sources.parallel.items() if split == "train"]
    for files in [*texts, *([file] for pair in pairs for file in pair)]:
        lines = 0
        for file in files:
            lines += _first_lines(file, shards - lines)
        _check_lines(lines, shards, files[0])


def _check_lines(lines: int, shards: int, file: Path) -> None:
    if lines < shards:
        raise UserError(
            f"`--shards` must be at most the number of lines of each training text, {lines} in "
            f"{file}, got {shards}"
        )


def _first_lines(path: Path, most: int) -> int:
    """How many lines a file has; ``most`` or more stands for any larger number."""
    lines, last = 0, b"\n"
    with open_binary(path) as file:
        while lines < most and (block := file.read(BLOCK_BYTES)):
            lines, last = lines + block.count(b"\n"), block[-1:]
    return lines + (last != b"\n")


def _cut(
    cuts: list[Sections],
    role: str,
    number: int,
    files: Sequence[Path],
    lines: Sequence[int],
    facts: Mapping[Path, TextFacts],
) -> None:
    """Add to each of ``cuts`` its part of ``files``, which are one text and have so many lines."""
    total, shards = sum(lines), len(cuts)
    _check_lines(total, shards, files[0])
    borders = [total * k // shards for k in range(shards + 1)]
    before = 0
    for place, (file, count) in enumerate(zip(files, lines, strict=True), start=number):
        inside = [n - before for n in borders if before < n < before + count]
        ends = [0, *inside, count]
        size = facts[file].bytes if file in facts else _size(file)
        offsets = [0, *line_offsets(file, inside), size]
        for k in range(len(ends) - 1):
            shard = int(np.searchsorted(borders, before + ends[k], side="right")) - 1
            section = [place, offsets[k], offsets[k + 1], ends[k] + 1, ends[k + 1] - ends[k]]
            cuts[shard].setdefault(role, []).append(section)
        before += count


def line_offsets(path: Path, numbers: Sequence[int]) -> list[int]:
    """The bytes of the first n lines of ``path`` (unpacked), for each n of ``numbers``, ascending.

    Raises:
        UserError: if there are fewer lines.
    """
    found: list[int] = []
    wanted, lines, offset = np.array(numbers, dtype=np.int64), 0, 0
    with open_binary(path) as file:
        while len(found) < len(wanted):
            block = file.read(BLOCK_BYTES)
            if not block:
                raise UserError(f"{path}: has only {lines} whole lines; it changed meanwhile")
            count = block.count(b"\n")
            here = wanted[len(found) :]
            here = here[here <= lines + count] - lines
            if len(here):
                ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
                found += (ends[here - 1] + 1 + offset).tolist()
            lines, offset = lines + count, offset + len(block)
    return found


def _size(path: Path) -> int:
    size = 0
    with open_binary(path) as file:
        while block := file.read(BLOCK_BYTES):
            size += len(block)
    return size


def section_sources(sources: Sources, cut: Sections, with_rest: bool) -> tuple[Sources, Any]:
    """``sources`` whose training text are the sections of ``cut``, and the facts of these.

    Args:
        with_rest: keep all other splits.
    """
    facts: dict[Section, TextFacts] = {}
    roles = sources.by_role()

    def pick(kind: str, name: str, files: Any) -> Any:
        if not name.startswith("train."):
            return files
        role = f"{kind}/{name}"
        sections = [Section(roles[role][place], *rest) for place, *rest in cut[role]]
        for one in sections:
            facts[one] = TextFacts(one.lines, one.lines, one.stop - one.start)
        return tuple(sections)

    def kept(table: Mapping) -> dict:
        return {key: files for key, files in table.items() if with_rest or key[0] == "train"}

    found = Sources(
        mono={k: pick("mono", f"{k[0]}.{k[1]}", v) for k, v in kept(sources.mono).items()},
        parallel={
            k: pick("parallel", f"{k[0]}.{'-'.join(k[1])}", v)
            for k, v in kept(sources.parallel).items()
        },
        dictionaries=sources.dictionaries,
        tokenizers=sources.tokenizers,
    )
    for (split, pair), file in kept(sources.alignments).items():
        files = pick("alignment", f"{split}.{'-'.join(pair)}", (file,))
        found.alignments[split, pair] = files[0]
    return found, facts
