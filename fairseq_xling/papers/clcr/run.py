"""The verbs ``clcr train`` and ``clcr run``: from two encoders to sequences of vectors.

transform -> lm1 -> lm2 (in turn) -> label -> extract -> order -> tables, encode

Both verbs work in the same folder: `run` continues from the steps of `train`.
"""

import argparse
import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from fairseq_xling import USER_DIR
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, check_files, read_json
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.options import to_argv
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.engine import training_log
from fairseq_xling.engine.precision import device_options
from fairseq_xling.papers.clcr.options import PRESETS, Options
from fairseq_xling.reports.page import write_run
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import RESULTS, Chart, Record, Section, made, read_record
from fairseq_xling.reports.rows import Row, distinct, select
from fairseq_xling.studies.optimiser import check_optimiser, optimisation
from fairseq_xling.verbs.parts.output import as_text
from fairseq_xling.workflow.launcher import configured_output, launch_of, run_steps
from fairseq_xling.workflow.options import load_config
from fairseq_xling.workflow.recipe import Cell, Run, Study, with_steps
from fairseq_xling.workflow.settled import settle_config
from fairseq_xling.workflow.step import Step

STUDY, DISTANCES, PIVOTS, SEQUENCES = "clcr-run", "distances", "pivots", "sequences"
_ANNEALED = ("transform", "lm")  # what the names of their trainings begin with
_FIRST = "first"  # side of a pair


@dataclasses.dataclass(frozen=True)
class Text:
    """A text to encode: its name, language and file, and the file of its translation."""

    name: str
    lang: str
    file: str
    translation: str = ""


def texts(o: Options) -> list[Text]:
    """All texts to encode."""
    found = []
    for item in o.encode_pairs:
        name, _, files = item.partition("=")
        both = files.split(",")
        if not name or len(both) != 2 or not all(both):
            raise UserError(f"`--encode-pairs` must look like NAME=FILE_A,FILE_B, got {item!r}")
        first, second = o.languages
        found += [Text(name, first, *both), Text(name, second, *both[::-1])]
    for item in o.encode_text:
        place, _, file = item.partition("=")
        name, _, lang = place.rpartition(".")
        if not (name and file and lang in o.languages):
            raise UserError(
                f"`--encode-text` must look like NAME.LANG=FILE, LANG one of {o.pair}, got {item!r}"
            )
        found.append(Text(name, lang, file))
    for text in found:
        if Path(text.name).name != text.name or text.name == "..":
            what = "the name of a text to encode must be one that a folder can have"
            raise UserError(f"{what}, got {text.name!r}")
        check_files(text.file)
        if sum((other.name, other.lang) == (text.name, text.lang) for other in found) > 1:
            raise UserError(f"two texts to encode are called {text.name}.{text.lang}")
    return found


def check(o: Options) -> Options:
    """``o`` with its pair, after a check of what would be refused only after a training."""
    from fairseq_xling.models.ordering import SIDES, order_heads
    from fairseq_xling.papers.clcr.modules.extract import parse_rates
    from fairseq_xling.papers.clcr.sequence_variants import rows

    check_optimiser(o)
    if not o.data:
        raise UserError("`--data` must name a data folder with parallel text")
    folder = DataFolder(o.data)
    known = folder.pairs("train")
    pair = parse_languages(o.pair, "--pair") if o.pair else known[0] if len(known) == 1 else []
    if len(pair) != 2:
        raise UserError(
            f"`--pair` must be two languages with parallel text in {folder.path} "
            f"({', '.join(map('-'.join, known)) or 'none'}), got {o.pair!r}"
        )
    o = dataclasses.replace(o, pair=",".join(pair))
    if sorted(item.partition("=")[0] for item in o.encoder) != sorted(pair):
        raise UserError(
            f"`--encoder` must be given once for {pair[0]} and once for {pair[1]}, got "
            f"{', '.join(o.encoder) or 'none'}"
        )
    for called, names, there in (
        ("--orders", o.order_list, order_heads),
        ("--order-sides", o.side_list, SIDES),
        ("--rows", o.row_list, rows),
    ):
        for name in names:
            if name not in there:
                raise unknown_name(f"name in `{called}`", name, [*there])
    if o.order_list and not o.side_list:
        raise UserError("`--order-sides` must name first, second or both, got none")
    if o.weigh and o.order_list:
        costs = order_heads[o.order_list[0]].weights
        if o.weigh not in costs:
            raise unknown_name("`--weigh`", o.weigh, [*costs])
    if o.checkpoint == "best" and not validates(o):
        raise UserError(
            f"`--checkpoint best` needs parallel 'valid' text of {'-'.join(pair)} in {folder.path}"
        )
    parse_rates(o.flip_rates)
    texts(o)
    return o


