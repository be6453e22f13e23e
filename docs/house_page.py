"""The page of the house: its rooms, floor by floor, drawn from the imports.

    python docs/house_page.py house.svg

Floors are the layers that `pyproject.toml` declares and `lint-imports` checks; arrows are what
the code imports.
"""

import ast
import sys
from collections import Counter
from pathlib import Path

import grimp
from matplotlib.figure import Figure

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from fairseq_xling.files import atomic_write
from fairseq_xling.results.figures import COLOURS, to_svg

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "fairseq_xling"
SVG = "assets/house.svg"
BASE = "files and errors"  # the modules beside the rooms, which all of them import
LEAD = """# The house

Each folder of `fairseq_xling` is a room. A room imports rooms below it, never one above, and no
two files import each other in a circle: `lint-imports` checks both in `make test`. So any room can
be read with only what lies below it in mind. The mathematics (`analysis`, `mapping`) knows neither
argparse nor fairseq, and text is prepared without torch.

![The rooms on their floors, with arrows to what they import](../assets/house.svg)

The drawing is made from the imports whenever the documentation is built. An arrow is as wide as
there are files that import; what every room imports, the errors, files and ranges of the ground
floor, is left out.

A new variant is one file: [an objective, a head, a measure](../how-to/extend.md), [an
ordering](../how-to/ordering.md), [a verb, or a study of three](../contributing/verb.md). To follow
one sentence from disk to loss, read `text/binarize.py`, `data/mmap.py`, `data/sources.py`,
`data/feeds.py`, `objectives/mlm.py`, `data/batch.py`, `models/separable_transformer.py`,
`training/criterion.py`, in this order. To follow a run, read `studies/verbs/trelm.py`,
`papers/trelm/`, `runs/step.py`, `runs/runner.py`, `results/result.py`."""


def house_pages() -> dict[str, str]:
    """By path, the page and its drawing."""
    floors = read_floors()
    rows = ["| Room | What it is | Files | Lines |", "|---|---|--:|--:|"]
    for floor in floors:
        for room in floor:
            files, lines = size(room)
            rows.append(f"| `{room}` | {about(room)} | {files} | {lines:,} |")
    return {"explanation/house.md": f"{LEAD}\n\n" + "\n".join(rows) + "\n", SVG: draw(floors)}


def read_floors() -> list[list[str]]:
    """The rooms of each layer, the top floor first; the last is that of single modules."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    floors = [[name.strip() for name in layer.replace(":", "|").split("|")] for layer in layers]
    return [[name for name in floor if _is_room(name)] for floor in floors[:-1]]


def _is_room(name: str) -> bool:
    return (ROOT / PACKAGE / name).is_dir()


def about(room: str) -> str:
    """The first sentence of its package's docstring."""
    text = (ROOT / PACKAGE / room / "__init__.py").read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
    return " ".join(first.split())


def size(room: str) -> tuple[int, int]:
    """Its files and lines of Python."""
    files = list((ROOT / PACKAGE / room).rglob("*.py"))
    return len(files), sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def imports() -> Counter[tuple[str, str]]:
    """How many files of a room import another room."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True)
    found: set[tuple[str, str]] = set()
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            found.add((module, _room(other)))
    pairs = Counter((_room(module), room) for module, room in found)
    return Counter({(a, b): n for (a, b), n in pairs.items() if a and b and a != b})


def _room(module: str) -> str:
    name = module.split(".")[1] if "." in module else ""
    return name if name and _is_room(name) else ""


def draw(floors: list[list[str]]) -> str:
    """The rooms as boxes on their floors, arrows between them, as SVG."""
    figure = Figure(figsize=(9, 0.62 * len(floors) + 0.4), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    places: dict[str, tuple[float, float]] = {}
    for height, floor in enumerate(reversed([floor for floor in floors if floor])):
        # Rooms that are alone on their floor step aside, so that arrows pass beside them.
        shift = 0.0 if len(floor) > 1 else (-0.33, 0.33, 0.0)[height % 3]
        for number, room in enumerate(floor):
            places[room] = 0.5 + shift + (number - (len(floor) - 1) / 2) * 0.33, height
    for (a, b), count in sorted(imports().items()):
        (x, y), (to_x, to_y) = places[a], places[b]
        axes.annotate(
            "",
            (to_x, to_y + 0.24),
            (x, y - 0.24),
            arrowprops={
                "arrowstyle": "-|>,head_width=0.15,head_length=0.3",
                "color": COLOURS[0],
                "alpha": 0.35,
                "linewidth": 0.4 + min(count, 40) / 16,
                "connectionstyle": "arc3,rad=0.08",
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
    for room, (x, y) in places.items():
        files, lines = size(room)
        axes.text(
            x,
            y,
            f"{room}\n{files} files, {lines:,} lines",
            ha="center",
            va="center",
            fontsize=8,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": COLOURS[0]},
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.5, max(y for _, y in places.values()) + 0.5)
    return to_svg(figure)


if __name__ == "__main__":
    with atomic_write(sys.argv[1], "w") as file:
        file.write(draw(read_floors()))
