"""What models share: Conneau et al. 2020, "Emerging Cross-lingual Structure", Table 1, a row a
setting.

Columns are what `fairseq-xling eval` measures of each model, and the zero-shot tasks of the study.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.analysis.dictionary import dictionary_path
from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.core.texts import read_lines
from fairseq_xling.data.meta import check_test_set
from fairseq_xling.engine.training_log import parameter_count
from fairseq_xling.reports.pivot import Contrast, Table
from fairseq_xling.reports.record import Chart, Section, read_record
from fairseq_xling.reports.rows import GIVEN, Row, arranged, distinct, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.corpus_steps import check_vocabulary, text_file
from fairseq_xling.studies.encoder_training import (
    PAPER,
    EncoderRun,
    EncoderTraining,
    PreparedText,
    StudyText,
    check_text,
    counted,
    describe_steps,
)
from fairseq_xling.studies.gold_tasks import TASK_SETTINGS, TASKS, parse_tasks, transfer_mean
from fairseq_xling.studies.task_options import TaskOptions
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.workflow.options import jobs_option, seeds_option, split_words
from fairseq_xling.workflow.recipe import ONE_FIGURE, Cell, Study, words
from fairseq_xling.workflow.settled import device_option, precision_option


@dataclasses.dataclass(frozen=True)
class Setting:
    """One row of the table.

    In texts ``{third}`` and ``{sixth}`` stand for the last layer of the paper's L1-3 and L1-6 at
    the given depth, ``{fourth}`` for the one after ``{third}``, ``{depth}`` for the depth. ``C``
    and ``T`` are our controls, ``A5-union`` is A5 with the vocabulary of A3: only anchors differ.
    """

    code: str
    name: str  # in the paper
    vocab: str  # mode of `fairseq-xling prepare`
    separate: str = ""  # the sharing plan
    needs: str = ""  # `--other-text` or `--dictionary`
    paper_xnli: float | None = None  # mean accuracy (%) over fr, ru and zh, if reported

    def at_depth(self, layers: int) -> "Setting":
        """The setting with its fields filled in for a model of ``layers`` layers.

        >>> Setting("A7", "L1-{third}", "separate", "emb,1-{third}").at_depth(8).separate
        'emb,1-3'
        """
        third, sixth = (max(1, math.floor(n * layers / 8 + 0.5)) for n in (3, 6))  # halves up
        fields = {"third": third, "sixth": sixth, "fourth": min(third + 1, layers)}
        name, separate = (x.format(**fields, depth=layers) for x in (self.name, self.separate))
        return dataclasses.replace(self, name=name, separate=separate)

    def bpe(self, size: int) -> str:
        """Table 1's column "BPE merges" with a joint vocabulary of ``size`` pieces.

        >>> Setting("A1", "", "joint").bpe(80_000), Setting("A3", "", "union").bpe(80_000)
        ('80,000', '40,000/40,000')
        """
        share = len(modes[self.vocab]().groups(["a", "b"]))
        return "/".join([f"{size // share:,}"] * share)

    def train_options(self, start: str = "") -> list[str]:
        """What it adds to `fairseq-train`, with `--separate-start` where that is not empty. Random
        tokens come from the same language in every run with a private part."""
        private = {"--separate": self.separate, "--random-within-language": bool(self.separate)}
        how = {"--extra-anchors": self.needs == WORDS, "--separate-start": self.separate and start}
        return words(private, how)


TEXT, WORDS = "--other-text", "--dictionary"
SETTINGS = (
    Setting("A1", "Default", "joint", paper_xnli=70.2),
    Setting("A2", "Other domain", "joint", needs=TEXT),
    Setting("A3", "Default anchors", "union"),
    Setting("A4", "No anchors", "prefixed", paper_xnli=69.1),
    Setting("A5", "Extra anchors", "joint", needs=WORDS),
    Setting("A6", "Sep Emb", "separate", "emb"),
    Setting("A7", "Sep Emb + L1-{third}", "separate", "emb,1-{third}"),
    Setting("A8", "Sep Emb + L1-{sixth}", "separate", "emb,1-{sixth}", paper_xnli=40.6),
    Setting("A9", "Sep L1-{third}", "union", "1-{third}"),
    Setting("A10", "Sep L1-{sixth}", "union", "1-{sixth}"),
    Setting("A5-union", "Extra anchors, union", "union", needs=WORDS),
    Setting("C", "Control: nothing shared", "separate", "emb,1-{depth}"),
    Setting("T", "Control: Sep L{fourth}-{depth}", "union", "{fourth}-{depth}"),
)


@dataclasses.dataclass(frozen=True)
class _Compared(StudyText):
    """What is compared, on which text."""

    other_text: str = reads("", "second text in that layout, of another domain (setting A2)")
    languages: str = option(
        "en,de", "a bilingual model is trained on the first with each other one"
    )
    dictionary: str = reads("", "TSV or folder of them (default: that of data-text)")
    settings: str = option("", "codes of the settings to run (default: all that the text allows)")
    separate_start: str = option(
        "",
        "alike: private parts other than the embeddings of words begin with equal weights "
        "(default: each language's own)",
        choices=("", "alike"),
    )
    seeds: str = seeds_option("1,2,3")


@dataclasses.dataclass(frozen=True)
class Options(EncoderTraining, PreparedText, _Compared):
    """One sentence of help per field; lists are comma-separated text."""

    layers: int = option(4, "depth; the paper's L1-3 and L1-6 are 3/8 and 6/8 of it", least=1)
    words_limit: int = option(5000, "sentences used as contexts of the dictionary's words")
    test_splits: str = option("test", "sets to test on, comma-separated, e.g. test,test1")
    tasks: str = like(
        *(TaskOptions, "tasks"),
        help="zero-shot tasks with a column each, from data-text/gold: nli, ner, pos, parsing",
    )
    task_settings: str = option(
        "small",
        "how they are fine-tuned: small (one setting, for small encoders), or paper (the grid of "
        "`fairseq-xling eval transfer --preset xnli`, ner or parsing)",
        choices=tuple(TASK_SETTINGS),
    )
    task_args: str = like(TaskOptions, "task_args")
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()

    @property
    def dictionary_path(self) -> Path | None:
        """The given dictionary, or the folder of the text if there is one."""
        beside = Path(self.data_text) / "dictionary"
        return Path(self.dictionary) if self.dictionary else beside if beside.is_dir() else None

    @property
    def test_list(self) -> list[str]:
        """The sets to test on."""
        names = names_in(self.test_splits)
        if not names or len(set(names)) < len(names):
            raise UserError(
                f"`--test-splits` must name one or several different sets, got {self.test_splits!r}"
            )
        return [check_test_set("`--test-splits`", name) for name in names]

    @property
    def rows(self) -> list[Setting]:
        """The requested settings, or all that the inputs allow, at the model's depth."""
        asked = names_in(self.settings)
        codes = [row.code for row in SETTINGS]
        for code in set(asked).difference(codes):
            raise unknown_name("`--settings`", code, codes)
        there = {"": True, TEXT: self.other_text, WORDS: self.dictionary_path}
        for row in SETTINGS:
            if row.code in asked and not there[row.needs]:
                raise UserError(f"setting {row.code} needs `{row.needs}`")
        rows = [row for row in SETTINGS if (row.code in asked if asked else there[row.needs])]
        return [row.at_depth(self.layers) for row in rows]


