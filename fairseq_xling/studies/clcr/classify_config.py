"""The settings of `fairseq-xling clcr classify`, and which folders each row of its table reads."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.clcr.row_folders import RowFolders, parse_rows, places_of
from fairseq_xling.errors import UserError
from fairseq_xling.files import check_files
from fairseq_xling.options import option, reads
from fairseq_xling.runs.options import parse_seeds
from fairseq_xling.tasks.items import parse_files

if TYPE_CHECKING:
    from fairseq_xling.clcr.esim_fit import EsimOptions

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

    def esim(self) -> "list[EsimOptions]":
        """The settings of each training: one for each seed.

        Raises:
            UserError: if one is out of range.
        """
        from fairseq_xling.clcr.esim_fit import EsimOptions

        names = [field.name for field in dataclasses.fields(EsimOptions) if field.name != "seed"]
        values = {name: getattr(self, name) for name in names}
        return [EsimOptions(**values, seed=seed) for seed in parse_seeds("--seeds", self.seeds)]


@dataclasses.dataclass(frozen=True)
class LabelledFile:
    """A file of labelled pairs: ``name`` is unique in its run."""

    name: str
    lang: str
    path: Path


def labelled_files(config: ClassifyConfig) -> list[LabelledFile]:
    """Training, validation and all test files, in this order.

    Raises:
        UserError: if one is missing, --train and --valid are not one file each of one language, or
            two test files have one language and name.
    """
    found: list[LabelledFile] = []
    given = ((TRAIN, (config.train,)), (VALID, (config.valid,)), ("test", config.test))
    for name, texts in given:
        if not any(texts):
            raise UserError(f"`--{name}` must be given")
        files = [file for text in texts for file in parse_files(f"--{name}", text)]
        if name != "test" and len(files) > 1:
            raise UserError(f"`--{name}` must name one file, got {len(files)}")
        for lang, path in files:
            check_files(path)
            found.append(
                LabelledFile(f"{lang}.{path.name}" if name == "test" else name, lang, path)
            )
    names = [file.name for file in found]
    for file in found:
        if names.count(file.name) > 1:
            raise UserError(f"`--test` {file.path}: there are two files of that name and language")
    if found[0].lang != found[1].lang:
        raise UserError(
            f"`--valid` must be in the language trained on, {found[0].lang}, got {found[1].lang}; "
            "selecting by another language would not be zero-shot"
        )
    return found


def table_rows(config: ClassifyConfig) -> list[RowFolders]:
    """The rows of ``--vectors``; errors as `parse_rows`."""
    return parse_rows("--vectors", config.vectors, ("side",))


def folder(row: RowFolders, file: LabelledFile, side: str, seed: int) -> Path:
    """The sequences of one side of a labelled file in a row of the table."""
    return row.folder(side=side, **places_of(file.path, file.lang, seed))
