"""Folders as `fairseq-xling extract` leaves them, with vectors that a test chooses."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.core.files import write_json


def write_extracted(
    path: Path,
    vectors: Mapping[int, np.ndarray],
    *,
    unit: str = "sentences",
    lang: str = "en",
    words: Sequence[str] | None = None,
    dtype: str = "float32",
) -> Path:
    """Write ``vectors`` (N, D) by layer; with ``words``, the folder is one of types."""
    path.mkdir(parents=True, exist_ok=True)
    first = next(iter(vectors.values()))
    for layer, rows in vectors.items():
        np.save(path / f"layer{layer:02d}.npy", np.asarray(rows, dtype=dtype))
    if words is not None:
        unit = "types" if unit == "sentences" else unit
        (path / "words.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        np.save(path / "counts.npy", np.arange(len(words), 0, -1))
    settings = {"unit": unit, "layers": sorted(vectors), "dtype": dtype, "lang": lang}
    write_json(
        path / "meta.json",
        {"settings": settings, "rows": len(first), "width": first.shape[1], "row": "a test's"},
    )
    return path
