"""Adversarial tagging: six rows of supervision, each target language, each seed.

A tagger is trained on one language and tested on others. Files of a target's annotation are inputs
of rows 5 and 6 and of the tests alone.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling import USER_DIR
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, check_files, read_json, write_json
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.core.ranges import BELOW_ONE, POSITIVE
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.engine import training_log
from fairseq_xling.engine.precision import device_options
from fairseq_xling.papers.transfer.parsing import joined
from fairseq_xling.reports.paired import in_words, paired_difference
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Section
from fairseq_xling.reports.rows import Row, by_seed, distinct, figures, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.corpus_steps import check_vocabulary, segment_options
from fairseq_xling.studies.encoder_training import PreparedText
from fairseq_xling.tasks.items import parse_columns, parse_files
from fairseq_xling.workflow.options import (
    WithLanguages,
    WithSeeds,
    jobs_option,
    seeds_option,
    split_words,
)
from fairseq_xling.workflow.recipe import ONE_FIGURE, Cell, Run, Study
from fairseq_xling.workflow.settled import device_option, precision_option

if TYPE_CHECKING:
    import numpy as np

    from fairseq_xling.tasks.predict import Predictor

LANG = "{lang}"


@dataclasses.dataclass(frozen=True)
class TaggingRow:
    """A row of the table."""

    code: str
    title: str
    mapped: bool = False  # the source's words, into the target's space
    adversary: bool = False  # a discriminator
    target: str = "none"  # how much of its annotation is read: none, some, or all and no other


ROWS = {
    row.code: row
    for row in (
        TaggingRow("1", "source only, unmapped words"),
        TaggingRow("2", "source only, mapped words", mapped=True),
        TaggingRow("3", "adversary, unmapped words", adversary=True),
        TaggingRow("4", "adversary, mapped words", mapped=True, adversary=True),
        TaggingRow("5", "joint with a few target sentences", mapped=True, target="some"),
        TaggingRow("6", "supervised on the target", target="all"),
    )
}
_WITH_CURVES = ("2", "4")  # rows
MEAN = "mean of targets"
# pairs of rows whose difference is noted, the one that should be better first
_COMPARED = (("2", "1"), ("3", "1"), ("4", "2"), ("4", "1"))
_D, _FRESH = "D (%)", "fresh classifier (%)"
_KNOWN = {"discriminator": _D, "fresh": _FRESH}  # of the language


@dataclasses.dataclass(frozen=True)
class Options(WithSeeds, WithLanguages):
    """One sentence of help per field; ``{lang}`` in a path stands for a language."""

    languages: str = option("en,de", "the annotated language, then the targets")
    train: str = reads("", "annotated files for training, e.g. text/gold/tags.train.{lang}.tsv")
    valid: str = reads("", "annotated files to select the epoch by")
    test: str = reads("", "annotated files to test on")
    columns: str = option("", "which column of these holds what, e.g. token=0,tag=2")
    head: str = option("ner", "what is predicted: ner, slots or pos")
    unlabelled: str = reads("", "text of the targets for the adversary, words separated by spaces")
    text: tuple[str, ...] = reads(
        (), "text that word vectors are trained on (default: as --unlabelled); repeatable"
    )
    vectors: tuple[str, ...] = reads(
        (), "LANG=FILE of ready vectors (.vec or ours), for all languages; repeatable"
    )
    segment: str = option("", "LANG=HOW for `fairseq-xling prepare` of --text, comma-separated")
    rows: str = option("1,2,3,4,5,6", "rows of the table, comma-separated")
    sentences: int = option(1000, "annotated training sentences, drawn at random", least=1)
    valid_sentences: int = option(500, "annotated sentences to select by", least=1)
    few: int = option(100, "annotated sentences of the target in row 5", least=1)
    held_out: int = option(
        300, "last sentences of --unlabelled, kept for the accuracy of the discriminator", least=2
    )
    vocab_size: int = like(
        PreparedText, "vocab_size", 30_000, "words of each language that have a vector"
    )
    dim: int = option(100, "width of the word vectors", least=1)
    vector_epochs: int = option(10, "passes of skip-gram over the text", least=1)
    vector_seed: int = option(1, "seed of skip-gram", least=0)
    map: str = option("adversarial", "how words are mapped: adversarial or identical")
    map_seeds: str = option("1,2,3", "seeds of the map; the best one by its criterion is used")
    refine: int = option(5, "rounds of refinement of the map", least=0)
    map_args: str = option("", "more options of `fairseq-xling map`, as one text")
    normalize: str = option("none", "normalisation of both vectors before the map")
    adversary: str = option(
        "reversal", "of rows 3 and 4: reversal or flip", choices=("reversal", "flip")
    )
    adversary_weight: float = option(1.0, "weight of its gradient", least=0)
    adversary_schedule: str = option("constant", "this weight: constant, or ramp from 0")
    epochs: int = option(60, "passes over the training sentences", least=1)
    batch_size: int = option(20, "sentences of each language per update", least=1)
    lr: float = option(0.01, "learning rate of SGD", range=POSITIVE)
    momentum: float = option(0.9, "its momentum", range=BELOW_ONE)
    clip: float = option(5.0, "maximum gradient norm", least=0)
    curves: bool = option(True, "keep the first seed's epochs of rows 2 and 4 for the figure")
    train_args: str = option("", "more options of every fairseq-train, as one text")
    seeds: str = seeds_option("1")
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()

    @property
    def row_list(self) -> list[TaggingRow]:
        return [ROWS[code.strip()] for code in self.rows.split(",")]

    @property
    def ready_vectors(self) -> dict[str, Path]:
        """Those that are given, by language."""
        return dict(parse_files("--vectors", ",".join(self.vectors))) if self.vectors else {}

    def file(self, name: str, lang: str) -> Path:
        """The path of a language."""
        return Path(getattr(self, name).replace(LANG, lang))


@STUDIES.register("adversarial-tagging")
class AdversarialTagging(Study):
    """Source only, mapped words, sentence adversary, both, a few target sentences, supervised: bars
    for the rows of each target, and lines by epoch."""

    name, paper, options = "adversarial-tagging", "transfer", Options
    help = "mapped words and a language adversary for tagging: six rows of supervision"
    title, source = "Adversarial cross-lingual tagging", "the transfer note, 2.1 and 2.2"
    lead = (
        "A tagger trained on one language's annotation, tested on others. Annotation of a target "
        "is opened by rows 5 and 6 and by the tests alone."
    )
    files = ONE_FIGURE

    def check(self, o: Options) -> Options:
        """Annotated files of the targets are not opened, only looked for."""
        source, *targets = o.language_list
        if not targets:
            raise UserError(f"`--languages` must name at least two, got {o.languages!r}")
        for code in o.rows.split(","):
            if code.strip() not in ROWS:
                raise unknown_name("`--rows`", code.strip(), list(ROWS))
        learnt = [source, *(targets if any(row.target != "none" for row in o.row_list) else ())]
        of = {"train": learnt, "valid": learnt, "test": o.language_list, "unlabelled": targets}
        for name in of:
            if LANG not in (path := getattr(o, name)):
                raise UserError(
                    f"`--{name}` must be a path with {LANG} for the language, got {path!r}"
                )
        for pattern in o.text:
            if LANG not in pattern:
                raise UserError(f"`--text` must be a path with {LANG}, got {pattern!r}")
        parse_columns(o.columns)
        for name, languages in of.items():
            check_files(*(o.file(name, lang) for lang in languages), of=f"`--{name}`")
        for lang in o.language_list if o.vectors else ():
            path = o.ready_vectors.get(lang)
            if path is None:
                raise UserError(f"`--vectors` must have a file of {lang!r}")
            check_files(path, of="`--vectors`")
            if path.suffix != ".safetensors" and any(row.mapped for row in o.row_list):
                raise UserError(
                    f"`--vectors` {path}: must be of `fairseq-xling embed` to be mapped here; "
                    "`embed train --vec` reads .vec files"
                )
        _ = o.seed_list
        check_vocabulary("word", o.segment, o.language_list)
        return o

    def plan(self, run: Run, o: Options) -> None:
        source, *targets = o.language_list
        for target, row, seed in itertools.product(targets, o.row_list, o.seed_list):
            name = f"{row.code}-{target}-{seed}"
            kept = o.curves and seed == o.seed_list[0] and row.code in _WITH_CURVES
            model = _train(run, o, row, target, name, seed, kept)
            # What is known of the language is measured on sentences that nothing was trained on.
            read, held_out = [target], {}
            if row.target != "all":
                read = [source, target]
                held_out[source] = _sample(run, o, source, "valid", o.valid_sentences)
                held_out[target] = _text(run, o, target)[1]
            tests = {lang: o.file("test", lang) for lang in read}
            result = run.function(
                f"test-{name}",
                measure,
                values={
                    **{"folder": model, "log": run.log(model), "tests": tests, "target": target},
                    **{"held_out": held_out, "epochs": o.epochs if kept else 0},
                    **{"device": o.device, "predictions": "{out1}", "output": "{out}"},
                },
                unread=list(tests.values()),
                to=f"results/{name}.json",
                also=[f"predictions/{name}"],
                device=o.device,
            )
            run.measured({"result": result}, row=row.code, target=target, seed=seed)
        for target in targets if any(row.mapped for row in o.row_list) else ():
            path = _map(run, o, target)
            run.measured({"map": path.with_name(f"{path.name}.json")}, target=target)

    def read(self, cell: Cell) -> Iterator[Row]:
        """In percent; what is by epoch has the task ``epochs``, and what a map reaches ``map``."""
        from fairseq_xling.verbs.map import read_outcome

        if "map" in cell.files:
            found = read_outcome(cell.files["map"])
            about = {"task": "map", "measure": "criterion", "value": found["criterion"]}
            yield {**about, "chance": found["chance"], "failure": found["failure"]}
            return
        model = read_json(cell.files["result"])
        metric, target = model["metric"], cell.about["target"]
        about = {"study": "adversarial tagging", "name": ROWS[cell.about["row"]].title}
        about |= {"epoch": model["epoch"], "unit": "%"}
        for lang, scores in model["scores"].items():
            of = {"measure": "target" if lang == target else "source"}
            yield {**about, **of, "heading": f"{metric}, {lang}", "value": scores[metric]}
        for name, share in (model["language"] or {}).items():
            yield {**about, "measure": name, "heading": _KNOWN[name], "value": 100 * share}
        for name in ("source", "target", "discriminator") if "curve" in model else ():
            curve = {**about, "task": "epochs", "measure": name, "said": f"{metric} of the {name}"}
            times = 1
            if name == "discriminator":
                times, curve = 100, {**curve, "said": "accuracy of D", "chance": 50}
            for epoch, value in enumerate(model["curve"][name], start=1):
                yield {**curve, "epoch": epoch, "value": times * value}

    def arrange(self, rows: list[Row]) -> list[Row]:
        """What was read, the source's figures last, and the mean of each row over targets."""
        rows.sort(key=lambda row: row["measure"] == "source")
        own = select(rows, {"task": None, "measure": "target"})
        same = ("paper", "study", "row", "name", "unit")
        for row in distinct(own, "row"):
            of_row = select(own, {"row": row})
            about = {name: of_row[0][name] for name in same} | {"measure": MEAN, "heading": MEAN}
            seeds = by_seed(of_row)[()]
            rows += [{**about, "seed": seed, "value": value} for seed, value in seeds.items()]
        return rows

    def sections(self, rows: Sequence[Row], o: Options) -> Iterator[Section]:
        tested = distinct(select(rows, {"task": None, "measure": "target"}), "heading")
        metric, source = tested[0].partition(", ")[0], o.language_list[0]
        drawn, curves = [*tested, f"{metric}, {source}"], select(rows, {"task": "epochs"})
        order = [*tested, MEAN, drawn[-1], _D, _FRESH]
        table = Table({"row": "row", "": "name"}, "heading", {"task": None}, order, digits=1)
        notes = _notes(rows, o, metric)
        yield Section(f"{metric} by target language", table, notes=notes, name="table")
        bars = Chart("bars", {"task": None, "heading": drawn}, "{row}: {name}", panel="heading")
        bars = dataclasses.replace(bars, xlabel="{heading} (%)", title="{heading} (%)")
        yield Section("Figures by row", chart=bars, name="" if curves else "plot")
        if curves:
            chart = Chart(
                "curve",
                {"task": "epochs"},
                row="row {row}, {said}",
                x="epoch",
                panel="target",
                title=f"{source} to {{target}}",
                xlabel="epoch",
                ylabel="percent",
                chance="chance of D",
            )
            note = f"Seed {curves[0]['seed']}; the target's is of its test file."
            yield Section("By epoch", chart=chart, notes=[note], name="plot")


