"""Parts of speech, dependencies and entities, from a treebank or a tagged file.

CoNLL-U if the file's name ends so (``Entity=`` in MISC are entity tags), else one token per line
with its tag, as in `tasks.formats.conll`. Each task is a function from a sentence with what the
file has of it, words, parts of speech, entity tags and tree, to its targets.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats.conll import Conll, TaggedItem
from fairseq_xling.tasks.formats.conllu import Conllu, Tree, TreeItem
from fairseq_xling.tasks.probing.converters import Rows, converters
from fairseq_xling.tasks.spans import check_bio, check_tags, spans

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
            found = _of_tree(tree)
            if bio:
                check_tags(found.entities or (), tree.place_of)
            yield found
        return
    for tagged in Conll.read(path, columns):
        if bio:
            check_bio(tagged)
        yield _of_tags(tagged)


def _of_tree(item: TreeItem) -> Sentence:
    # A sentence without entities looks like one without annotation of entities.
    entity = tuple(_entity(item.lines[row]) for row in item.rows)
    upos = None if all(tag == "_" for tag in item.upos) else item.upos
    return Sentence(item.place, item.words, upos, entity, item.tree)


def _of_tags(item: TaggedItem) -> Sentence:
    # One column of tags: whichever the task reads.
    return Sentence(item.place, item.words, item.tags, item.tags)


def _entity(line: str) -> str:
    misc = line.split("\t")[_MISC].split("|")
    found = [piece.removeprefix(_ENTITY) for piece in misc if piece.startswith(_ENTITY)]
    return found[0] if found else "O"


def _known(sentence: Sentence, value: Any, what: str) -> Any:
    if value is None:
        raise UserError(f"{sentence.place}: the sentence has no {what}")
    return value
