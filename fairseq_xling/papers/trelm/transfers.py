"""Encoders that a migration is compared with, as steps.

From scratch (TreLM, Table 2, Appendix A.5); and transfers of a multilingual encoder (Table 9): as
it is; further masked language modelling on the target; RositaWORD and MIM, which map the states
that a head reads; and fine-tuning until aligned words have the same states.
"""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.texts import read_lines
from fairseq_xling.papers.trelm.config import Stage, TrelmConfig
from fairseq_xling.papers.trelm.migration import Migration, model_options
from fairseq_xling.papers.trelm.run import with_baselines
from fairseq_xling.text.options import parse_segmentation

_PLAIN = "tri_encoder"  # without a TRILayer: a plain encoder without language embeddings
FIT, HELD_OUT = "fit", "held-out"


def budget(config: TrelmConfig) -> int:
    """The total steps of a migration: the transfer phase trains two models."""
    return config.commonality_steps + 2 * config.transfer_steps + config.language_steps


def add_scratch(
    one: Migration,
    *,
    objectives: str,
    task: str = "cdlm",
    of_target: bool = False,
    model: Sequence[str] | None = None,
    times: float = 1,
    limited: bool = True,
) -> None:
    """Steps that train an encoder on the migration's text for as many updates.

    Args:
        of_target: whether its monolingual text is the target's alone.
        model: its options (default: those of the migrated one without a TRILayer).
        times: its updates by the migration's.
        limited: whether the limits of the migration's text hold for it, too.
    """
    config, mono = one.config, [one.target] if of_target else one.pair()
    stage = Stage(round(times * budget(config)), config.commonality_lr, objectives, ())
    plain = dataclasses.replace(config, trilayer=False)
    one.train_phase(
        "scratch",
        stage,
        model or model_options(plain, one.inputs.shape),
        ["--objectives", objectives, "--mono-languages", ",".join(mono)],
        "--sample-break-mode sentence --mix-in-batch",
        title="from scratch",
        validate=one.inputs.validates(mono, True, "tlm" in objectives),
        task=task,
        data=one.all_text_folder() if limited else None,
    )
    one.measure_bits()


def add_transfer(
    one: Migration, *, sentences: int, method: Callable[[Migration], None] | None = None
) -> None:
    """One row of Table 9, whose ``source`` is the multilingual encoder (default: as it is).

    Args:
        sentences: how many training pairs maps of states are fitted on.
    """
    one.config = dataclasses.replace(one.config, arch=_PLAIN, trilayer=False)
    one.map_sentences = sentences
    words = "--embeddings source --head whole"
    one.checkpoints["as is"] = one.init(f"as-is-{one.target}", words)
    if method:
        method(one)
    one.measure_bits()
    if not one.head_inputs:  # a method that maps states has measured them mapped
        measure_distances(one, one.inputs.shape.layers)


def add_migrated(one: Migration, *, sentences: int) -> None:
    """`with_baselines`, with the distances of words in the migrated model."""
    one.map_sentences = sentences
    with_baselines(one)
    measure_distances(one, one.inputs.shape.layers + one.config.trilayer)


def target_mlm(one: Migration) -> None:
    """Masked language modelling on the target's text."""
    options = ["--objectives", "mlm", "--mono-languages", one.target, "--mix-in-batch"]
    _train(one, "target-mlm", options, validate=one.inputs.validates([one.target], True, False))


def word_alignment(one: Migration) -> None:
    """Aligned words are pulled together; the source language stays where it is (Cao et al.)."""
    _train(
        one,
        "word-alignment",
        ["--objectives", "word-alignment", "--directions", "-".join(one.pair())],
        ["--mix-in-batch", "--initial-encoder", one.last],
        validate=one.inputs.validates((), False, True),
        criterion="word_alignment",
    )


def mim(one: Migration) -> None:
    """Meeting in the middle: states of both languages are mapped to their average."""
    _map_states(one, "meeting", {})


def rosita_word(one: Migration, given: dict[str, Path] | None = None) -> None:
    """States with the static vectors of their words, mapped to the source language's."""
    vectors = given or one.word_vectors()
    for lang in one.pair():
        if lang not in vectors:
            raise UserError(f"`--word-vectors` must have a file of {lang!r}, as in {lang}=FILE")
    _map_states(one, "procrustes", vectors)


def _train(one: Migration, phase: str, *options: Any, **how: Any) -> None:
    """Train the encoder for as many steps as a migration takes."""
    config = one.config
    stage = Stage(budget(config), config.language_lr, "", config.words("language_args"))
    own = model_options(config, one.inputs.shape)
    one.train_phase(phase, stage, own, *options, start=one.last, **how)


