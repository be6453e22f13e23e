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

import dataclasses
from itertools import islice
from pathlib import Path
from typing import Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files, sha256
from fairseq_xling.core.named_files import CHECKPOINT, DATA, FILE, NEW_FOLDER
from fairseq_xling.core.options import REQUIRED, argument, option
from fairseq_xling.papers.clcr.commands import warn
from fairseq_xling.papers.clcr.rows import RowOptions

GROUP = "CLCR"
ROW = "{row}"
_SAMPLE = 1000  # lines whose words are looked up


@dataclasses.dataclass(frozen=True)
class _Text:
    checkpoint: str = argument("of fairseq-train --task clcr", CHECKPOINT)
    data: str | None = option(None, "its data folder, if it has moved", metavar=DATA)
    text: str = option(REQUIRED, "UTF-8 text, a sentence per line, also .gz", metavar=FILE)
    lang: str = option(REQUIRED, "language of the text, one of the model's two", metavar=())
    row: str = option(
        "T+E+R", "T, T+E, T+E+R, T+pGA, T+pGA-target or states, comma-separated", metavar=()
    )


@dataclasses.dataclass(frozen=True)
class _Output:
    dtype: str = option("float32", "type on disk", choices=("float32", "float16"), usage=True)
    max_tokens: int = shared.max_tokens(())
    device: str = shared.device()
    output: str = option(
        REQUIRED,
        "folder to write; it must be new; {row} in it stands for the row's name",
        metavar=NEW_FOLDER,
    )


@dataclasses.dataclass(frozen=True)
class Options(_Output, RowOptions, _Text):
    """All of them, in this order from the end."""


def run(options: Options) -> None:
    from fairseq_xling.papers.clcr.sequence_variants import encode, rows
    from fairseq_xling.papers.clcr.sequences import Sequences

    names = names_in(options.row)
    kinds = {name: rows[name] for name in names}
    if not names or len(kinds) < len(names):
        raise UserError(f"`--row` must name one row or several different ones, got {options.row!r}")
    if len(names) > 1 and ROW not in options.output:
        raise UserError(
            f"`--output` must contain {ROW}, which stands for the row's name, if `--row` names "
            f"several, got {options.output!r}"
        )
    given = options.translation
    readers = " and ".join(name for name in rows if rows[name].reads_translation)
    if any(kind.reads_translation for kind in kinds.values()) != bool(given):
        raise UserError(
            f"`--translation` is needed by rows {readers} and read by no other, got row "
            f"{options.row}" + (f" and {given!r}" if given else " without it")
        )
    if options.threshold is not None and not given:
        raise UserError(f"`--threshold` is only for rows {readers}, got it with row {options.row}")
    files = {"checkpoint": Path(options.checkpoint), "text": Path(options.text)}
    if given:
        files["translation"] = Path(given)
    check_files(*files.values())
    from fairseq_xling.papers.clcr.trained import Clcr

    model = Clcr.load(options.checkpoint, options.data, options.device)
    side = model.side(options.lang)
    made = {name: kind(model, side, options) for name, kind in kinds.items()}
    _check_known(model, files["text"], options.lang)
    digests = {name: sha256(path) for name, path in files.items()}
    for name, row in made.items():
        read = {x: files[x] for x in files if x != "translation" or row.reads_translation}
        settings = {
            **{"lang": options.lang, "dtype": options.dtype, "row": name},
            **{option: getattr(options, option) for option in row.reads},
            **{file: digests[file] for file in read},
        }
        output = Path(options.output.replace(ROW, name))
        meta = encode(model, row, options.lang, read, output, settings, options.max_tokens)
        mean = meta["rows"] / max(meta["sentences"], 1)
        if not meta["rows"]:
            raises = "raise `--threshold`" if row.reads_translation else "lower `--delta`"
            warn(f"{output}: no word was kept of any sentence; {raises}, or train longer")
        print(
            f"{output}: {meta['sentences']:,} sequences of {mean:.1f} vectors in the mean, "
            f"{meta['width']} wide ({name})"
        )
    limit = model.positions - 2  # without <s> and </s>
    lengths = Sequences(options.output.replace(ROW, names[0])).lengths
    if cut := int((lengths > limit).sum()):
        warn(
            f"{cut:,} sentences of {options.text} are longer than the "
            f"encoders' position tables and were cut after {limit} tokens"
        )


def _check_known(model: Any, text: Path, lang: str) -> None:
    """Warn about a text in another language than `--lang`."""
    import numpy as np

    from fairseq_xling.core.texts import read_sentences
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