def check_rows(o: Options, encoded: Sequence[Text]) -> None:
    """Check what would be refused only after the encoders are aligned."""
    from fairseq_xling.papers.clcr.sequence_variants import rows

    for text in encoded:
        if not o.row_list:
            raise UserError("`--rows` must name what to write for the texts to encode, got none")
        if not rows_of(o, text):
            raise UserError(
                f"`--rows` {o.rows} needs the translation of a text: give "
                f"{text.name}.{text.lang} with `--encode-pairs`, not `--encode-text`"
            )
    for name, part in ((row, part) for row in o.row_list for part in rows[row].needs):
        if not getattr(o, f"{part}_steps"):
            raise UserError(
                f"`--rows` {name} needs `--{part}-steps` above 0; train it or leave the row out"
            )
        if part == "order" and not o.order_list:
            raise UserError(
                f"`--rows` {name} needs one of `--orders`; name it or leave the row out"
            )
    if not 0 <= o.delta <= 1:
        raise UserError(f"`--delta` must lie in [0, 1], got {o.delta}")
    if not o.threshold:
        _ = DataFolder(o.data).order(o.tune_on, *o.languages)  # what the threshold is tuned on


def validates(o: Options) -> bool:
    """Whether there is text to validate on."""
    return {*o.languages} in map(set, DataFolder(o.data).pairs("valid"))


def rows_of(o: Options, text: Text) -> list[str]:
    """The rows that can be written for a text: those that need a translation only if it has one."""
    from fairseq_xling.papers.clcr.sequence_variants import rows

    return [row for row in o.row_list if text.translation or not rows[row].reads_translation]


