"""The verb ``clcr encode``: loads a model and writes the sequences of a text."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.clcr.encode import encode
from fairseq_xling.clcr.rows import RowMethod, RowOptions, rows
from fairseq_xling.clcr.sequences import Sequences
from fairseq_xling.data.folder import UNK
from fairseq_xling.errors import UserError
from fairseq_xling.files import check_files, sha256
from fairseq_xling.provenance import provenance
from fairseq_xling.sentences import read_sentences
from fairseq_xling.text.encoder import TextEncoder

ROW = "{row}"
_SAMPLE = 1000  # lines whose words are looked up


def run_encode(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.clcr_encode`.

    Raises:
        UserError: for missing files, or invalid settings.
    """
    names = [name.strip() for name in args.row.split(",") if name.strip()]
    kinds = {name: rows[name] for name in names}
    if not names or len(kinds) < len(names):
        raise UserError(f"`--row` must name one row or several different ones, got {args.row!r}")
    if len(names) > 1 and ROW not in args.output:
        raise UserError(
            f"`--output` must contain {ROW}, which stands for the row's name, if `--row` names "
            f"several, got {args.output!r}"
        )
    readers = " and ".join(name for name in rows if rows[name].reads_translation)
    if any(kind.reads_translation for kind in kinds.values()) != bool(args.translation):
        raise UserError(
            f"`--translation` is needed by rows {readers} and read by no other, got row {args.row}"
            + (f" and {args.translation!r}" if args.translation else " without it")
        )
    if args.threshold is not None and not args.translation:
        raise UserError(f"`--threshold` is only for rows {readers}, got it with row {args.row}")
    files = {"checkpoint": Path(args.checkpoint), "text": Path(args.text)}
    if args.translation:
        files["translation"] = Path(args.translation)
    check_files(*files.values())
    from fairseq_xling.interop.clcr import Clcr

    model = Clcr.load(args.checkpoint, args.data, args.device)
    options = RowOptions(**{one.name: getattr(args, one.name) for one in fields(RowOptions)})
    side = model.side(args.lang)
    made = {name: kind(model, side, options) for name, kind in kinds.items()}
    _check_known(model, files["text"], args.lang)
    digests = {name: sha256(path) for name, path in files.items()}
    for name, row in made.items():
        read = {file: files[file] for file in files if file != "translation"}
        if row.reads_translation:
            read = files
        settings = {
            "lang": args.lang,
            "dtype": args.dtype,
            "row": name,
            **{option: getattr(options, option) for option in row.reads},
            **{file: digests[file] for file in read},
        }
        _write(model, row, name, settings, read, args)
    limit = model.positions - 2  # without <s> and </s>
    lengths = Sequences(args.output.replace(ROW, names[0])).lengths
    if cut := int((lengths > limit).sum()):
        print(
            f"fairseq-xling: warning: {cut:,} sentences of {args.text} are longer than the "
            f"encoders' position tables and were cut after {limit} tokens",
            file=sys.stderr,
        )


def _check_known(model: Any, text: Path, lang: str) -> None:
    """Warn about a text in another language than `--lang`."""
    lines = list(islice(read_sentences(text), _SAMPLE))
    found = TextEncoder.load(model.folder.path, lang).encode(lines)
    ids = np.concatenate([np.asarray(one[:-1]) for one in found]) if found else np.zeros(0)
    share = float((ids == UNK).mean()) if len(ids) else 0.0
    if share > 0.5:
        print(
            f"fairseq-xling: warning: {100 * share:.0f} % of the words of {text} are unknown to "
            f"the vocabulary of {lang}; is `--lang` right?",
            file=sys.stderr,
        )


def _write(
    model: Any,
    row: RowMethod,
    name: str,
    settings: Mapping[str, Any],
    read: Mapping[str, Path],
    args: argparse.Namespace,
) -> None:
    output = Path(args.output.replace(ROW, name))
    files = {**read, "data": model.folder.path / "meta.json"}
    meta = encode(
        model,
        row,
        read["text"],
        args.lang,
        output,
        settings,
        lambda: {"provenance": provenance(files)},
        read.get("translation"),
        args.max_tokens,
    )
    mean = meta["rows"] / max(meta["sentences"], 1)
    if not meta["rows"]:
        raises = "raise `--threshold`" if row.reads_translation else "lower `--delta`"
        print(
            f"fairseq-xling: warning: {output}: no word was kept of any sentence; {raises}, or "
            "train longer",
            file=sys.stderr,
        )
    print(
        f"{output}: {meta['sentences']:,} sequences of {mean:.1f} vectors in the mean, "
        f"{meta['width']} wide ({name})"
    )
