"""Transfers of a multilingual encoder that migration is compared with, as steps: TreLM, Table 9.

The encoder as it is; further masked language modelling on the target; RositaWORD and MIM, which map
the states that a head reads; and fine-tuning until aligned words have the same states. Each way is
a function from a `Transfer` to nothing, which adds steps and what they leave to its outcome.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, read_lines
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.compared import add_compared
from fairseq_xling.papers.trelm.config import Stage, TrelmConfig
from fairseq_xling.papers.trelm.facts import Facts, sources_of
from fairseq_xling.papers.trelm.scratch import budget
from fairseq_xling.papers.trelm.steps import Outcome, add_bpw
from fairseq_xling.papers.trelm.text import data_folder, source_options, word_vectors
from fairseq_xling.papers.trelm.training import (
    checkpoint,
    model_options,
    segments,
    training_step,
)
from fairseq_xling.runs.step import Step
from fairseq_xling.text.options import parse_segmentation

_PLAIN = "tri_encoder"  # without a TRILayer: a plain encoder without language embeddings
FIT, HELD_OUT = "fit", "held-out"


@dataclasses.dataclass(frozen=True)
class Transfer:
    """One row of the table for a target and a seed.

    Attributes:
        config: settings of the row; ``source`` is the multilingual encoder.
        sentences: how many training pairs maps are fitted on.
        outcome: what the row leaves.
    """

    book: Book
    config: TrelmConfig
    facts: Facts
    sentences: int
    outcome: Outcome

    @property
    def pair(self) -> tuple[str, str]:
        """The source language and the target."""
        return self.config.source_lang, self.outcome.target

    @property
    def last(self) -> Path:
        """The last checkpoint."""
        return list(self.outcome.checkpoints.values())[-1]

    def add(self, kind: str, build: Callable[[str], Step], seeded: bool = True) -> str:
        """Add a step; returns its name."""
        seed = f"-{self.outcome.seed}" if seeded else ""
        return self.book.add(f"{kind}-{self.outcome.target}{seed}", self.outcome.label, build)


Way = Callable[[Transfer], None]


def add_transfer(
    book: Book,
    config: TrelmConfig,
    facts: Facts,
    target: str,
    seed: int,
    label: str,
    *,
    sentences: int,
    way: Way | None = None,
) -> Outcome:
    """The steps of one way of transfer (default: none, the encoder as it is)."""
    plain = dataclasses.replace(config, arch=_PLAIN, trilayer=False)
    outcome = Outcome(target, seed, label, data_folder(book, config, facts, target, label))
    row = Transfer(book, plain, facts, sentences, outcome)
    name = row.add("as-is", functools.partial(_unchanged, row), seeded=False)
    outcome.checkpoints["as is"] = book.run / "models" / f"{name}.pt"
    if way:
        way(row)
    outcome.bpw = add_bpw(book, plain, outcome)
    if not outcome.head_inputs:  # a way that maps states has measured them mapped
        add_distances(row, facts.shape.layers)
    return outcome


def add_migrated(
    book: Book,
    config: TrelmConfig,
    facts: Facts,
    target: str,
    seed: int,
    label: str,
    *,
    sentences: int,
) -> Outcome:
    """`add_compared`, with the distances of words in the migrated model."""
    outcome = add_compared(book, config, facts, target, seed, label)
    row = Transfer(book, config, facts, sentences, outcome)
    add_distances(row, facts.shape.layers + config.trilayer)
    return outcome


def _unchanged(row: Transfer, name: str) -> Step:
    """The encoder as a checkpoint for its data folder."""
    config, shape, output = row.config, row.facts.shape, row.book.run / "models" / f"{name}.pt"
    command = [
        *("fairseq-xling", "init", config.source, *source_options(config)),
        *("--data", str(row.outcome.data), "--output", str(output), "--arch", config.arch),
        *("--languages", ",".join(row.pair), "--no-trilayer"),
        *("--max-positions", str(config.max_positions or shape.max_positions)),
        *("--num-segments", str(segments(config, shape))),
        *("--embeddings", "source", "--head", "whole", *config.words("init_args")),
    ]
    inputs = [Path(config.source), row.outcome.data]
    return Step(name, commands=[command], inputs=inputs, outputs=[output])


def _train(row: Transfer, phase: str, options: list[str], validate: bool, **more: object) -> None:
    """Train the encoder for as many steps as a migration takes."""
    config, outcome = row.config, row.outcome
    stage = Stage(phase, budget(config), config.language_lr, "", config.words("language_args"))
    build = functools.partial(
        training_step,
        run=row.book.run,
        config=config,
        stage=stage,
        data=outcome.data,
        languages=row.pair,
        options=[*model_options(config, row.facts.shape), *options],
        seed=outcome.seed,
        start=row.last,
        validate=validate,
        **more,
    )
    name = row.add(phase, build)
    outcome.checkpoints[phase] = checkpoint(row.book.run, name, config)
    outcome.logs[phase] = row.book.run / "logs" / f"{name}.log"
    outcome.updates[phase] = stage.steps


def target_mlm(row: Transfer) -> None:
    """Masked language modelling on the target's text."""
    target = row.outcome.target
    options = ["--objectives", "mlm", "--mono-languages", target, "--mix-in-batch"]
    _train(row, "target-mlm", options, row.facts.validates([target], True, False))


