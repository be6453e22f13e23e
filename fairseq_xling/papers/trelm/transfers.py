"""Encoders that a migration is compared with, as steps.

From scratch (TreLM, Table 2, Appendix A.5); and transfers of a multilingual encoder (Table 9): as
it is; further masked language modelling on the target; RositaWORD and MIM, which map the states
that a head reads; and fine-tuning until aligned words have the same states.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, read_lines
from fairseq_xling.papers.trelm.config import Stage, TrelmConfig
from fairseq_xling.papers.trelm.inputs import sources_of
from fairseq_xling.papers.trelm.plan import MigrationPlan, add_bpw, model_options
from fairseq_xling.papers.trelm.preparation import add_init, all_text_folder, word_vectors
from fairseq_xling.papers.trelm.run import with_baselines
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
    times: float = 1,
    limited: bool = True,
) -> None:
    """Steps that train an encoder on the migration's text for as many updates.

    Args:
        languages: those of the monolingual text (default: both).
        model: its options (default: those of the migrated one without a TRILayer).
        times: its updates by the migration's.
        limited: whether the limits of the migration's text hold for it, too.
    """
    config, mono = plan.config, languages or plan.pair
    updates = round(times * budget(config))
    stage = Stage("scratch", updates, config.commonality_lr, objectives, ())
    plain = dataclasses.replace(config, trilayer=False)
    options = [
        *(model or model_options(plain, plan.inputs.shape)),
        *("--objectives", objectives, "--mono-languages", ",".join(mono)),
        *("--sample-break-mode", "sentence", "--mix-in-batch"),
    ]
    validate = plan.inputs.validates(mono, True, "tlm" in objectives)
    data = all_text_folder(plan) if limited else None
    plan.train_phase(
        "scratch", stage, options, "from scratch", validate=validate, task=task, data=data
    )
    add_bpw(plan)


@dataclasses.dataclass(frozen=True)
class Transfer(MigrationPlan):
    """One row of Table 9 for a target and a seed; its ``source`` is the multilingual encoder.

    Attributes:
        sentences: how many training pairs maps are fitted on.
    """

    sentences: int

    @classmethod
    def of(cls, plan: MigrationPlan, sentences: int) -> "Transfer":
        return cls(plan.graph, plan.config, plan.inputs, plan.artifacts, sentences)


TransferMethod = Callable[[Transfer], None]


def add_transfer(
    plan: MigrationPlan, *, sentences: int, method: TransferMethod | None = None
) -> None:
    """The steps of one transfer (default: none, the encoder as it is)."""
    config = dataclasses.replace(plan.config, arch=_PLAIN, trilayer=False)
    row = Transfer.of(dataclasses.replace(plan, config=config), sentences)
    artifacts = row.artifacts
    words = ["--embeddings", "source", "--head", "whole"]
    artifacts.checkpoints["as is"] = add_init(row, f"as-is-{row.target}", ["--no-trilayer"], words)
    if method:
        method(row)
    add_bpw(row)
    if not artifacts.head_inputs:  # a method that maps states has measured them mapped
        add_distances(row, row.inputs.shape.layers)


def add_migrated(plan: MigrationPlan, *, sentences: int) -> None:
    """`with_baselines`, with the distances of words in the migrated model."""
    with_baselines(plan)
    add_distances(Transfer.of(plan, sentences), plan.inputs.shape.layers + plan.config.trilayer)


def _train(row: Transfer, phase: str, options: list[str], validate: bool, **how: Any) -> None:
    """Train the encoder for as many steps as a migration takes."""
    config = row.config
    stage = Stage(phase, budget(config), config.language_lr, "", config.words("language_args"))
    options = [*model_options(config, row.inputs.shape), *options]
    row.train_phase(phase, stage, options, start=row.last, validate=validate, **how)


def target_mlm(row: Transfer) -> None:
    """Masked language modelling on the target's text."""
    options = ["--objectives", "mlm", "--mono-languages", row.target, "--mix-in-batch"]
    _train(row, "target-mlm", options, row.inputs.validates([row.target], True, False))


def word_alignment(row: Transfer) -> None:
    """Aligned words are pulled together; the source language stays where it is (Cao et al.)."""
    options = ["--objectives", "word-alignment", "--directions", "-".join(row.pair)]
    options += ["--mix-in-batch", "--initial-encoder", str(row.last)]
    validate = row.inputs.validates((), False, True)
    _train(row, "word-alignment", options, validate, criterion="word_alignment")


def mim(row: Transfer) -> None:
    """Meeting in the middle: states of both languages are mapped to their average."""
    _mapped(row, "meeting", {})


