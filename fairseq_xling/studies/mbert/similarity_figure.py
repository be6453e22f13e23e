"""The figures of the similarity study: curves by layer, a panel for each measure.

Symbols: ``K`` seeds, ``L`` layers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fairseq_xling.results.figures import Line, Panel, draw

# For each panel: the measure, the curve in its results, and the axis label.
PANELS = {
    "retrieval P@1": ("retrieval", "cosine mean", "sentence retrieval, P@1"),
    "CKA": ("cka", "CKA", "linear CKA"),
    "BLI P@1": ("bli", "P@1 cosine", "word translation, P@1"),
    "BLI MRR": ("bli", "MRR cosine", "word translation, MRR"),
}


def draw_curves(
    lines: Sequence[Mapping[str, Any]], pair: str, labels: Mapping[str, str] | None = None
) -> Figure:
    """A panel for each measure that ``pair`` has, a line for each row; bands are standard
    deviations over seeds.

    Args:
        lines: with ``row``, ``title``, ``pair``, ``measure``, ``layers`` (L,), ``values`` (K, L)
            and perhaps ``chance``.
        labels: the axis label of each measure (default: those of `PANELS`).
    """
    if labels is None:
        labels = {name: label for name, (_, _, label) in PANELS.items()}
    rows = list(dict.fromkeys(line["row"] for line in lines))
    own = [line for line in lines if line["pair"] == pair]
    panels = []
    for name, label in labels.items():
        found = [line for line in own if line["measure"] == name]
        if not found:
            continue
        chance = found[0].get("chance")
        panels.append(
            Panel(
                [_line(line, rows.index(line["row"])) for line in found],
                xlabel="layer (0: embeddings)",
                ylabel=label,
                title=pair if chance is None else f"{pair}, chance {chance:.3g}",
                chance=None if chance is None else (chance, "chance"),
                whole=True,
            )
        )
    return draw(panels, common=True)


def _line(line: Mapping[str, Any], style: int) -> Line:
    values = np.array(line["values"])
    spread = values.std(0, ddof=1) if len(values) > 1 else ()
    return Line(line["title"], line["layers"], values.mean(0), style, spread=spread)
