"""The settings of a whole migration, from a YAML file and the command line, checked at once.

Defaults suit a small model on a CPU; ``preset: trelm`` is the paper's (Li et al., 2021, Appendix
A.5: peak learning rates 3e-5, 3e-5, 2e-5 over 20K, 20K, 80K steps of 128 sentences of at most 512
tokens; WordPiece; every new embedding from mapped fastText vectors; 1M sentences of each language,
1M pairs and 2M sentences in the phases; warm-up, epsilon and clipping from the released code) for
English to Chinese, and ``trelm-id`` for English to Indonesian.
"""

import dataclasses
from pathlib import Path
from typing import Any

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.core.ranges import SHARE, SLOTS, Range, option_name
from fairseq_xling.data.meta import check_split
from fairseq_xling.mapping.methods import METHODS
from fairseq_xling.objectives import objectives
from fairseq_xling.studies.corpus_steps import segment_parts
from fairseq_xling.studies.encoder_training import EncoderTraining, PreparedText
from fairseq_xling.studies.optimiser import Optimiser
from fairseq_xling.studies.task_options import TaskOptions
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.workflow.options import (
    WithSeeds,
    jobs_option,
    parse_numbers,
    seeds_option,
    split_words,
)
from fairseq_xling.workflow.settled import device_option, precision_option

NO_MAP, TARGET = "none", "target"
AUTOREGRESSIVE = "autoregressive"
AS_TRANSFER = -1
SCRATCH = "scratch"
CHECKPOINTS = ("last", "best")
STAGES = ("commonality", "transfer", "language")


@dataclasses.dataclass(frozen=True)
class Stage:
    """The settings of one training stage; ``transfer`` covers both directions."""

    steps: int
    lr: float
    objectives: str
    args: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class TargetTasks(TaskOptions):
    """`TaskOptions` of tasks that are trained in each target language."""

    tasks: str = like(
        *(TaskOptions, "tasks"),
        help="tasks trained and tested in the target, from text/gold: nli, ner, pos, parsing",
    )
    task_train: tuple = reads((), "LANG=FILE to train it on; repeatable, one for each target")
    task_valid: tuple = reads((), "LANG=FILE to select its epoch by, likewise")
    task_test: tuple = reads((), "LANG=FILE to test it on, likewise")


