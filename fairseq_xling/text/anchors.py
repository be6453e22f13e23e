"""Bilingual dictionaries for extra anchors (Conneau et al. 2020, Section 4.2): word pairs as ids.

They are applied when batches are made; here they are only converted to the data folder's ids.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.texts import cells_of, read_lines
from fairseq_xling.data.folder import UNK
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.sources import Pair

Entry = tuple[str, str, float]


def read_entries(path: Path) -> list[Entry]:
    """Word pairs of a file ``source TAB target [TAB weight]`` (default weight 1).

    Blank lines are skipped. A line without a tab is split at its first space.
    """
    entries = []
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        fields = cells_of(line)
        if len(fields) not in (2, 3) or not all(fields[:2]):
            raise UserError(
                f"{path}:{number}: must be source TAB target [TAB weight], got {line!r}"
            )
        try:
            weight = float(fields[2]) if len(fields) == 3 else 1.0
        except ValueError:
            weight = 0.0
        if not 0 < weight < float("inf"):
            raise UserError(f"{path}:{number}: weight must be a positive number, got {fields[2]!r}")
        entries.append((fields[0], fields[1], weight))
    if not entries:
        raise UserError(f"{path}: contains no word pairs")
    return entries


def write_anchors(path: Path, entries: list) -> None:
    """Entries of one language as JSON, a line each."""
    with atomic_write(path, "w") as file:
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        file.write(f'{{"entries": [\n{lines}\n]}}\n')


def collect_anchors(
    dictionaries: Mapping[Pair, list[Entry]], encoders: Mapping[str, TextEncoder]
) -> tuple[dict[str, list], dict[str, int]]:
    """Entries for ``anchors.<lang>.json`` by source language, both ways, and the number used.

    A word pair is used if the source is one word and neither side contains an unknown piece. The
    same pair given twice counts once, with the higher weight.
    """
    tables: dict[str, dict[tuple, dict[tuple, float]]] = {}
    counts = {"used": 0, "skipped": 0}
    for (a, b), entries in dictionaries.items():
        for source, target, flip in ((a, b, False), (b, a, True)):
            words = [(entry[1], entry[0]) if flip else entry[:2] for entry in entries]
            left = encoders[source].encode([word for word, _ in words])
            right = encoders[target].encode([word for _, word in words])
            table = tables.setdefault(source, {})
            for x, y, (_, _, weight) in zip(left, right, entries, strict=True):
                x, y = x[:-1], y[:-1]
                one_word = int(encoders[source].starts_word(x).sum()) == 1
                if not one_word or not len(y) or UNK in x or UNK in y:
                    counts["skipped"] += 1
                    continue
                counts["used"] += 1
                choices = table.setdefault(tuple(x.tolist()), {})
                key = (target, tuple(y.tolist()))
                choices[key] = max(weight, choices.get(key, 0.0))
    anchors = {
        lang: [
            [
                list(x),
                [[list(y), weight, target] for (target, y), weight in sorted(choices.items())],
            ]
            for x, choices in sorted(table.items())
        ]
        for lang, table in tables.items()
    }
    return anchors, counts
