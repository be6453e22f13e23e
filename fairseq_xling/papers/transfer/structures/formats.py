"""Files of structures: how they are read, and how predictions are written in the same form.

Reading is strict: the first bad sentence ends the command with its file and line, unless
`--skip-bad` leaves it out (`one_row`). To add a format, register another class.

Relations as probing rows (`probe convert`): two mentions and the label of the pair.

Two forms. A file whose name ends in ``.json`` or ``.jsonl`` has the structures of `struct`; all
ordered pairs of its mentions are targets, and pairs without a relation have no label. Any other has
the form of SemEval-2010 task 8 (Hendrickx et al. 2010), whose label is a relation with its
direction, or Other:

    12<TAB>"The <e1>engine</e1> of the <e2>car</e2> failed."
    Component-Whole(e1,e2)
    Comment: ...

Words end at spaces and at the marks; the comment is left out, a blank line ends a record.
"""

import dataclasses
import itertools
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from fairseq_xling.core.arguments import check_columns, check_kind, get_value
from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import atomic_write, parse_json
from fairseq_xling.core.registry import Registry
from fairseq_xling.core.texts import read_lines, read_text
from fairseq_xling.papers.transfer.structures.sentence import Link, Mention, Sentence, check
from fairseq_xling.tasks.items import one_row
from fairseq_xling.tasks.probing.converters import Rows, converters, groups
from fairseq_xling.text.segment import Segmentation, segmentations, words_of


class Format(Protocol):
    """One kind of file."""

    tasks: ClassVar[tuple[str, ...]]  # that it can annotate

    @staticmethod
    def read(path: Path, segment: str) -> Iterator[Sentence]:
        """The sentences of a file, gzip if its name ends in ``.gz``.

        Args:
            segment: name of the segmentation of running text; empty where words are given.
        """

    @staticmethod
    def write(path: Path, sentences: Sequence[Sentence], source: Path) -> None:
        """Sentences with predictions, in the form of the file ``source`` they were read from,
        which may have more."""


formats: Registry[type[Format]] = Registry("format")


NO_RELATION = "no_relation"
# What corpora call it, in small letters alone: TACRED, SemEval-2010 task 8, NYT, FewRel, ChemProt.
_NONE = {"norelation", "norel", "other", "na", "none", "nota", "noneoftheabove", "negative"}


class _Nothing:
    """The relation by which a file says that a pair has none; it is no class, and not counted."""

    def __init__(self) -> None:
        self.name, self._pairs, self._none = NO_RELATION, 0, 0

    def __call__(self, label: str | None) -> bool:
        """Whether ``label`` says so."""
        self._pairs += 1
        if label is None or "".join(filter(str.isalpha, label.lower())) not in _NONE:
            return label is None
        self._none += 1
        self.name = label
        return True

    def say(self, path: Path) -> None:
        if self.name != NO_RELATION:
            logger.warning(
                "%s: %s is read as no relation, %d of %d pairs: it is not counted",
                *(path, self.name, self._none, self._pairs),
            )


def _refuse_segment(path: Path, segment: str) -> None:
    if segment:
        raise UserError(f"`--segment` must be empty, since {path} has words, got {segment!r}")


@formats.register("tacred")
class Tacred(Format):
    """The JSON list of TACRED (Zhang et al. 2017), which preprocessors of ACE write as well.

    An entry is a sentence with one pair: the lists ``token, stanford_pos, stanford_head,
    stanford_deprel``; ``subj_start, subj_end, obj_start, obj_end`` (words from 0, the end
    included); ``subj_type, obj_type`` and ``relation``. ``no_relation``, also read if there is no
    ``relation``, is the label of pairs without one, and so is ``Other`` or ``NA``. Predictions
    replace ``relation`` alone.

    ``stanford_pos`` is taken as it stands: the tags of both languages must be of one kind, as UPOS
    is.
    """

    tasks = ("relations",)

    @staticmethod
    def read(path: Path, segment: str) -> Iterator[Sentence]:
        _refuse_segment(path, segment)
        entries = _entries(path)
        lines, nothing = _first_lines(path, len(entries)), _Nothing()
        for number, (entry, line) in enumerate(zip(entries, lines, strict=True), start=1):
            yield _sentence(path, line, number, entry, nothing)
        nothing.say(path)

    @staticmethod
    def write(path: Path, sentences: Sequence[Sentence], source: Path) -> None:
        entries, nothing = _entries(source), _Nothing()
        for entry in entries:
            nothing(entry.get("relation"))
        for entry, one in zip(entries, sentences, strict=True):
            entry["relation"] = one.relations[0].label if one.relations else nothing.name
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
    end, line, found = text.index("[") + 1, 1 + text.count("\n", 0, text.index("[")), []
    for _ in range(count):
        place = end
        while text[place] in " \t\r\n,":
            place += 1
        found.append(line + text.count("\n", end, place))
        line = found[-1]
        _, end = decoder.raw_decode(text, place)
        line += text.count("\n", place, end)
    return found