@dataclasses.dataclass(frozen=True)
class TrelmConfig(TargetTasks, WithSeeds):
    """One sentence of help per field."""

    preset: str = option("", "values of a published system: trelm, or trelm-id")
    source: str = reads("", "source encoder: a Hugging Face folder or a fairseq checkpoint")
    source_data: str = reads("", "location of a source checkpoint's dict.txt or data folder")
    source_language: str = option("", "language whose private parts of the source are used")
    languages: str = option("en,de", "the source's language, then one target or more")

    text: str = reads("", "folder of text in the layout of `fairseq-xling synthesize`")
    mono: tuple[str, ...] = reads((), "SPLIT.LANG=FILE[,FILE...], as for prepare; repeatable")
    parallel: tuple[str, ...] = reads((), "SPLIT.A-B=FILE_A,FILE_B, as for prepare; repeatable")
    alignment: tuple[str, ...] = reads((), "SPLIT.A-B=FILE of Pharaoh links; repeatable")
    data: str = reads("", "existing data folder of all languages, instead of text")
    held_out: int = option(
        0,
        "sentences of each training text that are held out for valid, and as many for test, as for "
        "prepare",
        least=0,
    )
    vocab: str = option("joint", "vocabulary mode of prepare", choices=tuple(modes))
    vocab_type: str = like(PreparedText, "vocab_type")
    vocab_size: int = like(
        PreparedText, "vocab_size", 8000, "pieces of the vocabulary of a language pair"
    )
    segment: str = option("", "LANG=HOW for prepare, comma-separated")
    aligner: str = option("fast_align", "word aligner of parallel text without given links")
    prepare_args: str = like(PreparedText, "prepare_args")
    commonality_limit: int = option(
        0, "commonality training with this many sentences of each language; 0 is all", least=0
    )
    parallel_limit: int = option(0, "transfer with this many sentence pairs; 0 is all", least=0)
    language_limit: int = option(
        0, "the last phase with this many sentences of the target; 0 is all", least=0
    )
    extra_mono: bool = option(
        False, "in the last phase, add the target's side of the pairs to its monolingual text"
    )

    keep_vocabulary: bool = option(
        False,
        "keep the source's tokenizer and word embeddings, of a Hugging Face folder or of "
        "--source-data; no vectors are made or mapped",
    )
    embeddings: str = option(
        "skip-gram",
        "vectors of the new subwords: skip-gram, fasttext (with character n-grams), random, or "
        "linked (means of the source's embeddings by word alignment, which need no map)",
    )
    vectors: str = reads("", "existing text file of vectors (.vec), instead of training them")
    embed_languages: str = option(
        TARGET,
        "language whose text trains the vectors of a joint vocabulary: target, or both",
        choices=(TARGET, "both"),
    )
    copy_shared: bool = option(True, "copy the source's embedding for words with the same spelling")
    embed_epochs: int = option(10, "passes of skip-gram or fastText over the text", least=1)
    embed_threads: int = option(1, "threads of that; above 1 is not reproducible", least=1)
    embed_args: str = option("", "more options of `fairseq-xling embed train`, as one text")
    mapping: str = option(
        "adversarial",
        "how vectors are mapped onto the source's embeddings: a method of `fairseq-xling map`, or "
        "none",
        choices=(*METHODS, NO_MAP),
    )
    map_seeds: str = option("1,2,3,4,5", "seeds of adversarial mapping; the best is used")
    map_refine: int = option(5, "rounds of refinement of the map", least=0)
    map_keep_failed: bool = option(False, "use the best map even if every seed failed")
    map_args: str = option("", "more options of `fairseq-xling map`, as one text")

    arch: str = like(
        *(EncoderTraining, "arch", "tri_bert_base"),
        help="architecture; the source's sizes override its own",
    )
    trilayer: bool = option(True, "whether the model has a TRILayer")
    copy_embeddings: bool = option(
        False, "distinguish target tokens of one source word by their number; not in the paper"
    )
    separate: str = option("", "parts that are private to each language, e.g. tokens,softmax")
    max_positions: int = option(0, "longest sentence in tokens; 0 is the source's", least=0)
    auxiliary: str = option("order", "heads trained together with CdLM, for translation")
    init_args: str = option("", "more options of `fairseq-xling init`, as one text")

    commonality_steps: int = option(2000, "steps of commonality training; 0 skips it", least=0)
    commonality_lr: float = option(1e-3, "its peak learning rate", least=0)
    commonality_objectives: str = option("mlm", "its objectives")
    commonality_args: str = option("", "more options of its fairseq-train, as one text")
    transfer_steps: int = option(4000, "steps of each direction; 0 skips them", least=0)
    transfer_lr: float = option(1e-3, "their peak learning rate", least=0)
    transfer_objectives: str = option("cdlm,mlm", "their objectives")
    transfer_args: str = option("", "more options of their fairseq-train, as one text")
    language_steps: int = option(4000, "steps of target language training; 0 skips it", least=0)
    language_lr: float = option(5e-4, "its peak learning rate", least=0)
    language_objectives: str = option("mlm", "its objectives")
    language_args: str = option("", "more options of its fairseq-train, as one text")
    nsp: bool = option(False, "also train next sentence prediction in the last phase (BERT only)")
    batch_size: int = option(128, "maximum sentences per batch; 0 is no limit", least=0)
    max_tokens: int = option(0, "maximum padded tokens per batch; 0 is no limit", least=0)
    update_freq: int = like(Optimiser, "update_freq")
    warmup: int = like(Optimiser, "warmup", 200)
    schedule: str = like(Optimiser, "schedule", "polynomial_decay")
    adam_betas: str = like(Optimiser, "adam_betas")
    adam_eps: float = like(Optimiser, "adam_eps", 1e-6)
    weight_decay: float = like(Optimiser, "weight_decay", 0.01)
    clip: float = like(Optimiser, "clip", 5.0)
    every: int = like(Optimiser, "every", 500)
    checkpoint: str = option(
        "last", "checkpoint for the next phase: last, or best by validation", choices=CHECKPOINTS
    )
    train_args: str = option("", "more options of every fairseq-train, as one text")
    seeds: str = seeds_option("1", "seeds of training; each is a separate migration")
    device: str = device_option()
    precision: str = precision_option()

    translator_steps: int = option(
        AS_TRANSFER,
        "steps of a translator with --emission; 0 leaves it out, -1 is as many as of a direction "
        "of the transfer phase (in studies none)",
        least=AS_TRANSFER,
    )
    translator_start: str = option(
        "forward",
        "what it starts from: the forward model, or scratch, random weights",
        choices=("forward", SCRATCH),
    )
    translator_lr: float = option(7e-4, "its peak learning rate", least=0)
    emission: str = option("lattice", "how it writes words, as --emission of fairseq-train")
    upsample: int = option(
        0,
        "output slots of the translator for each source token; 0 is the emission's default: 2 with "
        "ctc, 4 with lattice",
        range=Range(0, SLOTS.most),
    )
    slot_layers: int = option(
        0,
        "number of upper layers that compute on slots; 0 is the upper half and the TRILayer",
        least=0,
    )
    glancing: float = option(
        0.0,
        "glancing: share of the wrongly predicted words that are given as input, at the first step",
        range=SHARE,
    )
    teacher: str = reads(
        "",
        "what it learns from instead of the references: autoregressive (translations of a model "
        "that is trained for it), a checkpoint of fairseq's translation task in this vocabulary, "
        "or a file of text, a line for each training pair",
    )
    teacher_original: bool = option(False, "learn from the references as well")
    translator_args: str = option("", "more options of its fairseq-train, as one text")
    slot_beam: int = option(
        1,
        "hypotheses of a further translation by a search over its slots; 1 is none",
        least=1,
    )

    bpw_split: str = option("valid", "split whose bits per word are measured")
    orderings: str = option(
        "identity,predicted,oracle", "orderings of translation, comma-separated"
    )
    translate_split: str = option("test", "splits to translate, comma-separated, e.g. test,test1")
    translate_both: bool = option(
        False,
        "also translate the target into the source, by the backward model, and with models that no "
        "CdLM has trained, in the order of the sentence",
    )
    bleu_tokenizer: str = option(
        "", "sacrebleu's tokenizer of the target (default: 13a, zh for zh, char for ja)"
    )
    generate_args: str = option("", "more options of fairseq-generate, as one text")
    autoregressive: bool = option(
        False, "train an autoregressive translation model for the same time, as a baseline"
    )
    autoregressive_patience: int = option(
        0,
        "train it until its BLEU on the validation text has not risen for this many epochs; 0 is "
        "the same time",
        least=0,
    )
    autoregressive_args: str = option("", "more options of its fairseq-train, as one text")
    autoregressive_lenpens: str = option(
        "",
        "length penalties of its beam search, and a teacher's, to try on the validation text, e.g. "
        "0.6,1,1.4; the best one translates (default: 1)",
    )
    jobs: int = jobs_option()

    @property
    def source_lang(self) -> str:
        return parse_languages(self.languages)[0]

    @property
    def targets(self) -> list[str]:
        return parse_languages(self.languages)[1:]

    @property
    def source_vocabulary(self) -> str:
        """The folder with the source's vocabulary, if that is kept."""
        folder = self.source if Path(self.source).is_dir() else self.source_data
        return folder if self.keep_vocabulary else ""

    @property
    def translate_list(self) -> list[str]:
        """The splits to translate."""
        names = names_in(self.translate_split)
        if not names or len(set(names)) < len(names):
            raise UserError(
                "`--translate-split` must name one or several different splits, got "
                f"{self.translate_split!r}"
            )
        return [check_split("`--translate-split`", name) for name in names]

    @property
    def lenpen_list(self) -> list[float]:
        """The length penalties to try."""
        text = self.autoregressive_lenpens
        return parse_numbers("--autoregressive-lenpens", text) if text else []

    @property
    def ordering_list(self) -> list[str]:
        return names_in(self.orderings)

    @property
    def predicts_translations(self) -> bool:
        """Whether an objective of the transfer phase predicts words in another order."""
        chosen = names_in(self.transfer_objectives)
        reorders = any(name in objectives and objectives[name].reorders for name in chosen)
        return self.transfer_steps > 0 and reorders

    def stage(self, name: str) -> Stage:
        """``commonality``, ``transfer`` or ``language``."""
        values = {part: getattr(self, f"{name}_{part}") for part in ("steps", "lr", "objectives")}
        return Stage(**values, args=self.words(f"{name}_args"))

    def words(self, field: str) -> tuple[str, ...]:
        """The options in a field that contains several as one text."""
        return split_words(f"--{option_name(field)}", getattr(self, field))

    def segment_of(self, target: str) -> list[str]:
        """The parts of ``segment`` for the source language or ``target``."""
        return segment_parts(self.segment, [self.source_lang, target])