def _sample(run: Run, o: Options, lang: str, split: str, count: int, name: str = "") -> Path:
    """Annotated sentences, drawn at random."""
    given, name = o.file(split, lang), name or split
    values = {"given": given, "output": "{out}", "count": count, "columns": o.columns}
    to = f"data/{name}.{lang}.conll"
    return run.function(f"{name}-{lang}", sample_items, values=values, to=to)


def _text(run: Run, o: Options, lang: str) -> tuple[Path, Path]:
    """The target's text to train on, and what is held out."""
    values = {"given": o.file("unlabelled", lang), "train": "{out}", "held_out": "{out1}"}
    text, held_out = (f"data/{name}.{lang}.txt" for name in ("text", "held-out"))
    values["count"] = o.held_out
    train = run.function(f"text-{lang}", split_text, values=values, to=text, also=[held_out])
    return train, run.folder / held_out


def _vectors(run: Run, o: Options, lang: str) -> Path:
    """The word vectors of a language, ready or trained."""
    if o.vectors:
        return o.ready_vectors[lang]
    text = [
        f"train.{code}={','.join(pattern.replace(LANG, code) for pattern in patterns)}"
        for patterns in [o.text or (o.unlabelled,)]
        for code in o.language_list
    ]
    data = run(
        "prepare-words",
        "fairseq-xling prepare {out} --languages",
        [",".join(o.language_list)],
        {"--mono": text},
        "--vocab separate --vocab-type word --vocab-size",
        o.vocab_size,
        "--aligner none",
        segment_options(o.segment, o.language_list),
        to="data/words",
        resumable=True,
    )
    to = f"vectors/{lang}.safetensors"
    return run(
        f"embed-{lang}",
        *("fairseq-xling embed train", data, "--languages", lang, "--output {out}"),
        *("--dim", o.dim, "--epochs", o.vector_epochs, "--seed", o.vector_seed),
        to=to,
        also=[f"{to}.json"],
        resumable=True,
    )


