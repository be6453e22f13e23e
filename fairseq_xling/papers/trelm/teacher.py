"""Translators with slots, and the teachers whose translations they learn from instead of the
references.

Sequence-level distillation (Kim and Rush, 2016): what a model writes is more regular than what
people write, which helps one that writes all words at once (Gu et al., 2018). A teacher is an
autoregressive model, trained here or given, or a file of translations.
"""

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from fairseq.data import Dictionary

from fairseq_xling.checkpoints.layout import settings_of
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import sha256
from fairseq_xling.core.texts import read_sentences
from fairseq_xling.data.folder import SEP, DataFolder, read_dictionary
from fairseq_xling.models.emissions import emissions
from fairseq_xling.papers.trelm.autoregressive import (
    add_beam_search,
    beam_search,
    linked_data,
    train_autoregressive,
)
from fairseq_xling.papers.trelm.config import AUTOREGRESSIVE, SCRATCH, Stage
from fairseq_xling.papers.trelm.data import with_translations
from fairseq_xling.papers.trelm.migration import Migration, model_options
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.trained import load_trained

logger = logging.getLogger(__name__)

NAME = "teacher"
_BATCH = 64
SHARDS = 8  # what an interruption costs, and how finely progress is seen


def add_translator(one: Migration) -> None:
    """Train a translator, all of its weights; what it writes is one of the translations, and with
    `--slot-beam` what it finds by a search over its slots another."""
    config, emission = one.config, one.config.emission
    words = config.words("translator_args")
    stage = Stage(config.translator_steps, config.translator_lr, "translation", words)
    start = None if config.translator_start == SCRATCH else one.checkpoints["forward"]
    # Not the best by loss, which rises again while translations become better (on captions 2.5 %
    # more loss, 1.1 BLEU better).
    model = one.train(
        "translator",
        stage,
        model_options(config, one.inputs.shape),
        ["--emission", emission, "--upsample", config.upsample or emissions[emission].upsample],
        {"--slot-layers": config.slot_layers, "--glancing": config.glancing},
        ["--objectives", stage.objectives, "--directions", "-".join(one.pair())],
        data=_taught_folder(one),
        start=start,
        validate=one.inputs.validates((), False, True),
        checkpoint="last",
    )
    searches = {emission: (emission, [])}
    if (beam := config.slot_beam) > 1:
        searches[f"{emission}-beam"] = f"{emission}, beam {beam}", ["--slot-beam", beam]
    for what, (title, options) in searches.items():
        for split in config.translate_list:
            command = one.generate(model, False, split, "identity", *options)
            one.translate(False, what, split, command, title)


