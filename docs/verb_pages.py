"""Reference pages of the verbs of `fairseq-xling`, from their parsers."""

import argparse
import re
import textwrap

from fairseq_xling.command_line import build_parser, grouped_verbs, typed_as


def verb_pages() -> dict[str, str]:
    """By path, a page for every verb."""
    return {path_of(name): _page(name) for members in grouped_verbs().values() for name in members}


def path_of(verb: str) -> str:
    return f"reference/verbs/{verb}.md"


def verb_navigation() -> list[dict]:
    """The verbs' part of the navigation, in their groups."""
    return [
        {group: [{typed_as(name): path_of(name)} for name in members]}
        for group, members in grouped_verbs().items()
    ]


def verb_list() -> str:
    """Every verb with what it does, in groups: the list of `fairseq-xling --help`, with links."""
    parts = []
    for group, members in grouped_verbs().items():
        lines = [f"**{group}**\n\n| Verb | What it does |\n|---|---|"]
        for name, verb in members.items():
            link = f"[`{typed_as(name)}`](verbs/{name}.md)"
            lines.append(f"| {link} | {cell(verb.summary)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def cell(text: str) -> str:
    """Plain text in a cell of a table."""
    return " ".join(prose(text).split()).replace("|", "\\|")


def prose(text: str) -> str:
    """Plain text with code in backticks, where only those are marked up."""
    text = re.sub(r" \(SPEC [^)]*\)", "", text.replace("``", "`"))
    parts = re.split(r"(`[^`]+`)", text)
    # Markdown has no escape of "<".
    return "".join(
        part
        if part.startswith("`")
        else re.sub(r"([*_\[\]\\])", r"\\\1", part).replace("<", "&lt;")
        for part in parts
    )


def _page(name: str) -> str:
    parser = _subcommands(build_parser([name]))[name]
    head = f"# {typed_as(name)}\n\n"
    return head + "\n\n".join([*paragraphs(parser.description), *_parser(parser, 2)]) + "\n"


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def paragraphs(text: str | None) -> list[str]:
    """The paragraphs of a description; those that are laid out by columns or indented stay so."""
    found = []
    for paragraph in re.split(r"\n\s*\n", (text or "").strip("\n")):
        lines = paragraph.splitlines()
        laid_out = any(re.search(r"(^ {2}|\S {2,}\S)", line) for line in lines)
        found.append(
            f"```text\n{textwrap.dedent(paragraph)}\n```" if laid_out else prose(paragraph)
        )
    return found


def _parser(parser: argparse.ArgumentParser, level: int) -> list[str]:
    """Usage, then the options of each group, then the subcommands."""
    parts = []
    formatter = parser._get_formatter()
    for group in parser._action_groups:
        rows = [
            f"| {_names(action)} | {cell(_help(action, formatter))} |"
            for action in group._group_actions
            if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction)
            and action.help != argparse.SUPPRESS
        ]
        if rows:
            title = (group.title or "options").capitalize()
            parts.append(
                f"{'#' * level} {title}\n\n| Name | Meaning |\n|---|---|\n" + "\n".join(rows)
            )
    for name, sub in _subcommands(parser).items():
        parts.append(f"{'#' * level} `{name}`")
        parts += paragraphs(sub.description)
        parts += _parser(sub, level + 1)
    return parts


def _names(action: argparse.Action) -> str:
    value = ""
    if action.nargs != 0:
        metavar = action.metavar or (
            "{" + ",".join(map(str, action.choices)) + "}"
            if action.choices
            else action.dest.upper()
            if action.option_strings
            else action.dest
        )
        shown = " ".join(metavar) if isinstance(metavar, tuple) else metavar
        value = f"[{shown}]" if action.nargs == "?" else shown
        value += " ..." if action.nargs in ("+", "*") else ""
    names = ", ".join(action.option_strings)
    return f"`{' '.join(part for part in (names, value) if part)}`".replace("|", "\\|")


def _help(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    text = formatter._expand_help(action) if action.help else ""
    return f"{text} (required)" if action.required and action.option_strings else text
