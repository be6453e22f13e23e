"""The figures of the similarity study: curves by layer, a panel for each measure.

Symbols: ``K`` seeds, ``L`` layers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fairseq_xling.runs.figures import COLOURS, Line, Panel, draw

# Of each panel: the measure, the curve in its results, and what the axis says.
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
        labels: what the axis says of each measure; those of `PANELS` by default.
    """
    if labels is None:
        labels = {name: label for name, (_, _, label) in PANELS.items()}
    rows = list(dict.fromkeys(line["row"] for line in lines))
    own = [line for line in lines if line["pair"] == pair]
    panels, bands = [], []
    for name, label in labels.items():
        found = [line for line in own if line["measure"] == name]
        if not found:
            continue
        drawn = [
            Line(
                line["title"],
                line["layers"],
                np.mean(line["values"], axis=0),
                rows.index(line["row"]),
            )
            for line in found
        ]
        chance = found[0].get("chance")
        panels.append(
            Panel(
                drawn,
                xlabel="layer (0: embeddings)",
                ylabel=label,
                title=pair if chance is None else f"{pair}, chance {chance:.3g}",
                chance=None if chance is None else (chance, "chance"),
                whole=True,
            )
        )
        bands.append([(line, rows.index(line["row"])) for line in found])
    figure = draw(panels, common=True)
    for axis, many in zip(figure.axes, bands, strict=False):
        for line, style in many:
            values = np.array(line["values"])
            if len(values) < 2:
                continue
            mean, spread = values.mean(0), values.std(0, ddof=1)
            low = np.maximum(mean - spread, 0)
            colour = COLOURS[style % len(COLOURS)]
            axis.fill_between(line["layers"], low, mean + spread, color=colour, alpha=0.15, lw=0)
            axis.set_ylim(top=max(axis.get_ylim()[1], 1.05 * float((mean + spread).max())))
    return figure
