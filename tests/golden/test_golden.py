"""What a user sees and what data and weights are is as it was.

Where a change is meant: ``python -m tests.golden.make NAME`` and look at the difference in git; or
name the lines that may differ, with the reason, in ``allowed.tsv``.
"""

import pytest

from tests.golden.goldens import FOLDER, allowed, goldens, kept, slow_goldens, unlike
from tests.golden.text import differences


def _compare(name, make):
    path = kept(name)
    assert path.is_file(), f"new: python -m tests.golden.make {name}"
    if reason := unlike(name):
        pytest.skip(reason)
    found = differences(path.read_text(encoding="utf-8"), make(), allowed(name))
    assert not found, "\n".join([f"{name} differs (- as kept, + now):", *found])


@pytest.mark.parametrize("name", goldens())
def test_the_present_is_as_it_was(name):
    _compare(name, goldens()[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_goldens())
def test_what_takes_longer_is_as_it_was(name):
    _compare(name, slow_goldens()[name])


def test_every_file_is_of_a_golden():
    files = {path for path in (FOLDER / "kept").rglob("*") if path.is_file()}
    assert files == {kept(name) for name in (*goldens(), *slow_goldens())}
