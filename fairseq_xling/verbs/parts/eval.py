"""Loads checkpoints, runs measures on them, prints tables and writes one JSON file."""

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.subject import Subject
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError, about
from fairseq_xling.files import write_json
from fairseq_xling.languages import parse_languages
from fairseq_xling.provenance import provenance
from fairseq_xling.registry import unknown_name
from fairseq_xling.results.tables import text_table
from fairseq_xling.verbs.measures import MEASURES, Findings, parse_measures

FORMAT = 1


def evaluate(args: argparse.Namespace) -> None:
    """The verb ``eval``: every measure on every checkpoint, printed and written.

    Raises:
        UserError: for a missing or unreadable checkpoint, a data folder that is not the model's,
            an unknown measure or language, or missing data of a measure.
    """
    names = parse_measures(args.measure)
    for checkpoint in args.checkpoint:
        if not Path(checkpoint).is_file():
            raise UserError(f"{checkpoint}: no such checkpoint")
    folder = DataFolder(args.data)
    source, targets = choose_languages(folder, args.source, args.targets)
    from fairseq_xling.interop.encoder import Encoder
    from fairseq_xling.text.encoder import TextEncoder

    load_text = functools.cache(lambda lang: TextEncoder.load(folder.path, lang))
    results = []
    for checkpoint in args.checkpoint:
        encoder = Encoder.load(checkpoint, data=args.data, device=args.device)
        check_languages(checkpoint, encoder.languages, [source, *targets])
        subject = Subject(encoder, folder, source, targets, load_text)
        measures: dict[str, Any] = {}
        print(f"{checkpoint}")
        for name in names:
            with about(checkpoint, f"`--measure {name}`"):
                findings = MEASURES[name]().run(subject, args)
            print("\n" + describe(findings), flush=True)
            measures[name] = dataclasses.asdict(findings)
        print()
        results.append({"checkpoint": str(checkpoint), "measures": measures})
    if args.output:
        files = {"data": folder.path / "meta.json"}
        files.update({f"checkpoint {n}": path for n, path in enumerate(args.checkpoint)})
        record = {"format": FORMAT, "provenance": provenance(files), "results": results}
        write_json(args.output, record)
        print(f"written to {args.output}")


def choose_languages(
    folder: DataFolder, source: str | None, targets: str | None
) -> tuple[str, list[str]]:
    """The language to compare with (the folder's first by default) and the others."""
    source = source or folder.languages[0]
    chosen = (
        parse_languages(targets, "--targets")
        if targets
        else [x for x in folder.languages if x != source]
    )
    for option, lang in (("source", source), *(("targets", lang) for lang in chosen)):
        if lang not in folder.languages:
            problem = unknown_name("language", lang, folder.languages)
            raise UserError(f"`--{option}` of {folder.path}: {problem}")
    if source in chosen:
        raise UserError(f"`--targets` must not name the source language {source!r}")
    return source, chosen


def check_languages(checkpoint: str, known: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise a UserError if the model was not trained on a wanted language."""
    for lang in wanted:
        if lang not in known:
            raise UserError(
                f"{checkpoint}: trained on {', '.join(known)}, not on {lang!r} of the data folder"
            )


def describe(findings: Findings) -> str:
    """Title, table and notes as printed."""
    table = text_table(findings.header, findings.rows)
    notes = "\n".join(f"({note})" for note in findings.notes)
    return "\n".join(part for part in (findings.title, table, notes) if part)
