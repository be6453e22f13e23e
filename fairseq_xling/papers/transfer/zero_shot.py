"""Zero-shot transfer: encoders are fine-tuned on one language, with every setting of a grid, and
the settings that are best on its dev file are tested on other languages."""

import contextlib
import dataclasses
import functools
import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling import USER_DIR
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files, read_json
from fairseq_xling.core.named_files import HeldOut
from fairseq_xling.core.options import option, reads
from fairseq_xling.core.ranges import NOT_NEGATIVE
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.meta import split_order
from fairseq_xling.engine import training_log
from fairseq_xling.engine.precision import device_options
from fairseq_xling.papers.transfer.parsing import (
    PAPER,
    Test,
    joined,
    parse_alphas,
    parse_tests,
    refuse_twice,
)
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section
from fairseq_xling.reports.rows import Row, distinct, figures, select
from fairseq_xling.tasks.encode import TOO_LONG, TOO_LONG_HELP
from fairseq_xling.tasks.formats import find_format, read_items
from fairseq_xling.tasks.items import SKIP_BAD_HELP, parse_columns, parse_files
from fairseq_xling.tasks.options import parse_options
from fairseq_xling.workflow.options import (
    WithSeeds,
    jobs_option,
    parse_numbers,
    seeds_option,
    split_words,
)
from fairseq_xling.workflow.recipe import ONE_FIGURE, Cell, Run, Study
from fairseq_xling.workflow.settled import device_option, precision_option

Files = tuple[tuple[str, Path], ...]  # (language, file)
_LR, _NARROW_LR, _NARROW = "5e-5", "1e-3", 256  # BERT's, and what encoders below this width need


def _preset(head: str, lrs: str, sizes: str, epochs: int, **more: Any) -> dict[str, Any]:
    grid = {"head": head, "lrs": lrs, "batch_sizes": sizes, "epochs": epochs}
    return {**grid, "warmup": 0.1, "schedule": "linear", "best": 1, **more}


def _text(lr: str, size: str, epochs: int, keys: str) -> dict[str, Any]:
    """One or two texts in JSON lines, under these keys."""
    more = {"format": "json_lines", "columns": f"{keys},label=label"}
    return _preset("classification", lr, size, epochs, **more)


_PAIR = "text=sentence1,pair=sentence2"
_XNLI = {"head_lrs": "5e-6,2.5e-5,1.25e-4", "schedule": "constant", "warmup": 0.0, "best": 2}
_SPANS = {"metric": "em", "head_options": "segmentation=mixed"}
_TAGS = "2e-5,3e-5,5e-5", "16,32", 10
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "xnli": _preset("classification", "1.25e-6,2.5e-6,5e-6", "4,8", 200, **_XNLI),
    "ner": _preset("ner", *_TAGS, best=2),
    "parsing": _preset("parsing", *_TAGS, best=2),
    "clue-afqmc": _text("3e-5", "16", 2, _PAIR),
    "clue-cmnli": _text("2e-5", "32", 3, _PAIR),
    "clue-csl": _text("1e-5", "4", 3, "text=keyword,pair=abst"),
    "clue-tnews": _text("3e-5", "16", 2, "text=sentence"),
    "clue-iflytek": _text("2e-5", "32", 3, "text=sentence"),
    "clue-wsc": _preset("classification", "2e-5", "8", 50, format="clue_wsc"),
    "clue-cmrc2018": _preset("span_qa", "3e-5", "32", 2, **_SPANS),
    "clue-chid": _preset("multiple_choice", "2e-5", "24", 3, warmup=0.06, format="chid"),
    "clue-c3": _preset("multiple_choice", "2e-5", "16", 8, warmup=0.05, format="c3"),
}