def _map_states(one: Migration, method: str, vectors: Mapping[str, Path]) -> None:
    """A head that reads the last layer's states, with ``vectors``, through a map."""
    layer, (source, target) = one.inputs.shape.layers, one.pair()
    links = _links(one, FIT)
    states = _states(one, FIT, layer, vectors)
    fitted = one.run(
        f"fit-{method}-{one.code}",
        ["fairseq-xling", "map", method, states[target], states[source]],
        ["--pairs", "alignments", links, "--swap", "--layers", layer],
        "--normalize centre --output {out}",
        to="maps/{name}.safetensors",
        also=["maps/{name}.safetensors.json"],
        resumable=True,
    )
    one.head_options, one.head_inputs = ["--map", str(fitted)], [fitted]
    if vectors:  # a task is trained and tested in the target alone
        one.head_options += ["--concat-vectors", f"{target}={vectors[target]}"]
        one.head_inputs.append(vectors[target])
    measure_distances(one, layer, vectors, [fitted])


def measure_distances(
    one: Migration, layer: int, vectors: Mapping[str, Path] | None = None, maps: Sequence[Path] = ()
) -> None:
    """How far aligned words of the held-out pairs are from each other, in the states of
    ``layer`` with ``vectors``, after a map if one is fitted."""
    source, target = one.pair()
    links = _links(one, HELD_OUT)
    states = _states(one, HELD_OUT, layer, vectors or {})
    one.distances = one.run(
        f"distance-{one.code}",
        ["fairseq-xling", "eval", "aligned", states[target], states[source]],
        ["--alignments", links, "--swap", "--layers", layer],
        {"--map": list(maps)},
        "--output {out}",
        to="results/{name}.json",
        also=["results/{name}.csv"],
    )


def _states(one: Migration, part: str, layer: int, vectors: Mapping[str, Path]) -> dict[str, Path]:
    """The states of each language's side of ``part`` of the pairs, after the last layer."""
    texts = _texts(one)
    return {
        lang: one.run(
            f"tokens-{part}-{lang}-{one.code}",
            ["fairseq-xling", "extract", one.last, "--data", one.data, "--lang", lang],
            ["--text", texts / f"{part}.{lang}.txt", "--unit", "tokens", "--layers", layer],
            ["--device", one.config.device, "--output", "{out}"],
            {"--concat-vectors": vectors.get(lang)},
            to="states/{name}",
            resumable=True,
        )
        for lang in one.pair()
    }


def _texts(one: Migration) -> Path:
    """The folder with the pairs that maps are fitted on, those that are held out, and all."""
    pair, name = one.pair(), "-".join(one.pair())
    splits = {FIT: "train", HELD_OUT: one.config.translate_list[0]}
    for split in splits.values():
        if split not in one.inputs.parallel:
            raise UserError(
                f"there is no parallel {split!r} text of {name} to measure the distance of "
                f"aligned words in; give `--parallel {split}.{name}=FILE,FILE`"
            )
    texts = {part: one.inputs.parallel[split] for part, split in splits.items()}
    values = {"output": "{out}", "pair": pair, "sentences": one.map_sentences, "texts": texts}
    return one.run.function(f"pairs-{one.target}", write_pairs, values=values, to="text/{name}")


def _links(one: Migration, part: str) -> Path:
    """The word alignment of a part of the pairs; both parts are aligned together."""
    texts, (source, target) = _texts(one), one.pair()
    how = parse_segmentation(one.config.segment_of(one.target), one.pair())
    links = one.run(
        f"links-{one.target}",
        "fairseq-xling align fwd",
        *(texts / f"all.{lang}.txt" for lang in one.pair()),
        "--output {out}",
        ["--segment-source", how[source], "--segment-target", how[target]],
        to="text/{name}.pharaoh",
    )
    values = {"links": links, "texts": texts, "lang": source, "output": "{out}"}
    cut = one.run.function(f"cut-links-{one.target}", cut_links, values=values, to="text/{name}")
    return cut / f"{part}.pharaoh"


def write_pairs(
    output: str, pair: Sequence[str], sentences: int, texts: Mapping[str, Sequence[str]]
) -> None:
    """Write ``sentences`` pairs to fit maps on, those that are held out, and both together; the
    files ``texts`` of each part have a language each."""
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for at, lang in enumerate(pair):
        with atomic_write(folder / f"all.{lang}.txt", "w") as both:
            for part, most in ((FIT, sentences), (HELD_OUT, None)):
                with atomic_write(folder / f"{part}.{lang}.txt", "w") as file:
                    for line in itertools.islice(read_lines(Path(texts[part][at])), most):
                        file.write(f"{line}\n")
                        both.write(f"{line}\n")


def cut_links(links: str, texts: str, lang: str, output: str) -> None:
    """Write the links of each part of the pairs."""
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    lines = read_lines(Path(links))
    for part in (FIT, HELD_OUT):
        count = sum(1 for _ in read_lines(Path(texts) / f"{part}.{lang}.txt"))
        with atomic_write(folder / f"{part}.pharaoh", "w") as file:
            file.writelines(f"{line}\n" for line in itertools.islice(lines, count))
