"""The page on security lists every place in the installed fairseq that a file might reach."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## What a file can reach in fairseq")[2].partition("\n## ")[0]

# Not a method of a model or of a distance, nor part of a longer name.
REACHES = {
    "evaluates": r"(?<![\w.])(eval|exec)\(|(?<!def )(?<!\w)eval_(str_list|str_dict|bool)\(",
    "imports": r"import_module\(|__import__\(|(?<!def )import_user_module\(|globals\(\)\[\w+\w\]\(",
    "unpickles or loads": r"pickle\.loads?\(|torch\.load\(|np\.load\(|yaml\.(load|unsafe_load)\(",
    "starts programs": r"subprocess\.\w+\(|os\.system\(|Popen\(",
    "fetches": r"(?<!def )cached_path\(|torch\.hub\.load\(",
}
# They parse the command line, with a reader of plain values of their own.
APART = {"dataclass/utils.py", "tasks/translation.py"}


def modules():
    """fairseq's own files by their path, without what is not installed to be imported."""
    folder = Path(importlib.util.find_spec("fairseq").origin).parent
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if not name.startswith(("examples/", "benchmark/")) and name not in APART:
            yield name, path.read_text(encoding="utf-8")


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