@dataclasses.dataclass(frozen=True)
class Options(WithSeeds):
    """One sentence of help per field."""

    preset: str = option("", f"values of a published evaluation: {', '.join(PRESETS)}")
    encoder: tuple[str, ...] = reads((), "[NAME=]CHECKPOINT of a trained encoder; repeatable")
    scratch: tuple[str, ...] = reads(
        (), "[NAME=]CHECKPOINT to reset to random weights of its sizes (a baseline); repeatable"
    )
    data: tuple[str, ...] = reads((), "[NAME=]DATA folder of all encoders, or of one; repeatable")
    head: str = option("classification", "what is predicted")
    head_options: str = option("", "settings of the head, e.g. dropout=0.2")
    metric: str = option("", "figure to select by on dev and to report (default: the head's first)")
    format: str = option("", "format of the files, e.g. json_lines (default: the head's own)")
    columns: str = option("", "which column of the files holds what, e.g. text=0,label=1")
    skip_bad: int = option(0, SKIP_BAD_HELP, range=NOT_NEGATIVE)
    unknown_labels: str = option(
        "wrong",
        "labels not seen in training: refuse, or wrong (count as mistakes)",
        choices=("wrong", "refuse"),
    )
    too_long: str = option("truncate", TOO_LONG_HELP, choices=TOO_LONG)
    train: tuple[str, ...] = reads((), "LANG=FILE to train on; repeatable")
    valid: tuple[str, ...] = reads((), "LANG=FILE to select epoch and setting by; repeatable")
    test: tuple[str, ...] = reads(
        (), "LANG=FILE to test on, or test1.LANG=FILE for a further test set; repeatable", HeldOut
    )
    translate_train: tuple[str, ...] = reads(
        (),
        "LANG=FILE, the training file translated to a target language, for its own model; "
        "repeatable",
    )
    translate_test: tuple[str, ...] = reads(
        (),
        "LANG=FILE, a target's test file translated to the source language (or test1.LANG=FILE); "
        "repeatable",
        HeldOut,
    )
    lrs: str = option(
        "",
        f"learning rates to try, comma-separated (default: {_LR}, or {_NARROW_LR} if an encoder is "
        f"narrower than {_NARROW})",
    )
    head_lrs: str = option("", "learning rates of the head to try (default: those of the encoder)")
    batch_sizes: str = option("16", "batch sizes to try, in items, comma-separated")
    best: int = option(1, "number of best settings on dev whose mean is reported", least=1)
    epochs: int = option(10, "passes over the training file", least=1)
    schedule: str = option(
        "linear", "learning rate after its warm-up", choices=("constant", "linear")
    )
    warmup: float = option(0.1, "share of the steps in which the learning rate rises", least=0)
    clip: float = option(1.0, "maximum gradient norm; 0 is no limit", least=0)
    weight_decay: float = option(0.0, "weight decay", least=0)
    freeze_layers: int = option(0, "freeze embeddings and this many lower layers", least=0)
    freeze_encoder: bool = option(False, "train the head alone")
    shift_layer: int = option(
        0, "also test with the states of this layer shifted by the languages' mean difference",
        least=0,
    )  # fmt: skip
    shift_alpha: str = option(
        "auto",
        "size of the shift, in mean differences; auto selects the best of --shift-alphas on "
        "--shift-dev",
    )
    shift_alphas: str = option(
        PAPER, "sizes that auto tries: numbers separated by commas, or FIRST:LAST:STEP"
    )
    shift_dev: tuple[str, ...] = reads((), "LANG=FILE of a target to select alpha by; repeatable")
    shift_sentences: int = option(
        1000, "sentences of the data folder's validation text for the means", least=1
    )
    seeds: str = seeds_option("1")
    device: str = device_option()
    precision: str = precision_option()
    train_args: str = option("", "more options of every fairseq-train, as one text")
    jobs: int = jobs_option()

    @property
    def figure(self) -> str:
        """The head's figure for selection and reporting."""
        from fairseq_xling.tasks.heads import heads

        return self.metric or heads[self.head].metric

    def files(self, name: str, once: bool = False) -> Files:
        """The files of an option; with ``once``, each of a different language."""
        given = getattr(self, name)
        found = parse_files(_flag(name), ",".join(given)) if given else []
        if once:
            refuse_twice(_flag(name), [lang for lang, _ in found])
        return tuple(found)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@dataclasses.dataclass(frozen=True)
class Setting:
    """One point of the grid; ``head_lr`` None is the encoder's."""

    lr: float
    head_lr: float | None
    batch_size: int

    @property
    def code(self) -> str:
        """Its name in files and tables.

        >>> Setting(5e-5, None, 16).code
        'lr5e-05-b16'
        """
        head = "" if self.head_lr is None else f"-h{self.head_lr}"
        return f"lr{self.lr}{head}-b{self.batch_size}"