@dataclasses.dataclass(frozen=True)
class HeadlessConfig(TrelmConfig):
    """Of studies that compare CdLM with what has no heads: their losses reach the encoder."""

    auxiliary: str = like(
        TrelmConfig, "auxiliary", "", "heads trained together with CdLM, in its rows alone"
    )
    orderings: str = like(TrelmConfig, "orderings", "identity,oracle")


FIT = -1  # of numbers of `RunConfig` that follow from the text


@dataclasses.dataclass(frozen=True)
class RunConfig(TrelmConfig):
    """The settings of `trelm run`, of which some follow from the text where they are not set."""

    held_out: int = option(
        FIT,
        "sentences of each training text that are held out for valid, and as many for test, "
        "as for prepare; -1 is a twentieth, at most 500, where no text for valid is named",
        least=FIT,
    )
    embeddings: str = like(
        *(TrelmConfig, "embeddings", ""),
        help="vectors of the new subwords: skip-gram, fasttext (with character n-grams), random, "
        "or linked (means of the source's embeddings by word alignment, which need no map); by "
        "default linked where there is parallel training text, else skip-gram",
    )
    mapping: str = like(
        *(TrelmConfig, "mapping", ""),
        help="how vectors are mapped onto the source's embeddings: a method of `fairseq-xling "
        "map`, or none; by default none for linked or random embeddings, else adversarial",
    )
    commonality_steps: int = option(
        FIT,
        "steps of commonality training; 0 skips it; -1 is 20 passes over the smallest "
        "monolingual text, from twice --warmup to 2000",
        least=FIT,
    )
    transfer_steps: int = option(
        FIT,
        "steps of each direction; 0 skips them; -1 is 20 passes over the smallest "
        "parallel text, from twice --warmup to 4000",
        least=FIT,
    )
    language_steps: int = option(
        FIT,
        "steps of target language training; 0 skips it; -1 is 20 passes over the "
        "smallest monolingual text, from twice --warmup to 4000",
        least=FIT,
    )


