"""The verb ``clcr encode``: loads a model and writes the sequences of a text."""

import argparse
import sys
from pathlib import Path

from fairseq_xling.clcr.encode import encode
from fairseq_xling.clcr.rows import RowOptions, rows
from fairseq_xling.clcr.sequences import Sequences
from fairseq_xling.errors import UserError
from fairseq_xling.files import sha256
from fairseq_xling.runs.provenance import provenance


def run_encode(args: argparse.Namespace) -> None:
    """See `fairseq_xling.cli.clcr_encode`.

    Raises:
        UserError: for files that are missing, or settings that make no sense.
    """
    kind = rows[args.row]
    if args.max_tokens < 1:
        raise UserError(f"`--max-tokens` must be at least 1, got {args.max_tokens}")
    if kind.reads_translation != bool(args.translation):
        raise UserError(
            f"`--translation` is needed by row T+pGA and read by no other, got row {args.row}"
            + (f" and {args.translation!r}" if args.translation else " without it")
        )
    files = {"checkpoint": Path(args.checkpoint), "text": Path(args.text)}
    if args.translation:
        files["translation"] = Path(args.translation)
    for path in files.values():
        if not path.is_file():
            raise UserError(f"{path}: no such file")
    from fairseq_xling.interop.clcr import Clcr

    model = Clcr.load(args.checkpoint, args.data, args.device)
    options = RowOptions(args.delta, args.order, args.search, args.beam, args.threshold)
    row = kind(model, model.side(args.lang), options)
    settings = {
        "lang": args.lang,
        "dtype": args.dtype,
        "row": args.row,
        "delta": args.delta,
        "order": args.order,
        "search": args.search,
        "beam": args.beam,
        "threshold": args.threshold,
        **{name: sha256(path) for name, path in files.items()},
    }
    output = Path(args.output)
    files["data"] = model.folder.path / "meta.json"
    meta = encode(
        model,
        row,
        Path(args.text),
        args.lang,
        output,
        settings,
        lambda: {"provenance": provenance(files)},
        Path(args.translation) if args.translation else None,
        args.max_tokens,
    )
    words = model.positions - 2  # beside <s> and </s>
    cut = int((Sequences(output).lengths > words).sum())
    if cut:
        print(
            f"fairseq-xling: warning: {cut:,} sentences of {args.text} are longer than the "
            f"encoders' position tables and were cut after {words} tokens",
            file=sys.stderr,
        )
    mean = meta["rows"] / max(meta["sentences"], 1)
    print(
        f"{output}: {meta['sentences']:,} sequences of {mean:.1f} vectors in the mean, "
        f"{meta['width']} wide ({args.row})"
    )