class ClcrRun(Run):
    """The steps of CLCR; the names of a labelled run begin with its label, and what it makes
    besides models and logs is below it."""

    def __init__(self, folder: Path, options: Options):
        super().__init__(folder, options)
        self.validates = validates(options)

    def row(self, label: str, **changes: Any) -> "ClcrRun":
        """This run with some of its options changed, for a row of a study."""
        own = self.labelled(label)
        own.options = dataclasses.replace(self.options, **changes)
        return own  # type: ignore[return-value]

    def train(self, seed: int) -> dict[str, Path]:
        """What is trained and measured with a seed.

        Returns:
            ``log NAME`` of each training, ``labels``, ``table KIND`` of `clcr measure`, ``aligned``
            and ``model``, the checkpoints of the encoders, and with all modules.
        """
        from fairseq_xling.models.ordering import head_key

        o, files = self.options, dict[str, Path]()
        start = {"--encoder": ",".join(o.encoder), "--encoder-data": ",".join(o.encoder_data)}
        start |= {"--clcr-layer": o.layer, "--clcr-phase": "transform"}
        self._train(files, seed, "transform", "transform", start)
        for number, phase in product(range(1, o.rounds + 1), ("lm1", "lm2")):
            self._train(files, seed, f"{phase}-{number}", "lm", ["--clcr-phase", phase])
        files["aligned"] = files["model"]
        files["labels"] = self._step(
            f"label-{seed}",
            ["fairseq-xling", "clcr", "label", files["model"], "--data", o.data],
            ["--splits", "train,valid" if self.validates else "train", "--output", "{out}"],
            to_argv(o, "max_tokens", "device"),
            to_argv(o, "threshold" if o.threshold else "tune_on"),
            to=f"labels/{seed}",
            resumable=True,
        )
        if o.extract_steps:
            names = ["delta", "extract_hidden", "extract_encoder"]
            names += [name for name in ("confident", "flip_rates") if getattr(o, name)]
            given = ["--clcr-module", "extract", *to_argv(o, *names)]
            self._train(files, seed, "extract", "extract", given)
        for side, head in product(o.side_list, o.order_list):
            module = {"--clcr-module": "order", "--order": head}
            module |= {"--order-side": side} if side != _FIRST else {}
            self._train(files, seed, head_key(head, side).replace("_", "-"), "order", module)
        if o.extract_steps and self.validates:
            deltas = ",".join(map(str, sorted({o.delta, 0.2, 0.5})))
            self._measure(files, seed, "keypoints", "--delta", deltas)
        if o.order_list and self.validates:
            beams = [f"beam:{width}" for width in sorted({1, o.beam})]
            beams += [f"{beam}:{o.weigh}" for beam in beams if o.weigh]
            self._measure(files, seed, "order", "--searches", ",".join(beams))
        return files

    def encode(self, files: Mapping[str, Path], seed: int, text: Text) -> dict[str, Path]:
        """The sequences of a text by the model of `train`: ``sequences ROW``."""
        from fairseq_xling.papers.clcr.sequence_variants import rows

        o, name, how = self.options, f"{text.name}.{text.lang}", {}
        chosen = rows_of(o, text)
        places = [f"sequences/{seed}/{row}/{name}" for row in chosen]
        more = {"--weigh": o.weigh}
        if o.side_list and o.side_list[0] != _FIRST:
            more = {"--reorder": o.side_list[0], **more}
        if any(rows[row].reads_translation for row in chosen):
            labels = files["labels"]
            more |= {"--translation": text.translation}
            how = {"inputs": [labels], "late": functools.partial(_threshold, labels / "train")}
        output = Path("{label}" if self.label else "", "sequences", str(seed), "{row}", name)
        first = self._step(
            f"encode-{name}-{seed}",
            ["fairseq-xling", "clcr", "encode", files["model"], "--data", o.data],
            ["--lang", text.lang, "--text", text.file, "--row", ",".join(chosen)],
            ["--order", (o.order_list or ["rel"])[0], "--beam", o.beam],
            to_argv(o, "max_tokens", "device"),
            ["--dtype", o.dtype, "--output", self.folder / output],
            more,
            to=places[0],
            also=places[1:],
            resumable=True,
            **how,
        )
        return {f"sequences {row}": first.parents[1] / row / name for row in chosen}

    def _train(self, files: dict[str, Path], seed: int, name: str, stage: str, *given: Any) -> None:
        from fairseq_xling.papers.clcr.start import by_language

        o, inputs, start = self.options, [Path(self.options.data)], {}
        if "model" in files:
            start = {"--clcr-start": files["model"], "--clcr-labels": files.get("labels")}
        else:
            for option, paths in (("--encoder", o.encoder), ("--encoder-data", o.encoder_data)):
                inputs += map(Path, by_language(option, ",".join(paths), o.languages).values())
        steps = getattr(o, f"{stage}_steps")
        every = min(o.every, steps)
        begins = "{label}-" if self.label else ""
        folder = self(
            f"{begins}{name}-{seed}",
            ["fairseq-train", o.data, "--user-dir", USER_DIR],
            ["--task", "clcr", "--arch", "clcr", "--criterion", "clcr", "--clcr-pair", o.pair],
            start,
            *given,
            to_argv(o, "transform", "attention_score", "distance_norm"),
            to_argv(o, "anneal_beta", "anneal_phases"),
            optimisation(o, steps, getattr(o, f"{stage}_lr"), min(o.warmup, steps)),
            {"--batch-size": o.batch_size},
            to_argv(o, "max_tokens", "update_freq"),
            ["--max-update", steps, "--epoch-updates", every],
            ["--save-dir", "{out}", "--no-epoch-checkpoints"],
            {"--disable-validation": not self.validates},
            # Not by the loss if its temperature falls from step to step.
            ["--best-checkpoint-metric", "hard"]
            if o.checkpoint == "best" and stage in _ANNEALED
            else [],
            ["--seed", seed, "--num-workers", 0, "--log-format", "json"],
            ["--log-interval", max(1, every // 4)],
            device_options(o.precision, o.device),
            o.words("train_args"),
            o.words(f"{stage}_args"),
            to="models/{name}",
            also=["logs/{name}.log"],
            inputs=inputs,
            resumable=True,
            progress=functools.partial(training_log.progress, updates=steps),
        )
        files["model"] = folder / f"checkpoint_{o.checkpoint}.pt"
        files[f"log {name}"] = self.log(folder)

    def _measure(self, files: dict[str, Path], seed: int, kind: str, *given: str) -> None:
        name = f"{kind}-table-{seed}"
        files[f"table {kind}"] = self._step(
            name,
            ["fairseq-xling", "clcr", "measure", kind, files["model"]],
            ["--data", self.options.data, "--labels", files["labels"], *given],
            ["--device", self.options.device, "--output", "{out}"],
            to=f"results/{name}.json",
            also=[f"results/{name}.csv"],
        )

    def _step(self, name: str, *given: Any, to: str, also: Sequence[str] = (), **how: Any) -> Path:
        """A step whose name begins with the label, and whose files are below it."""
        begins, below = ("{label}-", "{label}/") if self.label else ("", "")
        also = [f"{below}{one}" for one in also]
        return self(f"{begins}{name}", *given, to=f"{below}{to}", also=also, **how)


def _threshold(labels: Path) -> list[str]:
    """The option with the threshold of the pivots."""
    from fairseq_xling.papers.clcr.labels import Labels

    return ["--threshold", repr(Labels(labels).threshold)]


def read_model(files: Mapping[str, Path], pair: Sequence[str]) -> Iterator[Row]:
    """What the trainings, labels, tables and sequences of a seed are; ``task`` is one of
    `DISTANCES`, `PIVOTS` and `SEQUENCES`, or a row is that of a table."""
    from fairseq_xling.papers.clcr.labels import Labels
    from fairseq_xling.papers.clcr.sequences import META

    ways = ("_".join(pair), "_".join(pair[::-1]))
    columns = [f"{x}_{way}" for way in ways for x in ("distance", "relative", "hard", "entropy")]
    columns += [f"spread_{lang}" for lang in pair]
    for key, path in files.items():
        what, _, name = key.partition(" ")
        about: dict[str, Any] = {}
        figures: dict[str, Any] = {}
        if what == "log" and name.startswith(_ANNEALED):
            about = {"task": DISTANCES, "row": name}
            curves = training_log.read_curves(path, "valid")
            curves = curves or training_log.read_curves(path, "train")
            last = {x: curves[x][-1][1] if x in curves else None for x in columns}
            # NaN is a share of nothing.
            figures = {x.replace("_", " "): None if y != y else y for x, y in last.items()}
        elif what == "labels":
            about, meta = {"task": PIVOTS, "row": "train"}, Labels(path / "train").meta
            tuned = meta["settings"].get("tuned")
            figures = {"pairs": meta["sentences"], "pivots": meta["pivots"]}
            figures |= {"threshold": meta["settings"]["threshold"]}
            figures |= {f"F1 on {tuned['split']}": tuned["f1"]} if tuned else {}
        elif what == "table":
            yield from read_record(path).rows
        elif what == "sequences":
            meta = read_json(path / META)
            about = {"task": SEQUENCES, "row": meta["settings"]["row"], "text": path.name}
            figures = {"sentences": meta["sentences"]}
            figures["vectors each"] = meta["rows"] / max(meta["sentences"], 1)
        for measure, value in figures.items():
            yield {"study": STUDY, **about, "measure": measure, "value": value}


class Clcr(Study):
    """All of CLCR for one pair of encoders."""

    name, paper, options, run_type, last = STUDY, "clcr", Options, ClcrRun, "summary"
    files = ("summary.txt", "table.csv", RESULTS, "report.html")

    def plan(self, run: ClcrRun, o: Options) -> None:
        for seed in o.seed_list:
            files = run.train(seed)
            for text in texts(o):
                found = run.encode(files, seed, text)
                files |= {f"{key}/{text.name}.{text.lang}": x for key, x in found.items()}
            run.measured(files, seed=seed)

    def read(self, cell: Cell) -> Iterator[Row]:
        return read_model(cell.files, cell.options.languages)

    def inputs(self, cells: Sequence[Cell]) -> dict[str, Path]:
        return {f"model, seed {cell.about['seed']}": cell.files["model"] for cell in cells}

    def write(self, run: Path, o: Options, cells: Sequence[Cell], steps: Sequence[Step]) -> None:
        rows, (source, target) = self.rows(cells, steps), o.languages
        tables = [path for key, path in cells[0].files.items() if key.startswith("table ")]
        record = Record(
            f"CLCR, {source} and {target}",
            rows,
            tuple(sections(rows, [one for path in tables for one in read_record(path).sections])),
            source="CLCR, Tables 1 to 3",
            lead=[f"States of {source} are mapped to those of {target}. Shares are in [0, 1]."],
            config=dataclasses.asdict(o),
        )
        record = with_steps(made(record, self.inputs(cells)), run, steps)
        write_run(run, record)
        with atomic_write(run / "summary.txt", "w") as file:
            file.write(as_text(record) + "\n")

    def run(self, args: argparse.Namespace, everything: bool = True) -> None:
        """Run all, or only the transforms and encoders, or print the plan (`--dry-run`)."""
        args.output = configured_output(args, "clcr")
        folder = Path(args.output)
        o, settled = settle_config(folder, check(load_config(Options, args, PRESETS)))
        launch = launch_of(args)
        if everything:
            check_rows(o, texts(o))
        else:
            o = dataclasses.replace(o, encode_pairs=(), encode_text=())
        planned = self.planned(folder, o)
        models = [cell.files["model" if everything else "aligned"] for cell in planned.cells]
        steps = self.steps(folder, o) if everything else planned.needed(models)
        if not run_steps(folder, steps, o.jobs, launch, settled, shown=""):
            return
        if everything:
            print("\n" + (folder / "summary.txt").read_text(encoding="utf-8"))
            print(f"report: {folder / 'report.html'}")
        for model in models:
            print(f"model: {model}")
        print(f"exact commands: {folder / 'commands.sh'}")


def sections(rows: Sequence[Row], tables: Sequence[Section]) -> Iterator[Section]:
    """Those of a run that measured something; ``tables`` are of its key-points and orders."""
    measured = distinct(select(rows, {"task": DISTANCES}), "measure")
    drawn = [name for name in measured if name.startswith(("distance", "relative"))]
    own = {"study": STUDY}
    tasks = (DISTANCES, PIVOTS, SEQUENCES)
    distances, pivots, sequences = ({**own, "task": task} for task in tasks)
    digits = {"pairs": None, "pivots": None, "threshold": 4}
    every = [
        Section(
            "Distance of translations",
            Table({"phase": "row"}, where=distances),
            Chart("bars", {**distances, "measure": drawn}) if drawn else None,
            ["relative: divided by the spread of the target's states, 1 is chance"],
            source="CLCR, Table 1",
        ),
        Section("Pseudo-gold pivots", Table({"split": "row"}, where=pivots, digits=digits)),
        *(dataclasses.replace(table, name="") for table in tables),
        Section(
            "Sequences",
            Table({"row": "row", "text": "text"}, where=sequences, digits={"sentences": None}),
            notes=["in sequences/SEED/ROW/TEXT of the run's folder"],
        ),
    ]
    yield from (one for one in every if one.table and select(rows, one.table.where))