def _sentence(path: Path, line: int, number: int, entry: Any, nothing: _Nothing) -> Sentence:
    where = f"{path}:{line}: entry {number}"
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
    kinds = {"token": str, "stanford_pos": str, "stanford_head": int, "stanford_deprel": str}
    return check(
        Sentence(
            str(path),
            line,
            str(entry.get("id", number)),
            *(_list(where, entry, key, kind) for key, kind in kinds.items()),
            tuple(sides),
            relations=() if nothing(label) else (Link(0, 1, label),),
            pairs=((0, 1),),
        )
    )


_WORDS = {"words": str, "upos": str, "heads": int, "deprels": str}
_RELATION = ("from", "to", "label")
_ARGUMENT = ("trigger", "entity", "role")


@formats.register("json_lines")
class JsonLines(Format):
    """Our own form: one sentence per line, as `fairseq-xling synthesize --structures` writes it.

        {"id": "1", "words": ["Ana", "met", "Bo"], "upos": ["PROPN", "VERB", "PROPN"],
         "heads": [2, 0, 2], "deprels": ["nsubj", "root", "obj"],
         "entities": [{"span": [0, 1], "type": "PER"}, {"span": [2, 3], "type": "PER"}],
         "triggers": [{"span": [1, 2], "type": "contact"}],
         "relations": [{"from": 0, "to": 1, "label": "knows"}],
         "arguments": [{"trigger": 0, "entity": 0, "role": "Agent"}]}

    Only ``words`` and ``entities`` are required. ``upos``, ``heads`` and ``deprels`` are given
    together or not at all. Keys that are not listed here are kept in predictions.
    """

    tasks = ("relations", "roles")

    @staticmethod
    def read(path: Path, segment: str) -> Iterator[Sentence]:
        _refuse_segment(path, segment)
        number, nothing = 0, _Nothing()
        for number, line in enumerate(read_lines(path), start=1):
            with one_row():
                where, value = f"{path}:{number}", parse_json(path, line, number)
                get_value(where, value, "words", list)
                one = Sentence(
                    *(str(path), number, str(value.get("id", number))),
                    *(_list(where, value, key, kind) for key, kind in _WORDS.items()),
                    *(_mentions(where, value, key) for key in ("entities", "triggers")),
                    _links(where, value, "relations", _RELATION),
                    _links(where, value, "arguments", _ARGUMENT),
                )
                check(one)
                links = tuple(link for link in one.relations if not nothing(link.label))
                yield dataclasses.replace(one, relations=links)
        nothing.say(path)
        if not number:
            raise UserError(f"{path}: contains no sentences")

    @staticmethod
    def write(path: Path, sentences: Sequence[Sentence], source: Path) -> None:
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


logger = logging.getLogger(__name__)

_MARK = re.compile(r"(</?e[12]>)")
_TYPE = "MENTION"
_ORDERS = (["<e1>", "</e1>", "<e2>", "</e2>"], ["<e2>", "</e2>", "<e1>", "</e1>"])


@formats.register("kbp37")
class Kbp37(Format):
    """The form of KBP37 (Zhang and Wang 2015) and RELX (Köksal and Özgür 2020).

        12<TAB>" <e1> Thom Yorke </e1> of <e2> Radiohead </e2> has included it . "
        per:employee_of(e1,e2)

    A record is an id, a tab and the text between quotation marks with two marked mentions; the line
    below it is the relation, whose direction, ``(e1,e2)`` or ``(e2,e1)``, is part of the label;
    ``no_relation`` (or ``Other``, as SemEval has it) has none. Blank lines separate records. A
    record whose second line is missing, which means a blank line or the end of the file, is not
    annotated; either all of a file's are or none.

    The text is cut into words at spaces (``pre``; KBP37 is tokenised), or by another segmentation
    of `fairseq_xling.text.segment`. The marks are boundaries of words; each mention and the text
    between them is segmented by itself. Mentions have no types: both are ``MENTION``. Some of
    KBP37's have no words: the word that follows the mark, or else the last, stands for such a
    mention.
    """

    tasks = ("relations",)

    @staticmethod
    def read(path: Path, segment: str) -> Iterator[Sentence]:
        cut = segmentations[segment or "pre"]
        annotated, empty, nothing = None, 0, _Nothing()
        for number, (text, label) in _records(path):
            with one_row():
                if annotated is not None and annotated != (label is not None):
                    raise UserError(
                        f"{path}:{number}: must {'' if annotated else 'not '}have a relation on "
                        "the next line, as the records before"
                    )
                sentence, whole = marked_sentence(path, number, text, label, cut, nothing)
                annotated = label is not None
                empty += not whole
                yield sentence
        if annotated is None:
            raise UserError(f"{path}: contains no sentences")
        nothing.say(path)
        if empty:
            said = "%s: %d records have a mention without words; the word next to it stands for it"
            logger.warning(said, path, empty)

    @staticmethod
    def write(path: Path, sentences: Sequence[Sentence], source: Path) -> None:
        """See `Format`: the text line for line as in the input."""
        records, nothing = _records(source), _Nothing()
        for _, (_, label) in _records(source):
            nothing(label)
        with atomic_write(path, "w") as file:
            for one in sentences:
                text = next(text for number, (text, _) in records if number == one.line)
                label = one.relations[0].label if one.relations else nothing.name
                file.write(f"{text}\n{label}\n\n\n")


