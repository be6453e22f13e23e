import sys

import pytest

from fairseq_xling.core.errors import OWN, UserError
from fairseq_xling.core.registry import Registry


@pytest.fixture
def shapes():
    registry = Registry("shape")
    for name, entry in (("round", 1), ("ground", 2)):
        assert registry.register(name)(entry) is entry
    registry.register("square")(3)
    return registry


def test_names_come_back_as_what_was_registered_and_iterate_in_order(shapes):
    assert shapes["round"] == 1
    assert list(shapes) == ["ground", "round", "square"]
    assert "square" in shapes and "oval" not in shapes


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("roumd", "'roumd'; did you mean 'round' or 'ground'? "),
        ("xyz", "'xyz'; "),
        *((name, f"{name}; ") for name in (None, 3, [], {"a": 1})),
    ],
)
def test_an_unknown_name_lists_near_matches_and_then_all(shapes, name, shown):
    assert name not in shapes
    with pytest.raises(UserError) as caught:
        shapes[name]
    assert str(caught.value) == f"unknown shape {shown}known: ground, round, square{OWN}"


def test_a_name_is_registered_once(shapes):
    line = "shape 'round' is already registered, by 1 and by 4; rename your own"
    with pytest.raises(UserError, match=line):
        shapes.register("round")(4)
    shapes.register("round")(1)  # the same entry again, as when a module is imported twice
    assert shapes["round"] == 1


@pytest.fixture
def variants(tmp_path, monkeypatch):
    """A package with a registry and one variant a file, as a room of ours has."""
    folder = tmp_path / "xling_variants"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from fairseq_xling.core.registry import Registry\nkinds = Registry('kind', __name__)\n"
    )
    variant = "from xling_variants import kinds\nkinds.register({0!r})({0!r})\n"
    (folder / "one.py").write_text(variant.format("first"))
    (folder / "two.py").write_text(variant.format("second"))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.startswith("xling_variants")]:
        del sys.modules[name]


def test_a_packages_files_register_themselves_at_the_first_question(variants):
    from xling_variants import kinds

    assert "xling_variants.one" not in sys.modules
    assert list(kinds) == ["first", "second"]


def test_a_variant_from_outside_joins_those_of_the_package(variants):
    from xling_variants import kinds

    kinds.register("third")("third")
    assert list(kinds) == ["first", "second", "third"] and "first" in kinds


def test_a_broken_file_of_the_package_is_reported_every_time(variants):
    (variants / "two.py").write_text("import no_such_module_at_all\n")
    from xling_variants import kinds

    for _ in range(2):
        with pytest.raises(ImportError, match="no_such_module_at_all"):
            kinds["second"]
