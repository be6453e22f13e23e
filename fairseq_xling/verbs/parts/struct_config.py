"""The settings of `fairseq-xling struct train` and `struct matrix`, and ablations."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairseq_xling.files import check_files
from fairseq_xling.options import option, part_of, reads
from fairseq_xling.papers.transfer.structures.data import (
    FitOptions,
    FitSettings,
    ModelOptions,
    ModelSettings,
    Reader,
)
from fairseq_xling.papers.transfer.structures.features import (
    POOLS,
    WORD,
    WordSource,
    find_source,
    parse_features,
)
from fairseq_xling.ranges import NOT_NEGATIVE
from fairseq_xling.registry import Registry
from fairseq_xling.seeds import SEEDS
from fairseq_xling.tasks.items import SKIP_BAD_HELP, parse_files


@dataclasses.dataclass(frozen=True)
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


@dataclasses.dataclass(frozen=True)
class CommonConfig(FitOptions, ModelOptions, _Inputs):
    """One sentence of help per field."""

    device: str = option("cpu", "cpu, cuda or cuda:N")

    def reader(self, models: Sequence[tuple[Sequence[str], ModelSettings]]) -> Reader:
        """How files are read for models with those features; checked."""
        from fairseq_xling.papers.transfer.structures.training import needs_trees  # torch

        needed = any(needs_trees(chosen, one) for chosen, one in models)
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


@dataclasses.dataclass(frozen=True)
class TrainConfig(CommonConfig):
    """One sentence of help per field."""

    network: str = option("gcn", "gcn, or lstm over the order of words")
    seed: int = option(1, "random seed", range=SEEDS)


@dataclasses.dataclass(frozen=True)
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


def named_tests(given: Sequence[tuple[str, Path]]) -> dict[str, tuple[str, Path]]:
    """Test files by the name that tables and folders of predictions give them."""
    from fairseq_xling.verbs.predict import output_names  # torch

    endings = [Path(path.name.removesuffix(".gz")).suffix for _, path in given]
    names = output_names(given, "")
    return {x + end: one for x, end, one in zip(names, endings, given, strict=True)}


def by_language(given: Sequence[tuple[str, Path]]) -> Mapping[str, list[Path]]:
    """The files of each language, in order."""
    found: dict[str, list[Path]] = {}
    for lang, path in given:
        found.setdefault(lang, []).append(path)
    return found


@dataclass(frozen=True)
class Variant:
    """A model of the table.

    Attributes:
        name: empty for the model as configured.
        features: that it reads; changes: of `ModelSettings`.
    """

    name: str
    features: tuple[str, ...]
    changes: dict[str, Any] = field(default_factory=dict)


ablations: Registry[Callable[[MatrixConfig, tuple[str, ...]], list[Variant]]] = Registry("ablation")


@ablations.register("features")
def leave_out(config: MatrixConfig, chosen: tuple[str, ...]) -> list[Variant]:
    """Without each feature."""
    if len(chosen) < 2:
        return []
    return [Variant(f"without {x}", tuple(one for one in chosen if one != x)) for x in chosen]


@ablations.register("layers")
def layers(config: MatrixConfig, chosen: tuple[str, ...]) -> list[Variant]:
    """0 to 3 layers, besides the configured number."""
    return [Variant(f"L = {n}", chosen, {"layers": n}) for n in range(4) if n != config.layers]


@ablations.register("prune")
def prune(config: MatrixConfig, chosen: tuple[str, ...]) -> list[Variant]:
    """The path between the mentions alone, one edge around it, and the whole sentence."""
    kinds = {-1: "whole sentence", 0: "path alone", 1: "path and 1 edge"}
    return [Variant(x, chosen, {"prune": n}) for n, x in kinds.items() if n != config.prune]


def variants(config: MatrixConfig, names: Sequence[str]) -> list[Variant]:
    """The configured model, then those of the ablations ``names``."""
    chosen = parse_features(config.features)
    found = [Variant("", chosen)]
    for name in names:
        found += ablations[name](config, chosen)
    return found