def _records(path: Path) -> Iterator[tuple[int, tuple[str, str | None]]]:
    """The line number of each record, its text line, and its label if it has one."""
    text: tuple[int, str] | None = None
    label: str | None = None
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            if text:
                yield text[0], (text[1], label)
            text = label = None
        elif text is None:
            text = number, line
        elif label is None:
            label = line.strip()
        else:
            raise UserError(
                f"{path}:{number}: a blank line must follow the relation, got {shown(line)}"
            )
    if text:
        yield text[0], (text[1], label)


def marked_sentence(
    path: Path,
    number: int,
    line: str,
    label: str | None,
    cut: Segmentation,
    nothing: Callable[[str | None], bool],
) -> tuple[Sentence, bool]:
    """A record, and whether both of its mentions have words; ``nothing`` says of a label that it is
    no relation."""
    where = f"{path}:{number}"
    name, tab, text = line.partition("\t")
    if not tab:
        raise UserError(f"{where}: must be an id, a tab and a text, got {shown(line)}")
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    pieces = _MARK.split(text)
    marks = pieces[1::2]
    if marks not in _ORDERS:
        raise UserError(
            f"{where}: must have the marks <e1> </e1> and <e2> </e2> once each, neither nested nor "
            f"crossing, got {' '.join(marks) or 'none'}"
        )
    words: list[str] = []
    spans: dict[str, tuple[int, int]] = {}
    for place, piece in enumerate(pieces[::2]):
        start = len(words)
        words += words_of(cut([piece])[0])
        if place % 2:  # between a mark that opens and the one that closes it
            spans[marks[place - 1]] = start, len(words)
    whole = all(start < end for start, end in spans.values())
    last = max(len(words) - 1, 0)
    for mark, (start, end) in spans.items():
        if start == end:
            spans[mark] = min(start, last), min(start, last) + 1
    links = () if nothing(label) else (Link(0, 1, str(label)),)
    mentions = tuple(Mention(*spans[mark], _TYPE) for mark in ("<e1>", "<e2>"))
    sentence = Sentence(
        str(path), number, name, tuple(words), entities=mentions, relations=links, pairs=((0, 1),)
    )
    return check(sentence), whole


@converters.register("relations")
def relations(path: Path, columns: Mapping[str, str]) -> Rows:
    check_columns(tuple(columns), "relation")
    structures = {".json", ".jsonl"} & set(path.suffixes)
    sentences = formats["json_lines"].read(path, "") if structures else _semeval(path)
    for one in sentences:
        labels = {(link.first, link.second): link.label for link in one.relations}
        spans = [[mention.start, mention.end] for mention in one.entities]
        pairs = one.pairs or itertools.permutations(range(len(spans)), 2)
        targets = [
            {"span1": spans[i], "span2": spans[j], "label": labels.get((i, j), [])}
            for i, j in pairs
        ]
        yield one.words, targets


def _semeval(path: Path) -> Iterator[Sentence]:
    cut = segmentations["pre"]
    for number, lines in groups(path):
        if len(lines) not in (2, 3) or not all(line.startswith("Comment") for line in lines[2:]):
            raise UserError(
                f"{path}:{number}: must be a text, a relation and perhaps a comment, got "
                f"{len(lines)} lines"
            )
        label = lines[1].strip()
        # A probe's score counts Other, as one class more.
        sentence, whole = marked_sentence(path, number, lines[0], label, cut, lambda label: False)
        if not whole:
            raise UserError(f"{path}:{number}: a mention must have words, got {shown(lines[0])}")
        yield sentence
