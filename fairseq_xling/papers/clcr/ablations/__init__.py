"""A study of CLCR: the settings of `clcr run`, its parts, and a task to test its vectors by.

A part is what is trained in one way, with every seed.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.errors import UserError
from fairseq_xling.options import option, reads
from fairseq_xling.papers.clcr.classify_config import (
    SIDES,
    ClassifyConfig,
    LabelledFile,
    labelled_files,
    places_of,
)
from fairseq_xling.papers.clcr.config import ClcrRunConfig, Text
from fairseq_xling.runs.step import Step

if TYPE_CHECKING:
    from fairseq_xling.papers.clcr.plan import Artifacts

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")


@dataclasses.dataclass(frozen=True)
class ClcrTaskConfig(ClcrRunConfig):
    """One sentence of help per field."""

    train: str = reads(
        "", "LANG=FILE of labelled pairs to train a classifier on (default: no classifier)"
    )
    valid: str = reads("", "LANG=FILE, in the language of --train, for selecting its epoch")
    test: tuple[str, ...] = reads((), "LANG=FILE to test it on; repeatable")
    format: str = option("", "format of the labelled files: tsv or json_lines (default: tsv)")
    columns: str = option("", "which column of them holds what, e.g. text=0,pair=1,label=2")
    classify_args: str = option("", "more options of `fairseq-xling clcr classify`, as one text")

    @property
    def labelled(self) -> list[LabelledFile]:
        """The labelled files; none without a classifier. Errors as `labelled_files`."""
        if not (self.train or self.valid or self.test):
            return []
        return labelled_files(ClassifyConfig(train=self.train, valid=self.valid, test=self.test))


def check_task(config: ClcrTaskConfig, pair: tuple[str, str]) -> None:
    """Reject a task that cannot be trained or tested on the sequences."""
    from fairseq_xling.papers.clcr.sequence_variants import rows

    files = config.labelled
    for file in files:
        if file.lang not in pair:
            raise UserError(f"{file.path}: must be in {' or '.join(pair)}, got {file.lang!r}")
    for name in config.row_list if files else ():
        if rows[name].reads_translation:
            raise UserError(
                f"`--rows` {name} reads translations, which labelled files do not have; leave it "
                "out"
            )
    stems = [_stem(file) for file in files]
    for file, stem in zip(files, stems, strict=True):
        if stems.count(stem) > 1:
            raise UserError(f"{file.path}: another labelled file has the same name and language")
    config.words("classify_args")


def texts_of(run: Path, file: LabelledFile) -> list[Text]:
    """The premises and hypotheses of a labelled file, which a step writes."""
    stem = _stem(file)
    return [
        Text(f"{stem}.{side}", file.lang, str(run / "texts" / f"{stem}.{file.lang}.{side}"))
        for side in SIDES
    ]


def texts_of_all(run: Path, config: ClcrTaskConfig) -> list[Text]:
    """Those of every labelled file."""
    return [text for file in config.labelled for text in texts_of(run, file)]


def _stem(file: LabelledFile) -> str:
    """The name of a labelled file without its ending and language, as in a pattern of folders."""
    return str(places_of(file.path, file.lang, 0)["name"])


@dataclasses.dataclass
class Part:
    """What is trained in one way, with every seed.

    Attributes:
        name: what its files are below.
        artifacts: the files of each seed.
    """

    run: Path
    name: str
    config: ClcrTaskConfig
    artifacts: "list[Artifacts]" = dataclasses.field(default_factory=list)

    @property
    def classified(self) -> Path | None:
        """The folder of its classifier; None without a task."""
        return self.run / self.name / "classified" if self.config.labelled else None

    @property
    def results(self) -> list[Path]:
        """The files and folders that its figures are read from."""
        found = [log for one in self.artifacts for log in one.logs.values()]
        found += [one.labels for one in self.artifacts if one.labels]
        found += [table for one in self.artifacts for table in one.tables.values()]
        return found + ([self.classified] if self.classified else [])

    def classify(self) -> list[Step]:
        """A classifier of every row, trained in one language and tested in both; with a task."""
        config, output = self.config, self.classified
        if output is None:
            return []
        places = self.run / self.name / "sequences" / "{seed}"
        command = [
            *("fairseq-xling", "clcr", "classify"),
            *("--train", config.train, "--valid", config.valid),
            *(word for test in config.test for word in ("--test", test)),
            *(
                word
                for row in config.row_list
                for word in ("--vectors", f"{row}={places / row}/{{name}}.{{side}}.{{lang}}")
            ),
            *_reading(config),
            *("--seeds", config.seeds, "--device", config.device),
            *("--output", str(output), *config.words("classify_args")),
        ]
        inputs = [file.path for file in config.labelled]
        inputs += [folder for one in self.artifacts for folder in one.sequences]
        name = f"{self.name}-classify"
        return [Step(name, commands=[command], inputs=inputs, outputs=[output], resumable=True)]


def texts_steps(run: Path, config: ClcrTaskConfig) -> list[Step]:
    """Steps that write the premises and hypotheses of each labelled file, as text."""
    steps = []
    for file in config.labelled:
        outputs = [Path(text.file) for text in texts_of(run, file)]
        command = [
            *("fairseq-xling", "clcr", "texts", str(file.path)),
            *_reading(config),
            *("--output", str(outputs[0].with_suffix(""))),
        ]
        steps.append(
            Step(f"texts-{file.name}", commands=[command], inputs=[file.path], outputs=outputs)
        )
    return steps


def _reading(config: ClcrTaskConfig) -> list[str]:
    """How labelled files are read."""
    given = {"--format": config.format, "--columns": config.columns}
    return [word for option, value in given.items() if value for word in (option, value)]


def table_step(
    run: Path,
    config: ClcrTaskConfig,
    kind: str,
    parts: Sequence[Part],
    write: Callable[[], None],
) -> Step:
    """The step that makes the table of a study from its parts."""
    return Step(
        "table",
        call=write,
        settings={"config": dataclasses.asdict(config), "kind": kind},
        inputs=[path for part in parts for path in part.results],
        outputs=[run / name for name in FILES],
    )
