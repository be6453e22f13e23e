"""The verb ``probe``: vectors of the examples once, then a probe for each layer and seed."""

import dataclasses
import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files, exclusive, read_json, sha256, write_json
from fairseq_xling.core.folders import claim
from fairseq_xling.core.languages import check_languages
from fairseq_xling.core.options import part_of
from fairseq_xling.core.progress import progress
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.reports.page import write_run
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, made
from fairseq_xling.reports.rows import GIVEN, Row, distinct, select
from fairseq_xling.tasks.encode import Codec
from fairseq_xling.tasks.items import parse_files
from fairseq_xling.tasks.probing.examples import Example, read_examples, write_predictions
from fairseq_xling.tasks.probing.fit import ProbeOptions, fit_probe, micro_scores, prior
from fairseq_xling.tasks.probing.states import Placed, Spans, keep_states, open_spans, place
from fairseq_xling.verbs.parts.comparison import LAYER
from fairseq_xling.verbs.parts.output import as_text
from fairseq_xling.workflow.options import parse_seeds

TRAIN, VALID = "train", "valid"
_FIGURES = {"P": "precision", "R": "recall", "F1": "f1"}
_COUNTS = ("right", "predicted", "gold")

Scores = Sequence[Mapping[str, Any]]  # one for each probe and seed


@dataclasses.dataclass
class File:
    """A file of examples: ``name`` is unique in its run; `placed` once it is encoded."""

    name: str
    lang: str
    path: Path
    examples: list[Example]
    placed: Placed | None = None

    @property
    def labels(self) -> list[tuple[str, ...]] | None:
        """The labels of each example, if known."""
        if self.examples[0].labels is None:
            return None
        return [example.labels or () for example in self.examples]


Layers = tuple[int, ...]  # what one probe reads: a layer, or a mixture of several


def code_of(layers: Layers) -> str:
    """The name of a probe's input in files and tables.

    >>> code_of((3,)), code_of((0, 1))
    ('layer03', 'mix')
    """
    return f"layer{layers[0]:02d}" if len(layers) == 1 else "mix"


def run_probe(given: Any) -> None:
    """See `fairseq_xling.verbs.probe`."""
    seeds = parse_seeds("--seeds", given.seeds)
    options = [probe_options(given, seed) for seed in seeds]
    files = read_files(given)
    check_files(given.checkpoint)
    data = DataFolder(given.data)
    from fairseq_xling.interop.encoder import Encoder

    encoder = Encoder.load(given.checkpoint, data=given.data, device=given.device)
    check_languages(given.checkpoint, encoder.languages, [file.lang for file in files])
    last = encoder.num_layers
    layers = (last,) if given.layers is None else parse_layers(given.layers, last)
    if given.mix and len(layers) < 2:
        raise UserError(f"`--mix` needs several `--layers`, got {given.layers or last}")
    variants = [tuple(layers)] if given.mix else [(layer,) for layer in layers]
    origin = {"checkpoint": sha256(given.checkpoint), "data": sha256(data.path / "meta.json")}
    origin |= {"offsets": given.offsets}
    output = Path(given.output)
    claim(output, {**origin, "files": {file.name: sha256(file.path) for file in files}})
    with exclusive(output, f"`--output` {output}: another run is writing it"):
        probes = [
            (layers, one, output / "probes" / f"{code_of(layers)}-{_digest(layers, one)}.json")
            for layers in variants
            for one in options
        ]
        if not all(path.is_file() for *_, path in probes):
            _keep_states(given, encoder, data, files, variants, output, origin)
        results = [
            probe_result(
                files, code_of(layers), layers, one, path, output, given.device,
                lambda file, layers=layers: _open(file, layers, output),
            )
            for layers, one, path in probes
        ]  # fmt: skip
        used = {"checkpoint": given.checkpoint, "data": data.path / "meta.json"}
        used |= {file.name: file.path for file in files}
        write_table(output, files, results, used)
        shutil.rmtree(output / "states", ignore_errors=True)


def probe_options(given: Any, seed: int) -> ProbeOptions:
    """The options of one probe; raises a UserError for one out of range."""
    return part_of(ProbeOptions, given, seed=seed)


