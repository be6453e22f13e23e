"""The parts of a study of CLCR, each trained with every seed, and what tests them by a task."""

from dataclasses import dataclass, field
from pathlib import Path

from fairseq_xling.runs.step import Step
from fairseq_xling.studies.clcr.run import Outcome
from fairseq_xling.studies.clcr.task_config import ClcrTaskConfig, texts_of


@dataclass
class Part:
    """What is trained in one way, with every seed.

    Attributes:
        name: what its files are below.
        outcomes: the files of each seed.
    """

    run: Path
    name: str
    config: ClcrTaskConfig
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def classified(self) -> Path | None:
        """The folder of its classifier; None without a task."""
        return self.run / self.name / "classified" if self.config.labelled else None

    @property
    def results(self) -> list[Path]:
        """The files and folders that its figures are read from."""
        found = [log for one in self.outcomes for log in one.logs.values()]
        found += [one.labels for one in self.outcomes if one.labels]
        found += [table for one in self.outcomes for table in one.tables.values()]
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
        inputs += [folder for one in self.outcomes for folder in one.sequences]
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