def named_languages(text: str) -> set[str]:
    """The languages in ``train.en-de=...`` or ``en-de=...``.

    >>> sorted(named_languages("train.en-de=a,b")), named_languages("en=a.txt")
    (['de', 'en'], {'en'})
    """
    key = text.partition("=")[0]
    return set((key.partition(".")[2] or key).split("-"))


def result_settings(config: TrelmConfig) -> dict[str, Any]:
    """The settings that affect results: all except the number of parallel steps."""
    return {name: v for name, v in dataclasses.asdict(config).items() if name != "jobs"}


_TRELM: dict[str, Any] = {
    "vocab_type": "wordpiece",
    "vocab_size": 80_000,
    "prepare_args": "--alphabet 30000 --vocab-sample 250",
    "commonality_limit": 1_000_000,
    "parallel_limit": 1_000_000,
    "language_limit": 2_000_000,
    "embeddings": "fasttext",
    "embed_languages": "both",  # the whole vocabulary: also what only the source's text has
    "embed_args": "--min-n 3 --max-n 6 --buckets 2000000",
    "copy_shared": False,
    "max_positions": 512,
    "auxiliary": "",  # the order head's loss would reach the encoder
    "translator_steps": 0,
    "orderings": "identity,oracle",
    "commonality_steps": 20_000,
    "commonality_lr": 3e-5,
    "transfer_steps": 20_000,
    "transfer_lr": 3e-5,
    "language_steps": 80_000,
    "language_lr": 2e-5,
    "batch_size": 128,
    "max_tokens": 0,
    "warmup": 500,
    "adam_betas": "0.9,0.999",
    "adam_eps": 1e-6,
    "weight_decay": 0.01,
    "clip": 5.0,
    "every": 2000,
    "device": "cuda",
}
PRESETS: dict[str, dict[str, Any]] = {
    "trelm": _TRELM,
    "trelm-id": {
        **_TRELM,
        "vocab_size": 50_000,
        "prepare_args": "--alphabet 1000 --vocab-sample 250",
    },
}