def grid(o: Options) -> list[Setting]:
    """All settings to try; without learning rates as many as with those that `with_rates` gives."""
    head_lrs = parse_numbers("--head-lrs", o.head_lrs) if o.head_lrs else [None]
    sizes = parse_numbers("--batch-sizes", o.batch_sizes, int)
    return [
        Setting(*point)
        for point in itertools.product(parse_numbers("--lrs", o.lrs or _LR), head_lrs, sizes)
    ]


@dataclasses.dataclass(frozen=True)
class Encoder:
    """An encoder: its name, checkpoint and data folder; ``scratch`` resets it."""

    name: str
    checkpoint: Path
    data: Path
    scratch: bool = False


def encoders(o: Options) -> list[Encoder]:
    """The encoders that the settings name."""
    found: dict[str, Encoder] = {}
    for kind, texts in (("encoder", o.encoder), ("scratch", o.scratch)):
        for text in texts:
            default = kind if kind == "scratch" else Path(text).parent.name or kind
            name, path = _named(f"--{kind}", text, default)
            if not path.is_file():
                raise UserError(f"`--{kind}` {path}: no such checkpoint")
            if name in found:
                raise UserError(
                    f"two encoders are called {name!r}; name them, as in NAME=CHECKPOINT"
                )
            found[name] = Encoder(name, path, data_folder(o, name), kind == "scratch")
    return list(found.values())


def _named(flag: str, text: str, default: str) -> tuple[str, Path]:
    name, _, path = text.partition("=") if "=" in text else (default, "", text)
    if not name or not path or "/" in name:
        raise UserError(f"`{flag}` must look like NAME=PATH, got {text!r}")
    return name, Path(path)


def data_folder(o: Options, name: str) -> Path:
    """The data folder of the encoder called ``name``."""
    named = [_named("--data", text, Path(text).name) for text in o.data]
    folders = dict(named)
    if len(folders) < len(named):
        raise UserError(f"`--data` names one folder twice, got {', '.join(o.data)}")
    if name not in folders and len(folders) > 1:
        raise UserError(f"`--data` must say which folder is {name!r}'s, as in {name}=DATA")
    return folders.get(name, named[0][1])


@dataclasses.dataclass(frozen=True)
class TrainSet:
    """A model's training files, dev file and test files."""

    name: str  # of files
    train: Files
    valid: Files
    tests: tuple[Test, ...]
    how: str = ""  # translate-train or translate-test, where files are translations
    row: str = ""  # of the table, after the encoder's name, unless that is ``how``

    @property
    def sources(self) -> tuple[str, ...]:
        """The languages that it is trained on."""
        return tuple(dict.fromkeys(lang for lang, _ in self.train))


def zero_shot(o: Options) -> list[TrainSet]:
    """One model for all languages, and one more for each translated training file."""
    train, valid, tests = o.files("train"), o.files("valid"), parse_tests("--test", o.test)
    trained = [lang for lang, _ in train]
    for lang, _ in valid:
        if lang not in trained:  # zero-shot: target languages are not used before the test
            raise UserError(
                "`--train` and `--valid` must be in one language, got "
                f"{', '.join(trained)} and {lang}"
            )
    sets = [TrainSet("zero-shot", train, valid, tests)]
    if translated := parse_tests("--translate-test", o.translate_test):
        own = tuple(dataclasses.replace(test, reads=trained[0]) for test in translated)
        sets.append(TrainSet("zero-shot", train, valid, own, "translate-test"))
    for lang, path in o.files("translate_train", once=True):
        own = tuple(test for test in tests if test.lang == lang)
        if not own:
            raise UserError(f"`--translate-train` {lang}: there is no `--test` of this language")
        sets.append(TrainSet(f"train-{lang}", ((lang, path),), valid, own, "translate-train"))
    return sets


def matrix(o: Options) -> list[TrainSet]:
    """A model for each training language, each tested on every language."""
    valid, tests = dict(o.files("valid", once=True)), parse_tests("--test", o.test)
    sets = []
    for lang, path in o.files("train", once=True):
        if lang not in valid:
            raise UserError(f"`--valid` must have a file of {lang!r}, which is trained on")
        own = ((lang, path),), ((lang, valid[lang]),)
        sets.append(TrainSet(f"train-{lang}", *own, tests, row=f"trained on {lang}"))
    return sets


