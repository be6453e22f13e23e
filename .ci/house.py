"""How large the package is, by package and as a whole: lines, files, references, options, imports.

    python .ci/house.py           a table for a person
    python .ci/house.py --json    the same for a program

Only the standard library is needed, and nothing is imported.
"""

import argparse
import ast
import collections
import json
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "fairseq_xling"
SMALL = 50  # lines
REPORTS = f"{PACKAGE}.reports"
DRAWING = {f"{REPORTS}.{name}" for name in ("charts", "figures", "plots", "paper")}
# Calls whose first argument declares an option, and those that make a field one.
_ADDS = {"add", "add_argument", "option", "argument"}
_FIELDS = {"option", "field"}


def sources(folder: Path) -> dict[str, str]:
    """The text of each Python file below ``folder``, by its path from the root."""
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
        if "__pycache__" not in path.parts
    }


def module_of(path: str) -> str:
    """The dotted name of a file of the package."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def part_of(path: str) -> str:
    """The package below the root that a file belongs to; its own name for a single module."""
    names = path.split("/")
    return names[1] if len(names) > 2 else "(modules)"


def named_once(trees: dict[str, ast.Module]) -> tuple[int, int]:
    """How many functions of modules are referred to by name exactly once, and how many there are.

    A name that several functions have cannot be told apart and is left out of the first figure.
    """
    defined: collections.Counter[str] = collections.Counter()
    named: collections.Counter[str] = collections.Counter()
    for tree in trees.values():
        defined.update(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                named[node.id] += 1
            elif isinstance(node, ast.Attribute):
                named[node.attr] += 1
    once = sum(count == 1 and named[name] == 1 for name, count in defined.items())
    return once, sum(defined.values())


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _callee(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def declared_options(tree: ast.Module) -> Iterator[str]:
    """The options that a module declares: arguments of a parser and fields of a configuration."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _callee(node) in _ADDS:
            for argument in node.args:
                if re.fullmatch(r"--[a-z][\w-]*", _text(argument)):
                    yield _text(argument)[2:]
        if isinstance(node, ast.ClassDef):
            for field in node.body:
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.value, ast.Call)
                    and _callee(field.value) in _FIELDS
                    and isinstance(field.target, ast.Name)
                    and ("help" in ast.dump(field.value) or _callee(field.value) == "option")
                ):
                    yield field.target.id.replace("_", "-")


def imports(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """By module the modules of the package that it imports, in functions, for types, or by name."""
    known = {module_of(path) for path in trees}
    found: dict[str, set[str]] = {}
    for path, tree in trees.items():
        own = module_of(path)
        names = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                names |= {name if name in known else node.module for name in inner}
            elif isinstance(node, ast.Call) and _callee(node) == "import_module" and node.args:
                names.add(_text(node.args[0]))
        found[own] = {name for name in names & known if name != own}
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other (Tarjan), sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(groups)


def drawing(graph: dict[str, set[str]]) -> list[str]:
    """Modules outside of the room of pages that draw themselves."""
    return [name for name, others in graph.items() if others & DRAWING and REPORTS not in name]


def floors(graph: dict[str, set[str]]) -> int:
    """The longest chain of packages that import the next one; a circle counts as one floor."""
    parts = {name: ".".join(name.split(".")[:2]) for name in graph}
    between: dict[str, set[str]] = collections.defaultdict(set)
    for name, others in graph.items():
        between[parts[name]] |= {parts[other] for other in others if parts[other] != parts[name]}
    between.pop(PACKAGE, None)
    between = {name: {o for o in others if o != PACKAGE} for name, others in between.items()}
    together = {name: group[0] for group in circles(between) for name in group}
    height: dict[str, int] = {}

    def floor(name: str) -> int:
        name = together.get(name, name)
        if name not in height:
            height[name] = 0
            members = [n for n in between if together.get(n, n) == name]
            below = {together.get(o, o) for n in members for o in between[n]} - {name}
            height[name] = 1 + max(map(floor, below), default=0)
        return height[name]

    return max(map(floor, between), default=0)


def measure() -> dict[str, object]:
    """All figures; ``parts`` has lines and files by package."""
    package, tests = sources(ROOT / PACKAGE), sources(ROOT / "tests")
    trees = {path: ast.parse(text) for path, text in package.items()}
    lines = {path: text.count("\n") for path, text in package.items()}
    graph = imports(trees)
    once, functions = named_once(trees)
    options = collections.Counter(
        option for tree in trees.values() for option in declared_options(tree)
    )
    importers = collections.Counter(other for others in graph.values() for other in others)
    parts: dict[str, dict[str, int]] = {}
    for path, count in lines.items():
        part = parts.setdefault(part_of(path), {"lines": 0, "files": 0})
        part["lines"] += count
        part["files"] += 1
    return {
        "lines": sum(lines.values()),
        "lines of tests": sum(text.count("\n") for text in tests.values()),
        "files": len(package),
        f"files below {SMALL} lines": sum(count < SMALL for count in lines.values()),
        "modules with one importer": sum(count == 1 for count in importers.values()),
        "functions": functions,
        "functions with one reference": once,
        "options declared more than once": sum(count > 1 for count in options.values()),
        "modules named *_result.py": sum(path.endswith("_result.py") for path in package),
        "modules that draw outside of reports": len(drawing(graph)),
        "circles": circles(graph),
        "floors of imports": floors(graph),
        "parts": dict(sorted(parts.items())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="as JSON")
    found = measure()
    if parser.parse_args().json:
        print(json.dumps(found, indent=2))
        return
    parts, loops = found.pop("parts"), found.pop("circles")
    for name, part in parts.items():
        print(f"{name:<34}{part['lines']:>8,} lines{part['files']:>6} files")
    print()
    for name, value in {**found, "circles": len(loops)}.items():
        print(f"{name:<34}{value:>8,}")
    for group in loops:
        print(f"  {' <-> '.join(group)}")


if __name__ == "__main__":
    main()
