"""What is replaced in fairseq: all of it is listed with its reason, and missed where it is gone."""

import ast
import builtins
import subprocess
import sys
from pathlib import Path

import pytest

import fairseq_xling.plugin
from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import patches
from fairseq_xling.engine.patches import EVAL, REASONS, replaced

PACKAGE = Path(fairseq_xling.plugin.__file__).parent
MOST = 15
# Where they are needed: on a GPU, in fairseq-interactive, before fairseq's first import.
ELSEWHERE = {
    *("fairseq.optim:OPTIMIZER_REGISTRY[adam]", "fairseq.optim:FP16Optimizer"),
    *("fairseq_cli.interactive:buffered_read", "sys:meta_path"),
}

APART = {EVAL, "sys:meta_path"}  # which are added to, and not replaced


def test_there_are_few_and_each_has_a_reason():
    assert len(REASONS) <= MOST
    assert all(len(reason.split()) > 4 for reason in REASONS.values())


def test_each_that_is_listed_is_replaced():
    assert set(REASONS) - ELSEWHERE <= set(replaced()) <= set(REASONS)
    for place in set(REASONS) - APART:
        _, now = patches._found(place)
        assert (place in replaced()) == (now is not replaced().get(place, now)), place
    assert replaced()[EVAL] is builtins.eval


def test_what_was_replaced_stays_so_the_second_time():
    place = "fairseq.trainer:Trainer.train_step"
    _, before = patches._found(place)
    patches.replace(place, lambda theirs: pytest.fail("replaced twice"))
    assert patches._found(place)[1] is before


@pytest.mark.parametrize(
    "gone",
    [
        *("fairseq.gone:name", "fairseq.options:gone", "fairseq.trainer:Trainer.gone"),
        "fairseq.optim:OPTIMIZER_REGISTRY[gone]",
    ],
)
def test_a_symbol_that_is_gone_is_one_line(gone, monkeypatch):
    monkeypatch.setitem(REASONS, gone, "why")
    with pytest.raises(UserError) as error:
        patches.replace(gone, lambda theirs: pytest.fail("nothing is there"))
    assert str(error.value).startswith(f"fairseq 0.12.3.1 has no {gone.replace(':', '.')}, which ")
    assert "it needs fairseq-fixed==0.12.3.1: pip install" in str(error.value)


def test_a_program_of_another_fairseq_ends_in_one_line_at_import():
    code = (
        "from fairseq import checkpoint_utils\n"
        "del checkpoint_utils.torch\n"
        "import fairseq_xling.plugin\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("fairseq-xling: error: fairseq 0.12.3.1 has no fairseq.checkpoint_utils")


# ---- nothing else is replaced

FOREIGN = ("fairseq", "fairseq_cli", "torch")


def _foreign_names(tree):
    """The names in a module that are those of fairseq's or torch's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.partition(".")[0] in FOREIGN:
                    yield one.asname or one.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in FOREIGN:
            yield from (one.asname or one.name for one in node.names)


def _root(node):
    """The name that an attribute or an item is of; None for what is only a name."""
    inner = node
    while isinstance(inner, ast.Attribute | ast.Subscript):
        inner = inner.value
    return inner.id if isinstance(inner, ast.Name) and inner is not node else None


def _targets(node):
    """What a statement, or a call of `setattr`, assigns to or deletes."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return [ast.Attribute(node.args[0], "x")] if node.func.id in ("setattr", "delattr") else []
    found = getattr(node, "targets", [getattr(node, "target", None)])
    return [one for target in found for one in getattr(target, "elts", [target])]


def assigned(text):
    """Lines of a module that assign to something of fairseq's or torch's, or touch the finders."""
    tree = ast.parse(text)
    foreign = {*_foreign_names(tree)}
    for node in ast.walk(tree):
        if any(_root(target) in foreign for target in _targets(node)) or (
            isinstance(node, ast.Attribute) and node.attr in ("meta_path", "path_hooks")
        ):
            yield f"{node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.Tensor.cuda = None",
        "def f():\n    from fairseq import options as o\n    o.parse, x = 1, 2",
        "from fairseq.optim import REGISTRY\nREGISTRY['adam'] = 1",
        "from fairseq.trainer import Trainer\nsetattr(Trainer, 'x', 1)",
        "import fairseq.utils as u\ndel u.eval_bool",
        "import torch.nn\ntorch.nn.Linear.forward += 1",
        "import sys\nsys.meta_path.insert(0, 1)",
    ],
)
def test_what_assigns_to_a_foreign_module_is_found(text):
    assert list(assigned(text))
    assert not list(assigned("import torch\nx = torch.zeros(1)\nself.a = torch.nn\nx.grad = None"))


@pytest.mark.slow
def test_nothing_is_replaced_elsewhere():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        if lines := list(assigned(path.read_text(encoding="utf-8"))):
            found[path.relative_to(PACKAGE).as_posix()] = lines
    assert set(found) == {"engine/lean.py"}, found


def test_only_the_engine_replaces():
    users = [
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        if "engine.patches" in path.read_text(encoding="utf-8")
    ]
    assert set(users) == {"engine"}
