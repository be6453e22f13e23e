"""The study of what models share: Conneau et al. 2020, Table 1, a row a setting.

Columns are what `fairseq-xling eval` measures of each model, and the zero-shot tasks of the study.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.analysis.dictionary import dictionary_path
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, read_lines
from fairseq_xling.papers.emerging.config import (
    PRESETS,
    SETTINGS,
    AblationConfig,
    Setting,
    check_config,
)
from fairseq_xling.reports.pivot import Contrast, Table
from fairseq_xling.reports.record import Chart, Section, read_record
from fairseq_xling.reports.rows import GIVEN, Row, arranged, distinct, select
from fairseq_xling.runs.corpus_steps import eval_command, text_file
from fairseq_xling.runs.options import split_words
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_log import parameter_count
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.encoder_training import EncoderPlan, counted, describe_steps
from fairseq_xling.studies.gold_tasks import TASKS, transfer_mean
from fairseq_xling.studies.study import ONE_FIGURE, Cell, Study

_SUBSET_SEED = 1
_EVALUATION, _LOG = "evaluation", "log"  # of a model's files; others are its tasks
_BITS = "bits per word"  # which rows of different vocabularies are not compared by
# Of an evaluation, by measure: its row.
_MEASURES = {
    "sentence P@1": {"task": "retrieval", "measure": "mean", "best": 1},
    "word MRR": {"task": "words", "measure": "MRR", "best": 1},
    _BITS: {"task": "bpw"},
}
PARAMETERS, PAPER = "parameters", "paper: XNLI"


@STUDIES.register("emerging-structure")
class EmergingStructure(Study):
    """Which anchors, domain and sharing a bilingual masked language model needs to align: the
    table, and dots of every seed for each figure that settings can be compared by."""

    name, paper, config, presets = "ablation", "emerging", AblationConfig, PRESETS
    help = "anchors, domain and parameter sharing: Table 1 of Emerging Cross-lingual Structure"
    title = "Emerging cross-lingual structure"
    source = "Emerging Cross-lingual Structure (Conneau et al., 2020), Table 1"
    lead = "What a masked language model of two languages needs in order to align them."
    files = ONE_FIGURE

    def check(self, config: AblationConfig) -> AblationConfig:
        config = counted(config)
        check_config(config)
        return config

    def before(self, config: AblationConfig) -> str:
        codes = {setting.code for setting in choose_settings(config)}
        left_out = [setting.code for setting in SETTINGS if setting.code not in codes]
        if not left_out or config.settings:
            return ""
        return f"left out, for want of a second text or a dictionary: {', '.join(left_out)}"

    def plan(self, run: Path, config: AblationConfig) -> tuple[list[Step], list[Cell]]:
        plan = _Models(run, config)
        for target in config.language_list[1:]:
            for setting in choose_settings(config):
                data = plan.data(setting, target)
                for seed in config.seed_list:
                    plan.model(setting, target, seed, data)
        for setting in choose_settings(config):
            if setting.paper_xnli is not None:
                figure = {"measure": PAPER, "value": setting.paper_xnli, "unit": "%"}
                plan.cells.append(Cell({**plan.about(setting), **figure}, {}))
        return plan.done()

    def steps(self, run: Path, config: AblationConfig) -> list[Step]:
        *steps, table = super().steps(run, config)
        chosen = [repr(setting) for setting in choose_settings(config)]
        return [*steps, dataclasses.replace(table, settings={**table.settings, "settings": chosen})]

    def read(self, cell: Cell) -> Iterator[Row]:
        if not cell.files:  # a figure of the paper
            yield {}
            return
        target = cell.about["target"]
        count = parameter_count(cell.files[_LOG])
        yield {"target": None, "measure": PARAMETERS, "value": count}
        for key, path in cell.files.items():
            what, _, test = key.partition(" ")
            if what != _EVALUATION:
                continue
            found = read_record(path).rows
            for title, where in _MEASURES.items():
                for one in select(found, {**where, "target": target}):
                    own = {"value": one["value"], "chance": one.get("chance")}
                    yield {"measure": f"{title} {test}".rstrip(), **own}
        seen: set[str] = set()
        for key, path in cell.files.items():
            task, _, test = key.partition(" ")
            if task in TASKS:
                title = TASKS[task].title
                own = {"value": transfer_mean(path, target, test), "unit": "%"}
                yield {"measure": f"{title} {test}" if task in seen else title, **own}
                seen.add(task)

    def arrange(self, rows: list[Row]) -> list[Row]:
        """By setting and measure; they come by language."""
        return arranged(arranged(rows, "measure"), "row")

    def sections(self, rows: Sequence[Row], config: AblationConfig) -> Iterator[Section]:
        first = rows[0]["row"]
        measures = [name for name in distinct(rows, "measure") if name not in (PARAMETERS, PAPER)]
        percents = dict.fromkeys(distinct(select(rows, {"unit": "%"}), "measure"), 1)
        table = Table(
            {"setting": "row", "": "name", "BPE": "vocabulary"},
            "{measure}, {target}",
            digits={PARAMETERS: None, _BITS: 2, **percents},
            contrast=Contrast(first, "Δ {measure}", measures),
        )
        compared = [name for name in measures if name != _BITS]
        chart = Chart(
            "dots",
            {"measure": compared},
            row="{row} {name}",
            panel="{target}: {measure}",
            title="{target}: {measure}",
            ylabel="{measure}, {unit}",
            chance="chance",
        )
        yield Section("Table", table, notes=_notes(rows, first, compared, config), name="table")
        steps = describe_steps(dataclasses.asdict(config))
        facts = [f"{config.layers} layers ({config.arch}), {steps}."]
        yield Section("Single seeds", chart=chart, notes=facts, name="plot")


def choose_settings(config: AblationConfig) -> list[Setting]:
    """The requested settings, or all that the inputs allow, at the model's depth.

    Raises:
        UserError: if the input of a requested setting is missing.
    """
    asked = [code.strip() for code in config.settings.split(",") if code.strip()]
    chosen = []
    for setting in SETTINGS:
        missing = None
        if setting.other_text and not config.other_text:
            missing = "`--other-text`"
        elif setting.needs_dictionary and config.dictionary_path is None:
            missing = "`--dictionary`"
        if setting.code in asked and missing:
            raise UserError(f"setting {setting.code} needs {missing}")
        if setting.code in asked or (not asked and not missing):
            if config.separate_start and setting.separate:
                start = ("--separate-start", config.separate_start)
                setting = dataclasses.replace(setting, options=(*setting.options, *start))
            chosen.append(setting.at_depth(config.layers))
    return chosen


class _Models(EncoderPlan):
    """The steps of each model: its text, data folder, training and evaluations."""

    config: AblationConfig

    def about(self, setting: Setting) -> dict[str, str]:
        """What its row of the table says."""
        vocabulary = setting.bpe(self.config.vocab_size)
        return {"row": setting.code, "name": setting.name, "vocabulary": vocabulary}

    def data(self, setting: Setting, target: str) -> Path:
        """The setting's data folder."""
        languages, kind = [self.config.language_list[0], target], setting.vocab
        source: list[str] = []
        inputs: list[Path] = []
        if setting.other_text:
            kind = f"{kind}-other"
            inputs.append(self._subset(target))
            source += ["--mono", f"train.{target}={inputs[-1]}"]
        if setting.needs_dictionary and self.config.dictionary:
            kind = f"{kind}-anchors"
            inputs.append(dictionary_path(self.config.dictionary, *languages))
            source += ["--dictionary", f"{'-'.join(languages)}={inputs[-1]}"]
        data = self.run / "data" / f"{kind}.{'-'.join(languages)}"
        name = f"prepare-{data.name}"
        return self.prepare(name, data, languages, setting.vocab, source, inputs)

    def _subset(self, target: str) -> Path:
        output = self.run / "text" / f"other.train.{target}.txt"
        folders = (self.config.other_text, self.config.data_text)
        given, like = (text_file(folder, f"mono/train.{target}") for folder in folders)
        return self.add(
            Step(
                f"subset-{target}",
                call=functools.partial(write_subset, given, like, output, _SUBSET_SEED),
                settings={"seed": _SUBSET_SEED},
                inputs=[given, like],
                outputs=[output],
            )
        )

    def model(self, setting: Setting, target: str, seed: int, data: Path) -> None:
        """Training, evaluations and zero-shot tasks of one model."""
        config, source = self.config, self.config.language_list[0]
        name = f"{setting.code}-{source}-{target}-{seed}"
        folder = self.train(name, data, seed, source, setting.train_options)
        log = self.run / "logs" / f"train-{name}.log"
        files = {_EVALUATION: self._evaluate(name, data, folder, target), _LOG: log}
        more = {
            f"{_EVALUATION} {test}": self._evaluate(name, data, folder, target, test)
            for test in config.test_list[1:]
        }
        for task, gold in config.task_table.items():
            output = self.transfer(
                f"{task}-{name}",
                gold,
                [source, target],
                {"model": (folder / "checkpoint_best.pt", data)},
                split_words("--task-args", config.task_args),
                settings=config.task_settings,
                tests=config.test_list,
            )
            files |= {f"{task} {test}": output for test in config.test_list}
        about = {**self.about(setting), "target": target, "seed": seed}
        self.cells.append(Cell(about, {**files, **more}))

    def _evaluate(self, name: str, data: Path, folder: Path, target: str, test: str = "") -> Path:
        """All measures on the first test set, or retrieval on the further one ``test``."""
        config, source = self.config, self.config.language_list[0]
        measures: list[str] = ["retrieval"]
        options: list[str | Path] = []
        if not test and config.dictionary_path is not None:
            measures.append("words")
            options += ["--dictionary", dictionary_path(config.dictionary_path, source, target)]
            options += ["--words-limit", str(config.words_limit)]
        if not test:
            measures.append("bpw")
        if test or config.test_list[0] != "test":
            options += ["--retrieval-split", test or config.test_list[0]]
        result = self.run / "results" / f"{f'{name}.{test}' if test else name}.json"
        command = eval_command(
            [folder / "checkpoint_best.pt"],
            data,
            source,
            [target],
            *("--measure", ",".join(measures), *options),
            *("--device", config.device, "--output", result),
        )
        step = f"eval-{name}-{test}" if test else f"eval-{name}"
        return self.add(Step(step, [command], inputs=[data, folder], outputs=[result]))