def _digest(layers: Layers, options: ProbeOptions) -> str:
    """Seed and settings in a file's name: different probes have different names."""
    text = repr((layers, options))
    return f"seed{options.seed}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def read_files(given: Any) -> list[File]:
    """Training, validation and all test files, in this order."""
    found: list[File] = []
    for option, texts in ((TRAIN, [given.train]), (VALID, [given.valid]), ("test", given.test)):
        for text in texts:
            for lang, path in parse_files(f"--{option}", text):
                name = option if option != "test" else f"{lang}.{path.name}"
                if any(file.name == name for file in found):
                    raise UserError(f"`--{option}` {text}: there are two files of that name")
                found.append(File(name, lang, path, read_examples(path, given.offsets)))
    for file in found:
        spans, expected = (len(one.examples[0].spans) for one in (file, found[0]))
        if spans != expected:
            raise UserError(
                f"{file.path}: must have {expected} span(s) like {found[0].path}, got {spans}"
            )
        if file.labels is None and file.name in (TRAIN, VALID):
            raise UserError(f"{file.path}: has no labels to learn from")
    return found


def _keep_states(
    given: Any,
    encoder: Any,
    data: DataFolder,
    files: Sequence[File],
    variants: Sequence[Layers],
    output: Path,
    origin: dict[str, Any],
) -> None:
    layers = sorted({layer for own in variants for layer in own})
    codecs: dict[str, Codec] = {}
    for file in files:
        if file.lang not in codecs:
            codecs[file.lang] = Codec(data.path, file.lang, encoder.model.max_positions())
        file.placed = place(file.examples, codecs[file.lang], given.offsets)
        identity = {**origin, "file": sha256(file.path), "lang": file.lang}
        folder = output / "states" / file.name
        keep_states(
            encoder, file.placed.texts, file.lang, layers, folder, identity, given.dtype,
            given.max_tokens,
        )  # fmt: skip


def _open(file: File, layers: Layers, output: Path) -> Spans:
    if file.placed is None:
        raise ValueError(f"{file.path} was not encoded")
    return open_spans(output / "states" / file.name, layers, file.placed, file.labels)


def probe_result(
    files: Sequence[File],
    code: str,
    layers: Sequence[int],
    options: ProbeOptions,
    path: Path,
    output: Path,
    device: str,
    opened: Callable[[File], Spans],
) -> dict[str, Any]:
    """The scores of one probe, from ``path`` if they exist; its predictions are next to them.

    Args:
        code: name of the input in files and tables; layers: the encoder's layers, if any.
        opened: returns the spans of a file.
    """
    if path.is_file():
        return read_json(path)
    train, dev = (opened(file) for file in files[:2])
    what = f"probe {code} seed {options.seed}"
    with progress(options.epochs, what, "epochs") as bar:

        def passed(f1: float) -> None:
            bar.set_postfix_str(f"dev F1 {f1:.4f}", refresh=False)
            bar.update()

        probe = fit_probe(train, dev, options, device, passed)
    result: dict[str, Any] = {
        "variant": code,
        "layers": list(layers),
        "options": dataclasses.asdict(options),
        "epoch": probe.epoch,
        "dev_f1": probe.curve,
        "mix": probe.network.weights(),
        "scores": {},
        "without_vectors": {},
    }
    for file in files[1:]:
        spans = opened(file)
        predictions = probe.predict(spans)
        result["without_vectors"][file.name] = int((~spans.usable).sum())
        if file.labels is not None:
            scores = micro_scores(predictions, file.labels)
            figures = {name: getattr(scores, name) for name in ("precision", "recall", "f1")}
            result["scores"][file.name] = {**dataclasses.asdict(scores), **figures}
        if file.name != VALID:
            folder = output / "predictions" / path.stem
            name = file.name.removesuffix(".gz")
            write_predictions(file.path, folder / name, predictions)
    write_json(path, result)
    return result


def write_table(
    output: Path,
    files: Sequence[File],
    probes: Scores,
    inputs: Mapping[str, str | Path],
    missing: str = "are beyond the model's positions or contain no letter",
) -> None:
    """Record the probes in ``output`` with their page, table and figure; print the table.

    Args:
        inputs: files that they were made from, by role.
        missing: why examples have no vectors.
    """
    tested = {file.name: file.lang for file in files[2:]}
    label, always = baseline(files)
    rows = [
        {**row, "study": "probing", "unit": "%"} for row in measurements(probes, tested, always)
    ]
    record = made(record_of(rows, label, list(_notes(probes, missing))), inputs)
    write_run(output, record)
    print(as_text(record))
    print(f"written to {output}: results.json, report.html, table.csv, plot.svg, predictions/")


def baseline(files: Sequence[File]) -> tuple[str, dict[str, float]]:
    """The most frequent training label, and the F1 of always predicting it, by file."""
    label = prior(files[0].labels or [])
    return label, {
        file.name: micro_scores([[label]] * len(file.labels), file.labels).f1
        for file in files[1:]
        if file.labels is not None
    }


