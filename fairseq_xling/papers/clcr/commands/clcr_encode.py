"""Write sequences of vectors, alike for a sentence and its translation as far as this was learnt.

  fairseq-xling clcr encode model.pt --lang en --text en.txt --row T+E+R --output sequences/en
  fairseq-xling clcr encode model.pt --lang de --text de.txt --row T,T+E --output seq/{row}/de

Rows: T (all words), T+E (key-points), T+E+R (key-points in the second language's order), T+pGA
(pivots found with --translation, in their order), T+pGA-target (pivots of the first language, all
words of the second) and states (all words before T, for probes).
States of the model's first language are transformed; those of the second are unchanged.

OUTPUT is read by `fairseq-xling clcr classify` and `clcr measure report`, and in Python by
fairseq_xling.papers.clcr.sequences.Sequences. An interrupted call resumes when repeated.
"""

import argparse
from itertools import islice
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files, sha256
from fairseq_xling.core.named_files import FILE, NEW_FOLDER
from fairseq_xling.core.options import add_fields, values_of
from fairseq_xling.papers.clcr.commands import add_batches, add_trained, warn

GROUP = "CLCR"
ROW = "{row}"
_SAMPLE = 1000  # lines whose words are looked up


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.clcr.rows import RowOptions

    add = parser.add_argument
    add_trained(parser)
    add("--text", required=True, metavar=FILE, help="UTF-8 text, a sentence per line, also .gz")
    add("--lang", required=True, help="language of the text, one of the model's two")
    rows = "T, T+E, T+E+R, T+pGA, T+pGA-target or states, comma-separated"
    add("--row", default="T+E+R", help=rows)
    add_fields(parser, RowOptions)
    add("--dtype", default="float32", choices=("float32", "float16"), help="type on disk")
    add_batches(parser, "batch")
    place = "folder to write; it must be new; {row} in it stands for the row's name"
    add("--output", required=True, metavar=NEW_FOLDER, help=place)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.clcr.rows import RowOptions
    from fairseq_xling.papers.clcr.sequence_variants import encode, rows
    from fairseq_xling.papers.clcr.sequences import Sequences

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
    from fairseq_xling.papers.clcr.trained import Clcr

    model = Clcr.load(args.checkpoint, args.data, args.device)
    options = values_of(RowOptions, args)
    side = model.side(args.lang)
    made = {name: kind(model, side, options) for name, kind in kinds.items()}
    _check_known(model, files["text"], args.lang)
    digests = {name: sha256(path) for name, path in files.items()}
    for name, row in made.items():
        read = {x: files[x] for x in files if x != "translation" or row.reads_translation}
        settings = {
            "lang": args.lang,
            "dtype": args.dtype,
            "row": name,
            **{option: getattr(options, option) for option in row.reads},
            **{file: digests[file] for file in read},
        }
        output = Path(args.output.replace(ROW, name))
        meta = encode(model, row, args.lang, read, output, settings, args.max_tokens)
        mean = meta["rows"] / max(meta["sentences"], 1)
        if not meta["rows"]:
            raises = "raise `--threshold`" if row.reads_translation else "lower `--delta`"
            warn(f"{output}: no word was kept of any sentence; {raises}, or train longer")
        print(
            f"{output}: {meta['sentences']:,} sequences of {mean:.1f} vectors in the mean, "
            f"{meta['width']} wide ({name})"
        )
    limit = model.positions - 2  # without <s> and </s>
    lengths = Sequences(args.output.replace(ROW, names[0])).lengths
    if cut := int((lengths > limit).sum()):
        warn(
            f"{cut:,} sentences of {args.text} are longer than the "
            f"encoders' position tables and were cut after {limit} tokens"
        )


def _check_known(model: Any, text: Path, lang: str) -> None:
    """Warn about a text in another language than `--lang`."""
    import numpy as np

    from fairseq_xling.core.sentences import read_sentences
    from fairseq_xling.data.folder import UNK
    from fairseq_xling.text.encoder import TextEncoder

    lines = list(islice(read_sentences(text), _SAMPLE))
    found = TextEncoder.load(model.folder.path, lang).encode(lines)
    ids = np.concatenate([np.asarray(one[:-1]) for one in found]) if found else np.zeros(0)
    share = float((ids == UNK).mean()) if len(ids) else 0.0
    if share > 0.5:
        warn(
            f"{100 * share:.0f} % of the words of {text} are unknown to "
            f"the vocabulary of {lang}; is `--lang` right?"
        )