def shift_dev(o: Options, sets: Sequence[TrainSet]) -> Files:
    """The files for selecting the size of the shift; none if it is given."""
    if not o.shift_layer or o.shift_alpha != "auto":
        return ()
    found = o.files("shift_dev", once=True)
    for one in sets:
        for test in () if one.how else one.tests:
            if test.reads != one.train[0][0] and test.lang not in dict(found):
                raise UserError(f"`--shift-dev` must have a file of {test.lang!r}")
    return found


def with_rates(o: Options, chosen: Sequence[Encoder]) -> Options:
    """The settings with learning rates: where none are given, those that suit the encoders."""
    from fairseq_xling.models.transfer_encoder import encoder_width  # fairseq

    if o.lrs:
        return o
    width = min(encoder_width(one.checkpoint) for one in chosen)
    return dataclasses.replace(o, lrs=_NARROW_LR if width < _NARROW else _LR)


def check_encoders(o: Options, chosen: Sequence[Encoder], sets: Sequence[TrainSet]) -> None:
    """Reject languages and layers that an encoder does not have."""
    from fairseq_xling.data.folder import DataFolder
    from fairseq_xling.models.transfer_encoder import encoder_depth, encoder_layers  # fairseq

    wanted = [lang for one in sets for lang, _ in (*one.train, *one.valid)]
    wanted += [test.reads for one in sets for test in one.tests]
    for encoder in chosen:
        languages = DataFolder(encoder.data).languages
        for lang in wanted:
            if lang not in languages:
                raise unknown_name(f"language of {encoder.data}", lang, languages)
        for flag, layer, number_of in (
            ("--freeze-layers", o.freeze_layers, encoder_layers),
            ("--shift-layer", o.shift_layer, encoder_depth),
        ):
            if layer and layer > (layers := number_of(encoder.checkpoint)):
                raise UserError(
                    f"`{flag}` must lie in [0, {layers}], the layers of {encoder.checkpoint}, "
                    f"got {layer}"
                )


MEAN, GAP = "mean of targets", "gap"


