"""Probe folders of sequences: what can be predicted from the kept vectors of a span.

CLCR, section 4.3: the probe (`fairseq_xling.tasks.probing`) is the same as on an encoder. A span
of a text is all kept vectors whose subwords are within it. A span without kept vectors
is not predicted, and its labels count as missed, so extraction costs recall.

Symbols: ``E`` texts, ``R`` rows of their sequences, ``N`` examples, ``S`` spans of each.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import exclusive, sha256
from fairseq_xling.core.folders import META, claim
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.engine.devices import usable_device
from fairseq_xling.papers.clcr.rows import RowFolders, parse_rows
from fairseq_xling.papers.clcr.sequences import Sequences, sequences_of
from fairseq_xling.tasks.encode import Codec
from fairseq_xling.tasks.probing.examples import in_characters
from fairseq_xling.tasks.probing.fit import ProbeOptions
from fairseq_xling.tasks.probing.states import Placed, Spans, place
from fairseq_xling.verbs.parts.probe import (
    File,
    probe_options,
    probe_result,
    read_files,
    write_table,
)
from fairseq_xling.workflow.options import parse_seeds

_MISSING = "have a span of which no key-point was kept"
_ODD = 0.02  # share of texts that may be split into other subwords than their sequences


class SortedRows:
    """The vectors of a folder, sentence by sentence in the order of the text: (R, D) as an array.

    In a reordered sequence the vectors of a span are scattered; a probe pools them, so that their
    order does not matter, and reads them from one slice.
    """

    def __init__(self, array: np.ndarray, order: np.ndarray):
        self._array, self._order = array, order
        self.shape = array.shape

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, rows: Any) -> np.ndarray:
        return self._array[self._order[rows]]


def sequence_spans(
    sequences: Sequences, placed: Placed, labels: Sequence[Sequence[str]] | None
) -> Spans:
    """The examples over a folder of sequences of their texts, mapped.

    Args:
        placed: examples whose spans count the subwords of whole texts, like the folder's spans.
    """
    sequences.check_finite()
    if sequences.sentences != len(placed.texts):
        raise UserError(
            f"{sequences.path}: must have a sentence for each of {len(placed.texts)} texts, got "
            f"{sequences.sentences}; encode what `fairseq-xling probe texts` writes"
        )
    # Rarely a text is split otherwise than what its sequence was made from: a word without letters
    # has no subword in a whole text, but one on its own.
    sizes = np.array([len(ids) - 1 for ids in placed.texts])
    wrong = np.flatnonzero(sizes != sequences.lengths)
    if len(wrong) > _ODD * len(sizes):
        line = int(wrong[0])
        raise UserError(
            f"{sequences.path}: sentence {line + 1} must have {sizes[line]} subwords, got "
            f"{sequences.lengths[line]}; it is another text, or `--data` another folder"
        )
    starts = np.cumsum(sequences.lengths, dtype=np.int64) - sequences.lengths  # (E,)
    ends = np.repeat(starts, sequences.counts)[:, None] + sequences.spans  # (R, 2), over all texts
    order = np.argsort(ends[:, 0], kind="stable")
    first, end = ends[order].T
    if (first[1:] < end[:-1]).any():
        raise UserError(
            f"{sequences.path / 'spans.npy'}: rows of a sentence must not overlap; it would be "
            "unclear which belong to a span"
        )
    wanted = starts[placed.owner][:, None, None] + placed.places  # (N, S, 2)
    from_row = np.searchsorted(first, wanted[..., 0], side="left")
    to_row = np.searchsorted(end, wanted[..., 1], side="right")
    some = (from_row < to_row) & (wanted[..., 0] < wanted[..., 1])
    some &= (sizes == sequences.lengths)[placed.owner][:, None]
    places = np.where(some[..., None], np.stack([from_row, to_row], axis=-1), 0)
    return Spans([SortedRows(sequences.array, order)], places, labels)  # type: ignore[list-item]


def run_clcr_probe(args: Any) -> None:
    """See `fairseq_xling.papers.clcr.commands.clcr_probe`."""
    seeds = parse_seeds("--seeds", args.seeds)
    options = [probe_options(args, seed) for seed in seeds]
    rows = parse_rows("--vectors", args.vectors)
    usable_device(args.device)
    files = read_files(args)
    data = DataFolder(args.data)
    # Its spans are found among the subwords of whole texts, without frames.
    codecs = {lang: Codec(data.path, lang, 0) for lang in {file.lang: None for file in files}}
    for file in files:
        examples = file.examples
        if args.offsets == "tokens":
            examples = [in_characters(example) for example in examples]
        file.placed = place(examples, codecs[file.lang], "characters")
    for row in rows:
        for seed in row.differing(seeds):
            widths = {_open(row, file, seed).width for file in files}  # raises for invalid folders
            if len(widths) > 1:
                raise UserError(
                    f"`--vectors` {row.name}: must be of one width, got {sorted(widths)}"
                )
    output = Path(args.output)
    claim(output, {"offsets": args.offsets, "files": {f.name: sha256(f.path) for f in files}})
    with exclusive(output, f"`--output` {output}: another run is writing it"):
        results = [
            probe_result(
                files, row.name, [], one, output / "probes" / f"{_code(row, files, one)}.json",
                output, args.device, lambda file, row=row, seed=one.seed: _open(row, file, seed),
            )
            for row in rows
            for one in options
        ]  # fmt: skip
        used = {"data": data.path / "meta.json", **{file.name: file.path for file in files}}
        used |= {
            f"{row.name} {file.name}, seed {seed}": row.folder(file.path, file.lang, seed) / META
            for row in rows
            for seed in row.differing(seeds)
            for file in files
        }
        write_table(output, files, results, used, _MISSING)


def _open(row: RowFolders, file: File, seed: int) -> Spans:
    sequences = sequences_of(row.folder(file.path, file.lang, seed), file.lang, file.path)
    return sequence_spans(sequences, file.placed, file.labels)


def _code(row: RowFolders, files: list[File], options: ProbeOptions) -> str:
    """A name for files: different probes have different names."""
    folders = [row.folder(file.path, file.lang, options.seed) for file in files]
    text = repr((row.name, options, [sha256(one / META) for one in folders]))
    return f"{row.code}-seed{options.seed}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
