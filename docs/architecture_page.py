"""The page of the architecture: its packages in layers, drawn from the imports.

python docs/architecture_page.py architecture.svg
"""

import ast
import functools
import sys
from collections.abc import Mapping, Set
from pathlib import Path

import grimp
from matplotlib.figure import Figure

from fairseq_xling.core.files import atomic_write
from fairseq_xling.reports.figures import COLOURS, to_svg

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "fairseq_xling"
SVG = "assets/architecture.svg"
CORE = "core"  # imported by every package, and so not drawn
# Packages that are one thing to a reader, by the name of their box.
TOGETHER = {
    "checkpoints, engine": ("checkpoints", "engine"),
    "papers, studies, verbs": ("papers", "studies", "verbs"),
}
LEAD = """# Architecture

Each folder of `fairseq_xling` is a package. A package imports only packages below it in the
drawing; those that share a box import each other, too. `make test` checks this, by `lint-imports`
in a finer order. To understand a package, you therefore only need to know those below it. What is
added by name (verbs, studies, registered components) is looked up by name from
below. No module of the mathematics (`analysis`, `mapping`) imports argparse or fairseq, and text
is prepared without torch.

![The packages in layers, with arrows to what they import](../assets/architecture.svg)

The drawing is generated from the imports whenever the documentation is built. It leaves out arrows
that are implied by others, the modules outside of any package, and `core`, which every package
imports.

You can add most components as a single file: [an objective, a head, a
measure](../how-to/extend.md), [an ordering](../how-to/ordering.md), [a verb or a
study](../contributing/verb.md). To follow one sentence from text to loss, read `text/encoder.py`,
`text/binarize.py`, `data/mmap.py`, `data/sources.py`, `data/iterator.py`, `objectives/mlm.py`,
`data/batch.py`, `models/encoder.py` and `training/criterion.py`, in this order. To follow a run,
read `papers/trelm/run.py`, `papers/trelm/migration.py`, `workflow/recipe.py`, `workflow/step.py`,
`workflow/launcher.py`, `workflow/runner.py`, `workflow/launchers/local.py` and
`reports/record.py`."""


def architecture_pages() -> dict[str, str]:
    """By path, the page and its drawing."""
    graph = imports()
    layers = layers_of(graph)
    names = [name for layer in layers for box in layer for name in TOGETHER.get(box, (box,))]
    rows = ["| Package | What it is | Files | Lines |", "|---|---|--:|--:|"]
    for name in [*names, CORE]:
        files, lines = size(name)
        rows.append(f"| `{name}` | {about(name)} | {files} | {lines:,} |")
    drawing = draw(layers, reduced(graph))
    return {"explanation/architecture.md": f"{LEAD}\n\n" + "\n".join(rows) + "\n", SVG: drawing}


def packages() -> list[str]:
    """The folders of the project's package."""
    return sorted(path.parent.name for path in (ROOT / PACKAGE).glob("*/__init__.py"))


def about(package: str) -> str:
    """The first sentence of its docstring."""
    text = (ROOT / PACKAGE / package / "__init__.py").read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
    return " ".join(first.split())


@functools.cache
def size(package: str) -> tuple[int, int]:
    """Its files and lines of Python."""
    files = list((ROOT / PACKAGE / package).rglob("*.py"))
    return len(files), sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def imports() -> dict[str, set[str]]:
    """The boxes that each box imports from.

    Those in functions count as well as those of modules, those for type checking alone do not.
    """
    box = {name: title for title, names in TOGETHER.items() for name in names}
    box = {name: box.get(name, name) for name in packages() if name != CORE}
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True)
    found: dict[str, set[str]] = {title: set() for title in box.values()}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            one, other = (box.get(f"{name}..".split(".")[1]) for name in (module, imported))
            if one and other and one != other:
                found[one].add(other)
    return found


def layers_of(graph: Mapping[str, Set[str]]) -> list[list[str]]:
    """The boxes, each in a layer above all that it imports; the top layer first."""
    heights: dict[str, int] = {}

    def height(box: str) -> int:
        if box not in heights:
            heights[box] = 1 + max(map(height, graph[box]), default=-1)
        return heights[box]

    highest = max(map(height, sorted(graph)))
    return [sorted(box for box in graph if heights[box] == h) for h in range(highest, -1, -1)]


def reduced(graph: Mapping[str, Set[str]]) -> dict[str, set[str]]:
    """The arrows that no others stand for."""

    def below(box: str) -> set[str]:
        return set(graph[box]).union(*(below(other) for other in graph[box]))

    return {
        box: {one for one in found if not any(one in below(other) for other in found - {one})}
        for box, found in ((box, set(found)) for box, found in graph.items())
    }


def draw(layers: list[list[str]], arrows: Mapping[str, Set[str]]) -> str:
    """The boxes in their layers, with the arrows between them, as SVG."""
    figure = Figure(figsize=(9, 0.85 * len(layers) + 0.3), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    places = _places(layers, arrows)
    for box, found in sorted(arrows.items()):
        for other in sorted(found):
            (x, y), (to_x, to_y) = places[box], places[other]
            bend = 0.3 if y - to_y > 1.5 else 0.0  # around the boxes in between
            axes.annotate(
                "",
                (to_x, to_y + 0.26),
                (x, y - 0.26),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": COLOURS[0],
                    "linewidth": 1.2,
                    "connectionstyle": f"arc3,rad={bend if to_x < x else -bend}",
                },
            )
    for box, (x, y) in places.items():
        lines = sum(size(name)[1] for name in TOGETHER.get(box, (box,)))
        axes.text(
            x,
            y,
            f"{box}\n{lines:,} lines",
            ha="center",
            va="center",
            fontsize=10,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": COLOURS[0]},
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.5, len(layers) - 0.5)
    return to_svg(figure)


def _places(
    layers: list[list[str]], arrows: Mapping[str, Set[str]]
) -> dict[str, tuple[float, float]]:
    """Where boxes stand: in each layer in the order of what leads to them."""
    places: dict[str, tuple[float, float]] = {}
    for number, layer in enumerate(layers):

        def above(box: str) -> float:
            found = [places[one][0] for one in places if box in arrows[one]]
            return sum(found) / len(found) if found else 0.5

        ordered = sorted(layer, key=above)
        for place, box in enumerate(ordered):
            x = 0.5 + (place - (len(ordered) - 1) / 2) * 0.3
            places[box] = x, len(layers) - 1.0 - number
    return places


if __name__ == "__main__":
    graph = imports()
    with atomic_write(sys.argv[1], "w") as file:
        file.write(draw(layers_of(graph), reduced(graph)))