class ZeroShot(Study):
    """`eval transfer`: encoders down and languages across."""

    name, paper, options, presets = "zero-shot", "transfer", Options, PRESETS
    title = "Zero-shot transfer"
    lead = (
        "Epochs and settings were selected on the source language's dev file alone; the test "
        "files were read only afterwards, for the test."
    )
    files = ONE_FIGURE
    sets = staticmethod(zero_shot)

    def check(self, o: Options) -> Options:
        """The settings, which must be compatible."""
        from fairseq_xling.tasks.heads import heads  # imports torch

        for name in ("encoder", "data", "train", "valid", "test"):
            if not (getattr(o, name) or (name == "encoder" and o.scratch)):
                raise UserError(f"`--{name}` must be given")
        meant = PRESETS.get(o.preset, {}).get("head", o.head)
        if o.head != meant:
            raise UserError(f"`--head` must be {meant} with `--preset {o.preset}`, got {o.head}")
        head = heads[o.head]
        parse_options(o.head_options, head.Options)
        known = list(head.scores(dict.fromkeys(head.count_names, 0.0)))
        if o.figure not in known:
            raise unknown_name("`--metric`", o.metric, known)
        find_format(head.format, o.format)
        parse_columns(o.columns)
        size = len(grid(o))
        if o.best > size:
            raise UserError(f"`--best` must be at most the {size} settings to try, got {o.best}")
        if o.warmup >= 1:
            raise UserError(f"`--warmup` must be a share below 1, got {o.warmup}")
        parse_alphas(o.shift_alphas)
        alpha = math.nan
        with contextlib.suppress(ValueError):
            alpha = 0.0 if o.shift_alpha == "auto" else float(o.shift_alpha)
        if not math.isfinite(alpha):
            raise UserError(f"`--shift-alpha` must be auto or a number, got {o.shift_alpha!r}")
        _ = o.seed_list, split_words("--train-args", o.train_args)
        chosen, sets = encoders(o), self.sets(o)
        for name in ("train", "valid", "translate_train", "shift_dev"):
            check_files(*(path for _, path in o.files(name)), of=f"`{_flag(name)}`")
        for name in ("test", "translate_test"):
            tests = parse_tests(_flag(name), getattr(o, name))
            check_files(*(test.path for test in tests), of=f"`{_flag(name)}`")
        shift_dev(o, sets)
        check_encoders(o, chosen, sets)
        return with_rates(o, chosen)

    def plan(self, run: Run, o: Options) -> None:
        from fairseq_xling.papers.transfer.testing import score_models

        sets = self.sets(o)
        dev, languages = shift_dev(o, sets), [test.lang for one in sets for test in one.tests]
        # Damaged or unannotated files are reported before anything runs.
        items = {one.train: count_files(o, "--train", one.train) for one in sets}
        for valid in dict.fromkeys(one.valid for one in sets):
            count_files(o, "--valid", valid)
        for encoder, one in itertools.product(encoders(o), sets):
            models = {
                (setting.code, seed): _train(run, o, encoder, one, items[one.train], setting, seed)
                for setting, seed in itertools.product(grid(o), o.seed_list)
            }
            about = {
                **{"name": ", ".join(filter(None, (encoder.name, one.row or one.how)))},
                **{"how": one.how, "encoder": encoder.name, "trained": one.name},
                "sources": one.sources,
                # The order is that of the command; results sort their keys.
                "languages": list(dict.fromkeys(languages)),
            }
            values = {
                **{"output": "{out}", "predictions": "{out1}", "about": about, "best": o.best},
                **{"metric": o.figure, "data": encoder.data, "device": o.device},
                **{"skip_bad": o.skip_bad, "unknown_labels": o.unknown_labels},
                "settings": [setting for setting, _ in models],
                "seeds": [seed for _, seed in models],
                "folders": list(models.values()),
                "logs": [run.log(folder) for folder in models.values()],
                "tests": [f"{test.label}={test.path}" for test in one.tests],
                "reads": [test.reads for test in one.tests],
            }
            held = [(test.lang, test.path) for test in one.tests]
            if o.shift_layer and not one.how:
                values["shift"] = {
                    **{"layer": o.shift_layer, "sentences": o.shift_sentences, "dev": dict(dev)},
                    **{"alpha": o.shift_alpha, "alphas": o.shift_alphas},
                }
                held += dev
            name = "-".join(filter(None, (encoder.name, one.name, one.how)))
            result = run.function(
                f"test-{name}",
                score_models,
                values=values,
                to=f"results/test-{name}.json",
                also=[f"predictions/{name}"],
                inputs=[encoder.data],
                # Zero-shot: test files must not be read before the test, so not when planning.
                unread=_with_annotation(o, held),
                device=o.device,
            )
            run.measured({"result": result})

    def read(self, cell: Cell) -> Iterator[Row]:
        yield from measurements(read_json(cell.files["result"]))

    def inputs(self, cells: Sequence[Cell]) -> Mapping[str, Path]:
        return {}

    def record(self, rows: Sequence[Row], o: Options) -> Record:
        title, source = self.title, "Emerging Cross-lingual Structure (Conneau et al., 2020), 3.2"
        if not select(rows, {"measure": MEAN}):
            title = f"Head {o.head}, trained and tested on one language"
            source = "TreLM (Li et al., 2021), A.6"
        elif _several_sources(rows, o):
            source = "Pires et al. (2019), Tables 1 and 2"
        return Record(
            title,
            rows,
            tuple(self.sections(rows, o)),
            source=source,
            lead=[self.lead],
            facts={"head": o.head, "metric": o.figure},
            config=dataclasses.asdict(o),
        )

    def sections(self, rows: Sequence[Row], o: Options) -> Iterator[Section]:
        """The table, a heat map of a matrix, every seed, and what was chosen on dev files; models
        of one name differ by what they were trained on."""
        tests = {"part": "test", "measure": o.figure}
        further = [MEAN, GAP] if select(rows, {"measure": MEAN}) else []
        languages = distinct(select(rows, tests), "target")
        several = len(distinct(rows, "{row} {source}")) > len(distinct(rows, "row"))
        sources = {"trained on": "source"} if several else {}
        table = Table(
            {"encoder": "line", **sources},
            "{target|measure}",
            {"part": "test", "measure": [o.figure, *further]},
            order=[*languages, *further],
            digits=1,
        )
        yield Section(f"{o.figure} by language", table, notes=_notes(rows, o), name="table")
        if _several_sources(rows, o):
            heat = Chart(
                "heat",
                {**tests, "how": None},
                row="line",
                x="target",
                columns=languages,
                xlabel="tested on",
                ylabel="trained on",
                unit=f"{o.figure} (%)",
                scale=(0.0, 100.0),
            )
            yield Section("Every language with every language", chart=heat)
        dots = Chart("dots", tests, "line", panel="target", xlabel=f"{o.figure} (%)")
        yield Section("Every seed", chart=dots, name="plot")
        if select(rows, shifted := {**tests, "shifted": True}):
            lines = {"encoder": "encoder", "seed": "seed", "language": "task", "alpha": "alpha"}
            yield Section("Chosen shifts", Table(lines, "", shifted))
        if select(rows, dev := {"part": "dev", "chosen": True}):
            lines = {"row": "row", **sources, "setting": "setting"}
            yield Section("Chosen settings", Table(lines, "{measure} on dev", dev, digits=2))


