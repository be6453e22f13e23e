"""The study of what models share: Conneau et al. 2020, Table 1, a row a setting.

Columns are what `fairseq-xling eval` measures of each model, and the zero-shot tasks of the study.
"""

import dataclasses
import functools
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairseq_xling.analysis.dictionary import dictionary_path
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, read_json, read_lines
from fairseq_xling.papers.emerging.config import (
    CLAIMS,
    PRESETS,
    SETTINGS,
    AblationConfig,
    Setting,
    check_config,
)
from fairseq_xling.results.page import Measured, seeds_in_words
from fairseq_xling.results.report import Section, claims_section
from fairseq_xling.results.result import KINDS
from fairseq_xling.runs.corpus_steps import eval_command, text_file
from fairseq_xling.runs.options import split_words
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_log import parameter_count
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.encoder_training import EncoderPlan, counted, describe_steps
from fairseq_xling.studies.gold_tasks import TASKS, transfer_mean
from fairseq_xling.studies.study import ONE_FIGURE, Cell, Study, Table, tabled

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_SUBSET_SEED = 1
_EVALUATION, _LOG = "evaluation", "log"  # of a model's files; others are its tasks
# Of an evaluation, by title: the measure and its score.
_MEASURES = {
    "sentence P@1": ("retrieval", "retrieval"),
    "word MRR": ("words", "word_mrr"),
    "bits per word": ("bpw", "bpw"),
}
_BITS = "bits per word"  # which rows of different vocabularies are not compared by
_PERCENT = " (%)"


