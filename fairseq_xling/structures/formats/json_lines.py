"""Our own form: a sentence a line, as `fairseq-xling synthesize --structures` writes it.

    {"id": "1", "words": ["Ana", "met", "Bo"], "upos": ["PROPN", "VERB", "PROPN"],
     "heads": [2, 0, 2], "deprels": ["nsubj", "root", "obj"],
     "entities": [{"span": [0, 1], "type": "PER"}, {"span": [2, 3], "type": "PER"}],
     "triggers": [{"span": [1, 2], "type": "contact"}],
     "relations": [{"from": 0, "to": 1, "label": "knows"}],
     "arguments": [{"trigger": 0, "entity": 0, "role": "Agent"}]}

Only ``words`` and ``entities`` are required. ``upos``, ``heads`` and ``deprels`` are given together
or not at all. Keys that are not listed here are kept in predictions.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import atomic_write, read_lines
from fairseq_xling.json_fields import check_kind, get_value, parse_json
from fairseq_xling.structures.formats import Format, formats
from fairseq_xling.structures.sentence import Link, Mention, Sentence, check
from fairseq_xling.tasks.bad_rows import one_row

_RELATION = ("from", "to", "label")
_ARGUMENT = ("trigger", "entity", "role")


@formats.register("json_lines")
class JsonLines(Format):
    """See the module's docstring."""

    tasks = ("relations", "roles")

    @staticmethod
    def read(path: Path, segment: str) -> Iterator[Sentence]:
        """See `Format`."""
        if segment:
            raise UserError(f"`--segment` must be empty, since {path} has words, got {segment!r}")
        number = 0
        for number, line in enumerate(read_lines(path), start=1):
            with one_row():
                yield _sentence(path, number, parse_json(path, line, number))
        if not number:
            raise UserError(f"{path}: contains no sentences")

    @staticmethod
    def write(path: Path, sentences: Sequence[Sentence], source: Path) -> None:
        """See `Format`."""
        lines = enumerate(read_lines(source), start=1)
        with atomic_write(path, "w") as file:
            for one in sentences:
                value = json.loads(next(line for number, line in lines if number == one.line))
                value |= {"upos": one.upos, "heads": one.heads, "deprels": one.deprels}
                value["relations"] = _values(one.relations, _RELATION)
                value["arguments"] = _values(one.arguments, _ARGUMENT)
                file.write(json.dumps(value, ensure_ascii=False) + "\n")


def _values(links: Sequence[Link], keys: tuple[str, str, str]) -> list[dict[str, Any]]:
    return [dict(zip(keys, (x.first, x.second, x.label), strict=True)) for x in links]


def _sentence(path: Path, number: int, value: Any) -> Sentence:
    where = f"{path}:{number}"
    get_value(where, value, "words", list)
    return check(
        Sentence(
            str(path),
            number,
            str(value.get("id", number)),
            _list(where, value, "words", str),
            _list(where, value, "upos", str),
            _list(where, value, "heads", int),
            _list(where, value, "deprels", str),
            _mentions(where, value, "entities"),
            _mentions(where, value, "triggers"),
            _links(where, value, "relations", _RELATION),
            _links(where, value, "arguments", _ARGUMENT),
        )
    )


def _list(where: str, value: Any, key: str, kind: type) -> tuple[Any, ...]:
    found = get_value(where, value, key, list) if value.get(key) is not None else []
    return tuple(check_kind(where, one, f"`{key}`", kind) for one in found)


def _mentions(where: str, value: Any, key: str) -> tuple[Mention, ...]:
    found = []
    for number, one in enumerate(_list(where, value, key, dict)):
        place = f"{where}: `{key}` {number}"
        span = get_value(place, one, "span", list)
        if len(span) != 2:
            raise UserError(f"{place}: `span` must be [a, b), got {shown(span)}")
        start, end = (check_kind(place, edge, "`span`", int) for edge in span)
        found.append(Mention(start, end, get_value(place, one, "type", str)))
    return tuple(found)


def _links(where: str, value: Any, key: str, names: tuple[str, str, str]) -> tuple[Link, ...]:
    found = []
    for number, one in enumerate(_list(where, value, key, dict)):
        place = f"{where}: `{key}` {number}"
        kinds = zip(names, (int, int, str), strict=True)
        found.append(Link(*(get_value(place, one, name, kind) for name, kind in kinds)))
    return tuple(found)
