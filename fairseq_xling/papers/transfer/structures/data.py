"""Settings of `fairseq-xling struct train` and `struct matrix`: models, ablations, and files with
trees and candidates to learn or predict."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files, sha256
from fairseq_xling.core.options import option, part_of, reads
from fairseq_xling.core.ranges import (
    BELOW_ONE,
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SEEDS,
    SHARE,
    Range,
    check_fields,
)
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.papers.transfer.structures.features import (
    POOLS,
    WORD,
    WordSource,
    features,
    find_source,
    parse_features,
)
from fairseq_xling.papers.transfer.structures.formats import formats
from fairseq_xling.papers.transfer.structures.sentence import NONE, Candidate, Sentence, tasks
from fairseq_xling.tasks.formats.conllu import Conllu
from fairseq_xling.tasks.items import SKIP_BAD_HELP, leaving_out, parse_files

if TYPE_CHECKING:
    from fairseq_xling.tasks.predict import Parser


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
        -1, "keep words so many edges from the path between the mentions; -1 = all", range=Range(-1)
    )
    sentence_vector: bool = option(True, "also classify by the maximum over all words")


@dataclass(frozen=True)
class ModelSettings(ModelOptions, _Network):
    """Kind, a name in `networks`, and sizes."""

    def __post_init__(self) -> None:
        from fairseq_xling.papers.transfer.structures.networks import networks

        networks.check(self.network)
        check_fields(type(self), self)

    def needs_trees(self, chosen: Sequence[str]) -> bool:
        """Whether a model with these features reads trees."""
        from fairseq_xling.papers.transfer.structures.networks import networks

        of_trees = any(features[name].of_tree for name in chosen if name != WORD)
        network = self.layers > 0 and networks[self.network].needs_tree
        return of_trees or network or self.prune >= 0


@dataclass(frozen=True)
class FitOptions:
    """Of training."""

    optimizer: str = option("sgd", "sgd or adam", choices=("sgd", "adam"))
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

    seed: int = 1

    @property
    def rate(self) -> float:
        """The learning rate that training begins with."""
        return self.lr or {"sgd": 0.1, "adam": 1e-3}[self.optimizer]


CONLLU = (".conllu", ".conllu.gz")


@dataclass(frozen=True)
class Loaded:
    """A file of one language."""

    lang: str
    path: Path
    digest: str  # SHA-256
    sentences: list[Sentence]  # with trees, if any feature or network needs one
    candidates: list[list[Candidate]]  # of each sentence

    @property
    def gold(self) -> list[str]:
        """The label of each candidate, sentence by sentence."""
        return [one.label for some in self.candidates for one in some]


@dataclass(frozen=True)
class Reader:
    """How files are read, by the options of those names.

    Trees come from the files, from a trained parser (of sentences without one), or from
    ``LANG=FILE.conllu`` items (of all sentences of the language).
    """

    task: str
    format: str = "json_lines"
    segment: str = ""
    trees: str = ""
    trees_data: str = ""
    needs_trees: bool = True  # a sentence without one is refused
    needs_tags: bool = True  # a parser must give parts of speech
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
        for path in self._files.values() if self._files else [Path(self.trees or ".")]:
            if not path.exists():
                raise UserError(f"`--trees` {path}: no such file")

    @functools.cached_property
    def _files(self) -> dict[str, Path]:
        """Files of trees by language; none where a parser makes them."""
        is_files = self.trees.endswith(CONLLU) and "=" in self.trees
        return dict(parse_files("--trees", self.trees)) if is_files else {}

    def read(self, lang: str, path: Path) -> Loaded:
        """A file of one language."""
        with leaving_out(self.skip_bad, path):
            sentences = list(formats[self.format].read(path, self.segment))
        if self.trees:
            add = self._from_files if self._files else self._parsed
            sentences = add(lang, sentences)
        for one in sentences:
            if self.needs_trees and not one.has_tree:
                raise UserError(
                    f"{one.place}: has no tree; `--trees` names a parser, or a CoNLL-U file"
                )
        candidates = [tasks[self.task].candidates(one) for one in sentences]
        if not any(candidates):
            raise UserError(f"{path}: has no candidates for {self.task}")
        return Loaded(lang, path, sha256(path), sentences, candidates)

    def _from_files(self, lang: str, sentences: list[Sentence]) -> list[Sentence]:
        """Trees from the language's CoNLL-U file: in order if it has as many sentences, and by
        their words if it is of several files."""
        path = self._files.get(lang)
        if path is None:
            return sentences
        trees = list(Conllu.read(path, {}))
        if len(trees) != len(sentences):
            by_words: dict[tuple[str, ...], Any] = {tree.words: tree for tree in trees}
            trees = [by_words.get(one.words) for one in sentences]
        found = []
        for one, tree in zip(sentences, trees, strict=True):
            if tree is None:
                raise UserError(f"{one.place}: `--trees` {path}: has no sentence of these words")
            if tree.words != one.words:
                raise UserError(
                    f"{tree.place}: must have the words of {one.place}, got "
                    f"{' '.join(tree.words)[:60]!r}"
                )
            if tree.tree is None:
                raise UserError(f"{tree.place}: must have HEAD and DEPREL, got _")
            found.append(one.with_tree(tree.upos, tree.tree.heads, tree.tree.relations))
        return found

    def _parsed(self, lang: str, sentences: list[Sentence]) -> list[Sentence]:
        """Trees by a parser of this project, of sentences that have none."""
        found = list(sentences)
        if bare := [number for number, one in enumerate(sentences) if not one.has_tree]:
            trees = self._parser.parse([sentences[number].words for number in bare], lang)
            for number, tree in zip(bare, trees, strict=True):
                upos = tree.upos or ["X"] * len(found[number].words)  # of a parser that gives none
                found[number] = found[number].with_tree(upos, tree.heads, tree.deprels)
        return found

    @functools.cached_property
    def _parser(self) -> "Parser":
        """Loaded for the first file that needs it, and kept for the others."""
        from fairseq_xling.tasks.predict import Parser

        data = self.trees_data or None
        return Parser.load(self.trees, data, self.device, tags=self.needs_tags)


def label_names(files: Sequence[Loaded]) -> list[str]:
    """`NONE`, then the labels of training files, sorted."""
    found = sorted({label for file in files for label in file.gold} - {NONE})
    if not found:
        raise UserError(f"{files[0].path}: must have at least 1 annotated pair, got 0")
    return [NONE, *found]


@dataclass(frozen=True)
class _Inputs:
    task: str = option("relations", "what is predicted: relations or roles")
    train: tuple[str, ...] = reads((), "LANG=FILE,... to train on; repeatable")
    valid: tuple[str, ...] = reads((), "LANG=FILE,... for selecting the epoch; repeatable")
    test: tuple[str, ...] = reads((), "LANG=FILE,... to predict after training; repeatable")
    format: str = option("json_lines", "format of all files: json_lines, tacred or kbp37")
    segment: str = option("", "segmentation of kbp37's text: pre, space, char or basic (as `pre`)")
    trees: str = reads(
        "", "trees of sentences without one: checkpoint of a parser, or LANG=FILE.conllu,..."
    )
    trees_data: str = reads("", "the parser's data folder, if it has moved")
    skip_bad: int = option(0, SKIP_BAD_HELP, range=NOT_NEGATIVE)
    features: str = option(
        "word,pos,entity,relation", "representations of a word, also trigger, comma-separated"
    )
    vectors: tuple[str, ...] = reads(
        (), "LANG=FILE,... of word vectors in one space (.vec, also .gz); repeatable"
    )
    encoder: str = reads("", "checkpoint of an encoder whose last layer is the word vectors")
    encoder_data: str = reads("", "the encoder's data folder, if it has moved")
    pool: str = option(
        "first", "vector of a word with several subwords: first or mean", choices=POOLS
    )


@dataclass(frozen=True)
class CommonConfig(FitOptions, ModelOptions, _Inputs):
    """One sentence of help per field."""

    device: str = option("cpu", "cpu, cuda or cuda:N")

    def reader(self, models: Sequence[tuple[Sequence[str], ModelSettings]]) -> Reader:
        """How files are read for models with those features; checked."""
        needed = any(one.needs_trees(chosen) for chosen, one in models)
        tags = any("pos" in chosen for chosen, _ in models)
        found = part_of(Reader, self, needs_trees=needed, needs_tags=tags)
        found.check()
        return found

    def source(self) -> WordSource:
        """Where word vectors come from."""
        return find_source(
            WORD in parse_features(self.features),
            dict(files("--vectors", self.vectors)),
            self.encoder,
            self.encoder_data,
            self.pool,
            self.device,
        )

    def model(self, network: str, **changes: object) -> ModelSettings:
        """The settings of a model."""
        return part_of(ModelSettings, self, **{"network": network, **changes})

    def fit(self, seed: int) -> FitSettings:
        """The settings of a training."""
        return part_of(FitSettings, self, seed=seed)


@dataclass(frozen=True)
class TrainConfig(CommonConfig):
    """One sentence of help per field."""

    network: str = option("gcn", "gcn, or lstm over the order of words")
    seed: int = option(1, "random seed", range=SEEDS)


@dataclass(frozen=True)
class MatrixConfig(CommonConfig):
    """One sentence of help per field."""

    sources: str = option(
        "", "training sets, as en,zh,en+zh (default: each language of --train alone)"
    )
    networks: str = option("gcn,lstm", "networks, comma-separated; the first is ablated")
    ablate: str = option("", "ablations of the first network: features, layers, prune")
    seeds: str = option("1,2,3", "seeds of training, comma-separated")
    compare: tuple[str, ...] = reads(
        (), "folder of a finished matrix to compare with, seed by seed; repeatable"
    )


def files(name: str, texts: Sequence[str]) -> list[tuple[str, Path]]:
    """``LANG=FILE`` items of a repeatable option, which exist."""
    found = [one for text in texts for one in parse_files(name, text)]
    check_files(*(path for _, path in found))
    return found


@dataclass(frozen=True)
class Variant:
    """A model of the table; the ``name`` of the model as configured is empty."""

    name: str
    features: tuple[str, ...]
    changes: dict[str, Any] = field(default_factory=dict)  # of `ModelSettings`


def variants(config: MatrixConfig, names: Sequence[str]) -> list[Variant]:
    """The configured model, then those of the ablations ``names``: without each feature, with 0 to
    3 layers, and of the path between the mentions alone, one edge around it, or all words."""
    chosen = parse_features(config.features)
    without = chosen if len(chosen) > 1 else ()
    pruned = {-1: "whole sentence", 0: "path alone", 1: "path and 1 edge"}
    known = {
        "features": [
            Variant(f"without {x}", tuple(one for one in chosen if one != x)) for x in without
        ],
        "layers": [
            Variant(f"L = {n}", chosen, {"layers": n}) for n in range(4) if n != config.layers
        ],
        "prune": [Variant(x, chosen, {"prune": n}) for n, x in pruned.items() if n != config.prune],
    }
    for name in names:
        if name not in known:
            raise unknown_name("ablation", name, list(known))
    return [Variant("", chosen), *(one for name in names for one in known[name])]
