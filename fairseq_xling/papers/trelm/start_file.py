"""The checkpoint of a model before its first update, in fairseq's own layout.

`fairseq-train --finetune-from-model`, `fairseq-validate` and `Encoder.load` read it.
"""

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairseq_xling.checkpoints.fresh import write_fresh_checkpoint
from fairseq_xling.errors import UserError
from fairseq_xling.interop.sources import SourceModel
from fairseq_xling.interop.sources.raw_vectors import raw_vectors
from fairseq_xling.mapping.vectors_file import write_vectors
from fairseq_xling.models.encoder import parameter_table
from fairseq_xling.papers.trelm.initialise import InitOptions
from fairseq_xling.papers.trelm.start import ModelOptions, Start, start
from fairseq_xling.provenance import provenance


def make_start(
    output: str | Path,
    source: SourceModel,
    data: str | Path,
    model: ModelOptions,
    options: InitOptions,
    vector_files: Sequence[str | Path] = (),
) -> str:
    """Write the model of `start` to the checkpoint ``output``; returns a description.

    Raises:
        UserError: as `start`, or if it cannot be written.
    """
    if Path(output).is_dir():
        raise UserError(f"{output}: is a folder, not a file")
    made = start(source, data, model, options, vector_files)
    about = {
        "source": {"family": source.family, "path": source.origin},
        "model": asdict(model),
        "options": asdict(options),
        "provenance": provenance({f"vectors {n}": path for n, path in enumerate(vector_files, 1)}),
    }
    write_checkpoint(output, made, about)
    line = shlex.join(
        [
            *("--task", "cdlm", "--finetune-from-model", str(output)),
            *(("--languages", model.languages) if model.languages else ()),
            *training_options(made.cfg.model),
        ]
    )
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


def write_checkpoint(path: str | Path, made: Start, about: Mapping[str, Any]) -> None:
    """Write ``made`` as fairseq writes a checkpoint before its first update, atomically.

    ``about`` (plain values) is stored with it, in ``extra_state``.
    """
    from fairseq.criterions import CRITERION_REGISTRY
    from omegaconf import OmegaConf

    criterion = CRITERION_REGISTRY[made.cfg.criterion._name].__name__
    write_fresh_checkpoint(
        path,
        OmegaConf.to_container(made.cfg, resolve=True, enum_to_str=True),
        made.model.state_dict(),
        {"criterion_name": criterion, "optimizer_name": "FairseqAdam"},
        {"initialised": dict(about)},
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