# Table 1: its languages, tasks and settings (Sections 3.1 and 3.2).
PRESETS = {
    "paper": {
        **PAPER,
        "languages": "en,fr,ru,zh",
        "tasks": "nli,ner,parsing",
        "task_settings": "paper",
    }
}
_BITS = "bits per word"  # which rows of different vocabularies are not compared by
# Of an evaluation, by measure: its row.
_MEASURES = {
    "sentence P@1": {"task": "retrieval", "measure": "mean", "best": 1},
    "word MRR": {"task": "words", "measure": "MRR", "best": 1},
    _BITS: {"task": "bpw"},
}
PARAMETERS, PAPER_XNLI = "parameters", "paper: XNLI"


@STUDIES.register("emerging-structure")
class EmergingStructure(Study):
    """Which anchors, domain and sharing a bilingual masked language model needs to align: the
    table, and dots of every seed for each figure that settings can be compared by."""

    name, paper, options, presets = "ablation", "emerging", Options, PRESETS
    help = "anchors, domain and parameter sharing: Table 1 of Emerging Cross-lingual Structure"
    title = "Emerging cross-lingual structure"
    source = "Emerging Cross-lingual Structure (Conneau et al., 2020), Table 1"
    lead = "What a masked language model of two languages needs in order to align them."
    files, run_type = ONE_FIGURE, EncoderRun

    def check(self, o: Options) -> Options:
        o = counted(o)
        check_text(o, "mono")
        check_vocabulary(o.vocab_type, o.segment, o.language_list)
        for task in parse_tasks("--tasks", o.tasks).values():
            task.check(Path(o.data_text), o.language_list, o.test_list)
        (source, *targets), place = o.language_list, Path(o.data_text) / "parallel"
        for test, target in itertools.product(o.test_list, targets):
            pairs = (f"{source}-{target}", f"{target}-{source}")
            for lang in (source, target) if test != "test" else ():
                if not any([*place.glob(f"{test}.{pair}.{lang}.*")] for pair in pairs):
                    raise UserError(
                        f"`--test-splits` {test}: {o.data_text} has no parallel/{test}.{pairs[0]}."
                        f"{source}.txt and .{target}.txt"
                    )
        return o

    def before(self, o: Options) -> str:
        left = [row.code for row in SETTINGS if row.code not in {one.code for one in o.rows}]
        if not left or o.settings:
            return ""
        return f"left out, for want of a second text or a dictionary: {', '.join(left)}"

    def plan(self, run: EncoderRun, o: Options) -> None:
        (source, *targets), tasks = o.language_list, parse_tasks("--tasks", o.tasks)
        abouts = {
            row: {"row": row.code, "name": row.name, "vocabulary": row.bpe(o.vocab_size)}
            for row in o.rows
        }
        for target, row, seed in itertools.product(targets, o.rows, o.seed_list):
            data, name = _data(run, o, row, target), f"{row.code}-{source}-{target}-{seed}"
            own = row.train_options(o.separate_start)
            folder = run.train(name, data, seed, source, own)
            best, files = folder / "checkpoint_best.pt", {"log": run.log(folder)}
            for n, test in enumerate(o.test_list):  # all measures on the first, then retrieval
                measures, more = ["retrieval"], {}
                if n == 0:
                    if o.dictionary_path:
                        measures.append("words")
                        found = dictionary_path(o.dictionary_path, source, target)
                        more = {"--dictionary": found, "--words-limit": [o.words_limit]}
                    measures.append("bpw")
                if n or test != "test":
                    more["--retrieval-split"] = test
                on = f"{name}.{test}" if n else name
                files[f"evaluation {test}" if n else "evaluation"] = run(
                    f"eval-{on.replace('.', '-')}",
                    *("fairseq-xling eval", best, "--data", data, "--source", [source]),
                    *("--targets", [target], "--measure", [",".join(measures)], more),
                    *("--device", [o.device], "--output {out}"),
                    to=f"results/{on}.json",
                )
            for what, task in tasks.items():
                tuned = run.transfer(
                    *(f"{what}-{name}", task, [source, target], {"model": (best, data)}),
                    split_words("--task-args", o.task_args),
                    settings=o.task_settings,
                    tests=o.test_list,
                )
                files |= {f"{what} {test}": tuned for test in o.test_list}
            run.measured(files, **abouts[row], target=target, seed=seed)
        for row, about in abouts.items():
            if row.paper_xnli is not None:
                figure = {"measure": PAPER_XNLI, "value": row.paper_xnli, "unit": "%"}
                run.measured({}, **about, **figure)

    def read(self, cell: Cell) -> Iterator[Row]:
        if not cell.files:  # a figure of the paper
            yield {}
            return
        target, seen = cell.about["target"], set()
        count = parameter_count(cell.files["log"])
        yield {"target": None, "measure": PARAMETERS, "value": count}
        for key, path in cell.files.items():
            what, _, test = key.partition(" ")
            for title, where in _MEASURES.items() if what == "evaluation" else ():
                for one in select(read_record(path).rows, {**where, "target": target}):
                    own = {"value": one["value"], "chance": one.get("chance")}
                    yield {"measure": f"{title} {test}".rstrip(), **own}
            if what in TASKS:
                title = f"{TASKS[what].title} {test}" if what in seen else TASKS[what].title
                seen.add(what)
                value = transfer_mean(path, target, test)
                yield {"measure": title, "value": value, "unit": "%"}

    def arrange(self, rows: list[Row]) -> list[Row]:
        """By setting and measure; they come by language."""
        return arranged(arranged(rows, "measure"), "row")

    def sections(self, rows: Sequence[Row], o: Options) -> Iterator[Section]:
        first, apart = rows[0]["row"], (PARAMETERS, PAPER_XNLI)
        measures = [name for name in distinct(rows, "measure") if name not in apart]
        compared = [name for name in measures if name != _BITS]
        percents = dict.fromkeys(distinct(select(rows, {"unit": "%"}), "measure"), 1)
        table = Table(
            {"setting": "row", "": "name", "BPE": "vocabulary"},
            "{measure}, {target}",
            digits={PARAMETERS: None, _BITS: 2, **percents},
            contrast=Contrast(first, "Δ {measure}", measures),
        )
        own = select(rows, {"row": first, "measure": compared, "chance": GIVEN})
        chances = {(one["measure"], one["chance"], one["target"]): None for one in own}
        said = ", ".join(f"{name} {chance:.4f} ({target})" for name, chance, target in chances)
        source = o.language_list[0]
        notes = [
            f"Mean ± standard deviation over seeds {o.seeds}; Δ is the mean difference "
            f"to {first} over the target languages; parameters are also means.",
            "Sentence P@1 and word MRR are those of the best layer, without a map, at the "
            f"checkpoint with the lowest {source} validation perplexity. Chance: {said}.",
            f"The paper's layers 1-3 and 1-6 of 8 are the same shares of {o.layers} layers.",
            "Bits per word are comparable only between rows with the same vocabulary (A1, A5; A3, "
            "A9, A10, A5-union, T; A4; A6 to A8 and C).",
            "The paper's figures (mean XNLI accuracy over fr, ru and zh, %) are another measure, "
            "of models a thousand times larger; they are shown only for orientation.",
        ]
        if titles := [task.title for task in parse_tasks("--tasks", o.tasks).values()]:
            notes.append(
                f"{', '.join(titles)}: fine-tuned and selected on {source} alone, with private "
                "parts frozen; tested on the target language (%)."
            )
        if o.separate_start:
            notes.append(
                "Private parts other than the embeddings of words begin with equal weights."
            )
        yield Section("Table", table, notes=notes, name="table")
        chart = Chart(
            "dots",
            {"measure": compared},
            row="{row} {name}",
            panel="{target}: {measure}",
            title="{target}: {measure}",
            ylabel="{measure}, {unit}",
            chance="chance",
        )
        facts = [f"{o.layers} layers ({o.arch}), {describe_steps(dataclasses.asdict(o))}."]
        yield Section("Single seeds", chart=chart, notes=facts, name="plot")