def word_alignment(row: Transfer) -> None:
    """Aligned words are pulled together; the source language stays where it is (Cao et al.)."""
    options = ["--objectives", "word-alignment", "--directions", "-".join(row.pair)]
    options += ["--mix-in-batch", "--initial-encoder", str(row.last)]
    validate = row.facts.validates((), False, True)
    _train(row, "word-alignment", options, validate, criterion="word_alignment")


def mim(row: Transfer) -> None:
    """Meeting in the middle: states of both languages are mapped to their average."""
    _mapped(row, "meeting")


def rosita_word(row: Transfer, given: dict[str, Path] | None = None) -> None:
    """States with the static vectors of their words, mapped to the source language's."""
    book, outcome = row.book, row.outcome
    vectors = given or word_vectors(book, row.config, row.facts, outcome.target, outcome.label)
    for lang in row.pair:
        if lang not in vectors:
            raise UserError(f"`--word-vectors` must have a file of {lang!r}, as in {lang}=FILE")
    _mapped(row, "procrustes", {lang: vectors[lang] for lang in row.pair})


def _mapped(row: Transfer, method: str, vectors: dict[str, Path] | None = None) -> None:
    """A head that reads the last layer's states, with ``vectors``, through a map."""
    vectors, layer = vectors or {}, row.facts.shape.layers
    links, source, target = _links(row, FIT), *row.pair
    states = {lang: _tokens(row, FIT, lang, layer, vectors.get(lang)) for lang in row.pair}

    def build(name: str) -> Step:
        output = row.book.run / "maps" / f"{name}.safetensors"
        command = [
            *("fairseq-xling", "map", method, str(states[target]), str(states[source])),
            *("--pairs", "alignments", str(links), "--swap", "--layers", str(layer)),
            *("--normalize", "centre", "--output", str(output)),
        ]
        inputs = [states[target], states[source], links]
        outputs = [output, Path(f"{output}.json")]
        return Step(name, commands=[command], inputs=inputs, outputs=outputs, resumable=True)

    fitted = row.book.run / "maps" / f"{row.add(f'fit-{method}', build)}.safetensors"
    row.outcome.head_options, row.outcome.head_inputs = ["--map", str(fitted)], [fitted]
    if vectors:  # a task is trained and tested in the target alone
        row.outcome.head_options += ["--concat-vectors", f"{target}={vectors[target]}"]
        row.outcome.head_inputs.append(vectors[target])
    add_distances(row, layer, fitted, vectors)


def add_distances(
    row: Transfer, layer: int, fitted: Path | None = None, vectors: dict[str, Path] | None = None
) -> None:
    """How far aligned words of the held-out pairs are from each other, in the states of ``layer``
    with ``vectors``, after a map if one is ``fitted``."""
    links, source, target = _links(row, HELD_OUT), *row.pair
    states = {
        lang: _tokens(row, HELD_OUT, lang, layer, (vectors or {}).get(lang)) for lang in row.pair
    }

    def build(name: str) -> Step:
        output = row.book.run / "results" / f"{name}.json"
        command = [
            *("fairseq-xling", "eval", "aligned", str(states[target]), str(states[source])),
            *("--alignments", str(links), "--swap", "--layers", str(layer)),
            *(("--map", str(fitted)) if fitted else ()),
            *("--output", str(output)),
        ]
        inputs = [states[target], states[source], links, *([fitted] if fitted else [])]
        outputs = [output, output.with_suffix(".csv")]
        return Step(name, commands=[command], inputs=inputs, outputs=outputs)

    row.outcome.distances = row.book.run / "results" / f"{row.add('distance', build)}.json"


