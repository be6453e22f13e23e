"""What a user sees and what data and weights are is as it was.

Where a change is meant: ``python -m tests.golden.make NAME`` and look at the difference in git; or
name the lines that may differ, with the reason, in ``allowed.tsv``.
"""

import pytest

from tests.golden.goldens import FOLDER, allowed, goldens, kept
from tests.golden.text import differences


@pytest.mark.parametrize("name", goldens())
def test_the_present_is_as_it_was(name):
    path = kept(name)
    assert path.is_file(), f"new: python -m tests.golden.make {name}"
    found = differences(path.read_text(encoding="utf-8"), goldens()[name](), allowed(name))
    assert not found, "\n".join([f"{name} differs (- as kept, + now):", *found])


def test_every_file_is_of_a_golden():
    files = {path for path in (FOLDER / "kept").rglob("*") if path.is_file()}
    assert files == {kept(name) for name in goldens()}
