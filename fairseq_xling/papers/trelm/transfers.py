"""Encoders that a migration is compared with, as steps.

From scratch (TreLM, Table 2, Appendix A.5); and transfers of a multilingual encoder (Table 9): as
it is; further masked language modelling on the target; RositaWORD and MIM, which map the states
that a head reads; and fine-tuning until aligned words have the same states.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, read_lines
from fairseq_xling.papers.trelm.config import Stage, TrelmConfig
from fairseq_xling.papers.trelm.inputs import sources_of
from fairseq_xling.papers.trelm.plan import BuildStep, MigrationPlan, add_bpw, model_options
from fairseq_xling.papers.trelm.preparation import init_step, word_vectors
from fairseq_xling.papers.trelm.run import with_baselines
from fairseq_xling.runs.step import Step
from fairseq_xling.text.options import parse_segmentation

_PLAIN = "tri_encoder"  # without a TRILayer: a plain encoder without language embeddings
FIT, HELD_OUT = "fit", "held-out"


def budget(config: TrelmConfig) -> int:
    """The total steps of a migration: the transfer phase trains two models."""
    return config.commonality_steps + 2 * config.transfer_steps + config.language_steps


def add_scratch(
    plan: MigrationPlan,
    *,
    task: str,
    objectives: str,
    languages: Sequence[str] | None = None,
    model: Sequence[str] | None = None,
) -> None:
    """Steps that train an encoder on the migration's data folder for as many updates.

    Args:
        languages: those of the monolingual text (default: both).
        model: its options (default: those of the migrated one without a TRILayer).
    """
    config, mono = plan.config, languages or plan.pair
    stage = Stage("scratch", budget(config), config.commonality_lr, objectives, ())
    plain = dataclasses.replace(config, trilayer=False)
    options = [
        *(model or model_options(plain, plan.inputs.shape)),
        *("--objectives", objectives, "--mono-languages", ",".join(mono)),
        *("--sample-break-mode", "sentence", "--mix-in-batch"),
    ]
    validate = plan.inputs.validates(mono, True, "tlm" in objectives)
    plan.train_phase("scratch", stage, options, "from scratch", validate=validate, task=task)
    add_bpw(plan)


@dataclasses.dataclass(frozen=True)
class Transfer:
    """One row of Table 9 for a target and a seed.

    Attributes:
        plan: its ``source`` is the multilingual encoder.
        sentences: how many training pairs maps are fitted on.
    """

    plan: MigrationPlan
    sentences: int

    @property
    def run(self) -> Path:
        """The folder of the run."""
        return self.plan.run

    @property
    def pair(self) -> tuple[str, str]:
        """The source language and the target."""
        return self.plan.pair

    def add(self, kind: str, build: BuildStep, seeded: bool = True) -> str:
        """Add a step; returns its name."""
        return self.plan.add(f"{kind}-{self.plan.code if seeded else self.plan.target}", build)


TransferMethod = Callable[[Transfer], None]


def add_transfer(
    plan: MigrationPlan, *, sentences: int, method: TransferMethod | None = None
) -> None:
    """The steps of one transfer (default: none, the encoder as it is)."""
    plain = dataclasses.replace(plan.config, arch=_PLAIN, trilayer=False)
    plan = dataclasses.replace(plan, config=plain)
    row = Transfer(plan, sentences)

    def unchanged(name: str) -> Step:
        model = ["--arch", plain.arch, "--languages", ",".join(plan.pair), "--no-trilayer"]
        return init_step(plan, name, model, ["--embeddings", "source", "--head", "whole"])

    name = row.add("as-is", unchanged, seeded=False)
    plan.artifacts.checkpoints["as is"] = plan.run / "models" / f"{name}.pt"
    if method:
        method(row)
    add_bpw(plan)
    if not plan.artifacts.head_inputs:  # a method that maps states has measured them mapped
        add_distances(row, plan.inputs.shape.layers)


def add_migrated(plan: MigrationPlan, *, sentences: int) -> None:
    """`with_baselines`, with the distances of words in the migrated model."""
    with_baselines(plan)
    add_distances(Transfer(plan, sentences), plan.inputs.shape.layers + plan.config.trilayer)


def _train(row: Transfer, phase: str, options: list[str], validate: bool, **how: Any) -> None:
    """Train the encoder for as many steps as a migration takes."""
    plan, config = row.plan, row.plan.config
    stage = Stage(phase, budget(config), config.language_lr, "", config.words("language_args"))
    options = [*model_options(config, plan.inputs.shape), *options]
    plan.train_phase(phase, stage, options, start=plan.last, validate=validate, **how)


def target_mlm(row: Transfer) -> None:
    """Masked language modelling on the target's text."""
    target = row.plan.target
    options = ["--objectives", "mlm", "--mono-languages", target, "--mix-in-batch"]
    _train(row, "target-mlm", options, row.plan.inputs.validates([target], True, False))


def word_alignment(row: Transfer) -> None:
    """Aligned words are pulled together; the source language stays where it is (Cao et al.)."""
    options = ["--objectives", "word-alignment", "--directions", "-".join(row.pair)]
    options += ["--mix-in-batch", "--initial-encoder", str(row.plan.last)]
    validate = row.plan.inputs.validates((), False, True)
    _train(row, "word-alignment", options, validate, criterion="word_alignment")


def mim(row: Transfer) -> None:
    """Meeting in the middle: states of both languages are mapped to their average."""
    _mapped(row, "meeting")


