"""Reference pages of verbs: each verb, each option, in words that Markdown leaves alone."""

import argparse

import pytest

from fairseq_xling.command_line import build_parser, verbs


@pytest.fixture
def pages(docs_module):
    return docs_module("verb_pages")


def options(parser):
    """Every option of a parser and of its subcommands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from options(sub)
        elif action.help != argparse.SUPPRESS:
            yield from (name for name in action.option_strings if name not in ("-h", "--help"))


def test_every_verb_has_a_page_with_every_option(pages):
    made = pages.verb_pages()
    studies = {path for path in made if path.startswith("reference/verbs/ablate-")}
    assert set(made) - studies == {pages.path_of(name) for name in verbs()} and len(studies) > 9
    for name in verbs():
        (chosen,) = (
            action.choices[name]
            for action in build_parser([name])._actions
            if isinstance(action, argparse._SubParsersAction)
        )
        text = made[pages.path_of(name)]
        if name == "ablate":
            text += "".join(made[path] for path in studies)
        assert [option for option in options(chosen) if f"`{option}" not in text] == []


def test_subcommands_have_sections_of_their_own(pages):
    text = pages.verb_pages()["reference/verbs/map.md"]
    assert "## `procrustes`" in text and "### Options" in text


def test_the_navigation_has_every_verb_once_under_the_name_that_is_typed(pages):
    found = {
        title: path
        for group in pages.verb_navigation()
        for entries in group.values()
        for entry in entries
        for title, path in entry.items()
    }
    assert {"similarity": "reference/verbs/ablate-similarity.md"} in found["ablate"]
    assert len(found) == len(verbs())
    assert found["eval word-order"] == "reference/verbs/eval-word-order.md"
    assert found["user-dir"] == "reference/verbs/user-dir.md"


def test_the_list_of_verbs_links_to_every_page(pages):
    text = pages.verb_list()
    assert [name for name in verbs() if f"](verbs/{name}.md)" not in text] == []


def test_prose_keeps_code_and_escapes_the_rest(pages):
    assert pages.prose("a_b <s> of `c_d` (SPEC S4)") == r"a\_b &lt;s> of `c_d`"
    assert pages.cell("x | y") == r"x \| y"


def test_laid_out_paragraphs_stay_as_they_are(pages):
    found = pages.paragraphs("One line.\n\n  fairseq-xling x --y\n\nA  b\nC  d")
    assert found == ["One line.", "```text\nfairseq-xling x --y\n```", "```text\nA  b\nC  d\n```"]