class Matrix(ZeroShot):
    """`eval matrix`: a model for each training language."""

    title = "Every training language on every test language"
    sets = staticmethod(matrix)


def count_files(o: Options, flag: str, files: Files) -> list[int]:
    """The number of items in each file."""
    from fairseq_xling.tasks.heads import count_items, heads

    head, columns = heads[o.head], parse_columns(o.columns)
    form = find_format(head.format, o.format)
    return [
        count_items(head, flag, path, read_items(form, path, columns, lang, head.check, o.skip_bad))
        for lang, path in files
    ]


def _with_annotation(o: Options, files: Sequence[tuple[str, Path]]) -> list[Path]:
    """The files, each followed by those that are read with it."""
    from fairseq_xling.tasks.heads import heads

    beside = find_format(heads[o.head].format, o.format).beside
    return [one for _, path in files for one in (path, *beside(path))]


def _train(
    run: Run,
    o: Options,
    encoder: Encoder,
    data: TrainSet,
    items: Sequence[int],
    setting: Setting,
    seed: int,
) -> Path:
    """The folder of a model."""
    name = f"{encoder.name}-{data.name}-{setting.code}-{seed}"
    updates = o.epochs * sum(-(-n // setting.batch_size) for n in items)
    schedule = ["--lr-scheduler", "fixed", "--warmup-updates", int(o.warmup * updates)]
    if o.schedule == "linear":
        schedule[1] = "polynomial_decay"
        schedule += ["--total-num-update", updates]
    optional = {"--head-options": o.head_options, "--format": o.format}
    optional |= {"--columns": o.columns, "--skip-bad": o.skip_bad}
    return run(
        f"train-{name}",
        *("fairseq-train", encoder.data, "--user-dir", USER_DIR),
        "--task cross_lingual_transfer --arch cross_lingual_transfer",
        *("--criterion cross_lingual_transfer --encoder", encoder.checkpoint),
        {"--reset-encoder": encoder.scratch},
        ["--head", o.head, "--train-file", joined(data.train)],
        ["--valid-file", joined(data.valid)],
        optional,
        ["--unknown-labels", o.unknown_labels, "--too-long", o.too_long],
        {"--freeze-layers": o.freeze_layers, "--freeze-encoder": o.freeze_encoder},
        ["--optimizer", "adam", "--weight-decay", o.weight_decay, "--clip-norm", o.clip],
        ["--lr", setting.lr],
        {"--head-lr": setting.head_lr},
        [*schedule, "--batch-size", setting.batch_size, "--max-epoch", o.epochs],
        "--save-dir {out} --no-epoch-checkpoints",
        ["--best-checkpoint-metric", o.figure, "--maximize-best-checkpoint-metric"],
        *("--seed", seed, "--num-workers 0 --log-format json"),
        *("--log-interval", max(1, updates // 20), "--no-progress-bar"),
        device_options(o.precision, o.device),
        split_words("--train-args", o.train_args),
        to=f"models/{name}",
        also=["logs/{name}.log"],
        # A folder here may be a name alone, and annotation in a file beside that of its text.
        inputs=[
            *(encoder.data, encoder.checkpoint),
            *_with_annotation(o, (*data.train, *data.valid)),
        ],
        resumable=True,
        progress=functools.partial(training_log.progress, updates=updates),
    )


def measurements(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of ``one``, as `score_models` writes it: a row for each figure of each test, in percent, line
    by line of the table, and for each figure on dev files, those of the chosen settings first.

    ``row`` is the name of a result, ``line`` that with what else tells its lines apart: shifted
    states, and the set that was tested on. ``task`` is the label of a test, ``set`` and ``target``
    are its test set and language; ``part`` is ``test`` or ``dev``. Where states were ``shifted``,
    ``alpha`` says by how much. `MEAN` is the mean over the languages that were not trained on,
    `GAP` how much better those are that were.
    """
    about = {"paper": "transfer", "study": "zero-shot", "unit": "%"}
    about |= {"row": one["name"], "source": "+".join(one["sources"])}
    about |= {name: one[name] for name in ("encoder", "trained", "how") if one[name]}
    chosen, place = one.get("chosen", {}), one["languages"].index
    dev = [{"chosen": model["setting"] in chosen, **model} for model in one["dev"]]
    dev.sort(key=lambda model: -chosen.get(model["setting"], 0))
    found = [{"part": "dev", "measure": one["metric"], "shifted": False, **m} for m in dev]
    tests = sorted(
        _scored(one), key=lambda r: (r["shifted"], split_order(r["set"]), place(r["target"]))
    )
    return [{**about, **row} for row in (*found, *tests, *_means(one, tests))]


def _scored(one: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The figures of the tests of a result, and those that a shift was chosen by."""
    for test in one["tests"]:
        found = [(label, {"scores": own}, False) for label, own in test["scores"].items()]
        found += [(label, own, True) for label, own in test.get("shifted", {}).items()]
        for label, own, shifted in found:
            test_set, _, lang = label.rpartition(".")
            line = ", ".join(filter(None, (one["name"], "shifted" * shifted, test_set)))
            about = {"setting": test["setting"], "seed": test["seed"], "shifted": shifted}
            about |= {"line": line, "task": label, "set": test_set or "test", "target": lang}
            for alpha, value in own.get("dev", {}).items():
                of = {"part": "dev", "measure": one["metric"], "alpha": float(alpha)}
                yield {**about, **of, "value": value}
            of = {"part": "test"} | ({"alpha": own["alpha"]} if shifted else {})
            for name, value in own["scores"].items():
                yield {**about, **of, "measure": name, "value": value}


def _means(one: Mapping[str, Any], tests: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """`MEAN` and `GAP` of each line, if there are such languages."""
    own = select(tests, {"part": "test", "measure": one["metric"]})
    for line in distinct(own, "line"):
        lines = select(own, {"line": line})
        sides: tuple[list[float], list[float]] = [], []
        for (lang,), values in figures(lines, "target").items():
            sides[lang in one["sources"]].append(statistics.fmean(values))
        targets, trained = sides
        about = {"part": "test", "line": line, "shifted": lines[0]["shifted"]}
        if targets:
            mean = statistics.fmean(targets)
            yield {**about, "measure": MEAN, "value": mean}
            if trained:
                yield {**about, "measure": GAP, "value": statistics.fmean(trained) - mean}


def _several_sources(rows: Sequence[Row], o: Options) -> bool:
    where = {"part": "test", "measure": o.figure, "how": None}
    return len(distinct(select(rows, where), "source")) > 1


def _notes(rows: Sequence[Row], o: Options) -> list[str]:
    seeds = f"seed {o.seeds}"
    if len(o.seed_list) > 1:
        seeds = f"mean ± standard deviation over seeds {o.seeds}"
    tried = len(distinct(select(rows, {"row": rows[0]["row"], "part": "dev"}), "setting"))
    chosen = f"the mean of the best {o.best} of {tried} settings by dev"
    if tried < 2:
        chosen = "the only setting"
    epochs = f"{o.epochs} epoch{'s' * (o.epochs > 1)}"
    notes = [f"{o.figure} in percent; {seeds}; {chosen}; {epochs}, the best one by dev."]
    if select(rows, {"measure": GAP}):
        notes.append("gap: the figure of the language trained on minus the mean of the targets'.")
    if o.shift_layer:
        alpha = f"the best of {o.shift_alphas} on each target's dev file."
        notes.append(
            f"shifted: states of layer {o.shift_layer} shifted by the languages' mean "
            f"difference at test time, alpha {alpha if o.shift_alpha == 'auto' else 'given.'}"
        )
    return notes
