"""The reference page of registries: none is missing, and no entry of one."""

import re
from pathlib import Path

import pytest

import fairseq_xling


@pytest.fixture
def pages(docs_module):
    return docs_module("registry_pages")


def test_every_registry_is_found_where_it_is_defined(pages):
    package = Path(fairseq_xling.__file__).parent
    defined = set()
    for file in package.rglob("*.py"):
        found = re.findall(r"^(\w+)\b[^=\n>]*= Registry\(", file.read_text(encoding="utf-8"), re.M)
        module = ".".join(file.relative_to(package.parent).with_suffix("").parts)
        defined |= {(module.removesuffix(".__init__"), name) for name in found}
    assert {(module, name) for module, name, _ in pages.registries()} == defined
    assert len(defined) > 40


def test_every_entry_is_listed(pages):
    text = pages.registry_pages()["reference/registries.md"]
    for module, name, registry in pages.registries():
        section = text.partition(f"`{module}.{name}`\n")[2].partition("\n## ")[0]
        assert [entry for entry in registry if f"`{entry}`" not in section] == []


def test_an_entry_is_described_by_itself_or_by_its_module(pages):
    text = pages.registry_pages()["reference/registries.md"]
    assert "| `mlm` |" in text and "| `identity` | Target position u gets source" in text
    assert "See the module" not in text
