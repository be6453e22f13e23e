"""The settings of a study of CLCR: those of `clcr run`, and a task to test its vectors by."""

import dataclasses
from pathlib import Path

from fairseq_xling.clcr.row_folders import places_of
from fairseq_xling.errors import UserError
from fairseq_xling.options import option, reads
from fairseq_xling.studies.clcr.classify_config import (
    SIDES,
    ClassifyConfig,
    LabelledFile,
    labelled_files,
)
from fairseq_xling.studies.clcr.config import ClcrRunConfig
from fairseq_xling.studies.clcr.texts import Text


@dataclasses.dataclass(frozen=True)
class ClcrTaskConfig(ClcrRunConfig):
    """One sentence of help per field."""

    train: str = reads(
        "", "LANG=FILE of labelled pairs to train a classifier on (default: no classifier)"
    )
    valid: str = reads("", "LANG=FILE, in the language of --train, for selecting its epoch")
    test: tuple[str, ...] = reads((), "LANG=FILE to test it on; repeatable")
    format: str = option("", "format of the labelled files: tsv or json_lines (default: tsv)")
    columns: str = option("", "which column of them holds what, e.g. text=0,pair=1,label=2")
    classify_args: str = option("", "more options of `fairseq-xling clcr classify`, as one text")

    @property
    def labelled(self) -> list[LabelledFile]:
        """The labelled files; none without a classifier. Errors as `labelled_files`."""
        if not (self.train or self.valid or self.test):
            return []
        return labelled_files(ClassifyConfig(train=self.train, valid=self.valid, test=self.test))


def check_task(config: ClcrTaskConfig, pair: tuple[str, str]) -> None:
    """Reject a task that cannot be trained or tested on the sequences.

    Raises:
        UserError: for a file of another language, a row that reads translations, or two files
            whose sequences would have one name.
    """
    from fairseq_xling.clcr.rows import rows

    files = config.labelled
    for file in files:
        if file.lang not in pair:
            raise UserError(f"{file.path}: must be in {' or '.join(pair)}, got {file.lang!r}")
    for name in config.row_list if files else ():
        if rows[name].reads_translation:
            raise UserError(
                f"`--rows` {name} reads translations, which labelled files do not have; leave it "
                "out"
            )
    stems = [_stem(file) for file in files]
    for file, stem in zip(files, stems, strict=True):
        if stems.count(stem) > 1:
            raise UserError(f"{file.path}: another labelled file has the same name and language")
    config.words("classify_args")


def texts_of(run: Path, file: LabelledFile) -> list[Text]:
    """The premises and hypotheses of a labelled file, which a step writes."""
    stem = _stem(file)
    return [
        Text(f"{stem}.{side}", file.lang, str(run / "texts" / f"{stem}.{file.lang}.{side}"))
        for side in SIDES
    ]


def texts_of_all(run: Path, config: ClcrTaskConfig) -> list[Text]:
    """Those of every labelled file."""
    return [text for file in config.labelled for text in texts_of(run, file)]


def _stem(file: LabelledFile) -> str:
    """The name of a labelled file without its ending and language, as in a pattern of folders."""
    return str(places_of(file.path, file.lang, 0)["name"])
