"""The settings of the study of adversarial tagging, and its rows."""

import dataclasses
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.core.ranges import BELOW_ONE, POSITIVE
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.studies.encoder_training import PreparedText
from fairseq_xling.tasks.items import parse_columns, parse_files
from fairseq_xling.workflow.options import WithLanguages, WithSeeds, jobs_option, seeds_option
from fairseq_xling.workflow.settled import device_option, precision_option

LANG = "{lang}"
ADVERSARIES = ("reversal", "flip")


@dataclasses.dataclass(frozen=True)
class TaggingRow:
    """A row of the table.

    Attributes:
        mapped: whether the source's words are mapped into the target's space.
        adversary: whether there is a discriminator.
        target: of the target, how much annotation is read: none, some, or all, and then none of
            the source.
    """

    code: str
    title: str
    mapped: bool = False
    adversary: bool = False
    target: str = "none"


ROWS = {
    row.code: row
    for row in (
        TaggingRow("1", "source only, unmapped words"),
        TaggingRow("2", "source only, mapped words", mapped=True),
        TaggingRow("3", "adversary, unmapped words", adversary=True),
        TaggingRow("4", "adversary, mapped words", mapped=True, adversary=True),
        TaggingRow("5", "joint with a few target sentences", mapped=True, target="some"),
        TaggingRow("6", "supervised on the target", target="all"),
    )
}


@dataclasses.dataclass(frozen=True)
class AdversarialTaggingConfig(WithSeeds, WithLanguages):
    """One sentence of help per field; ``{lang}`` in a path stands for a language."""

    languages: str = option("en,de", "the annotated language, then the targets")
    train: str = reads("", "annotated files for training, e.g. text/gold/tags.train.{lang}.tsv")
    valid: str = reads("", "annotated files to select the epoch by")
    test: str = reads("", "annotated files to test on")
    columns: str = option("", "which column of these holds what, e.g. token=0,tag=2")
    head: str = option("ner", "what is predicted: ner, slots or pos")
    unlabelled: str = reads("", "text of the targets for the adversary, words separated by spaces")
    text: tuple[str, ...] = reads(
        (), "text that word vectors are trained on (default: as --unlabelled); repeatable"
    )
    vectors: tuple[str, ...] = reads(
        (), "LANG=FILE of ready vectors (.vec or ours), for all languages; repeatable"
    )
    segment: str = option("", "LANG=HOW for `fairseq-xling prepare` of --text, comma-separated")
    rows: str = option("1,2,3,4,5,6", "rows of the table, comma-separated")
    sentences: int = option(1000, "annotated training sentences, drawn at random", least=1)
    valid_sentences: int = option(500, "annotated sentences to select by", least=1)
    few: int = option(100, "annotated sentences of the target in row 5", least=1)
    held_out: int = option(
        300, "last sentences of --unlabelled, kept for the accuracy of the discriminator", least=2
    )
    vocab_size: int = like(
        PreparedText, "vocab_size", 30_000, "words of each language that have a vector"
    )
    dim: int = option(100, "width of the word vectors", least=1)
    vector_epochs: int = option(10, "passes of skip-gram over the text", least=1)
    vector_seed: int = option(1, "seed of skip-gram", least=0)
    map: str = option("adversarial", "how words are mapped: adversarial or identical")
    map_seeds: str = option("1,2,3", "seeds of the map; the best one by its criterion is used")
    refine: int = option(5, "rounds of refinement of the map", least=0)
    map_args: str = option("", "more options of `fairseq-xling map`, as one text")
    normalize: str = option("none", "normalisation of both vectors before the map")
    adversary: str = option("reversal", "of rows 3 and 4: reversal or flip", choices=ADVERSARIES)
    adversary_weight: float = option(1.0, "weight of its gradient", least=0)
    adversary_schedule: str = option("constant", "this weight: constant, or ramp from 0")
    epochs: int = option(60, "passes over the training sentences", least=1)
    batch_size: int = option(20, "sentences of each language per update", least=1)
    lr: float = option(0.01, "learning rate of SGD", range=POSITIVE)
    momentum: float = option(0.9, "its momentum", range=BELOW_ONE)
    clip: float = option(5.0, "maximum gradient norm", least=0)
    curves: bool = option(True, "keep the first seed's epochs of rows 2 and 4 for the figure")
    train_args: str = option("", "more options of every fairseq-train, as one text")
    seeds: str = seeds_option("1")
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()

    @property
    def source(self) -> str:
        return self.language_list[0]

    @property
    def targets(self) -> list[str]:
        return self.language_list[1:]

    @property
    def row_list(self) -> list[TaggingRow]:
        return [ROWS[code.strip()] for code in self.rows.split(",")]

    @property
    def text_patterns(self) -> tuple[str, ...]:
        """The text of the vectors."""
        return self.text or (self.unlabelled,)

    def file(self, pattern: str, lang: str) -> Path:
        """The path of a language."""
        return Path(getattr(self, pattern).replace(LANG, lang))


def check_config(config: AdversarialTaggingConfig) -> None:
    """Reject settings that cannot work, before anything runs.

    Annotated files of the targets are not opened, only looked for.
    """
    if not config.targets:
        raise UserError(f"`--languages` must name at least two, got {config.languages!r}")
    for code in config.rows.split(","):
        if code.strip() not in ROWS:
            raise unknown_name("`--rows`", code.strip(), list(ROWS))
    if len(set(config.row_list)) < len(config.row_list):
        raise UserError(f"`--rows` must be different, got {config.rows!r}")
    for name in ("train", "valid", "test", "unlabelled"):
        if LANG not in getattr(config, name):
            raise UserError(
                f"`--{name}` must be a path with {LANG} for the language, got "
                f"{getattr(config, name)!r}"
            )
    for pattern in config.text:
        if LANG not in pattern:
            raise UserError(f"`--text` must be a path with {LANG}, got {pattern!r}")
    parse_columns(config.columns)
    annotated = {"train": [config.source], "valid": [config.source]}
    annotated["test"] = config.language_list
    if any(row.target != "none" for row in config.row_list):
        annotated |= {"train": config.language_list, "valid": config.language_list}
    for name, languages in annotated.items():
        for lang in languages:
            check_files(config.file(name, lang), of=f"`--{name}`")
    for lang in config.targets:
        check_files(config.file("unlabelled", lang), of="`--unlabelled`")
    ready = dict(parse_files("--vectors", ",".join(config.vectors))) if config.vectors else {}
    for lang in config.language_list if ready else ():
        if lang not in ready:
            raise UserError(f"`--vectors` must have a file of {lang!r}")
        check_files(ready[lang], of="`--vectors`")
    for lang in () if ready else config.language_list:
        for pattern in config.text_patterns:
            check_files(pattern.replace(LANG, lang), of="`--text`")
    _ = config.seed_list
