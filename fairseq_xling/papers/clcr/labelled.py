"""Labelled pairs, each a premise and a hypothesis: the options of `clcr classify`, its files, and
their texts."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, check_files
from fairseq_xling.core.options import option, reads
from fairseq_xling.tasks.encode import on_one_line
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.formats.texts import TextItem
from fairseq_xling.tasks.items import parse_columns, parse_files

SIDES = ("premise", "hypothesis")
TRAIN, VALID = "train", "valid"


@dataclasses.dataclass(frozen=True)
class ClassifyConfig:
    """One sentence of help per field."""

    train: str = reads("", "LANG=FILE of labelled pairs to train on")
    valid: str = reads("", "LANG=FILE, in the language of --train, for selecting the epoch")
    test: tuple[str, ...] = reads((), "LANG=FILE to test on; repeatable")
    vectors: tuple[str, ...] = reads(
        (),
        "ROW=FOLDERS, a row of the table and its folders of sequences: {file} stands for the name "
        "of a labelled file without its ending, {name} without its language either, {lang} for its "
        "language, {side} for premise and hypothesis, {seed} if each has its own model; "
        "repeatable",
    )
    format: str = option("", "format of the labelled files: tsv or json_lines (default: tsv)")
    columns: str = option("", "which column of the files holds what, e.g. text=0,pair=1,label=2")
    beside: tuple[str, ...] = reads(
        (), "finished run of `eval transfer` to include in the table; repeatable"
    )
    baseline: tuple[str, ...] = reads(
        (),
        "NAME=RUN, the same under a name such as mBERT, translate-train or translate-test; "
        "repeatable",
    )
    projection: int = option(0, "width that vectors are projected to; 0 is no projection")
    hidden: int = option(300, "hidden units per direction of the recurrent layers")
    dropout: float = option(0.5, "dropout on the inputs of the LSTMs and the last two layers")
    lr: float = option(4e-4, "learning rate of Adam")
    batch_size: int = option(32, "pairs per step")
    clip: float = option(10.0, "maximum gradient norm")
    epochs: int = option(20, "maximum passes over the training file")
    patience: int = option(5, "passes without a better accuracy on dev before stopping")
    seeds: str = option("1", "seeds of training, comma-separated")
    device: str = option("cpu", "cpu, cuda or cuda:N")


@dataclasses.dataclass(frozen=True)
class LabelledFile:
    """A file of labelled pairs: ``name`` is unique in its run."""

    name: str
    lang: str
    path: Path


def labelled_files(train: str, valid: str, test: Sequence[str]) -> list[LabelledFile]:
    """Training, validation and all test files, in this order.

    Raises:
        UserError: if one is missing, --train and --valid are not one file each of one language, or
            two test files have one language and name.
    """
    found: dict[str, LabelledFile] = {}
    for kind, texts in ((TRAIN, (train,)), (VALID, (valid,)), ("test", test)):
        if not any(texts):
            raise UserError(f"`--{kind}` must be given")
        files = [file for text in texts for file in parse_files(f"--{kind}", text)]
        if kind != "test" and len(files) > 1:
            raise UserError(f"`--{kind}` must name one file, got {len(files)}")
        for lang, path in files:
            check_files(path)
            name = f"{lang}.{path.name}" if kind == "test" else kind
            if name in found:
                raise UserError(f"`--test` {path}: there are two files of that name and language")
            found[name] = LabelledFile(name, lang, path)
    if found[TRAIN].lang != found[VALID].lang:
        raise UserError(
            f"`--valid` must be in the language trained on, {found[TRAIN].lang}, got "
            f"{found[VALID].lang}; selecting by another language would not be zero-shot"
        )
    return [*found.values()]


def write_texts(source: Path, output: str, form: str = "", columns: str = "") -> int:
    """Write ``OUTPUT.premise`` and ``OUTPUT.hypothesis``, a line per pair; returns their number."""
    check_files(source)
    count = 0
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(atomic_write(f"{output}.{side}", "w")) for side in SIDES]
        for item in labelled_pairs(source, form, columns):
            for file, text in zip(files, item.texts, strict=True):
                file.write(on_one_line(text) + "\n")
            count += 1
    return count


def labelled_pairs(path: Path, form: str, columns: str) -> Iterator[TextItem]:
    """The items of a labelled file, each of a premise and a hypothesis."""
    for item in find_format("tsv", form).read(path, parse_columns(columns)):
        if len(item.texts) != len(SIDES):
            raise UserError(
                f"{item.place}: must have a premise and a hypothesis, got one text; name both with "
                "`--columns text=0,pair=1,label=2`"
            )
        yield item
