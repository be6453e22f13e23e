"""The verb ``clcr probe``: edge probing of sequences, before and after each step (CLCR, 4.3)."""

import argparse
import hashlib
from pathlib import Path

from fairseq_xling.clcr.probing import sequence_spans
from fairseq_xling.clcr.row_folders import RowFolders, parse_rows, places_of
from fairseq_xling.clcr.sequences import META, Sequences
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.devices import usable_device
from fairseq_xling.errors import UserError
from fairseq_xling.files import exclusive, sha256
from fairseq_xling.folders import claim
from fairseq_xling.runs.options import parse_seeds
from fairseq_xling.tasks.encode import Codec
from fairseq_xling.tasks.probing.examples import in_characters
from fairseq_xling.tasks.probing.fit import ProbeOptions
from fairseq_xling.tasks.probing.states import Spans, place
from fairseq_xling.verbs.parts.probe import File, baseline, probe_options, probe_result, read_files
from fairseq_xling.verbs.parts.probe_result import write_table

_MISSING = "have a span of which no key-point was kept"


def run_clcr_probe(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.clcr_probe`.

    Raises:
        UserError: for invalid options, and for missing, damaged or inconsistent files or folders,
            before anything is trained.
    """
    seeds = parse_seeds("--seeds", args.seeds)
    options = [probe_options(args, seed) for seed in seeds]
    rows = parse_rows("--vectors", args.vectors)
    usable_device(args.device)
    files = read_files(args)
    data = DataFolder(args.data)
    _place(args, data, files)
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
            f"{row.name} {file.name}, seed {seed}": _folder(row, file, seed) / META
            for row in rows
            for seed in row.differing(seeds)
            for file in files
        }
        tested = {file.name: file.lang for file in files[2:]}
        write_table(output, tested, baseline(files), results, used, _MISSING, "C16")


def _place(args: argparse.Namespace, data: DataFolder, files: list[File]) -> None:
    """Find the spans of all files among the subwords of their texts."""
    codecs: dict[str, Codec] = {}
    for file in files:
        if file.lang not in codecs:
            codecs[file.lang] = Codec(data.path, file.lang, 0)  # it frames nothing here
        examples = file.examples
        if args.offsets == "tokens":
            examples = [in_characters(example) for example in examples]
        file.placed = place(examples, codecs[file.lang], "characters")


def _folder(row: RowFolders, file: File, seed: int) -> Path:
    return row.folder(**places_of(file.path, file.lang, seed))


def _open(row: RowFolders, file: File, seed: int) -> Spans:
    if file.placed is None:
        raise ValueError(f"{file.path} was not placed")
    sequences = Sequences(_folder(row, file, seed))
    if sequences.lang != file.lang:
        raise UserError(
            f"{sequences.path}: must be in {file.lang} as `{file.path}` is, got {sequences.lang}"
        )
    return sequence_spans(sequences, file.placed, file.labels)


def _code(row: RowFolders, files: list[File], options: ProbeOptions) -> str:
    """A name for files: different probes have different names."""
    text = repr(
        (row.name, options, [sha256(_folder(row, file, options.seed) / META) for file in files])
    )
    return f"{row.code}-seed{options.seed}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
