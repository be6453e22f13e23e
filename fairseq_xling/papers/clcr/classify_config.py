"""Rows of sequences: the options by which `clcr encode` writes them, and the settings of `clcr
classify`, the folders of the rows of its table and labelled files."""

import contextlib
import dataclasses
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, check_files
from fairseq_xling.core.named_files import FILE
from fairseq_xling.core.options import option, reads
from fairseq_xling.core.ranges import POSITIVE, SHARE, Range
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.tasks.encode import on_one_line
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.formats.texts import TextItem
from fairseq_xling.tasks.items import parse_columns, parse_files
from fairseq_xling.workflow.options import parse_seeds

if TYPE_CHECKING:
    from fairseq_xling.tasks.esim import EsimOptions


@dataclass(frozen=True)
class RowOptions:
    """Options of rows of sequences; None and '' are the model's own settings."""

    delta: float | None = option(
        None,
        "words with p(key-point) above P are kept (default: as in training)",
        range=SHARE,
        metavar="P",
    )
    order: str = option("rel", "order head of row T+E+R: rel or abs", metavar=())
    reorder: str = option(
        "first",
        "language that rows T+E+R and T+pGA put into the other's order: first or second of the "
        "model's two",
        metavar="SIDE",
    )
    search: str = option(
        "beam",
        "search for its order: beam; local or exact for rel, hungarian for abs",
        metavar="NAME",
    )
    beam: int = option(10, "beam width", range=Range(1, 10_000))
    weigh: str = option(
        "",
        "cost of a pair in the wrong order or, for abs, of a position: probability or "
        "likelihood; for rel also sign, the paper's (default: likelihood)",
        metavar="NAME",
    )
    translation: str | None = option(
        None, "the text in the other language, for rows T+pGA and T+pGA-target", metavar=FILE
    )
    threshold: float | None = option(
        None,
        "pivots are closer than D, for rows T+pGA and T+pGA-target",
        range=POSITIVE,
        metavar="D",
    )


@dataclass(frozen=True)
class RowFolders:
    """A row of the table.

    Attributes:
        name: given by the user; code: for file names.
        pattern: of the paths of its folders.
    """

    name: str
    code: str
    pattern: str

    def folder(self, **places: object) -> Path:
        """The folder for the given ``places``.

        >>> str(RowFolders("T", "T", "seq/{file}.{side}").folder(file="test.en", side="premise"))
        'seq/test.en.premise'
        """
        return Path(self.pattern.format(**places))

    def differing(self, seeds: Sequence[int]) -> Sequence[int]:
        """The ``seeds`` with their own folders; only the first if none has.

        >>> patterns = "{seed}/{file}", "{file}"
        >>> [RowFolders("T", "T", pattern).differing([1, 2]) for pattern in patterns]
        [[1, 2], [1]]
        """
        places = [place for _, place, *_ in string.Formatter().parse(self.pattern)]
        return seeds if "seed" in places else seeds[:1]


PLACES = ("file", "name", "lang", "seed")


def places_of(path: Path, lang: str, seed: int) -> dict[str, object]:
    """The values of `PLACES` for a file in ``lang``: its name without its ending, the same without
    its language, the language, and the seed.

    >>> places_of(Path("nli/dev.en.tsv.gz"), "en", 1)
    {'file': 'dev.en', 'name': 'dev', 'lang': 'en', 'seed': 1}
    """
    stem = Path(path.name.removesuffix(".gz")).stem
    values = (stem, stem.removesuffix(f".{lang}"), lang, seed)
    return dict(zip(PLACES, values, strict=True))


def parse_rows(option: str, texts: Sequence[str], more: Sequence[str] = ()) -> list[RowFolders]:
    """Rows ``NAME=PATTERN`` whose pattern contains some of `PLACES` in braces, and all of ``more``.

    >>> [row] = parse_rows("--vectors", ["T+E(.2)=seq/{file}"])
    >>> row.name, row.code
    ('T+E(.2)', 'T+E(.2)')
    """
    if not texts:
        raise UserError(f"`{option}` must be given")
    found = []
    for text in texts:
        name, equals, pattern = (piece.strip() for piece in text.partition("="))
        if not (equals and name and pattern):
            example = ".".join(f"{{{place}}}" for place in ("file", *more))
            raise UserError(f"`{option}` must look like T+E=FOLDER/{example}, got {text!r}")
        try:
            parts = list(string.Formatter().parse(pattern))
        except ValueError as error:
            raise UserError(f"`{option}` {text}: {error}") from None
        for _, place, form, conversion in parts:
            if form or conversion:
                raise UserError(
                    f"`{option}` {text}: {{{place}}} must stand alone in its braces, got "
                    + f"{{{place}{'!' + conversion if conversion else ''}"
                    + f"{':' + form if form else ''}}}"
                )
        named = [place for _, place, *_ in parts if place is not None]
        for place in named:
            if place not in (*PLACES, *more):
                raise unknown_name(f"place in `{option}`", place, [*PLACES, *more])
        for places in (("file", "name"), *((place,) for place in more)):
            if not {*places} & {*named}:
                raise UserError(f"`{option}` {text}: must have {{{places[0]}}}, each has a folder")
        found.append(RowFolders(name, re.sub(r"[^\w.+()-]", "_", name), pattern))
    codes = [row.code for row in found]
    for row in found:
        if codes.count(row.code) > 1:
            raise UserError(f"`{option}`: there are two rows {row.name!r}")
    return found


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
        """The settings of each training: one for each seed."""
        from fairseq_xling.tasks.esim import EsimOptions

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


def folder(row: RowFolders, file: LabelledFile, side: str, seed: int) -> Path:
    """The sequences of one side of a labelled file in a row of the table."""
    return row.folder(side=side, **places_of(file.path, file.lang, seed))


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
