"""The run of `fairseq-xling predict`."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.runs.provenance import provenance
from fairseq_xling.runs.tables import text_table
from fairseq_xling.transfer.items import parse_files
from fairseq_xling.transfer.predict import Predictor

_SETTINGS = ("columns", "unknown_labels", "too_long")


def predict_files(
    args: argparse.Namespace,
    adapt: Callable[[Predictor], Predictor] = lambda predictor: predictor,
    inputs: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Predict ``args.files``, write all into ``args.output``; returns a table of the scores.

    Args:
        adapt: what becomes of the checkpoint's predictor before anything is read.
        inputs: files beside the checkpoint and those to predict, by role.

    Raises:
        UserError: for bad arguments or input; nothing is written then.
    """
    if args.max_tokens < 1:
        raise UserError(f"`--max-tokens` must be at least 1, got {args.max_tokens}")
    files = parse_files("FILE", ",".join(args.files))
    settings = {name: getattr(args, name) for name in _SETTINGS}
    given = {name: value for name, value in settings.items() if value is not None}
    predictor = adapt(Predictor.load(args.checkpoint, args.data, args.device, **given))
    found = [predictor.predict(lang, path, args.max_tokens) for lang, path in files]
    output, names = Path(args.output), _names(files)
    output.mkdir(parents=True, exist_ok=True)
    for name, one in zip(names, found, strict=True):
        predictor.write(one, output / (name + predictor.task.format.suffix))
    write_json(
        output / "scores.json",
        {
            "files": {
                name: {"language": one.lang, "file": one.path.name, "scores": one.scores}
                for name, one in zip(names, found, strict=True)
            },
            "head": predictor.task.cfg.head,
            "provenance": provenance(
                {
                    "checkpoint": args.checkpoint,
                    **inputs,
                    **dict(zip(names, (path for _, path in files), strict=True)),
                }
            ),
        },
    )
    figures = list(dict.fromkeys(name for one in found for name in one.scores))
    rows = [
        [name, one.lang, len(one.items), *(_shown(one.scores.get(f)) for f in figures)]
        for name, one in zip(names, found, strict=True)
    ]
    table = text_table(["file", "language", "items", *figures], rows)
    return f"{table}\npredictions: {output}"


def _names(files: list[tuple[str, Path]]) -> list[str]:
    """A name for each output: the language's and the input's, without its endings."""
    names = [f"{lang}.{Path(path.name.removesuffix('.gz')).stem}" for lang, path in files]
    if len(set(names)) == len(names):
        return names
    return [f"{number}.{name}" for number, name in enumerate(names, start=1)]


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