def _map(run: Run, o: Options, target: str) -> Path:
    """The file with W, of the source's words into the target's space."""
    source = o.language_list[0]
    moving, fixed = (_vectors(run, o, lang) for lang in (source, target))
    to = f"vectors/{source}-{target}.safetensors"
    return run(
        f"map-{source}-{target}",
        *("fairseq-xling map", [o.map], "--source-vectors", fixed, "--vectors", moving),
        *("--output {out} --keep-failed --seeds", [o.map_seeds], "--refine", o.refine),
        split_words("--map-args", o.map_args),
        to=to,
        also=[f"{to}.json"],
        resumable=True,
    )


def _train(
    run: Run, o: Options, row: TaggingRow, target: str, name: str, seed: int, kept: bool
) -> Path:
    """The folder of a model; ``kept``: all its epochs."""
    from fairseq_xling.tasks.tagging import word_head

    languages = [target] if row.target == "all" else [o.language_list[0], target]
    train = {languages[0]: _sample(run, o, languages[0], "train", o.sentences)}
    valid = {languages[0]: _sample(run, o, languages[0], "valid", o.valid_sentences)}
    if row.target == "some":
        train[target] = _sample(run, o, target, "train", o.few, "few")
        valid[target] = _sample(run, o, target, "valid", o.few, "few-valid")
    vectors = {lang: _vectors(run, o, lang) for lang in languages}
    options: list[Any] = ["--map", _map(run, o, target)] if row.mapped else []
    options += ["--low-resource"] if row.target == "some" else []
    if row.adversary:
        text, held_out = _text(run, o, target)
        options += ["--adversary", o.adversary, "--adversary-weight", o.adversary_weight]
        options += ["--adversary-schedule", o.adversary_schedule]
        options += ["--text-file", f"{target}={text}", "--valid-text-file", f"{target}={held_out}"]
    updates = -(-o.sentences // o.batch_size)
    return run(
        f"train-{name}",
        *("fairseq-train --user-dir", USER_DIR, "--task adversarial_tagging"),
        "--arch adversarial_tagger --criterion adversarial_tagging",
        ["--languages", ",".join(languages), "--vectors", joined(vectors.items())],
        ["--train-file", joined(train.items()), "--valid-file", joined(valid.items())],
        ["--head", o.head, "--normalize", o.normalize],
        {"--columns": o.columns},
        ["--epoch-sentences", o.sentences, *options],
        ["--optimizer", "sgd", "--momentum", o.momentum, "--lr", o.lr],
        ["--lr-scheduler", "fixed", "--clip-norm", o.clip],
        ["--batch-size", o.batch_size, "--max-epoch", o.epochs],
        *("--best-checkpoint-metric", word_head(o.head).metric),
        "--maximize-best-checkpoint-metric",
        "--num-workers 0 --log-format json --no-progress-bar",
        ["--log-interval", max(1, updates // 2)],
        device_options(o.precision, o.device),
        *("--save-dir {out} --seed", seed, "" if kept else "--no-epoch-checkpoints"),
        split_words("--train-args", o.train_args),
        to=f"models/{name}",
        also=["logs/{name}.log"],
        inputs=list(vectors.values()),  # which may be words without a folder
        resumable=True,
        progress=functools.partial(training_log.progress, updates=o.epochs * updates),
    )


def sample_items(given: str, output: str, count: int, columns: str) -> None:
    """Write ``count`` random sentences of an annotated file, in its order; all if it has fewer."""
    import numpy as np

    from fairseq_xling.tasks.formats.conll import Conll

    read = parse_columns(columns)
    items = list(Conll.read(Path(given), read))
    if any(item.tags is None for item in items):
        raise UserError(f"{given}: has no tags, only one column")
    chosen = np.sort(np.random.default_rng(0).permutation(len(items))[:count])
    picked = [dataclasses.replace(items[i], before=("",), after=()) for i in chosen]
    picked[0] = dataclasses.replace(picked[0], before=())
    Conll.write(Path(output), picked, [item.tags or () for item in picked], read)


def split_text(given: str, train: str, held_out: str, count: int) -> None:
    """Write the last ``count`` sentences of a text to ``held_out``, the others to ``train``."""
    from fairseq_xling.tasks.tagging import read_text

    total = sum(1 for _ in read_text(given))
    if total <= count:
        raise UserError(
            f"{given}: must have more than {count} sentences (`--held-out`), got {total}"
        )
    with atomic_write(train, "w") as rest, atomic_write(held_out, "w") as last:
        for number, words in enumerate(read_text(given)):
            (last if number >= total - count else rest).write(" ".join(words) + "\n")


def measure(
    folder: str,
    log: str,
    tests: Mapping[str, str],
    target: str,
    epochs: int,
    device: str,
    predictions: str,
    output: str,
    held_out: Mapping[str, str] | None = None,
) -> None:
    """Write the figures of a model to ``output``, and its predictions for the test files.

    Args:
        folder, log: of its training.
        tests: annotated files by language, opened only now.
        epochs: how many checkpoints of epochs there are to test on the target, for the figure.
        held_out: by language, sentences that nothing was trained on: an annotated file of the
            source, text of the target.
    """
    from fairseq_xling.tasks.predict import Predictor

    predictor = Predictor.load(f"{folder}/checkpoint_best.pt", device=device)
    Path(predictions).mkdir(parents=True, exist_ok=True)
    metric, scores = predictor.head.metric, {}
    for lang, path in tests.items():
        found = predictor.predict(lang, path)
        if not found.annotated:
            raise UserError(f"{path}: has no tags to test by")
        predictor.write(found, f"{predictions}/{lang}{predictor.task.format.suffix}")
        scores[lang] = found.scores
    curves = training_log.read_curves(log, "valid")
    dev = curves[metric]
    record: dict[str, Any] = {
        "metric": metric,
        "scores": scores,
        "epoch": 1 + max(range(len(dev)), key=lambda n: (dev[n][1], -n)),
        "language": _language(predictor, held_out) if held_out else None,
    }
    if epochs:
        models = (
            Predictor.load(f"{folder}/checkpoint{epoch}.pt", device=device)
            for epoch in range(1, epochs + 1)
        )
        record["curve"] = {
            "source": [value for _, value in curves.get(f"source_{metric}", dev)],
            "target": [model.predict(target, tests[target]).scores[metric] for model in models],
            "discriminator": [value for _, value in curves.get("language_accuracy", [])],
        }
    write_json(output, record)


def _language(predictor: "Predictor", held_out: Mapping[str, str]) -> dict[str, float]:
    """The accuracy of D, if there is one, and of a fresh classifier; chance is 0.5."""
    from fairseq_xling.tasks.tagging import fresh_accuracy

    sides, right = [], []
    for lang, path in held_out.items():
        vectors, said = states_of(predictor, lang, path)
        sides.append(vectors)
        if said is not None:
            right.append(float((said == (lang == predictor.task.languages[1])).mean()))
    found = {"fresh": fresh_accuracy(*sides)}
    return {"discriminator": sum(right) / 2, **found} if right else found


def states_of(
    predictor: "Predictor", lang: str, path: str
) -> tuple["np.ndarray", "np.ndarray | None"]:
    """Pooled shared states (B, D) of a file's sentences, and whether D takes each for the target.

    The file is annotated if it is the source's; its tags are not used.
    """
    import numpy as np
    import torch

    from fairseq_xling.interop.encoder import to_device
    from fairseq_xling.tasks.tagging import pooled

    task = predictor.task
    items = task.read(lang, path) if lang == task.languages[0] else task.read_plain(path)
    dataset = task.make_dataset([(lang, items)])
    vectors, said = [], []
    with torch.no_grad():
        for rows in dataset.batch_by_size(dataset.ordered_indices(), 8192):
            batch = to_device(dataset.collater(rows.tolist()), predictor.device)
            found = predictor.model(**batch["net_input"])
            vectors.append(pooled(found["states"].float(), found["lengths"]).cpu().numpy())
            if "language" in found:
                said.append((found["language"] > 0).cpu().numpy())
    return np.concatenate(vectors), np.concatenate(said) if said else None


def _notes(rows: Sequence[Row], o: Options, metric: str) -> list[str]:
    few = bool(select(rows, {"row": "5"}))
    by_few = f" (row 5: by {o.few} of the target's)" if few else ""
    notes = [
        f"{metric} in percent, mean ± standard deviation over seeds {o.seeds}; "
        f"{o.sentences:,} annotated training sentences, {o.epochs} epochs, of which the "
        f"best by {o.valid_sentences:,} dev sentences of the language trained on{by_few}.",
        "D is the accuracy of the model's own discriminator, fresh classifier that of a logistic "
        "regression on the mean of the shared states; both on held-out sentences, the mean over "
        "targets, chance 50.",
    ]
    means = figures(select(rows, {"measure": MEAN}), "row")
    for better, worse in _COMPARED:
        if {(better,), (worse,)} <= means.keys():
            said = in_words(paired_difference(means[better,], means[worse,]))
            notes.append(f"Row {better} less row {worse}, {MEAN}: {said}.")
    for row in select(rows, {"task": "map"}):
        state = f"failed: {row['failure']}" if "failure" in row else "better than chance"
        notes.append(
            f"Map {o.language_list[0]} to {row['target']}, {o.map}: criterion {row['value']:.3f}, "
            f"chance {row['chance']:.3f}; {state}."
        )
    return [*notes, f"{ROWS['5'].title.capitalize()}: {o.few}."] if few else notes
