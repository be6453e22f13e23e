"""The JSON list of TACRED (Zhang et al. 2017), which preprocessors of ACE write as well.

An entry is a sentence with one pair: the lists ``token, stanford_pos, stanford_head,
stanford_deprel``; ``subj_start, subj_end, obj_start, obj_end`` (words from 0, the end included);
``subj_type, obj_type`` and ``relation``. ``no_relation``, also read if there is no ``relation``, is
the label of pairs without one. Predictions replace ``relation`` alone.

``stanford_pos`` is taken as it stands: the tags of both languages must be of one kind, as UPOS is.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import atomic_write, read_text
from fairseq_xling.json_fields import check_kind, get_value, parse_json
from fairseq_xling.structures.formats import Format, formats
from fairseq_xling.structures.sentence import Link, Mention, Sentence, check

NO_RELATION = "no_relation"


@formats.register("tacred")
class Tacred(Format):
    """See the module's docstring."""

    tasks = ("relations",)

    @staticmethod
    def read(path: Path, segment: str) -> Iterator[Sentence]:
        """See `Format`; entries are numbered from 1 in messages, for they have no lines."""
        if segment:
            raise UserError(f"`--segment` must be empty, since {path} has words, got {segment!r}")
        entries = _entries(path)
        lines = _first_lines(path, len(entries))
        for number, (entry, line) in enumerate(zip(entries, lines, strict=True), start=1):
            yield _sentence(path, line, number, entry)

    @staticmethod
    def write(path: Path, sentences: Sequence[Sentence], source: Path) -> None:
        """See `Format`."""
        entries = _entries(source)
        for entry, one in zip(entries, sentences, strict=True):
            entry["relation"] = one.relations[0].label if one.relations else NO_RELATION
        with atomic_write(path, "w") as file:
            json.dump(entries, file, ensure_ascii=False)
            file.write("\n")


def _entries(path: Path) -> list[dict[str, Any]]:
    found = parse_json(path, read_text(path, "json"))
    if not isinstance(found, list) or not found:
        raise UserError(f"{path}: must be a JSON list of at least 1 sentence, got {shown(found)}")
    return found


def _first_lines(path: Path, count: int) -> list[int]:
    """The line on which each entry begins."""
    text, decoder = read_text(path, "json"), json.JSONDecoder()
    place, line, found = text.index("[") + 1, 1, []
    line += text.count("\n", 0, place)
    for _ in range(count):
        start = place
        while text[place] in " \t\r\n,":
            place += 1
        line += text.count("\n", start, place)
        found.append(line)
        _, end = decoder.raw_decode(text, place)
        line += text.count("\n", place, end)
        place = end
    return found


def _sentence(path: Path, line: int, number: int, entry: Any) -> Sentence:
    where = f"{path}:{line}: entry {number}"

    def values(key: str, kind: type) -> tuple[Any, ...]:
        found = get_value(where, entry, key, list) if key in entry else []
        return tuple(check_kind(where, one, f"`{key}`", kind) for one in found)

    get_value(where, entry, "token", list)
    sides = []
    for side in ("subj", "obj"):
        start, end = (get_value(where, entry, f"{side}_{edge}", int) for edge in ("start", "end"))
        kind = get_value(where, entry, f"{side}_type", str)
        if not 0 <= start <= end < len(entry["token"]):
            raise UserError(
                f"{where}: `{side}_start` and `{side}_end` must be words from 0 to "
                f"{len(entry['token']) - 1} in order, got {start}, {end}"
            )
        sides.append(Mention(start, end + 1, kind))
    label = get_value(where, entry, "relation", str) if "relation" in entry else NO_RELATION
    return check(
        Sentence(
            str(path),
            line,
            str(entry.get("id", number)),
            values("token", str),
            values("stanford_pos", str),
            values("stanford_head", int),
            values("stanford_deprel", str),
            tuple(sides),
            relations=() if label == NO_RELATION else (Link(0, 1, label),),
            pairs=((0, 1),),
        )
    )
