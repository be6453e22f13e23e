"""Probing rows made from annotated files: one task each, found by name.

A converter reads a file and yields the words of each sentence with its targets. A target has a
``span1``, perhaps a ``span2``, half-open in words, and a ``label``: a text, or a list of texts
where several hold, or none. To add a task, register another function.

Parts of speech, dependencies and entities, from a treebank or a tagged file.

CoNLL-U if the file's name ends so (``Entity=`` in MISC are entity tags), else one token per line
with its tag, as in `tasks.formats.conll`. Each task is a function from a sentence with what the
file has of it, words, parts of speech, entity tags and tree, to its targets.

Constituents, from bracketed trees: a span and the types of the constituents that cover it.

    ( (S (NP-SBJ (PRP It)) (VP (VBZ rains)) (. .)))

A tree may have several lines. Words with their parts of speech are no constituents, nor are ROOT,
TOP and brackets without a type. Functions and indices, as in NP-SBJ-1, are left out, and so are
empty elements (-NONE-). Constituents of the same words are one target with several labels.

Coreference, from CoNLL-2012: two mentions of a sentence, and whether they are of one entity.

Rows have at least 12 columns separated by blanks: the word is in column 3, from 0, and the
last column has the mentions that begin or end at it, as in ``(12|(3)`` or ``12)``, or ``-``. A
blank line ends a sentence; lines that begin with ``#begin`` or ``#end`` are left out. All pairs of
mentions of a sentence are targets, in their order; pairs of two entities have no label.

Semantic proto-roles: a predicate, an argument, and the properties that hold of it.

A table with tabs between columns and these headings, in any order, a line for each property:

    text             predicate  argument  property    response
    The dog ate it   2          0:2       volition    5

Spans count the words of the text, which are separated by spaces, from 0: ``0:2`` is the first two.
A property holds if its response, of 1 to 5, is at least 4 (Teichert et al. 2017, Section 6; Tenney
et al. 2019); ``NA`` is a 1. Lines of one predicate and argument follow each other.

Semantic roles, from CoNLL-2009: a predicate, an argument, and the role.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.core.arguments import check_columns
from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.ranges import check_bound
from fairseq_xling.core.registry import Registry
from fairseq_xling.core.texts import blank_separated, read_lines
from fairseq_xling.tasks.formats import refuse_withheld
from fairseq_xling.tasks.formats.conll import Conll
from fairseq_xling.tasks.formats.conll09 import NONE, Conll09
from fairseq_xling.tasks.formats.conllu import Conllu, Tree
from fairseq_xling.tasks.items import heading_number
from fairseq_xling.tasks.spans import check_bio, check_tags, spans

Target = dict[str, Any]
Rows = Iterator[tuple[Sequence[str], list[Target]]]
# ``convert(path, columns)``; raises a UserError that names file and line.
Converter = Callable[[Path, Mapping[str, str]], Rows]

# That module has the tasks whose files `fairseq_xling.papers.transfer.structures` reads.
converters: Registry[Converter] = Registry(
    "`--task`", "fairseq_xling.papers.transfer.structures.formats"
)


def groups(path: Path, left_out: tuple[str, ...] = ()) -> Iterator[tuple[int, list[str]]]:
    """Lines that follow each other without a blank one, and the number of the first, from 1.

    Args:
        left_out: lines that begin with one of these are as blank ones.
    """
    lines: list[str] = []
    number = 0
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip() and not line.startswith(left_out):
            lines.append(line)
        elif lines:
            yield number - len(lines), lines
            lines = []
    if lines:
        yield number + 1 - len(lines), lines


def convert(
    source: str | Path, output: str | Path, task: str, columns: Mapping[str, str]
) -> tuple[int, int]:
    """Write the rows of ``task`` for an annotated file; returns the numbers of texts and targets.

    A sentence without targets has no row. White space inside a word is left out.

    Args:
        source: in the form that the task's converter reads; gzip if it ends in ``.gz``.
        columns: of a tagged file, as in `tasks.formats.conll`.

    Raises:
        UserError: for an unknown task, a malformed row, or missing annotation.
    """
    rows, texts, targets = converters[task](Path(source), columns), 0, 0
    with atomic_write(output, "w") as file:
        for words, found in rows:
            if found:
                text = " ".join("".join(word.split()) for word in words)
                row = {"text": text, "targets": found}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                texts, targets = texts + 1, targets + len(found)
        if not texts:
            raise UserError(f"{source}: contains nothing for the task {task!r}")
    return texts, targets


_MISC, _ENTITY = 9, "Entity="


@dataclass(frozen=True)
class Sentence:
    """Words with their annotation; None for what is missing.

    Attributes:
        place: ``file:line`` of its first word.
        words, upos: one each.
        entities: tags in BIO form.
        tree: heads and relations.
    """

    place: str
    words: tuple[str, ...]
    upos: tuple[str, ...] | None = None
    entities: tuple[str, ...] | None = None
    tree: Tree | None = None


Find = Callable[[Sentence], list[dict[str, Any]]]


def _task(name: str, bio: bool = False) -> Callable[[Find], Find]:
    """Registers the function below as ``name``; ``bio``: from tags that must be in BIO format."""

    def add(find: Find) -> Find:
        def rows(path: Path, columns: Mapping[str, str]) -> Rows:
            for sentence in _sentences(path, bio, columns):
                yield sentence.words, find(sentence)

        converters.register(name)(rows)
        return find

    return add


@_task("pos")
def pos(sentence: Sentence) -> list[dict[str, Any]]:
    """A word and its part of speech.

    >>> pos(Sentence("f:1", ("It", "rains"), ("PRON", "VERB")))[1]
    {'span1': [1, 2], 'label': 'VERB'}
    """
    upos = _known(sentence, sentence.upos, "parts of speech")
    return [{"span1": [n, n + 1], "label": tag} for n, tag in enumerate(upos) if tag != "_"]


@_task("deps")
def deps(sentence: Sentence) -> list[dict[str, Any]]:
    """A word, its head and the relation between them; the root, which has no head, is left out.

    >>> deps(Sentence("f:1", ("It", "rains"), tree=Tree((2, 0), ("expl", "root"))))
    [{'span1': [0, 1], 'span2': [1, 2], 'label': 'expl'}]
    """
    tree = _known(sentence, sentence.tree, "tree")
    return [
        {"span1": [n, n + 1], "span2": [head - 1, head], "label": relation}
        for n, (head, relation) in enumerate(zip(*tree, strict=True))
        if head
    ]


@_task("entities", bio=True)
def entities(sentence: Sentence) -> list[dict[str, Any]]:
    """An entity and its type.

    >>> entities(Sentence("f:1", ("in", "New", "York"), entities=("O", "B-LOC", "I-LOC")))
    [{'span1': [1, 3], 'label': 'LOC'}]
    """
    tags = _known(sentence, sentence.entities, "entity tags")
    found = sorted(spans(tags), key=lambda span: span[1:])
    return [{"span1": [first, last + 1], "label": kind} for kind, first, last in found]


def _sentences(path: Path, bio: bool, columns: Mapping[str, str]) -> Iterator[Sentence]:
    if ".conllu" in path.suffixes:
        for tree in Conllu.read(path, columns):
            # A sentence without entities looks like one without annotation of entities.
            entity = tuple(_entity(tree.lines[row]) for row in tree.rows)
            if bio:
                check_tags(entity, tree.place_of)
            upos = None if all(tag == "_" for tag in tree.upos) else tree.upos
            yield Sentence(tree.place, tree.words, upos, entity, tree.tree)
        return
    for tagged in Conll.read(path, columns):
        if bio:
            check_bio(tagged)
        # One column of tags: whichever the task reads.
        yield Sentence(tagged.place, tagged.words, tagged.every_tag, tagged.every_tag)


def _entity(line: str) -> str:
    misc = line.split("\t")[_MISC].split("|")
    found = [piece.removeprefix(_ENTITY) for piece in misc if piece.startswith(_ENTITY)]
    return found[0] if found else "O"


def _known(sentence: Sentence, value: Any, what: str) -> Any:
    if value is None:
        raise UserError(f"{sentence.place}: the sentence has no {what}")
    return value


_PIECE = re.compile(r"[()]|[^ \t()]+")
_NO_TYPE = ("", "ROOT", "TOP")
_EMPTY = "-NONE-"
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


@converters.register("consts")
def consts(path: Path, columns: Mapping[str, str]) -> Rows:
    """See `Converter`."""
    check_columns(tuple(columns), "bracketed")
    words: list[str] = []
    labels: dict[tuple[int, int], list[str]] = {}
    stack: list[_Open] = []
    place = str(path)
    lines = enumerate(read_lines(path), start=1)
    pieces = ((f"{path}:{n}", piece) for n, line in lines for piece in _PIECE.findall(line))
    for place, piece in pieces:
        if piece == "(":
            if stack and stack[-1].word:
                raise UserError(f"{place}: a word and a bracket must not be in one bracket")
            if stack:
                stack[-1].filled = True
            stack.append(_Open(place, len(words)))
            check_bound("brackets", len(stack), place)
        elif piece == ")":
            if not stack:
                raise UserError(f"{place}: a closing bracket must have an opening one")
            node = stack.pop()
            if node.word and node.type != _EMPTY:
                words.append(_BRACKETS.get(node.word, node.word))
            elif not node.word:
                if not node.filled:
                    raise UserError(f"{place}: a bracket must have words, got none")
                name = _plain(node.type)
                if name not in _NO_TYPE and node.start < len(words):
                    labels.setdefault((node.start, len(words)), []).insert(0, name)
            if not stack:
                yield words, _targets(labels)
                words, labels = [], {}
        elif not stack:
            raise UserError(f"{place}: a tree must begin with a bracket, got {shown(piece)}")
        elif stack[-1].filled or stack[-1].word:
            raise UserError(
                f"{place}: a bracket must have a type and then brackets or one word, got "
                f"{shown(piece)}"
            )
        elif stack[-1].type:
            stack[-1].word = piece
        else:
            stack[-1].type = piece
    if stack:
        raise UserError(f"{stack[-1].place}: the bracket is not closed")


class _Open:
    """A bracket that is still open: where it is, its first word, its type, its word if any."""

    def __init__(self, place: str, start: int):
        self.place, self.start, self.type, self.word, self.filled = place, start, "", "", False


def _plain(name: str) -> str:
    """The type without functions and indices.

    >>> _plain("NP-SBJ-1"), _plain("NP=2"), _plain("PRT|ADVP")
    ('NP', 'NP', 'PRT|ADVP')
    """
    return re.split("[-=]", name, maxsplit=1)[0]


def _targets(labels: Mapping[tuple[int, int], list[str]]) -> list[Target]:
    # From the outermost constituent to its parts.
    spans = sorted(labels, key=lambda span: (span[0], -span[1]))
    return [
        {"span1": list(span), "label": labels[span] if labels[span][1:] else labels[span][0]}
        for span in spans
    ]


_WORD, _COLUMNS = 3, 12
_MENTION = re.compile(r"(\()?([0-9]+)(\))?")
LABEL = "coreferent"


@converters.register("coref")
def coref(path: Path, columns: Mapping[str, str]) -> Rows:
    """See `Converter`."""
    check_columns(tuple(columns), "CoNLL-2012")
    for first, lines in groups(path, ("#begin", "#end")):
        rows = [blank_separated(line) for line in lines]
        for number, cells in enumerate(rows, start=first):
            if len(cells) < _COLUMNS:
                raise UserError(
                    f"{path}:{number}: must have at least {_COLUMNS} columns, got {len(cells)}"
                )
        refuse_withheld(f"{path}:{first}", [cells[_WORD] for cells in rows])
        pairs = itertools.combinations(_mentions(path, first, [row[-1] for row in rows]), 2)
        yield (
            [row[_WORD] for row in rows],
            [
                {"span1": list(one), "span2": list(two), "label": LABEL if entity == other else []}
                for (*one, entity), (*two, other) in pairs
            ],
        )


def _mentions(path: Path, first: int, column: Sequence[str]) -> list[tuple[int, int, str]]:
    """First word, end and entity of each mention, sorted."""
    found: list[tuple[int, int, str]] = []
    open_: dict[str, list[int]] = {}
    for word, cell in enumerate(column):
        place = f"{path}:{first + word}"
        for piece in cell.split("|") if cell != "-" else ():
            match = _MENTION.fullmatch(piece)
            if not match or not (match[1] or match[3]):
                raise UserError(
                    f"{place}: a mention must look like (1, 1) or (1), got {shown(piece)}"
                )
            starts = open_.setdefault(match[2], [])
            if match[1]:
                starts.append(word)
            if match[3]:
                if not starts:
                    raise UserError(f"{place}: a mention of {match[2]} ends that did not begin")
                found.append((starts.pop(), word + 1, match[2]))
    left = sorted((starts[0], entity) for entity, starts in open_.items() if starts)
    if left:
        raise UserError(f"{path}:{first + left[0][0]}: the mention of {left[0][1]} does not end")
    return sorted(found)


_HEADINGS = ("text", "predicate", "argument", "property", "response")
_SPAN = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?")
_RESPONSES = ("1", "2", "3", "4", "5", "NA")
_HOLDS = ("4", "5")


@converters.register("spr")
def spr(path: Path, columns: Mapping[str, str]) -> Rows:
    """See `Converter`. A pair of which no property holds has an empty list as label."""
    check_columns(tuple(columns), "SPR")
    for text, rows in itertools.groupby(_lines(path), lambda row: row[1]):
        words, targets = blank_separated(text), []
        for pair, own in itertools.groupby(rows, lambda row: row[2:4]):
            lines = list(own)
            spans = [_span(lines[0][0], cell, len(words)) for cell in pair]
            target: Target = {"span1": spans[0], "span2": spans[1], "label": []}
            for place, *_, name, response in lines:
                if not name.strip() or response not in _RESPONSES:
                    raise UserError(
                        f"{place}: must have a property and a response from 1 to 5 or NA, got "
                        f"{shown(name)} and {shown(response)}"
                    )
                if response in _HOLDS:
                    target["label"].append(name)
            targets.append(target)
        yield words, targets


def _lines(path: Path) -> Iterator[tuple[str, ...]]:
    """The place of each line, and its cells in the order of `_HEADINGS`."""
    chosen: list[int] = []
    width = 0
    for number, line in enumerate(read_lines(path), start=1):
        place, cells = f"{path}:{number}", line.split("\t")
        if number == 1:
            header, width = {name: place for place, name in enumerate(cells)}, len(cells)
            chosen = [heading_number(f"{place}: {name}", name, header) for name in _HEADINGS]
            continue
        if len(cells) != width:
            raise UserError(f"{place}: must have {width} columns like the first, got {len(cells)}")
        yield place, *(cells[column] for column in chosen)


def _span(place: str, cell: str, words: int) -> list[int]:
    match = _SPAN.fullmatch(cell.strip())
    if match:
        first = int(match[1])
        end = int(match[2]) if match[2] else first + 1
        if first < end <= words:
            return [first, end]
    raise UserError(
        f"{place}: a span must be a or a:b with 0 <= a < b <= {words}, got {shown(cell)}"
    )


@converters.register("srl")
def srl(path: Path, columns: Mapping[str, str]) -> Rows:
    """See `Converter`. An argument is one word, the head of what has the role."""
    for item in Conll09.read(path, columns):
        if item.roles is None:
            raise UserError(f"{item.place}: the sentence has no frames")
        yield (
            item.words,
            [
                {"span1": [predicate, predicate + 1], "span2": [word, word + 1], "label": role}
                for predicate, row in zip(item.predicates, item.roles, strict=True)
                for word, role in enumerate(row)
                if role != NONE
            ],
        )
