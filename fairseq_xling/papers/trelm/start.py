"""From a source encoder and a data folder to the model that a migration starts from, and its file.

The file is a checkpoint in fairseq's own layout, before the first update: `fairseq-train
--finetune-from-model`, `fairseq-validate` and `Encoder.load` read it.
"""

import argparse
import hashlib
import shlex
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from fairseq_xling.checkpoints.fresh import write_fresh_checkpoint
from fairseq_xling.core.errors import UserError, about, program_error
from fairseq_xling.core.provenance import provenance
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.interop.sources import SourceModel, read_source
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors
from fairseq_xling.models.encoder import parameter_table
from fairseq_xling.papers.trelm.initialise import InitOptions, initialise, size_options
from fairseq_xling.papers.trelm.word_embeddings import from_vectors, word_inits
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.pieces import WORD_MARK
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.segment import segmentations
from fairseq_xling.text.sources import Sources
from fairseq_xling.text.vocabularies import mode_of


def raw_vectors(source: SourceModel) -> Vectors:
    """The token embeddings of ``source`` with their symbols and counts.

    Special symbols and placeholders have count 0, so no map is learnt from them. If the real counts
    are unknown, the others' are set by rank: vocabularies are more or less sorted by frequency, but
    BERT's begins with its alphabet, including rare scripts. So single characters rank after all
    others.
    """
    words = source.words()
    counts = np.zeros(len(source.symbols), dtype=np.int64)
    if source.counts is not None:
        counts[words] = np.array(source.counts, dtype=np.int64)[words]
    else:
        ranked = sorted(words, key=lambda i: len(source.symbols[i].removeprefix(WORD_MARK)) < 2)
        counts[ranked] = np.arange(len(ranked), 0, -1)
    digest = hashlib.sha256("\n".join(source.symbols).encode()).hexdigest()
    how = "of its dictionary" if source.counts is not None else "by rank"
    settings = {"source": source.origin, "family": source.family, "counts": how}
    table = source.embeddings.numpy().copy()
    return Vectors(table, counts, list(source.symbols), {source.family: digest}, settings)


PHASE = "init"
# How the tensors of fine-tuned heads begin in Hugging Face folders; a pooler may be left out.
_HEADS = ("classifier.", "qa_outputs.")


@dataclass(frozen=True)
class ModelOptions:
    """The settings of a migrated model besides the source's sizes, as the options of
    `fairseq-xling init`; ``languages`` are separated by commas, or all of the data folder's."""

    arch: str = "tri_bert_base"
    trilayer: bool = True
    copy_embeddings: bool = False
    separate: str = ""
    languages: str = ""
    max_positions: int | None = None
    num_segments: int | None = None