def measurements(
    probes: Scores, tested: Mapping[str, str], always: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    """Rows in percent: for each probe, seed and file the figures, with counts and with ``missing``
    examples without vectors; for each epoch the F1 on the dev file; and for each layer of a mixture
    its share. The dev file is the first."""
    for one in probes:
        layers, about = one["layers"], {"row": one["variant"], "seed": one["options"]["seed"]}
        about |= {"layer": layers[0]} if len(layers) == 1 else {}
        for file in (VALID, *tested):
            if file not in one["scores"]:
                continue
            scores = one["scores"][file]
            of = {"task": file, "name": "dev" if file == VALID else shown(tested, file)}
            of |= {"target": tested[file]} if file in tested else {}
            of |= {name: scores[name] for name in _COUNTS}
            of |= {"epoch": one.get("epoch"), "missing": one["without_vectors"].get(file)}
            of = {name: value for name, value in of.items() if value is not None}
            for name, key in _FIGURES.items():
                chance = {"chance": 100 * always[file]} if name == "F1" else {}
                yield {**about, **of, "measure": name, "value": 100 * scores[key], **chance}
        for epoch, f1 in enumerate(one.get("dev_f1", ()), 1):
            yield {**about, "measure": "dev F1", "epoch": epoch, "value": 100 * f1}
        for layer, share in zip(layers, one["mix"] or (), strict=False):
            yield {**about, "measure": "share", "layer": layer, "value": 100 * share}


def record_of(rows: Sequence[Row], label: str, notes: Sequence[str]) -> Record:
    """The record of the rows of `measurements`; ``label`` is the most frequent one."""
    files = {"measure": "F1", "task": GIVEN, "seed": GIVEN}
    own = select(rows, files)
    kept = ("study", "unit", "task", "name", "target", "measure")
    always = {
        row["task"]: {
            **{name: row[name] for name in kept if name in row},
            **{"row": f"always {label}", "value": row["chance"]},
        }
        for row in own
    }
    chart = Chart("bars", files, panel="{name} {measure} (%)", ylabel="{name} {measure} (%)")
    if len(distinct(own, "layer")) > 1:
        chart = Chart("curve", files, row="name", ylabel="micro F1 (%)", xlabel=LAYER)
        chart = dataclasses.replace(chart, chance=f"always {label} (dev)")
    names = [name for name in distinct(own, "name") if name != "dev"]
    table = Table(
        {"probe": "row"},
        "{name} {measure}",
        {"task": GIVEN},
        ["dev F1", *(f"{name} {measure}" for name in names for measure in _FIGURES)],
        digits=1,
    )
    return Record(
        "Probing spans of a frozen encoder",
        [*always.values(), *rows],
        (
            Section("Micro F1", chart=chart, notes=["micro F1 in percent"], name="plot"),
            Section("Probes", table, notes=notes, name="table"),
        ),
        source="CLCR, Tables 5 and 6",
        lead=["A small network reads the states of spans; the encoder does not change."],
    )


def shown(tested: Mapping[str, str], name: str) -> str:
    """The name of a file: its language, if it is the only one of it.

    >>> tested = {"en.a": "en", "de.a": "de", "de.b": "de"}
    >>> shown(tested, "en.a"), shown(tested, "de.b"), shown(tested, "valid")
    ('en', 'de.b', 'valid')
    """
    lang = tested.get(name, name)
    return lang if list(tested.values()).count(lang) == 1 else name


def _notes(probes: Scores, missing: str) -> Iterator[str]:
    seeds = sorted({one["options"]["seed"] for one in probes})
    yield f"micro precision, recall and F1 in percent; seeds {', '.join(map(str, seeds))}"
    counts = {(one["variant"], *x): None for one in probes for x in one["without_vectors"].items()}
    for name in probes[0]["without_vectors"]:
        numbers = {variant: count for variant, file, count in counts if file == name}
        alike = len(set(numbers.values())) == 1
        for variant, count in list(numbers.items())[: 1 if alike else None]:
            if count:
                where = name if alike else f"{variant}, {name}"
                yield f"{where}: {count:,} examples {missing}; their labels count as missed"
    for one in probes:
        if one["mix"]:
            pairs = zip(one["layers"], one["mix"], strict=True)
            shares = ", ".join(f"{layer}: {share:.2f}" for layer, share in pairs)
            yield f"seed {one['options']['seed']} mixes layers {shares}"
