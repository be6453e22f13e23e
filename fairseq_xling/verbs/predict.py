"""Predict with a fine-tuned model, in any language of its encoder.

  fairseq-xling predict finetuned/checkpoint_best.pt de=test.de.tsv zh=test.zh.tsv --output found

Writes a file of predictions for each input, in the input's own format, and scores.json; prints the
scores of the annotated ones. A file of predictions is named after its input, with the language in
front if the name does not contain it: found/test.de.tsv, and found/de.test.tsv for de=test.tsv.
Each language uses its own private parts of the encoder.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import CHECKPOINT, LANG_FILE, NEW_FOLDER
from fairseq_xling.core.options import argument, option
from fairseq_xling.core.ranges import NOT_NEGATIVE
from fairseq_xling.tasks.items import SKIP_BAD_HELP

if TYPE_CHECKING:
    from fairseq_xling.tasks.predict import Predictor

GROUP = "Transfer"
_SETTINGS = ("head_options", "format", "columns", "skip_bad", "unknown_labels", "too_long")


@dataclasses.dataclass(frozen=True)
class Options:
    checkpoint: str = argument(
        "of fairseq-train --task cross_lingual_transfer, adversarial_tagging or bilstm_baseline",
        CHECKPOINT,
    )
    files: tuple[str, ...] = argument("what to predict, e.g. de=test.de.tsv", LANG_FILE, words="+")
    output: str = shared.output("folder for the predictions", NEW_FOLDER)
    data: str | None = shared.moved_data("encoder")
    format: str | None = option(
        None, "format of the files (default: as in training)", metavar="NAME"
    )
    columns: str | None = option(
        None,
        "which column holds what (default: as in training; with --format, that format's own)",
        metavar="SPEC",
    )
    head_options: str | None = option(
        None,
        "settings for reading and counting, e.g. punctuation=drop for parsing, "
        "null_threshold=2 for unanswerable questions (default: as in training)",
        metavar="SPEC",
    )
    skip_bad: int = option(0, SKIP_BAD_HELP, range=NOT_NEGATIVE)
    unknown_labels: str | None = option(
        None,
        "labels not seen in training: refuse, or wrong, i.e. count as mistakes (default: as in "
        "training)",
        metavar="HOW",
    )
    too_long: str | None = option(
        None,
        "items too long for the encoder: truncate, i.e. cut or read in pieces, or refuse (default: "
        "as in training)",
        metavar="HOW",
    )
    max_tokens: int = shared.max_tokens("N")
    device: str = shared.device()


def run(options: Options) -> None:
    print(predict_files(options))


def predict_files(
    options: Options,
    adapt: "Callable[[Predictor], Predictor]" = lambda predictor: predictor,
    inputs: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Predict ``options.files``, write all into ``options.output``; returns a table of the scores.

    Args:
        adapt: a change of the checkpoint's predictor before anything is read.
        inputs: further input files by role, besides the checkpoint and those to predict.
    """
    from fairseq_xling.core.files import same_place
    from fairseq_xling.reports.pivot import Table
    from fairseq_xling.reports.record import Record, Section, made, write_record
    from fairseq_xling.tasks.items import parse_files
    from fairseq_xling.tasks.predict import Predictor
    from fairseq_xling.verbs.parts.output import as_text

    files = parse_files("FILE", ",".join(options.files))
    settings = {name: getattr(options, name) for name in _SETTINGS}
    given = {name: value for name, value in settings.items() if value is not None}
    if options.format is not None:  # another one has its own columns
        given.setdefault("columns", "")
    predictor = adapt(Predictor.load(options.checkpoint, options.data, options.device, **given))
    output, names = Path(options.output), output_names(files, predictor.task.format.suffix)
    for name in names:
        if any(same_place(output / name, path) for _, path in files):
            raise UserError(f"`--output` must be another folder, got that of {output / name}")
    found = [predictor.predict(lang, path, options.max_tokens) for lang, path in files]
    output.mkdir(parents=True, exist_ok=True)
    for name, one in zip(names, found, strict=True):
        predictor.write(one, output / name)
    rows = [
        {"study": "predict", "row": name, "target": one.lang, "measure": measure, "value": value}
        for name, one in zip(names, found, strict=True)
        for measure, value in (
            *(("items", len(one.items)), ("annotated", one.annotated)),
            *((figure, score) for figure, score in one.scores.items() if score is not None),
        )
    ]
    head = predictor.task.cfg.head
    table = Table({"file": "row", "language": "target"}, digits=2)
    record = Record(
        f"Predictions, {head}",
        rows,
        (Section("Scores", table),),
        facts={"head": head, "head options": dataclasses.asdict(predictor.head.options)},
    )
    used = {"checkpoint": options.checkpoint, **inputs}
    used |= dict(zip(names, (str(path) for _, path in files), strict=True))
    write_record(output / "scores.json", made(record, used))
    return f"{as_text(record)}\npredictions: {output}"


def output_names(files: Sequence[tuple[str, Path]], suffix: str) -> list[str]:
    """A name for the predictions of each file: its own, without endings, and ``suffix``.

    The language is put in front unless it is a part of the name between dots, ``-`` and ``_``, and
    a number in front of that if two would have the same name.

    >>> files = [("de", Path("gold/test.de.conllu.gz")), ("de", Path("de/test.conll"))]
    >>> output_names(files, ".conllu")
    ['test.de.conllu', 'de.test.conllu']
    >>> output_names([("de", Path("a/x.txt")), ("de", Path("b/x.txt"))], ".tsv")
    ['1.de.x.tsv', '2.de.x.tsv']
    """
    names = []
    for lang, path in files:
        stem = Path(path.name.removesuffix(".gz")).stem
        said = lang in re.split(r"[._-]", stem)
        names.append(f"{stem if said else f'{lang}.{stem}'}{suffix}")
    if len(set(names)) == len(names):
        return names
    return [f"{number}.{name}" for number, name in enumerate(names, start=1)]