class Start(NamedTuple):
    """fairseq's whole configuration, task and model as it built them, the model with its initial
    weights, and a report: the source of each part, one line each."""

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
    """
    prepare_engine()
    from fairseq.models import (
        ARCH_MODEL_NAME_REGISTRY,
        ARCH_MODEL_REGISTRY,
        MODEL_DATACLASS_REGISTRY,
    )

    import fairseq_xling.plugin  # noqa: F401

    ours = [n for n, kind in ARCH_MODEL_REGISTRY.items() if hasattr(kind, "private_parameters")]
    if model.arch not in ours:
        raise unknown_name("`--arch`", model.arch, sorted(ours))
    settings = MODEL_DATACLASS_REGISTRY[ARCH_MODEL_NAME_REGISTRY[model.arch]]
    trilayer = model.trilayer if hasattr(settings, "no_trilayer") else None
    if trilayer and source.shape.layers % 2:
        raise UserError(
            f"{source.origin}: a TRILayer needs an even number of layers, got "
            f"{source.shape.layers} (`--no-trilayer` leaves it out)"
        )
    if vector_files and word_inits[options.embeddings] is not from_vectors:
        raise UserError(f"`--vectors` has no effect with `--embeddings {options.embeddings}`")
    files = {path: read_vectors(path) for path in vector_files}
    cfg, task, built = build_model(data, _command_line(source, model, trilayer, options.seed))
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


def build_model(data: str | Path, line: list[str]) -> tuple[Any, Any, Any]:
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


def _command_line(
    source: SourceModel, model: ModelOptions, trilayer: bool | None, seed: int
) -> list[str]:
    """Sizes from the source; dropout is the architecture's, since weights do not depend on it.
    ``trilayer`` is None for an architecture that never has one."""
    shape = source.shape
    positions = shape.max_positions if model.max_positions is None else model.max_positions
    segments = shape.num_segments if model.num_segments is None else model.num_segments
    given = {
        "task": "cdlm",
        "objectives": "mlm",  # supported by every model, with or without a TRILayer
        "criterion": "unified_lm",
        "optimizer": "adam",
        "arch": model.arch,
        "seed": seed,
        "separate": model.separate,
    }
    if model.languages:
        given["languages"] = model.languages
    line = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    flags = ["--no-trilayer"] * (trilayer is False) + ["--copy-embeddings"] * model.copy_embeddings
    return [*line, *size_options(shape, positions, segments), "--cpu", *flags]


def _vectors(
    task: Any, files: Mapping[str | Path, Vectors], source: SourceModel
) -> dict[str, Vectors]:
    """Each language's vectors: those made for its dictionary."""
    found: dict[str, Vectors] = {}
    for path, vectors in files.items():
        if vectors.vectors.shape[1] != source.shape.dim:
            raise UserError(
                f"{path}: vectors must be as wide as the encoder, {source.shape.dim} in "
                f"{source.origin}, got {vectors.vectors.shape[1]}"
            )
        known = task.dictionary_digests.items()
        served = [lang for lang, digest in known if digest in vectors.dictionaries.values()]
        if not served:
            raise UserError(
                f"{path}: its vectors are of another vocabulary than that of {task.folder.path}; "
                "make them from this data folder"
            )
        found |= dict.fromkeys(served, vectors)
    for lang, vectors in found.items():
        if len(vectors.vectors) != task.vocab_sizes[lang]:
            raise UserError(
                f"vectors of {lang!r} must have a row for each of the {task.vocab_sizes[lang]} "
                f"symbols, got {len(vectors.vectors)}"
            )
    return found


def make_start(
    output: str | Path,
    source: SourceModel,
    data: str | Path,
    model: ModelOptions,
    options: InitOptions,
    vector_files: Sequence[str | Path] = (),
) -> str:
    """Write the model of `start` to the checkpoint ``output``; returns a description."""
    if Path(output).is_dir():
        raise UserError(f"{output}: is a folder, not a file")
    made = start(source, data, model, options, vector_files)
    origin = {
        "source": {"family": source.family, "path": source.origin},
        "model": asdict(model),
        "options": asdict(options),
        "provenance": provenance({f"vectors {n}": path for n, path in enumerate(vector_files, 1)}),
    }
    write_checkpoint(output, made, origin)
    languages = ["--languages", model.languages] if model.languages else []
    line = ["--task", "cdlm", "--finetune-from-model", str(output), *languages]
    line = shlex.join([*line, *training_options(made.cfg.model)])
    return "\n".join(
        [
            f"{output}: from {source.origin} ({source.family}), phase init",
            *(f"  {part}" for part in made.report),
            *([f"  left out: {', '.join(source.left_out)}"] if source.left_out else []),
            parameter_table(made.model.encoder),
            f"train it with: fairseq-train {shlex.quote(str(data))} {line}",
        ]
    )


def write_source_vectors(path: str | Path, source: SourceModel) -> str:
    """Write `raw_vectors` of ``source``; returns a line that describes them."""
    vectors = raw_vectors(source)
    write_vectors(path, vectors)
    size, width = vectors.vectors.shape
    counted = int((vectors.counts > 0).sum())
    how = vectors.settings["counts"]
    return f"{path}: {size:,} raw embeddings, {width} wide; {counted:,} words, counted {how}"


