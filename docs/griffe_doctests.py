"""Doctests of docstrings as code: Markdown would take ``>>>`` for quotations."""

import re

import griffe

_DOCTEST = re.compile(r"^>>> .*(?:\n(?!\n).+)*", re.M)


def fence(text: str) -> str:
    """A docstring with a fence round each of its doctests, up to the next empty line.

    Doctests of a section ``Examples:`` are known as such, and indented.
    """
    text = re.sub(r" ?\(SPEC [^)]*\)", "", text)
    return _DOCTEST.sub(lambda match: f"```pycon\n{match[0]}\n```", text)


class Doctests(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_) -> None:
        if obj.docstring:
            obj.docstring.value = fence(obj.docstring.value)