def write_subset(source: Path, like: Path, output: Path, seed: int) -> None:
    """Random lines of ``source``, in their order, with as many characters as ``like`` has
    (setting A2: domain, not size, differs).

    The last line drawn is kept if that brings the size closer. Characters are counted because
    words are not marked in every language.

    Raises:
        UserError: if ``source`` is smaller than ``like``.
    """
    wanted = sum(len(line) for line in read_lines(like))
    lengths = np.array([len(line) for line in read_lines(source)], dtype=np.int64)
    if lengths.sum() < wanted:
        raise UserError(
            f"{source}: must be at least as large as {like}, "
            f"got {lengths.sum():,} and {wanted:,} characters"
        )
    order = np.random.default_rng(seed).permutation(len(lengths))
    totals = np.cumsum(lengths[order])
    count = int(np.searchsorted(totals, wanted))
    before = totals[count - 1] if count else 0
    count += bool(totals[count] - wanted <= wanted - before) if count < len(totals) else 0
    chosen = np.zeros(len(lengths), dtype=bool)
    chosen[order[:count]] = True
    with atomic_write(output, "w") as file:
        for keep, line in zip(chosen, read_lines(source), strict=True):
            if keep:
                file.write(line + "\n")


def _notes(
    rows: Sequence[Row], first: str, compared: Sequence[str], config: AblationConfig
) -> list[str]:
    own = select(rows, {"row": first, "measure": compared, "chance": GIVEN})
    chances = dict.fromkeys((row["measure"], row["chance"], row["target"]) for row in own)
    said = ", ".join(f"{measure} {chance:.4f} ({target})" for measure, chance, target in chances)
    source = config.language_list[0]
    titles = ", ".join(task.title for task in config.task_table.values())
    zero_shot = (
        f"{titles}: fine-tuned and selected on {source} alone, with private parts frozen; tested "
        "on the target language (%)."
    )
    alike = "Private parts other than the embeddings of words begin with equal weights."
    return [
        f"Mean ± standard deviation over seeds {config.seeds}; Δ is the mean difference "
        f"to {first} over the target languages; parameters are also means.",
        "Sentence P@1 and word MRR are those of the best layer, without a map, at the "
        f"checkpoint with the lowest {source} validation perplexity. Chance: {said}.",
        f"The paper's layers 1-3 and 1-6 of 8 are the same shares of {config.layers} layers.",
        "Bits per word are comparable only between rows with the same vocabulary (A1, A5; A3, A9, "
        "A10, A5-union, T; A4; A6 to A8 and C).",
        "The paper's figures (mean XNLI accuracy over fr, ru and zh, %) are another measure, of "
        "models a thousand times larger; they are shown only for orientation.",
        *([zero_shot] if titles else []),
        *([alike] if config.separate_start else []),
    ]