def _taught_folder(one: Migration) -> Path:
    """The data folder that a translator trains on: the transfer phase's, or one with the
    translations of `--teacher`."""
    config, data, pair = one.config, one.transfer_folder(), one.pair()
    if not config.teacher:
        return data
    trained, files = config.teacher == AUTOREGRESSIVE, [Path(config.teacher)]
    whose = one.code if trained else one.target  # a teacher that is given teaches all seeds
    if trained:
        model = train_autoregressive(one, False)[1]
    else:  # a checkpoint, or a file of text
        model = files[0] if files[0].suffix == ".pt" else None
    if model:
        folder = linked_data(one, data, False)
        values = {"model": model, "data": data, "output": "{out}", "pair": pair}
        model = one.run.function(
            f"{NAME}-{whose}", link_teacher, values=values, to="models/{name}.pt", inputs=[data]
        )

        def batches() -> list[str]:
            """fairseq-generate ends in a traceback if a shard has no batch."""
            count = len(DataFolder(data).parallel("train", *pair)[0])
            return ["--batch-size", str(max(1, min(_BATCH, count // SHARDS)))]

        files = []
        for shard in range(SHARDS):
            # For the engine's own task it is these that split a text: `--num-shards` does nothing.
            options = ("--distributed-world-size", SHARDS, "--distributed-rank", shard)
            command = beam_search(one, False, folder, model, "train", *options)
            kind = f"{NAME}-{whose}-{shard + 1}of{SHARDS}"
            written = one.run(kind, command, to="translations/{name}", late=batches)
            files.append(written / "generate-train.txt")
        if not trained:
            add_beam_search(one, False, folder, model, NAME, f"{NAME}-{whose}")
    values = {"data": data, "output": "{out}", "pair": pair, "files": files}
    values |= {"original": config.teacher_original, "lines": model is None}
    return one.run.function(
        f"taught-{whose}", write_taught, values=values, to="data/{name}", inputs=[data, *files]
    )


def link_teacher(model: str, data: str, pair: Sequence[str], output: str) -> None:
    """A link to the teacher, once it is known that it translates this text."""
    check_autoregressive(model, data, tuple(pair), "--teacher")
    Path(output).unlink(missing_ok=True)
    Path(output).symlink_to(Path(model).resolve())


def write_taught(
    data: str, output: str, pair: Sequence[str], files: Sequence[str], original: bool, lines: bool
) -> None:
    """The data folder with a teacher's translations.

    Args:
        files: what fairseq-generate has written, or with ``lines`` one of text.
        original: have the references as well.
    """
    written = _of_file(data, pair, files) if lines else of_model(data, pair, files)
    with_translations(Path(data), Path(output), pair, written, original)


def check_autoregressive(
    model: str | Path, data: str | Path, pair: tuple[str, str], option: str
) -> None:
    """Check that a checkpoint translates in direction ``pair`` with the vocabulary of ``data``.

    Args:
        option: that names the checkpoint, such as ``--teacher``.

    Raises:
        UserError: if it cannot be read, is of another task or direction, or has other words,
            which the folder that it was trained on tells, or the dictionaries next to it; without
            either, only their number counts.
    """
    state = load_trained(model)
    task, weights = settings_of(state["cfg"]["task"]), state["model"]
    name = task.get("_name", task.get("task"))
    if name != "translation":
        raise UserError(
            f"`{option}` {model}: must be a model of `--task translation`, got {name!r}"
        )
    theirs = (task.get("source_lang"), task.get("target_lang"))
    if theirs != pair:
        raise UserError(
            f"`{option}` {model}: must translate {'-'.join(pair)}, got {'-'.join(map(str, theirs))}"
        )
    folder = DataFolder(data)
    for part, lang in zip(("encoder", "decoder"), pair, strict=True):
        table = weights.get(f"{part}.embed_tokens.weight")
        size = folder.vocab_sizes[lang]
        if table is None or len(table) != size:
            got = "none" if table is None else f"{len(table):,}"
            raise UserError(
                f"`{option}` {model}: must have the vocabulary of {data}, {size:,} words of "
                f"{lang!r}, got {got}"
            )
    _check_words(model, task.get("data"), folder, pair, option)


def _check_words(
    model: str | Path, trained_on: Any, folder: DataFolder, pair: tuple[str, str], option: str
) -> None:
    """As many words may be others: 8,000 pieces of another text."""
    places = [Path(model).parent]
    if isinstance(trained_on, str):
        places.insert(0, Path(trained_on.split(os.pathsep)[0]))
    for lang in pair:
        name = f"dict.{lang}.txt"
        theirs = next((place / name for place in places if (place / name).is_file()), None)
        if theirs is None:
            logger.warning(
                "`%s` %s: its words cannot be compared with those of %s: put the %s that it was "
                "trained with next to it",
                *(option, model, folder.path, name),
            )
            return
        if sha256(theirs) == folder.dictionary_digest(lang):
            continue
        both = map(read_dictionary, (theirs, folder.dictionary_path(lang)))
        for number, (one, other) in enumerate(zip_longest(*both)):
            if one != other:
                raise UserError(
                    f"`{option}` {model}: must have the vocabulary of {folder.path}; word {number} "
                    f"of {lang!r} is {other!r} there, and {one!r} in {theirs}"
                )


def _of_file(data: str, pair: Sequence[str], files: Sequence[str]) -> Iterator[np.ndarray]:
    """The lines of a file of text."""
    count = len(DataFolder(data).parallel("train", *pair)[1])
    lines = sum(1 for _ in read_sentences(files[0]))
    if lines != count:
        raise UserError(
            f"`--teacher` {files[0]}: must have a line for each of the {count:,} training pairs of "
            f"{data}, got {lines:,}"
        )
    encoder = TextEncoder.load(data, pair[1])
    for line in read_sentences(files[0]):
        yield encoder.encode([line])[0]


def of_model(
    data: Path | str, pair: Sequence[str], files: Sequence[Path | str]
) -> Iterator[np.ndarray]:
    """What fairseq-generate has written, in the order of the text.

    Places in the files are kept, not what stands there, so memory hardly grows with the text.
    """
    folder = DataFolder(data)
    count = len(folder.parallel("train", *pair)[1])
    dictionary = Dictionary.load(str(folder.dictionary_path(pair[1])))
    places = np.full((count, 2), -1, dtype=np.int64)
    for number, path in enumerate(files):
        with open(path, "rb") as file:
            start = 0
            for line in file:
                if line.startswith(b"H-"):
                    places[int(line[2 : line.index(b"\t")])] = number, start
                start += len(line)
    missing = int((places[:, 0] < 0).sum())
    if missing:
        raise UserError(
            f"{Path(files[0]).parent}: {missing:,} of {count:,} training sentences have no "
            "translation"
        )
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(open(path, "rb")) for path in files]
        for number, start in places.tolist():
            opened[number].seek(start)
            words = opened[number].readline().decode().rstrip("\n").split("\t")[-1].split(" ")
            yield np.array([*map(dictionary.index, filter(None, words)), SEP])
