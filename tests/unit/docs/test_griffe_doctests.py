"""Doctests are code on the pages of the Python reference."""

import pytest

pytest.importorskip("griffe", reason="the extra `docs` is not installed; `make docs` installs it")


def test_each_doctest_is_fenced_up_to_the_next_empty_line(docs_module):
    fence = docs_module("griffe_doctests").fence
    text = "Does (SPEC S3) this.\n\n>>> f(1)\n2\n>>> f(2)\n3\n\nAnd that."
    assert fence(text) == "Does this.\n\n```pycon\n>>> f(1)\n2\n>>> f(2)\n3\n```\n\nAnd that."
    assert fence("No doctest: a >>> b.") == "No doctest: a >>> b."
