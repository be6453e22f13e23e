"""Settings of a model of structures, and files with trees and candidates to learn or predict."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import sha256
from fairseq_xling.options import option
from fairseq_xling.papers.transfer.structures.formats import formats
from fairseq_xling.papers.transfer.structures.sentence import NONE, Candidate, Sentence, tasks
from fairseq_xling.ranges import (
    BELOW_ONE,
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Range,
    check_fields,
    numbers,
)
from fairseq_xling.seeds import SEEDS
from fairseq_xling.tasks.formats.conllu import Conllu
from fairseq_xling.tasks.items import leaving_out, parse_files

if TYPE_CHECKING:
    from fairseq_xling.tasks.predict import Parser


OPTIMIZERS = ("sgd", "adam")


@dataclass(frozen=True)
class _Network:
    network: str = "gcn"


@dataclass(frozen=True)
class ModelOptions:
    """Sizes of a model."""

    layers: int = option(2, "layers of the network; 0 = none", range=NOT_NEGATIVE)
    width: int = option(200, "width of the network", range=COUNT)
    embedding: int = option(30, "width of each learnt feature", range=COUNT)
    hidden: int = option(200, "width of the classifier's two layers", range=COUNT)
    dropout: float = option(0.5, "dropout on words and between layers", range=BELOW_ONE)
    prune: int = option(
        -1,
        "keep words so many edges from the path between the mentions; -1 = all",
        range=Range(-1),
    )
    sentence_vector: bool = option(True, "also classify by the maximum over all words")


@dataclass(frozen=True)
class ModelSettings(ModelOptions, _Network):
    """Kind, a name in `networks`, and sizes."""

    def __post_init__(self) -> None:
        from fairseq_xling.papers.transfer.structures.networks import networks

        networks.check(self.network)
        check_fields(type(self), self)


@dataclass(frozen=True)
class FitOptions:
    """Of training."""

    optimizer: str = option("sgd", "sgd or adam", choices=OPTIMIZERS)
    lr: float = option(0.0, "learning rate; 0 = 0.1 for sgd, 0.001 for adam", range=Range(0, 10))
    decay: float = option(
        0.9, "factor of sgd's learning rate after an epoch without a higher F1", range=SHARE
    )
    decay_from: int = option(5, "epochs before the first such factor", range=NOT_NEGATIVE)
    batch_size: int = option(50, "maximum candidates per step", range=COUNT)
    clip: float = option(5.0, "maximum gradient norm", range=POSITIVE)
    epochs: int = option(200, "maximum passes over the training files", range=COUNT)
    patience: int = option(20, "passes without a higher F1 before stopping", range=COUNT)


@dataclass(frozen=True)
class FitSettings(FitOptions):
    """`FitOptions`, and the ``seed`` of weights, order and dropout."""

    seed: int = numbers(1, SEEDS)

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise UserError(
                f"`--optimizer` must be {' or '.join(OPTIMIZERS)}, got {self.optimizer!r}"
            )
        check_fields(type(self), self)

    @property
    def rate(self) -> float:
        """The learning rate that training begins with."""
        return self.lr or {"sgd": 0.1, "adam": 1e-3}[self.optimizer]


CONLLU = (".conllu", ".conllu.gz")


@dataclass(frozen=True)
class Loaded:
    """A file.

    Attributes:
        lang, path: its language and location; digest: SHA-256 of its bytes.
        sentences: with trees if any feature or network needs one; candidates: of each.
    """

    lang: str
    path: Path
    digest: str
    sentences: list[Sentence]
    candidates: list[list[Candidate]]

    @property
    def gold(self) -> list[str]:
        """The label of each candidate, sentence by sentence."""
        return [one.label for some in self.candidates for one in some]


@dataclass(frozen=True)
class Reader:
    """How files are read.

    Attributes:
        task: a name in `tasks`; format: one in `formats`; segment: of running text.
        trees: where trees come from besides the files: nowhere, a trained parser (for sentences
            without one), or ``LANG=FILE.conllu`` items (for all sentences of the language).
        trees_data: the parser's data folder, if it has moved.
        needs_trees: whether a sentence without a tree is refused; needs_tags: whether a parser
            must give parts of speech.
        device: for the parser.
        skip_bad: maximum number of malformed sentences of a file that are left out.
    """

    task: str
    format: str = "json_lines"
    segment: str = ""
    trees: str = ""
    trees_data: str = ""
    needs_trees: bool = True
    needs_tags: bool = True
    device: str = "cpu"
    skip_bad: int = 0

    def check(self) -> None:
        """Check names and paths before anything is read."""
        tasks.check(self.task)
        if self.task not in formats[self.format].tasks:
            allowed = ", ".join(formats[self.format].tasks)
            raise UserError(
                f"`--task` must be {allowed} with format {self.format}, got {self.task!r}"
            )
        for path in self._files().values() if self._is_files else [Path(self.trees or ".")]:
            if not path.exists():
                raise UserError(f"`--trees` {path}: no such file")

    @property
    def _is_files(self) -> bool:
        """Whether trees come from files instead of a parser."""
        return self.trees.endswith(CONLLU) and "=" in self.trees

    def _files(self) -> dict[str, Path]:
        return dict(parse_files("--trees", self.trees))

    def read(self, lang: str, path: Path) -> Loaded:
        """A file of one language."""
        with leaving_out(self.skip_bad, path):
            sentences = list(formats[self.format].read(path, self.segment))
        if self.trees:
            add = self._from_files if self._is_files else self._parsed
            sentences = add(lang, path, sentences)
        for one in sentences:
            if self.needs_trees and not one.has_tree:
                raise UserError(
                    f"{one.place}: has no tree; `--trees` names a parser, or a CoNLL-U file"
                )
        candidates = [tasks[self.task].candidates(one) for one in sentences]
        if not any(candidates):
            raise UserError(f"{path}: has no candidates for {self.task}")
        return Loaded(lang, path, sha256(path), sentences, candidates)

    def _from_files(self, lang: str, path: Path, sentences: list[Sentence]) -> list[Sentence]:
        """Trees from the language's CoNLL-U file: in order if it has as many sentences, and by
        their words if it is of several files."""
        files = self._files()
        if lang not in files:
            return sentences
        trees = list(Conllu.read(files[lang], {}))
        if len(trees) != len(sentences):
            by_words: dict[tuple[str, ...], Any] = {tree.words: tree for tree in trees}
            trees = [by_words.get(one.words) for one in sentences]
        found = []
        for one, tree in zip(sentences, trees, strict=True):
            if tree is None:
                raise UserError(f"{one.place}: `--trees` {files[lang]}: has no sentence of these "
                                "words")  # fmt: skip
            if tree.words != one.words:
                raise UserError(
                    f"{tree.place}: must have the words of {one.place}, got "
                    f"{' '.join(tree.words)[:60]!r}"
                )
            if tree.tree is None:
                raise UserError(f"{tree.place}: must have HEAD and DEPREL, got _")
            found.append(one.with_tree(tree.upos, tree.tree.heads, tree.tree.relations))
        return found

    def _parsed(self, lang: str, path: Path, sentences: list[Sentence]) -> list[Sentence]:
        """Trees by a parser of this project, of sentences that have none."""
        bare = [one for one in sentences if not one.has_tree]
        if not bare:
            return sentences
        trees = iter(self._parser.parse([one.words for one in bare], lang))
        return [one if one.has_tree else _with(one, next(trees)) for one in sentences]

    @functools.cached_property
    def _parser(self) -> "Parser":
        """Loaded for the first file that needs it, and kept for the others."""
        from fairseq_xling.tasks.predict import Parser

        data = self.trees_data or None
        return Parser.load(self.trees, data, self.device, tags=self.needs_tags)


def _with(sentence: Sentence, tree: Any) -> Sentence:
    upos = tree.upos or ["X"] * len(sentence.words)  # of a parser that gives none
    return sentence.with_tree(upos, tree.heads, tree.deprels)


def label_names(files: Sequence[Loaded]) -> list[str]:
    """`NONE`, then the labels of training files, sorted."""
    found = sorted({label for file in files for label in file.gold} - {NONE})
    if not found:
        raise UserError(f"{files[0].path}: must have at least 1 annotated pair, got 0")
    return [NONE, *found]
