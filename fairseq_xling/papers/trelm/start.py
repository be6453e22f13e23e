"""From a source encoder and a data folder to the model that a migration starts from."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.errors import UserError, program_error
from fairseq_xling.guards import prepare_engine
from fairseq_xling.interop.sources import SourceModel
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors
from fairseq_xling.papers.trelm.initialise import InitOptions, initialise
from fairseq_xling.papers.trelm.words import word_ways
from fairseq_xling.registry import unknown_name
from fairseq_xling.text.vocabularies import mode_of

PHASE = "init"


@dataclass(frozen=True)
class ModelOptions:
    """The settings of a migrated model besides the source's sizes.

    Attributes:
        arch: a named architecture of ours; the source's sizes override its own.
        trilayer: whether there is a TRILayer.
        copy_embeddings: whether it distinguishes target tokens of one source word.
        separate: parts that are private to each language, as `--separate`.
        languages: their codes, or none for all of the data folder's.
        max_positions, num_segments: rows of the tables, if not as many as the source's.
    """

    arch: str = "tri_bert_base"
    trilayer: bool = True
    copy_embeddings: bool = False
    separate: str = ""
    languages: str = ""
    max_positions: int | None = None
    num_segments: int | None = None


@dataclass(frozen=True)
class Start:
    """A model with its initial weights.

    Attributes:
        cfg: fairseq's whole configuration.
        task, model: as fairseq built them.
        report: the source of each part, one line each.
    """

    cfg: Any
    task: Any
    model: Any
    report: list[str]


def start(
    source: SourceModel,
    data: str | Path,
    model: ModelOptions,
    options: InitOptions,
    vector_files: Sequence[str | Path] = (),
) -> Start:
    """A model of ``source``'s sizes for the vocabulary of the folder ``data``, initialised.

    Args:
        vector_files: given vectors, one file for each dictionary of the folder.

    Raises:
        UserError: if sizes, vocabulary, vectors and options are incompatible.
    """
    prepare_engine()
    import fairseq_xling.plugin  # noqa: F401

    _check_arch(model.arch)
    trilayer = model.trilayer and _knows(model.arch, "no_trilayer")
    if trilayer and source.shape.layers % 2:
        raise UserError(
            f"{source.origin}: a TRILayer needs an even number of layers, got "
            f"{source.shape.layers} (`--no-trilayer` leaves it out)"
        )
    if vector_files and not word_ways[options.embeddings].reads_vectors:
        raise UserError(f"`--vectors` has no effect with `--embeddings {options.embeddings}`")
    files = [(path, read_vectors(path)) for path in vector_files]
    cfg, task, built = _build(data, _command_line(source, model, options.seed))
    vectors = _vectors(task, files, source)
    mode = mode_of(task.folder)
    symbols = {
        lang: [*entries.symbols[:SPECIALS], *map(mode.piece, entries.symbols[SPECIALS:])]
        for lang, entries in task.dictionaries.items()
    }
    report = initialise(built.encoder, source, symbols, options, vectors)
    if "phase" in built.identity:
        built.identity["phase"] = PHASE
    return Start(cfg, task, built, report)


def _build(data: str | Path, line: list[str]) -> tuple[Any, Any, Any]:
    """Configuration, task and model, as fairseq-train builds them from its command line."""
    from fairseq import options, tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    try:
        with warnings.catch_warnings():  # of hydra, about fairseq's use of it
            warnings.simplefilter("ignore")
            parser = options.get_training_parser()
            args = options.parse_args_and_arch(parser, input_args=[str(data), *line])
            cfg = convert_namespace_to_omegaconf(args)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(cfg.common.seed)
            task = tasks.setup_task(cfg.task)
            return cfg, task, task.build_model(cfg.model)
    except SystemExit as error:  # one line, meant for fairseq's own programs
        raise program_error(error) from None


def _command_line(source: SourceModel, model: ModelOptions, seed: int) -> list[str]:
    """Sizes from the source; dropout is the architecture's, since weights do not depend on it."""
    shape = source.shape
    segments = shape.num_segments if model.num_segments is None else model.num_segments
    given = {
        "task": "cdlm",
        "objectives": "mlm",  # supported by every model, with or without a TRILayer
        "criterion": "unified_lm",
        "optimizer": "adam",
        "arch": model.arch,
        "seed": seed,
        "encoder-layers": shape.layers,
        "encoder-embed-dim": shape.dim,
        "encoder-ffn-embed-dim": shape.ffn_dim,
        "encoder-attention-heads": shape.heads,
        "max-positions": shape.max_positions
        if model.max_positions is None
        else model.max_positions,
        "num-segments": segments,
        "lm-head": shape.lm_head,
        "init-std": shape.init_std,
        "norm-eps": shape.norm_eps,
        "activation-fn": shape.activation,
        "separate": model.separate,
    }
    if model.languages:
        given["languages"] = model.languages
    line = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    bare = not model.trilayer and _knows(model.arch, "no_trilayer")
    flags = ["--no-trilayer"] * bare + ["--copy-embeddings"] * model.copy_embeddings
    return [*line, "--cpu", *flags]


def _check_arch(name: str) -> None:
    from fairseq.models import ARCH_MODEL_REGISTRY

    ours = [n for n, model in ARCH_MODEL_REGISTRY.items() if hasattr(model, "private_parameters")]
    if name not in ours:
        raise unknown_name("`--arch`", name, sorted(ours))


def _knows(arch: str, option: str) -> bool:
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY

    return hasattr(MODEL_DATACLASS_REGISTRY[ARCH_MODEL_NAME_REGISTRY[arch]], option)


def _vectors(
    task: Any, files: Sequence[tuple[str | Path, Vectors]], source: SourceModel
) -> dict[str, Vectors]:
    """Each language's vectors: those made for its dictionary."""
    found: dict[str, Vectors] = {}
    for path, vectors in files:
        if vectors.vectors.shape[1] != source.shape.dim:
            raise UserError(
                f"{path}: vectors must be as wide as the encoder, {source.shape.dim} in "
                f"{source.origin}, got {vectors.vectors.shape[1]}"
            )
        digests = set(vectors.dictionaries.values())
        for lang, digest in task.dictionary_digests.items():
            if digest in digests:
                found[lang] = vectors
        if not digests & set(task.dictionary_digests.values()):
            raise UserError(
                f"{path}: its vectors are of another vocabulary than that of {task.folder.path}; "
                "make them from this data folder"
            )
    for lang, vectors in found.items():
        if len(vectors.vectors) != task.vocab_sizes[lang]:
            raise UserError(
                f"vectors of {lang!r} must have a row for each of the {task.vocab_sizes[lang]} "
                f"symbols, got {len(vectors.vectors)}"
            )
    return found
