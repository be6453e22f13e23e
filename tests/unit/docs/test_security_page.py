"""The page on security lists every place in the installed fairseq that a file might reach."""

import ast
import functools
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from fairseq_xling.engine.prepare import prepare_engine
from tests.unit.checkpoints.test_each_guard import GUARDS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
GUARD_SECTION = PAGE.partition("## Each guard")[2].partition("\n## ")[0]
SECTION = PAGE.partition("## What a file can reach in fairseq")[2].partition("\n## ")[0]

# Not a method of a model or of a distance, nor part of a longer name.
REACHES = {
    "evaluates": r"(?<![\w.])(eval|exec)\(|(?<!def )(?<!\w)eval_(str_list|str_dict|bool)\(",
    "imports": r"import_module\(|__import__\(|(?<!def )import_user_module\(|globals\(\)\[\w+\w\]\(",
    "unpickles or loads": r"pickle\.loads?\(|torch\.load\(|np\.load\(|yaml\.(load|unsafe_load)\("
    r"|(?<!torch\.)jit\.load\(|joblib|marshal\.|LoadLibrary\(",
    "starts programs": r"subprocess\.\w+\(|os\.(system|popen|exec\w+|spawn\w+)\(|Popen\(",
    "fetches": r"(?<!def )cached_path\(|torch\.hub\.load\(|snapshot_download\(|requests\.get"
    r"|Tokenizer\.from_pretrained\(",
}
# They parse the command line, with a reader of plain values of their own.
APART = {"dataclass/utils.py", "tasks/translation.py"}


def modules():
    """fairseq's own files by their path, without what is not installed to be imported, and those of
    its programs."""
    folder = Path(importlib.util.find_spec("fairseq").origin).parent
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if not name.startswith(("examples/", "benchmark/")) and name not in APART:
            yield name, path.read_text(encoding="utf-8")
    for path in sorted((folder.parent / "fairseq_cli").glob("*.py")):
        yield f"fairseq_cli/{path.name}", path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", REACHES)
def test_each_module_that_reaches_out_is_on_the_page(kind):
    found = {name for name, text in modules() if re.search(REACHES[kind], text)}
    assert found
    folders = [name.removesuffix("/__init__.py") for name in found if name.endswith("__init__.py")]
    missing = [n for n in found if not n.endswith("__init__.py") and _short(n) not in SECTION]
    missing += [folder for folder in folders if f"`{folder}`" not in SECTION]
    assert not missing, f"fairseq {kind} in {sorted(missing)}; say on the page what guards it"


def _short(name):
    return name.removeprefix("data/encoders/") if "/encoders/" in name else f"`{name}`"


def test_each_module_that_the_page_names_is_installed():
    known = {name for name, _ in modules()}
    named = re.findall(r"`([\w/]+\.py)`", SECTION)
    ends = tuple(named)
    assert len(named) > 40
    gone = [n for n in ends if not any(name == n or name.endswith(f"/{n}") for name in known)]
    assert not gone


def test_this_package_evaluates_nothing():
    """As the page says; a model's own ``eval`` method is another thing."""
    code = re.compile(
        r"(?<![\w.`])(eval|exec)\(|shell=True|os\.system\(|allow_pickle=True|yaml\.load\("
    )
    for path in (ROOT / "fairseq_xling").rglob("*.py"):
        assert not code.search(path.read_text(encoding="utf-8")), path


def test_every_module_of_fairseq_that_evaluates_reads_plain_values():
    prepare_engine()
    import fairseq_xling.plugin  # noqa: F401

    evaluates = re.compile(r"(?<![\w.])eval\(")
    found = [n for n, text in modules() if evaluates.search(text) and "_cli/" not in n]
    assert len(found) > 15
    for name in found:
        module = sys.modules[f"fairseq.{name.removesuffix('.py').replace('/', '.')}"]
        with pytest.raises(SystemExit, match="must be a plain value"):
            vars(module)["eval"]("print(1)")


@functools.cache
def loading_calls():
    """(where, owner, name, keywords) of each call in this package of a method that may load."""
    found = []
    for path in sorted((ROOT / "fairseq_xling").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"\.(loads?|Unpickler|open|Environment)\(", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value).rpartition(".")[2].lstrip("_")
                keywords = {k.arg: ast.unparse(k.value) for k in node.keywords}
                found.append((f"{path}:{node.lineno}", owner, node.func.attr, keywords))
    return found


@pytest.mark.parametrize(
    ("owner", "name", "keyword", "value"),
    [
        ("torch", "load", "weights_only", "True"),
        ("np", "load", "allow_pickle", "False"),
        ("jinja2", "Environment", "autoescape", "True"),
    ],
)
def test_every_call_of_what_could_run_a_file_says_that_it_may_not(owner, name, keyword, value):
    calls = [(c[0], c[3]) for c in loading_calls() if c[1:3] == (owner, name)]
    assert calls
    for where, keywords in calls:
        assert keywords.get(keyword) == value, f"{where}: {owner}.{name} without {keyword}={value}"


def test_nothing_is_unpickled_here():
    unpickling = ("pickle", "joblib", "marshal", "shelve", "dill")
    assert not [call for call in loading_calls() if call[1] in unpickling and call[2] != "dumps"]


def test_the_guards_that_the_page_lists_are_those_with_a_case():
    listed = re.findall(r"^\| `([^|`]+)` \|", GUARD_SECTION, re.M)
    assert sorted(listed) == sorted(GUARDS), "list the guard on the page, or give it a case"


def test_each_module_of_checks_is_on_the_page():
    rooms = (ROOT / "fairseq_xling" / "checkpoints").glob("*.py")
    own = {path.name for path in rooms} - {"__init__.py", "files.py", "fresh.py"}
    table = PAGE.partition("## What may be built from a checkpoint")[2].partition("\n## ")[0]
    assert {name for name in own if f"`{name}`" not in table} == set()