def _tokens(row: Transfer, part: str, lang: str, layer: int, vectors: Path | None) -> Path:
    """The states of a language's side of ``part`` of the pairs, after the last layer."""
    model, data, text = row.last, row.outcome.data, _texts(row) / f"{part}.{lang}.txt"

    def build(name: str) -> Step:
        output = row.book.run / "states" / name
        command = [
            *("fairseq-xling", "extract", str(model), "--data", str(data), "--lang", lang),
            *("--text", str(text), "--unit", "tokens", "--layers", str(layer)),
            *("--device", row.config.device, "--output", str(output)),
            *(("--concat-vectors", str(vectors)) if vectors else ()),
        ]
        inputs = [model, data, text, *([vectors] if vectors else [])]
        return Step(name, commands=[command], inputs=inputs, outputs=[output], resumable=True)

    return row.book.run / "states" / row.add(f"tokens-{part}-{lang}", build)


def _texts(row: Transfer) -> Path:
    """The folder with the pairs that maps are fitted on, those that are held out, and all."""
    split = row.config.translate_list[0]

    def build(name: str) -> Step:
        output = row.book.run / "text" / name
        return Step(
            name,
            call=functools.partial(
                _write_pairs, row.config, row.pair, split, row.sentences, output
            ),
            settings={"pair": list(row.pair), "split": split, "sentences": row.sentences},
            inputs=list(row.facts.files),
            outputs=[output],
        )

    return row.book.run / "text" / row.add("pairs", build, seeded=False)


def _links(row: Transfer, part: str) -> Path:
    """The word alignment of a part of the pairs; both parts are aligned together."""
    texts, how = _texts(row), parse_segmentation(row.config.segment_of(row.pair[1]), row.pair)
    sides = [texts / f"all.{lang}.txt" for lang in row.pair]

    def align(name: str) -> Step:
        output = row.book.run / "text" / f"{name}.pharaoh"
        command = [
            *("fairseq-xling", "align", "fwd", *map(str, sides), "--output", str(output)),
            *("--segment-source", how[row.pair[0]], "--segment-target", how[row.pair[1]]),
        ]
        return Step(name, commands=[command], inputs=[texts], outputs=[output])

    links = row.book.run / "text" / f"{row.add('links', align, seeded=False)}.pharaoh"

    def cut(name: str) -> Step:
        output = row.book.run / "text" / name
        return Step(
            name,
            call=functools.partial(_cut_links, links, texts, row.pair[0], output),
            inputs=[links, texts],
            outputs=[output],
        )

    return row.book.run / "text" / row.add("cut-links", cut, seeded=False) / f"{part}.pharaoh"


def _write_pairs(
    config: TrelmConfig, pair: tuple[str, str], held_out: str, count: int, output: Path
) -> None:
    """Write ``count`` training pairs, the pairs of the split ``held_out``, and both together.

    Raises:
        UserError: if there are none of either.
    """
    parts = {FIT: ("train", count), HELD_OUT: (held_out, None)}
    parallel = sources_of(config, pair).parallel
    files = {
        (split, lang): path
        for (split, langs), paths in parallel.items()
        if set(langs) == set(pair)
        for lang, path in zip(langs, paths, strict=True)
    }
    for split, _ in parts.values():
        if (split, pair[0]) not in files:
            raise UserError(
                f"there is no parallel {split!r} text of {'-'.join(pair)} to measure the "
                f"distance of aligned words in; give `--parallel {split}.{'-'.join(pair)}="
                "FILE,FILE`"
            )
    output.mkdir(parents=True, exist_ok=True)
    for lang in pair:
        with atomic_write(output / f"all.{lang}.txt", "w") as both:
            for part, (split, most) in parts.items():
                with atomic_write(output / f"{part}.{lang}.txt", "w") as file:
                    for line in itertools.islice(read_lines(files[split, lang]), most):
                        file.write(f"{line}\n")
                        both.write(f"{line}\n")


def _cut_links(links: Path, texts: Path, lang: str, output: Path) -> None:
    """Write the links of each part of the pairs."""
    output.mkdir(parents=True, exist_ok=True)
    lines = read_lines(links)
    for part in (FIT, HELD_OUT):
        count = sum(1 for _ in read_lines(texts / f"{part}.{lang}.txt"))
        with atomic_write(output / f"{part}.pharaoh", "w") as file:
            file.writelines(f"{line}\n" for line in itertools.islice(lines, count))