def rosita_word(row: Transfer, given: dict[str, Path] | None = None) -> None:
    """States with the static vectors of their words, mapped to the source language's."""
    vectors = given or word_vectors(row.plan)
    for lang in row.pair:
        if lang not in vectors:
            raise UserError(f"`--word-vectors` must have a file of {lang!r}, as in {lang}=FILE")
    _mapped(row, "procrustes", {lang: vectors[lang] for lang in row.pair})


def _mapped(row: Transfer, method: str, vectors: dict[str, Path] | None = None) -> None:
    """A head that reads the last layer's states, with ``vectors``, through a map."""
    vectors, layer = vectors or {}, row.plan.inputs.shape.layers
    links, source, target = _links(row, FIT), *row.pair
    states = {lang: _tokens(row, FIT, lang, layer, vectors.get(lang)) for lang in row.pair}

    def build(name: str) -> Step:
        output = row.run / "maps" / f"{name}.safetensors"
        command = [
            *("fairseq-xling", "map", method, str(states[target]), str(states[source])),
            *("--pairs", "alignments", str(links), "--swap", "--layers", str(layer)),
            *("--normalize", "centre", "--output", str(output)),
        ]
        inputs = [states[target], states[source], links]
        outputs = [output, Path(f"{output}.json")]
        return Step(name, commands=[command], inputs=inputs, outputs=outputs, resumable=True)

    artifacts = row.plan.artifacts
    fitted = row.run / "maps" / f"{row.add(f'fit-{method}', build)}.safetensors"
    artifacts.head_options, artifacts.head_inputs = ["--map", str(fitted)], [fitted]
    if vectors:  # a task is trained and tested in the target alone
        artifacts.head_options += ["--concat-vectors", f"{target}={vectors[target]}"]
        artifacts.head_inputs.append(vectors[target])
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
        output = row.run / "results" / f"{name}.json"
        command = [
            *("fairseq-xling", "eval", "aligned", str(states[target]), str(states[source])),
            *("--alignments", str(links), "--swap", "--layers", str(layer)),
            *(("--map", str(fitted)) if fitted else ()),
            *("--output", str(output)),
        ]
        inputs = [states[target], states[source], links, *([fitted] if fitted else [])]
        outputs = [output, output.with_suffix(".csv")]
        return Step(name, commands=[command], inputs=inputs, outputs=outputs)

    row.plan.artifacts.distances = row.run / "results" / f"{row.add('distance', build)}.json"


def _tokens(row: Transfer, part: str, lang: str, layer: int, vectors: Path | None) -> Path:
    """The states of a language's side of ``part`` of the pairs, after the last layer."""
    model, data, text = row.plan.last, row.plan.artifacts.data, _texts(row) / f"{part}.{lang}.txt"

    def build(name: str) -> Step:
        output = row.run / "states" / name
        command = [
            *("fairseq-xling", "extract", str(model), "--data", str(data), "--lang", lang),
            *("--text", str(text), "--unit", "tokens", "--layers", str(layer)),
            *("--device", row.plan.config.device, "--output", str(output)),
            *(("--concat-vectors", str(vectors)) if vectors else ()),
        ]
        inputs = [model, data, text, *([vectors] if vectors else [])]
        return Step(name, commands=[command], inputs=inputs, outputs=[output], resumable=True)

    return row.run / "states" / row.add(f"tokens-{part}-{lang}", build)


def _texts(row: Transfer) -> Path:
    """The folder with the pairs that maps are fitted on, those that are held out, and all."""
    split = row.plan.config.translate_list[0]

    def build(name: str) -> Step:
        output = row.run / "text" / name
        return Step(
            name,
            call=functools.partial(
                _write_pairs, row.plan.config, row.pair, split, row.sentences, output
            ),
            settings={"pair": list(row.pair), "split": split, "sentences": row.sentences},
            inputs=list(row.plan.inputs.files),
            outputs=[output],
        )

    return row.run / "text" / row.add("pairs", build, seeded=False)


def _links(row: Transfer, part: str) -> Path:
    """The word alignment of a part of the pairs; both parts are aligned together."""
    texts, segment = _texts(row), row.plan.config.segment_of(row.plan.target)
    how = parse_segmentation(segment, row.pair)
    sides = [texts / f"all.{lang}.txt" for lang in row.pair]

    def align(name: str) -> Step:
        output = row.run / "text" / f"{name}.pharaoh"
        command = [
            *("fairseq-xling", "align", "fwd", *map(str, sides), "--output", str(output)),
            *("--segment-source", how[row.pair[0]], "--segment-target", how[row.pair[1]]),
        ]
        return Step(name, commands=[command], inputs=[texts], outputs=[output])

    links = row.run / "text" / f"{row.add('links', align, seeded=False)}.pharaoh"

    def cut(name: str) -> Step:
        output = row.run / "text" / name
        return Step(
            name,
            call=functools.partial(_cut_links, links, texts, row.pair[0], output),
            inputs=[links, texts],
            outputs=[output],
        )

    return row.run / "text" / row.add("cut-links", cut, seeded=False) / f"{part}.pharaoh"


def _write_pairs(
    config: TrelmConfig, pair: tuple[str, str], held_out: str, count: int, output: Path
) -> None:
    """Write ``count`` training pairs, the pairs of the split ``held_out``, and both together."""
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