def write_checkpoint(path: str | Path, made: Start, origin: Mapping[str, Any]) -> None:
    """Write ``made`` as fairseq writes a checkpoint before its first update, atomically.

    ``origin`` (plain values) is stored with it, in ``extra_state``.
    """
    from fairseq.criterions import CRITERION_REGISTRY
    from omegaconf import OmegaConf

    criterion = CRITERION_REGISTRY[made.cfg.criterion._name].__name__
    write_fresh_checkpoint(
        path,
        OmegaConf.to_container(made.cfg, resolve=True, enum_to_str=True),
        made.model.state_dict(),
        {"criterion_name": criterion, "optimizer_name": "FairseqAdam"},
        {"initialised": dict(origin)},
    )


def training_options(cfg: Any) -> list[str]:
    """The options of fairseq-train for a model of these sizes, ``--arch`` first.

    ``cfg`` is a checkpoint's configuration of its model; the architecture's own values are left
    out.
    """
    from fairseq.models import (
        ARCH_CONFIG_REGISTRY,
        ARCH_MODEL_NAME_REGISTRY,
        MODEL_DATACLASS_REGISTRY,
    )

    arch = cfg["arch"] if "arch" in cfg else cfg["_name"]
    preset = argparse.Namespace()
    ARCH_CONFIG_REGISTRY[arch](preset)
    defaults = MODEL_DATACLASS_REGISTRY[ARCH_MODEL_NAME_REGISTRY[arch]]
    line = ["--arch", arch]
    for name in defaults.__dataclass_fields__:
        usual = getattr(preset, name, defaults.__dataclass_fields__[name].default)
        if name.startswith("_") or name not in cfg or cfg[name] == usual:
            continue
        option = f"--{name.replace('_', '-')}"
        line += [option] if cfg[name] is True else [option, str(cfg[name])]
    return line


def import_encoder(
    folder: str | Path, languages: Sequence[str], output: str | Path, segment: str | None = None
) -> str:
    """Write ``output/data`` and ``output/checkpoint.pt``; returns a text that describes them.

    Hidden states and the probabilities of masked words are the source's: every symbol keeps its
    embedding and its bias under a new id.

    Args:
        folder: in Hugging Face format, with its tokenizer.
        segment: what counts as a word (default: the tokenizer's own).

    Raises:
        UserError: as `read_source`, `prepare` and `make_start`; or for a source with language
            embeddings, which a `separable_transformer` does not support, or with a fine-tuned head.
    """
    folder, output = Path(folder), Path(output)
    if segment is not None:
        with about("`--segment`"):
            segmentations.check(segment)
    if not folder.is_dir():
        said = f"{folder}: must be a folder in Hugging Face format, with config.json"
        if folder.is_file():
            said += "; a checkpoint has no tokenizer: `fairseq-xling init` starts from it"
        raise UserError(said)
    source = read_source(folder, untied=True)
    if "language_table.weight" in source.state:
        raise UserError(
            f"{folder}: an encoder with language embeddings ({source.family}) cannot be imported "
            "unchanged; use `fairseq-xling init`"
        )
    if head := [name for name in source.left_out if name.startswith(_HEADS)]:
        raise UserError(
            f"{folder}: a model with a fine-tuned head (`{head[0]}`) cannot be imported unchanged; "
            "save its encoder alone, as in AutoModel.from_pretrained(FOLDER).save_pretrained(OTHER)"
        )
    chosen = segment or source.segmentation
    options = PrepareOptions(
        languages=tuple(languages), aligner="none", segment=dict.fromkeys(languages, chosen)
    )
    sources = Sources(tokenizers=dict.fromkeys(languages, folder / "tokenizer.json"))
    model = ModelOptions(
        arch="separable_transformer_base",
        trilayer=False,
        separate="" if source.tied else "softmax",
    )
    head = "whole" if source.has_head else "reset"
    initial = InitOptions(copy_shared=True, head=head, unchanged=True)
    before = output.exists()
    try:
        prepare(output / "data", sources, options)
        return make_start(output / "checkpoint.pt", source, output / "data", model, initial)
    except Exception:
        if not before:
            shutil.rmtree(output, ignore_errors=True)
        raise
