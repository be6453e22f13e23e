"""The files of `fairseq-xling embed inspect`: tables and a figure of words among all others."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, write_json
from fairseq_xling.mapping.neighbourhood import BINS, Neighbourhood, neighbourhood
from fairseq_xling.mapping.vectors_file import read_vectors
from fairseq_xling.provenance import provenance
from fairseq_xling.results.figures import to_svg
from fairseq_xling.results.tables import write_csv
from fairseq_xling.verbs.parts.embed_inspect_figure import draw_neighbourhoods, to_png


def inspect_vectors(files: Sequence[str], word: str, top: int, output: str | Path) -> str:
    """Write ``inspect.{svg,png,json}``, ``histogram.csv`` and ``neighbours.csv`` into ``output``.

    Returns:
        The text to print: the nearest neighbours by file.

    Raises:
        UserError: for a missing file or word, or ``top`` below 2.
    """
    if top < 2:
        raise UserError(f"`--top` must be at least 2, got {top}")
    found = [neighbourhood(read_vectors(file), str(file), word, top) for file in files]
    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    figure = draw_neighbourhoods(found)
    for name, content in (
        ("inspect.png", to_png(figure)),
        ("inspect.svg", to_svg(figure).encode("utf-8")),
    ):
        with atomic_write(output / name) as file:
            file.write(content)
    for name, table in tables(found).items():
        write_csv(output / f"{name}.csv", *table)
    write_json(
        output / "inspect.json",
        {
            "word": word,
            "files": [_about(n) for n in found],
            "provenance": provenance({f"vectors {i}": file for i, file in enumerate(files)}),
        },
    )
    lines = [f"{n.name}: {n.word} ~ {' '.join(n.neighbours[:10])}" for n in found]
    return "\n".join([*lines, f"{output}: inspect.svg, inspect.png, two tables and inspect.json"])


def tables(found: Sequence[Neighbourhood]) -> dict[str, tuple[list[str], list[list[Any]]]]:
    """``histogram`` and ``neighbours`` of all files, each a header and rows."""
    edges = np.linspace(-1, 1, BINS + 1).round(6).tolist()
    bins = [[n.name, *edges[i : i + 2], int(n.counts[i])] for n in found for i in range(BINS)]
    nearest = [
        [n.name, i + 1, symbol, *(round(float(v), 6) for v in (n.similarities[i], *n.points[i]))]
        for n in found
        for i, symbol in enumerate(n.neighbours)
    ]
    return {
        "histogram": (["file", "from", "to", "words"], bins),
        "neighbours": (["file", "rank", "symbol", "cosine", "x", "y"], nearest),
    }


def _about(found: Neighbourhood) -> dict[str, Any]:
    return {
        "file": found.name,
        "symbol": found.word,
        "words": int(found.counts.sum()),
        "histogram": found.counts.tolist(),
        "neighbours": found.neighbours,
        "cosines": found.similarities.round(6).tolist(),
        "points": found.points.round(6).tolist(),
        "own": found.own.round(6).tolist(),
        "variance_shares": found.shares.round(6).tolist(),
    }


def from_record(about: Mapping[str, Any]) -> Neighbourhood:
    """One of the ``files`` of ``inspect.json``.

    Raises:
        KeyError: if something is missing.
    """
    return Neighbourhood(
        about["file"],
        about["symbol"],
        np.array(about["histogram"], dtype=np.int64),
        list(about["neighbours"]),
        np.array(about["cosines"], dtype=np.float64),
        np.array(about["points"], dtype=np.float64).reshape(-1, 2),
        np.array(about["own"], dtype=np.float64),
        np.array(about["variance_shares"], dtype=np.float64),
    )