@KINDS.register("ablation")
@STUDIES.register("emerging-structure")
class EmergingStructure(Study):
    """Which anchors, domain and sharing a bilingual masked language model needs to align: the
    table, and dots of every seed for each figure that settings can be compared by."""

    name, paper, config, presets = "ablation", "emerging", AblationConfig, PRESETS
    help = "anchors, domain and parameter sharing: Table 1 of Emerging Cross-lingual Structure"
    title = "Emerging cross-lingual structure"
    source = "Emerging Cross-lingual Structure (Conneau et al., 2020), Table 1"
    lead = "What a masked language model of two languages needs in order to align them."
    spec_rows = (*(f"A{number}" for number in range(1, 11)), "A12")
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
        return plan.done()

    def steps(self, run: Path, config: AblationConfig) -> list[Step]:
        *steps, table = super().steps(run, config)
        chosen = [repr(setting) for setting in choose_settings(config)]
        return [*steps, dataclasses.replace(table, settings={**table.settings, "settings": chosen})]

    def read(self, cell: Cell) -> Iterator[Mapping[str, Any]]:
        target = cell.about["target"]
        about = {"study": "sharing", "parameters": parameter_count(cell.files[_LOG])}
        for key, path in cell.files.items():
            what, _, test = key.partition(" ")
            if what != _EVALUATION:
                continue
            measures = read_json(path)["results"][0]["measures"]
            for title, (measure, score) in _MEASURES.items():
                if found := measures.get(measure):
                    own = {"measure": f"{title} {test}".rstrip(), "unit": ", best layer"}
                    own["chance"] = found["chance"].get(target, {}).get(score)
                    yield {**about, **own, "value": found["scores"][target][score]}
        seen: set[str] = set()
        for key, path in cell.files.items():
            task, _, test = key.partition(" ")
            if task in TASKS:
                title = TASKS[task].title
                own = {"measure": f"{title} {test}" if task in seen else title, "unit": _PERCENT}
                seen.add(task)
                yield {**about, **own, "value": transfer_mean(path, target, test)}

    def arrange(self, frame: "pandas.DataFrame") -> "pandas.DataFrame":
        from fairseq_xling.results.frame import arranged

        return arranged(frame, "row", "target", "measure")

    def recorded(
        self, config: AblationConfig, cells: Sequence[Cell], frame: "pandas.DataFrame"
    ) -> Mapping[str, Any]:
        columns = [
            {
                "title": title,
                "unit": unit,
                "compares": title != _BITS,
                "digits": 1 if unit == _PERCENT else 2 if title == _BITS else 3,
            }
            for title, unit in dict.fromkeys(zip(frame["measure"], frame["unit"], strict=True))
        ]
        return {"columns": columns, "tasks": [one.title for one in config.task_table.values()]}

    def sections(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Iterator[Section]:
        config = record["config"]
        digits = {one["title"]: one["digits"] for one in record["columns"]}
        yield tabled("Table", table(frame, digits), *_notes(record, frame))
        yield from filter(None, [sharing_claims(record)])
        facts = [f"{config['arch']}, {config['layers']} layers, {describe_steps(config)}."]
        facts.append(seeds_in_words(config["seeds"], "dots"))
        figure = partial(draw, record, frame)
        yield Section("Single seeds", figure=figure, notes=facts, name="plot")

    def csv(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Mapping[str, Table]:
        from fairseq_xling.results.frame import listed

        columns = ("target", "measure", "seed", "value", "chance", "parameters")
        return {"table": listed(frame, {"setting": "row", **{one: one for one in columns}})}

    def measured(self, frame: "pandas.DataFrame", table: Section) -> Iterator[Measured]:
        first = list(table.header).index("parameters") + 1
        for row in table.rows:
            if row[0][1:].isdigit() and row[first]:  # A1 to A10 are rows; C and others of ours
                yield Measured(row[0], table.header[first], row[first].mean)


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
        about = {"row": setting.code, "name": setting.name, "target": target, "seed": seed}
        about |= {"vocabulary": setting.bpe(config.vocab_size), "reported": setting.paper_xnli}
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


def table(frame: "pandas.DataFrame", digits: Mapping[str, int]) -> Table:
    """Header and rows; the delta columns are means over the target languages, against the first
    row.

    Args:
        digits: of the columns, by title, in their order.
    """
    from fairseq_xling.results.frame import figures, make_frame, pivot

    found = figures(frame, "row", "measure", "target")
    targets, codes = (list(dict.fromkeys(frame[name])) for name in ("target", "row"))
    about = {
        code: {"row": code, "name": name, "vocabulary": vocabulary}
        for code, name, vocabulary in frame[["row", "name", "vocabulary"]].itertuples(index=False)
    }
    paper = "paper: XNLI"
    further = [
        {**about[code], "column": paper, "value": value}
        for code, value in dict.fromkeys(zip(frame["row"], frame["reported"], strict=True))
    ]
    for title, code in itertools.product(digits, codes):
        value = statistics.fmean(
            statistics.fmean(found[code, title, target])
            - statistics.fmean(found[codes[0], title, target])
            for target in targets
        )
        further.append({**about[code], "column": f"Δ {title}", "value": value})
    own = zip(frame["measure"], frame["target"], strict=True)
    shown = frame.assign(column=[f"{title}, {target}" for title, target in own])
    order = {
        name: number
        for title, number in digits.items()
        for name in (*(f"{title}, {target}" for target in targets), f"Δ {title}")
    }
    header, rows = pivot(
        make_frame([*shown.to_dict("records"), *further]),
        {"setting": "row", "": "name", "BPE": "vocabulary"},
        "column",
        order=[*order, paper],
        digits={**order, paper: 1},
        signed=[f"Δ {title}" for title in digits],
    )
    sizes = figures(frame.assign(seed=frame["target"], value=frame["parameters"]), "row")
    counts = [round(statistics.fmean(sizes[row[0],])) for row in rows]
    return (
        [*header[:3], "parameters", *header[3:]],
        [[*row[:3], count, *row[3:]] for row, count in zip(rows, counts, strict=True)],
    )


def compared(record: Mapping[str, Any], frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """What settings can be compared by, in the order of the columns."""
    titles = [one["title"] for one in record["columns"] if one["compares"]]
    own = frame[frame["measure"].isin(titles)]
    return own.iloc[sorted(range(len(own)), key=lambda n: titles.index(own["measure"].iat[n]))]


def draw(record: Mapping[str, Any], frame: "pandas.DataFrame") -> "Figure":
    """Dots of every seed, a panel for each measure and target language."""
    from fairseq_xling.results.charts import dots

    own = compared(record, frame)
    panels = own["target"] + ": " + own["measure"]
    named = own["row"] + " " + own["name"]
    return dots(
        own.assign(panel=panels, row=named),
        lambda rows: rows["measure"].iat[0] + rows["unit"].iat[0],
        panel="panel",
        title=lambda rows: rows["panel"].iat[0],
        chance="chance ({:.4f})",
    )


def _notes(record: Mapping[str, Any], frame: "pandas.DataFrame") -> list[str]:
    config, first = record["config"], frame["row"].iat[0]
    own = compared(record, frame)
    own = own[(own["row"] == first) & own["chance"].notna()]
    chances = ", ".join(
        f"{measure} {chance:.4f} ({target})"
        for measure, chance, target in dict.fromkeys(
            own[["measure", "chance", "target"]].itertuples(index=False, name=None)
        )
    )
    source = config["languages"].partition(",")[0]
    zero_shot = [
        f"{', '.join(record['tasks'])}: fine-tuned and selected on {source} alone, with private "
        "parts frozen; tested on the target language (%)."
    ]
    alike = "Private parts other than the embeddings of words begin with equal weights."
    return [
        f"Mean ± standard deviation over seeds {config['seeds']}; Δ is the mean difference "
        f"to {first} over the target languages; parameters are also means.",
        "Sentence P@1 and word MRR are those of the best layer, without a map, at the "
        f"checkpoint with the lowest {source} validation perplexity. Chance: {chances}.",
        f"The paper's layers 1-3 and 1-6 of 8 are the same shares of {config['layers']} layers.",
        "Bits per word are comparable only between rows with the same vocabulary (A1, A5; A3, A9, "
        "A10, A5-union, T; A4; A6 to A8 and C).",
        "The paper's figures (mean XNLI accuracy over fr, ru and zh, %) are another measure, of "
        "models a thousand times larger; they are shown only for orientation.",
        *(zero_shot if record["tasks"] else ()),
        *([alike] if config.get("separate_start") else ()),
    ]


def sharing_claims(record: Mapping[str, Any]) -> Section | None:
    """What the paper says of transfer, by every figure that settings can be compared by, the mean
    over target languages."""
    from fairseq_xling.results.frame import figures, frame_from_json, split

    own = compared(record, frame_from_json(record["frame"]))
    measures = {
        title: {code: values for (code,), values in figures(rows, "row").items()}
        for title, rows in split(own, "measure")
    }
    digits = {one["title"]: one["digits"] for one in record["columns"]}
    return claims_section(CLAIMS, measures, digits, record["config"]["seeds"])
