"""Labels of the points of a figure, moved apart to be readable.

P points, C candidate places for a label, K occupied boxes. A box is (left, bottom, right, top).
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

# Right of the point first; then around it, and increasingly farther away, with a thin line back.
_DIRECTIONS = ((1, 0), (1, 1), (1, -1), (-1, 0), (-1, 1), (-1, -1), (0, 1), (0, -1))
_DISTANCES = (4, 11, 20, 30, 42)  # typographic points
_CROWD = 100  # beyond this many points, only those with room at their side are labelled
_MARK = 4  # half the side of a marker's box


def place_labels(
    axis: Axes, x: Sequence[float], y: Sequence[float], names: Sequence[str], size: float = 8
) -> list[Text]:
    """Write each of P names next to its point; the limits of ``axis`` must be final.

    Each gets the first place at which it covers neither a point nor another name and stays inside
    the axes; names without such a place are left out. Returns those that are drawn.
    """
    figure = axis.figure
    figure.draw_without_rendering()  # places are final before names are tried
    pixels = figure.dpi / 72
    points = axis.transData.transform(np.column_stack([x, y])).reshape(-1, 2)
    taken = np.hstack([points - _MARK * pixels, points + _MARK * pixels])
    window = axis.get_window_extent().extents
    distances = _DISTANCES if len(points) <= _CROWD else _DISTANCES[:1]
    texts = []
    for name, point, place in zip(names, points, zip(x, y, strict=True), strict=True):
        text = axis.annotate(
            name,
            place,
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=size,
            arrowprops={"arrowstyle": "-", "linewidth": 0.7, "color": "#777777", "shrinkB": 3},
        )
        text.set_in_layout(False)  # else the axes would shrink under the points
        half = np.array(Text.get_window_extent(text).size) / 2  # without its line
        centres = point + _offsets(half, pixels, distances)
        boxes = np.hstack([centres - half, centres + half])
        free = _covered(boxes, taken) + _outside(boxes, window) < 1e-6
        if not free.any():
            text.remove()
            continue
        best = int(free.argmax())
        text.set_position((centres[best] - point) / pixels)
        text.arrow_patch.set_visible(best >= len(_DIRECTIONS))
        taken = np.vstack([taken, boxes[best]])
        texts.append(text)
    return texts


def _offsets(half: np.ndarray, pixels: float, distances: Sequence[float]) -> np.ndarray:
    """Candidate centres of a name of size ``2 * half``, relative to its point (C, 2)."""
    way = np.array(_DIRECTIONS, dtype=float)
    unit = way / np.linalg.norm(way, axis=1, keepdims=True)
    return np.concatenate([way * half + unit * distance * pixels for distance in distances])


def _covered(boxes: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """How much of each of C boxes is covered by the K occupied ones (C,)."""
    low = np.maximum(boxes[:, None, :2], taken[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], taken[None, :, 2:])
    return (high - low).clip(min=0).prod(-1).sum(-1)


def _outside(boxes: np.ndarray, window: np.ndarray) -> np.ndarray:
    """How much of each of C boxes is outside of ``window`` (C,)."""
    whole = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    return whole - _covered(boxes, window[None])