def rosita_word(row: Transfer, given: dict[str, Path] | None = None) -> None:
    """States with the static vectors of their words, mapped to the source language's."""
    vectors = given or word_vectors(row)
    for lang in row.pair:
        if lang not in vectors:
            raise UserError(f"`--word-vectors` must have a file of {lang!r}, as in {lang}=FILE")
    _mapped(row, "procrustes", vectors)


def _mapped(row: Transfer, method: str, vectors: Mapping[str, Path]) -> None:
    """A head that reads the last layer's states, with ``vectors``, through a map."""
    layer, (source, target) = row.inputs.shape.layers, row.pair
    links = _links(row, FIT)
    states = _states(row, FIT, layer, vectors)
    fitted = row.make(
        f"fit-{method}-{row.code}",
        "maps/{}.safetensors",
        command=lambda output: [
            *("fairseq-xling", "map", method, states[target], states[source]),
            *("--pairs", "alignments", links, "--swap", "--layers", layer),
            *("--normalize", "centre", "--output", output),
        ],
        also=["maps/{}.safetensors.json"],
        inputs=[states[target], states[source], links],
        resumable=True,
    )
    artifacts = row.artifacts
    artifacts.head_options, artifacts.head_inputs = ["--map", str(fitted)], [fitted]
    if vectors:  # a task is trained and tested in the target alone
        artifacts.head_options += ["--concat-vectors", f"{target}={vectors[target]}"]
        artifacts.head_inputs.append(vectors[target])
    add_distances(row, layer, vectors, [fitted])


def add_distances(
    row: Transfer, layer: int, vectors: Mapping[str, Path] | None = None, maps: Sequence[Path] = ()
) -> None:
    """How far aligned words of the held-out pairs are from each other, in the states of ``layer``
    with ``vectors``, after a map if one is fitted."""
    source, target = row.pair
    links = _links(row, HELD_OUT)
    states = _states(row, HELD_OUT, layer, vectors or {})
    row.artifacts.distances = row.make(
        f"distance-{row.code}",
        "results/{}.json",
        command=lambda output: [
            *("fairseq-xling", "eval", "aligned", states[target], states[source]),
            *("--alignments", links, "--swap", "--layers", layer),
            *(word for fitted in maps for word in ("--map", fitted)),
            *("--output", output),
        ],
        also=["results/{}.csv"],
        inputs=[states[target], states[source], links, *maps],
    )


def _states(row: Transfer, part: str, layer: int, vectors: Mapping[str, Path]) -> dict[str, Path]:
    """The states of each language's side of ``part`` of the pairs, after the last layer."""
    texts, model, data = _texts(row), row.last, row.artifacts.data

    def extract(lang: str) -> Path:
        text, own = texts / f"{part}.{lang}.txt", [vectors[lang]] if lang in vectors else []
        return row.make(
            f"tokens-{part}-{lang}-{row.code}",
            "states/{}",
            command=lambda output: [
                *("fairseq-xling", "extract", model, "--data", data, "--lang", lang),
                *("--text", text, "--unit", "tokens", "--layers", layer),
                *("--device", row.config.device, "--output", output),
                *(word for path in own for word in ("--concat-vectors", path)),
            ],
            inputs=[model, data, text, *own],
            resumable=True,
        )

    return {lang: extract(lang) for lang in row.pair}


def _texts(row: Transfer) -> Path:
    """The folder with the pairs that maps are fitted on, those that are held out, and all."""
    split = row.config.translate_list[0]
    return row.make(
        f"pairs-{row.target}",
        "text/{}",
        call=functools.partial(_write_pairs, row.config, row.pair, split, row.sentences),
        settings={"pair": list(row.pair), "split": split, "sentences": row.sentences},
        inputs=list(row.inputs.files),
    )


def _links(row: Transfer, part: str) -> Path:
    """The word alignment of a part of the pairs; both parts are aligned together."""
    texts = _texts(row)
    how = parse_segmentation(row.config.segment_of(row.target), row.pair)
    links = row.make(
        f"links-{row.target}",
        "text/{}.pharaoh",
        command=lambda output: [
            *("fairseq-xling", "align", "fwd"),
            *(texts / f"all.{lang}.txt" for lang in row.pair),
            *("--output", output),
            *("--segment-source", how[row.pair[0]], "--segment-target", how[row.pair[1]]),
        ],
        inputs=[texts],
    )
    cut = row.make(
        f"cut-links-{row.target}",
        "text/{}",
        call=functools.partial(_cut_links, links, texts, row.pair[0]),
        inputs=[links, texts],
    )
    return cut / f"{part}.pharaoh"


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
