"""The modules of `docs/`, which are programs of the documentation and no package."""

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def docs_module(monkeypatch) -> Callable[[str], ModuleType]:
    """``docs_module("verb_pages")``."""
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module


@pytest.fixture
def pages(docs_module):
    """The pages of results by the links that lead to them."""
    made, _ = docs_module("included_pages").included_pages()
    return {name.removeprefix("results/"): text for name, text in made.items()}
