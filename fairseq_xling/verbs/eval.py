"""Measure checkpoints: retrieval by layer, word retrieval, bits per word, language mass.

  fairseq-xling eval checkpoints/checkpoint_best.pt --data data-bin
  fairseq-xling eval model.pt --data data-bin --measure words --dictionary en-de.tsv

Prints one table per measure; `--output` writes the same figures with their provenance as JSON.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.languages import check_languages, parse_languages
from fairseq_xling.core.named_files import CHECKPOINT, OutputFile
from fairseq_xling.core.options import add_fields, argument, option, values_of
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.reports.record import Record, Section, made, write_record
from fairseq_xling.verbs.measures import MEASURES, parse_measures
from fairseq_xling.verbs.parts.output import as_text

if TYPE_CHECKING:
    from fairseq_xling.data.folder import DataFolder

GROUP = "Analyse"


def _options() -> Any:
    """The options of the verb, which name the measures that there are."""

    @dataclasses.dataclass(frozen=True)
    class Options:
        checkpoint: tuple[str, ...] = argument("model file(s)", CHECKPOINT, words="+")
        data: str | None = shared.data_of_model()
        measure: str = option(
            "retrieval,bpw",
            f"what to measure, comma-separated: {', '.join(MEASURES)}",
            metavar="NAMES",
        )
        source: str | None = option(
            None, "language to compare with (default: the folder's first)", metavar="LANG"
        )
        targets: str | None = option(
            None, "languages to compare (default: all others)", metavar="LANGS"
        )
        output: str | None = option(None, "file for the results", metavar=OutputFile("JSON"))
        device: str = shared.device()

    return Options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the verb, and in a group each those of the measures."""
    add_fields(parser, _options())
    for name in MEASURES:
        add_fields(parser.add_argument_group(f"measure {name}"), MEASURES[name].options)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.analysis.subject import Subject
    from fairseq_xling.checkpoints.files import model_and_data
    from fairseq_xling.data.folder import DataFolder
    from fairseq_xling.text.encoder import TextEncoder

    options = values_of(_options(), args)
    measures = {n: values_of(MEASURES[n].options, args) for n in parse_measures(options.measure)}
    checkpoints, data = [], options.data
    for place in options.checkpoint:  # the first one's data folder is that of all
        checkpoint, data = model_and_data(place, data)
        checkpoints.append(checkpoint)
    folder, called = DataFolder(data), short_names(checkpoints)
    source, targets = choose_languages(folder, options.source, options.targets)
    load_text = functools.cache(lambda lang: TextEncoder.load(folder.path, lang))
    rows: list[dict[str, Any]] = []
    sections: dict[str, Section] = {}
    for checkpoint, row in zip(checkpoints, called, strict=True):
        encoder = load_encoder(checkpoint, data, options.device, [source, *targets])
        subject = Subject(encoder, folder, source, targets, load_text)
        print(f"{checkpoint}")
        for name, of_measure in measures.items():
            with about(checkpoint, f"`--measure {name}`"):
                findings = MEASURES[name]().run(subject, of_measure)
            own = [{"study": "eval", "task": name, "row": row, **one} for one in findings.rows]
            section = findings.section(name)
            print("\n" + as_text(Record(findings.title, own, (section,))), flush=True)
            sections.setdefault(name, section)
            rows += own
        print()
    if options.output:
        several = len(checkpoints) > 1
        record = Record(
            f"Measures of {', '.join(called)}",
            rows,
            tuple(_of_checkpoints(section, several) for section in sections.values()),
            lead=[f"Checkpoints: {', '.join(checkpoints)}."],
        )
        files: dict[str, str | Path] = {"data": folder.path / "meta.json"}
        files |= {f"checkpoint {n}": path for n, path in enumerate(checkpoints)}
        write_record(options.output, made(record, files))
        print(f"written to {options.output}")


def _of_checkpoints(section: Section, several: bool) -> Section:
    """The section of a measure with the checkpoints' names, in the figure if there are several."""
    table, chart = section.table, section.chart
    if table is not None:
        table = dataclasses.replace(table, rows={"checkpoint": "row", **table.rows})
    if chart is not None and not several:
        chart = dataclasses.replace(chart, row=chart.row.removeprefix("{row}, "))
    return dataclasses.replace(section, table=table, chart=chart)


def short_names(paths: Sequence[str]) -> list[str]:
    """Names that tell files apart: the last parts of their paths, as many as it takes.

    >>> short_names(["runs/a/best.pt"]), short_names(["runs/a/best.pt", "runs/b/best.pt"])
    (['a/best.pt'], ['a/best.pt', 'b/best.pt'])
    """
    parts = [Path(path).parts for path in paths]
    for keep in range(1 + (len(paths) == 1), max(map(len, parts))):
        names = ["/".join(part[-keep:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return list(paths)


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
    for name, lang in (("source", source), *(("targets", lang) for lang in chosen)):
        if lang not in folder.languages:
            problem = unknown_name("language", lang, folder.languages)
            raise UserError(f"`--{name}` of {folder.path}: {problem}")
    if source in chosen:
        raise UserError(f"`--targets` must not name the source language {source!r}")
    return source, chosen


def load_encoder(checkpoint: str, data: str, device: str, languages: Sequence[str]) -> Any:
    """The encoder of a checkpoint, which must have been trained on ``languages``."""
    from fairseq_xling.interop.encoder import Encoder

    encoder = Encoder.load(checkpoint, data=data, device=device)
    check_languages(checkpoint, encoder.languages, languages)
    return encoder