def _data(run: EncoderRun, o: Options, row: Setting, target: str) -> Path:
    """The setting's data folder."""
    languages = [o.language_list[0], target]
    kind, pair, more = row.vocab, "-".join(languages), {}
    if row.needs == TEXT:
        kind += "-other"
        given, like = (text_file(f, f"mono/train.{target}") for f in (o.other_text, o.data_text))
        values = {"source": given, "like": like, "output": "{out}", "seed": 1}
        to = f"text/other.train.{target}.txt"
        subset = run.function(f"subset-{target}", write_subset, values=values, to=to)
        more["--mono"] = f"train.{target}={subset}"
    if row.needs == WORDS and o.dictionary:
        kind += "-anchors"
        more["--dictionary"] = f"{pair}={dictionary_path(o.dictionary, *languages)}"
    name = f"{kind}.{pair}"
    return run.prepare(f"prepare-{name}", f"data/{name}", languages, row.vocab, more)


def write_subset(source: str, like: str, output: str, seed: int) -> None:
    """Random lines of ``source``, in their order, with as many characters as ``like`` has, to the
    nearest line (setting A2: domain, not size, differs; not every language marks words)."""
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
    with atomic_write(Path(output), "w") as file:
        for keep, line in zip(chosen, read_lines(source), strict=True):
            if keep:
                file.write(line + "\n")
