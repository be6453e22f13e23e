"""Reference pages of the verbs of `fairseq-xling`, from their parsers."""

import argparse
import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from fairseq_xling.command_line import build_parser, grouped_verbs, typed_as

_DEFAULT = re.compile(r" \(default: [^()]*\)")
_SPLIT = "ablate"  # whose subcommands, the studies, have pages of their own


def verb_pages() -> dict[str, str]:
    """By path, a page for every verb and study."""
    pages = {}
    for members in grouped_verbs().values():
        for name in members:
            parser = _subcommands(build_parser([name]))[name]
            own, below = _parts(parser, 2)
            parts = [f"# {typed_as(name)}", *paragraphs(parser.description), *own]
            if name == _SPLIT:
                for study, found in below.items():
                    lead = f"# {typed_as(name)} {study}"
                    text = "\n\n".join([lead, *found]) + "\n"
                    pages[path_of(f"{name}-{study}")] = text.replace("](#", f"]({name}.md#")
            else:
                for sub, found in below.items():
                    parts += [f"## `{sub}`", *found]
            pages[path_of(name)] = "\n\n".join(parts) + "\n"
    return pages


def path_of(verb: str) -> str:
    return f"reference/verbs/{verb}.md"


def verb_navigation() -> list[dict]:
    """The verbs' part of the navigation, in their groups."""
    found: list[dict] = []
    for group, members in grouped_verbs().items():
        entries: list[dict] = []
        for name in members:
            if name == _SPLIT:
                studies = _subcommands(_subcommands(build_parser([name]))[name])
                own = [{study: path_of(f"{name}-{study}")} for study in studies]
                entries.append({typed_as(name): [{"options of all": path_of(name)}, *own]})
            else:
                entries.append({typed_as(name): path_of(name)})
        found.append({group: entries})
    return found


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


def _parts(parser: argparse.ArgumentParser, level: int) -> tuple[list[str], dict[str, list[str]]]:
    """The options of each group, and those of each subcommand.

    Options that several subcommands have in the same words are said once, before them.
    """
    groups, subs = _groups(parser), _subcommands(parser)
    parts = [_table(title, rows.values(), level) for title, rows in groups.items()]
    every: dict[str, list[str]] = {}
    for sub in subs.values():
        for row in chain(*(rows.values() for rows in _groups(sub).values())):
            every.setdefault(_DEFAULT.sub("", row), []).append(row)
    most = {
        said: Counter(rows).most_common(1)[0][0]
        for said, rows in every.items()
        if len(subs) > 2 and len(rows) > min(3, len(subs) // 2)
    }
    if most:
        parts.append(_table("Options of several of them", most.values(), level))
    below = {}
    for name, sub in subs.items():
        found, also = [], []
        for title, rows in _groups(sub).items():
            own = []
            for option, row in rows.items():
                usual = most.get(_DEFAULT.sub("", row))
                default = _DEFAULT.search(row)
                if usual is None:
                    own.append(row)
                else:
                    also.append(option + (default[0] if default and row != usual else ""))
            found += [_table(title, own, level + 1)] if own else []
        if also:
            found.append(f"As [several of them](#options-of-several-of-them): {', '.join(also)}.")
        _, deeper = _parts(sub, level + 1)
        for inner, more in deeper.items():
            found += [f"{'#' * (level + 1)} `{inner}`", *more]
        below[name] = [*paragraphs(sub.description), *found]
    return parts, below


def _groups(parser: argparse.ArgumentParser) -> dict[str, dict[str, str]]:
    """By the title of a group, the rows of its options by their names."""
    formatter = parser._get_formatter()
    found: dict[str, dict[str, str]] = {}
    for group in parser._action_groups:
        rows = {
            f"`{action.option_strings[-1]}`"
            if action.option_strings
            else _names(action): f"| {_names(action)} | {cell(_help(action, formatter))} |"
            for action in group._group_actions
            if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction)
            and action.help != argparse.SUPPRESS
        }
        if rows:
            found[(group.title or "options").capitalize()] = rows
    return found


def _table(title: str, rows: Iterable[str], level: int) -> str:
    return f"{'#' * level} {title}\n\n| Name | Meaning |\n|---|---|\n" + "\n".join(rows)


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
