"""The part of ``clcr report`` that needs a model: a vector is of its token in its context."""

import argparse
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.clcr.contexts import BETWEEN, CHANGES, context_shifts
from fairseq_xling.clcr.start import by_language
from fairseq_xling.errors import UserError, about
from fairseq_xling.files import check_files
from fairseq_xling.sentences import read_sentences
from fairseq_xling.text.encoder import TextEncoder

HEADER = ["language", "sentences", *CHANGES, BETWEEN, *(f"{c} / {BETWEEN}" for c in CHANGES)]


def check_contexts(args: argparse.Namespace) -> None:
    """Raises UserError if only one of the model and its texts is given, or a file is missing."""
    if bool(args.checkpoint) != bool(args.text):
        raise UserError("`--checkpoint` and `--text` must be given together")
    if args.checkpoint:
        check_files(args.checkpoint)


def measure_contexts(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Path]]:
    """Mean distances by language and change, and the files that were read; nothing without a
    model.

    Raises:
        UserError: for a model or text that cannot be read, and for too little text.
    """
    if not args.checkpoint:
        return {}, {}
    from fairseq_xling.interop.clcr import Clcr

    model = Clcr.load(args.checkpoint, args.data, args.device)
    texts = by_language("--text", ",".join(args.text), model.pair)
    check_files(*texts.values())
    found: dict[str, Any] = {}
    for lang, path in texts.items():
        lines = list(islice(read_sentences(path), args.sentences))
        ids = TextEncoder.load(model.folder.path, lang).encode(lines)
        with about(path):
            shifts = context_shifts(
                model, model.side(lang), ids, np.random.default_rng(args.seed), args.norm
            )
        found[lang] = {
            "sentences": len(shifts[BETWEEN]),
            **{name: float(values.mean()) for name, values in shifts.items()},
        }
    files = {f"text of {lang}": Path(path) for lang, path in texts.items()}
    return found, {"checkpoint": Path(args.checkpoint), **files}


def context_table(found: Mapping[str, Any]) -> list[list[Any]]:
    """The rows under `HEADER`."""
    return [
        [
            *(lang, one["sentences"], *(one[name] for name in (*CHANGES, BETWEEN))),
            *(one[name] / one[BETWEEN] if one[BETWEEN] else None for name in CHANGES),
        ]
        for lang, one in found.items()
    ]


def context_notes(found: Mapping[str, Any]) -> list[str]:
    """The table in words."""
    return [
        f"{lang}: the vector of a word of row T moves by {one['token']:.3f} in the mean if the "
        f"word is replaced, by {one['context']:.3f} if all others are, and by {one['neither']:.2g} "
        f"if neither is; those of {BETWEEN} are {one[BETWEEN]:.3f} apart"
        for lang, one in found.items()
    ]
