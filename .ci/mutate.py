"""Change random lines of the package and ask which changes the tests see.

    python .ci/mutate.py --seed 1 --count 10              the tests as they are
    python .ci/mutate.py --seed 1 --count 10 --at REV     the same changes, by the tests of a commit

Each change is one sign, bound, index, default or order of two arguments, in a function of a module
that has a test file of its own. It is made in a copy of the repository (git's, so commit first);
the module's own tests run, and with ``--all`` every fast test where these miss it, as `make test`
has them.
"""

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TURNED = {
    **{ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="},
    **{ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"},
    **{ast.Add: "-", ast.Sub: "+", ast.And: "or", ast.Or: "and"},
}


def tested(root: Path) -> list[tuple[Path, Path]]:
    """Modules and the test files that mirror them, from ``root``."""
    found = []
    for test in sorted((root / "tests" / "unit").rglob("test_*.py")):
        place = test.relative_to(root / "tests" / "unit").with_name(test.name[5:])
        module = root / "fairseq_xling" / place
        if module.is_file():
            found.append((module.relative_to(root), test.relative_to(root)))
    return found


def changes(source: str) -> Iterator[tuple[int, str]]:
    """Numbers of lines, from 0, and what they may become."""
    lines = source.splitlines()
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            new = _turned(source, node)
            if new is None or node.lineno != node.end_lineno:
                continue
            line = lines[node.lineno - 1].encode()
            changed = line[: node.col_offset] + new.encode() + line[node.end_col_offset :]
            yield node.lineno - 1, changed.decode()


def _turned(source: str, node: ast.AST) -> str | None:
    def text(part: ast.AST) -> str:
        return ast.get_source_segment(source, part) or ""

    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return f"{text(node.left)} {TURNED[type(node.ops[0])]} {text(node.comparators[0])}"
    if isinstance(node, ast.BinOp) and type(node.op) in TURNED:
        return f"{text(node.left)} {TURNED[type(node.op)]} {text(node.right)}"
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        return f"{text(node.values[0])} {TURNED[type(node.op)]} {text(node.values[1])}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return text(node.operand)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return str(not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value < 100:
        return str(node.value + 1)
    if not (isinstance(node, ast.Call) and len(node.args) == 2) or node.keywords:
        return None
    first, second = node.args
    if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
        return None
    return f"{text(node.func)}({text(second)}, {text(first)})"


def passes(root: Path, *tests: str) -> bool:
    """Whether ``tests`` pass in the copy ``root``."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "--timeout", "200"]
    env = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    found = subprocess.run([*command, *tests], cwd=root, env=env, capture_output=True)
    return found.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10, help="changes to try")
    parser.add_argument("--at", default="HEAD", help="commit whose tests run")
    parser.add_argument("--all", action="store_true", help="run every fast test, not those alone")
    args = parser.parse_args()
    rng, seen, tried = random.Random(args.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "copy")
        subprocess.run(["git", "clone", "-q", str(ROOT), str(root)], check=True)
        modules = tested(root)  # those of today, whatever tests run
        subprocess.run(["git", "checkout", "-q", args.at, "--", "tests"], cwd=root, check=True)
        while tried < args.count:
            module, test = rng.choice(modules)
            source = (root / module).read_text(encoding="utf-8")
            possible = sorted({one for one in changes(source)})
            if not possible or not (root / test).is_file():
                continue
            number, line = rng.choice(possible)
            lines = source.splitlines()
            before, lines[number] = lines[number], line
            (root / module).write_text("\n".join(lines) + "\n", encoding="utf-8")
            missed = passes(root, str(test)) and not (args.all and not passes(root, "tests"))
            (root / module).write_text(source, encoding="utf-8")
            tried, seen = tried + 1, seen + (not missed)
            print(f"{'missed' if missed else 'seen'}: {module}:{number + 1}: {before.strip()}")
            print(f"        {line.strip()}", flush=True)
    print(f"{seen} of {tried} seen")


if __name__ == "__main__":
    main()
