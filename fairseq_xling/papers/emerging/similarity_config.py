"""The rows of the similarity study, which encoders are compared, and its options, checked at once.

A row is one entry; the families of encoders are in
`fairseq_xling.papers.emerging.similarity_models`.
"""

import dataclasses
from pathlib import Path

from fairseq_xling.analysis.dictionary import dictionary_path
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option, reads
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.core.sentences import read_sentences
from fairseq_xling.mapping.paired import PAIRED
from fairseq_xling.studies.corpus_steps import check_vocabulary, text_file
from fairseq_xling.studies.encoder_training import (
    PAPER,
    EncoderTraining,
    PreparedText,
    StudyText,
    check_text,
)
from fairseq_xling.studies.ready_encoders import Ready, ready_encoders
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.workflow.options import jobs_option, seeds_option, split_words
from fairseq_xling.workflow.settled import device_option, precision_option

SPLITS = ("valid", "test")  # of parallel text: maps are fitted on one, measured on the other
WORDS = ("bli", "static")  # of a dictionary
MEASURES = ("retrieval", "cka", *WORDS)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two languages, or one language twice."""

    source: str
    target: str

    @property
    def same(self) -> bool:
        """Whether both sides are the same text."""
        return self.source == self.target

    @property
    def name(self) -> str:
        """Its name in files and tables.

        >>> Pair("en", "de").name, Pair("en", "en").name
        ('en-de', 'en-en_2')
        """
        return f"{self.source}-{self.second}"

    @property
    def second(self) -> str:
        """The code of the second side, which a model of one language twice has to distinguish."""
        return f"{self.source}_2" if self.same else self.target


@dataclasses.dataclass(frozen=True)
class EncoderKind:
    """One kind of encoders.

    Attributes:
        name: what users type; title: what tables say.
        family: the family of the two encoders, by name.
        mapped: whether the first side is mapped into the space of the second.
        same, other: whether it is for one language twice, and for two languages.
        words: whether only words are compared, since it has no layers.
    """

    name: str
    title: str
    family: str
    mapped: bool
    same: bool = False
    other: bool = True
    words: bool = False

    def fits(self, pair: Pair) -> bool:
        """Whether the row has this pair."""
        return self.same if pair.same else self.other


ROWS = {
    row.name: row
    for row in (
        EncoderKind("bilingual", "bilingual", "joint", mapped=False),
        EncoderKind("bilingual-mapped", "bilingual, mapped", "joint", mapped=True),
        EncoderKind("separate", "bilingual, Sep Emb", "separate", mapped=False),
        EncoderKind(
            "sep-emb", "bilingual, Sep Emb", "separate", mapped=False, same=True, other=False
        ),
        EncoderKind("mapped", "monolingual, mapped", "apart", mapped=True, same=True),
        EncoderKind("unmapped", "monolingual, unmapped", "apart", mapped=False, same=True),
        EncoderKind("random", "second side random, mapped", "random", mapped=True),
        EncoderKind("fasttext", "fastText, mapped", "fasttext", mapped=True, words=True),
    )
}
LAYERED = [name for name, row in ROWS.items() if not row.words]


@dataclasses.dataclass(frozen=True)
class Encoders:
    """The encoders of two languages: existing ones, and how others are trained."""

    encoder: tuple = reads(
        (),
        "LANG=CHECKPOINT, existing instead of trained; LANG-LANG for a bilingual one; {seed} in it "
        "stands for the seed",
    )
    data: tuple = reads((), "LANG=FOLDER, the data folder of an existing encoder")
    seeds: str = seeds_option("1,2,3")
    vocab: str = option("union", "vocabulary of the bilingual models: joint, union or prefixed")


@dataclasses.dataclass(frozen=True)
class _Compared(StudyText):
    """What is compared, on which text."""

    languages: str = option("en,de", "the first is compared with each of the others")
    rows: str = option(
        "bilingual,sep-emb,mapped,unmapped,random", f"encoders to compare: {', '.join(ROWS)}"
    )
    same: bool = option(True, "also compare two encoders of the first language, with other seeds")
    paraphrase: str = reads(
        "",
        "valid=FILE,test=FILE, paraphrases (such as back-translations) of the first language's "
        "sentences in data-text/parallel, line by line; what the second of its two encoders reads "
        "(default: the same sentences)",
    )
    measures: str = option(",".join(MEASURES), "what to measure")
    dictionary: str = reads("", "TSV or folder of them, to be split (default: that of data-text)")
    dictionary_train: str = reads("", "entries that maps are fitted on, instead of a split")
    dictionary_test: str = reads("", "entries that are scored, instead of a split")
    test_share: float = option(0.5, "share of the dictionary's source words that are scored")
    split_seed: int = option(1, "seed of the dictionary's split", least=0)


@dataclasses.dataclass(frozen=True)
class SimilarityConfig(EncoderTraining, PreparedText, Encoders, _Compared):
    """One sentence of help per field; lists are comma-separated text."""

    equal: str = option(
        "steps",
        "what is equal for all encoders trained here: steps, or text per language, so that one "
        "of two languages has twice the steps",
        choices=("steps", "text"),
    )
    method: str = option("procrustes", "method of fitting maps, as in `fairseq-xling map`")
    normalize: str = option("iterative", "normalisation before a map, as in `fairseq-xling map`")
    compare_layers: str = option("all", "layers to compare, such as 0,2-4")
    contexts: int = option(
        5000,
        "training sentences used as contexts of the dictionary's words; 0 is all",
        least=0,
    )
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()

    @property
    def row_list(self) -> list[EncoderKind]:
        return [ROWS[name] for name in _names("rows", self.rows, ROWS)]

    @property
    def measure_list(self) -> list[str]:
        return _names("measures", self.measures, MEASURES)

    @property
    def pairs(self) -> list[Pair]:
        """The first language with each other one, and with itself."""
        source, *targets = self.language_list
        same = [Pair(source, source)] if self.same else []
        return [*(Pair(source, target) for target in targets), *same]

    @property
    def ready(self) -> dict[str, Ready]:
        """The encoders that are not trained here, by language or pair."""
        return ready_encoders(self.encoder, self.data)

    def text(self, name: str) -> Path:
        """A file of the text, plain or gzipped, such as ``mono/train.en``."""
        return text_file(self.data_text, name)

    @property
    def first_pair(self) -> Pair:
        """The pair whose sentences one language twice is compared on."""
        return Pair(*self.language_list[:2])

    @property
    def paraphrases(self) -> dict[str, Path]:
        """The files of paraphrases by split, or none."""
        found = {}
        for part in filter(None, self.paraphrase.split(",")):
            split, _, path = part.partition("=")
            if split not in SPLITS or not path or split in found:
                raise UserError(
                    f"`--paraphrase` must be valid=FILE,test=FILE, got {self.paraphrase!r}"
                )
            found[split] = Path(path)
        if found and len(found) < len(SPLITS):
            raise UserError(f"`--paraphrase` must be valid=FILE,test=FILE, got {self.paraphrase!r}")
        return found

    def dictionaries(self, target: str) -> list[Path]:
        """One file that is to be split, or the two parts."""
        source = self.language_list[0]
        given = [self.dictionary_train, self.dictionary_test]
        if not any(given):
            given = [self.dictionary or str(Path(self.data_text) / "dictionary")]
        found = [dictionary_path(path, source, target) for path in given]
        for path in found:
            if not path.is_file():
                raise UserError(f"{path}: no such dictionary")
        return found


# Conneau et al. (2020), Section 5 and Figure 7, with encoders as in Section 3.1.
PRESETS = {"paper": {**PAPER, "languages": "en,fr,de,ru,zh", "contexts": 500_000}}


def check_encoders(config: SimilarityConfig) -> None:
    """Reject missing text, and encoders that are missing or cannot be trained."""
    check_text(config, "mono")
    shared = [name for name in modes if modes[name]().shares_ids(config.language_list)]
    if config.vocab not in shared:
        raise UserError(f"`--vocab` must be one of {', '.join(shared)}, got {config.vocab!r}")
    split_words("--prepare-args", config.prepare_args)
    check_vocabulary(config.vocab_type, config.segment, config.language_list)
    _ = config.seed_list, config.row_list, config.training  # an error ends here
    source, *targets = config.language_list
    names = [*config.language_list, *(f"{source}-{target}" for target in targets)]
    for name, ready in config.ready.items():
        if name not in names:
            raise UserError(f"`--encoder`: {unknown_name('language', name, names)}")
        for path in (path for seed in config.seed_list for path in ready.of_seed(seed)[1:]):
            if not path.exists():
                raise UserError(f"{path}: no such file or folder")


def check_config(config: SimilarityConfig) -> None:
    """Reject settings that cannot work, before anything runs."""
    from fairseq_xling.analysis.dictionary import read_dictionary
    from fairseq_xling.analysis.layers import parse_layers
    from fairseq_xling.mapping.steps import parse_elements

    check_encoders(config)
    if config.layers < 2:
        raise UserError(f"`--layers` must be at least 2 to correlate, got {config.layers}")
    if not 0 < config.test_share < 1:
        raise UserError(f"`--test-share` must lie between 0 and 1, got {config.test_share}")
    if bool(config.dictionary_train) != bool(config.dictionary_test):
        raise UserError("`--dictionary-train` and `--dictionary-test` must be given together")
    known = [name for name in PAIRED if PAIRED[name].any_pairs]
    if config.method not in known:
        raise UserError(f"`--method`: {unknown_name('method', config.method, known)}")
    parse_elements(config.normalize)
    if not config.encoder:  # an existing one may be deeper
        parse_layers(config.compare_layers, config.layers, "--compare-layers")
    words = {*WORDS} & {*config.measure_list}
    source, *targets = config.language_list
    if config.same and source in config.ready:
        raise UserError(
            f"`--same` compares two encoders trained here, not the existing one of {source!r}; "
            "use `--same false`"
        )
    for target in targets:
        for path in config.dictionaries(target) if words else ():
            read_dictionary(path)
        for split in SPLITS:
            for lang in (source, target):
                config.text(f"parallel/{split}.{source}-{target}.{lang}")
    if config.paraphrases and not config.same:
        raise UserError("`--paraphrase` needs `--same true`: it is for one language twice")
    for split, path in config.paraphrases.items():
        text = config.text(f"parallel/{split}.{config.first_pair.name}.{source}")
        counts = [sum(1 for _ in read_sentences(each)) for each in (path, text)]
        if counts[0] != counts[1]:
            raise UserError(
                f"{path}: must have a line for each of the {counts[1]} lines of {text}, got "
                f"{counts[0]}"
            )


def _names(option: str, text: str, known) -> list[str]:
    found = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in found:
        if name not in known:
            raise UserError(f"`--{option}`: {unknown_name('name', name, list(known))}")
    if not found:
        raise UserError(f"`--{option}` must name at least one of {', '.join(known)}")
    return found
