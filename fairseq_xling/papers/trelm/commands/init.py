"""Turn a pretrained encoder into the model that a migration to other languages starts from.

    fairseq-xling init bert-folder --source-vectors source.safetensors
    fairseq-xling init bert-folder --data data-bin --vectors mapped.safetensors --output init.pt

The model has the encoder's sizes, whatever the architecture's own defaults, and the vocabulary and
languages of the data folder. Train it with `fairseq-train --finetune-from-model init.pt`.
"""

import dataclasses
from functools import partial

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import DATA, FILE, NEW_FILE, Input
from fairseq_xling.core.options import argument, option, part_of
from fairseq_xling.core.ranges import COUNT, NOT_NEGATIVE

GROUP = "Migrate"
_word = partial(option, group="embeddings of the new vocabulary")
_model = partial(option, group="model")


@dataclasses.dataclass(frozen=True)
class Options:
    source: str = argument(
        "folder in Hugging Face format (BERT, RoBERTa, XLM-R or XLM, with its vocabulary), or a "
        "fairseq checkpoint (RoBERTa, or separable_transformer*)",
        Input("SOURCE"),
    )
    data: str | None = option(None, "data folder with the new vocabulary", metavar=DATA)
    output: str | None = option(None, "checkpoint to write", metavar=NEW_FILE)
    source_vectors: str | None = option(
        None,
        "write the source's raw embeddings as a file of vectors, for `fairseq-xling map`; without "
        "--output, do only this",
        metavar=NEW_FILE,
    )
    source_data: str | None = option(
        None,
        "location of a source checkpoint's dict.txt or data folder (default: as in its training)",
        metavar=Input("DIR"),
    )
    source_language: str | None = option(
        None,
        "language whose private parts to use, of a separable_transformer with such parts",
        metavar="LANG",
    )
    vectors: tuple[str, ...] = _word(
        (),
        "vectors of the data folder's subwords, mapped onto the source's; repeatable where each "
        "language has its own vocabulary",
        metavar=FILE,
    )
    embeddings: str | None = _word(
        None,
        "random, vectors, or source (the source's own, for text prepared with its vocabulary) "
        "(default: vectors where --vectors is given, else random)",
        metavar="WAY",
    )
    keep_norms: bool = _word(
        False,
        "keep the vectors' lengths, instead of scaling them all to the mean length of the source's",
    )
    copy_shared: bool = _word(
        False,
        "give subwords that the source also has, with the same spelling, the source's embedding",
    )
    arch: str = _model("tri_bert_base", "named architecture of this project", metavar="NAME")
    no_trilayer: bool = _model(False, "leave the TRILayer out")
    copy_embeddings: bool = _model(
        False,
        "distinguish target tokens of one source word by their number (better translations; not in "
        "the paper)",
    )
    trilayer_from: str = _model(
        "code",
        "layer of N that the TRILayer is copied from: code (the (N/2 + 1)-th, as in the paper's "
        "code) or text (the N/2-th)",
        metavar="WHICH",
    )
    language_init: str = _model(
        "orthogonal",
        "language embeddings: orthogonal, normal, or source (the source's own where it has them)",
        metavar="HOW",
    )
    head: str = _model(
        "reset",
        "LM head: reset, keep (the source's dense layer and LayerNorm), or whole (also the biases "
        "of symbols of the same spelling)",
        metavar="HOW",
    )
    separate: str = _model(
        "",
        "parts that are private to each language, as for fairseq-train, such as tokens,softmax; "
        "each starts as a copy of the source's",
        metavar="PLAN",
    )
    languages: str = _model("", "languages (default: all of the data folder)", metavar="CODES")
    max_positions: int | None = _model(
        None,
        "position rows, the first N of the source's (default: all)",
        range=COUNT,
    )
    num_segments: int | None = _model(
        None,
        "segment rows; those missing from the source are drawn (default: as many as the source's)",
        range=NOT_NEGATIVE,
    )
    seed: int = shared.seed()


def run(options: Options) -> None:
    from fairseq_xling.core.errors import UserError
    from fairseq_xling.interop.sources import read_source
    from fairseq_xling.papers.trelm.initialise import InitOptions
    from fairseq_xling.papers.trelm.start import ModelOptions, make_start, write_source_vectors

    if bool(options.output) != bool(options.data):
        raise UserError("`--data` and `--output` go together")
    if not (options.output or options.source_vectors):
        raise UserError("nothing to do: give `--data` and `--output`, or `--source-vectors`")
    source = read_source(options.source, options.source_data, options.source_language)
    if options.source_vectors:
        print(write_source_vectors(options.source_vectors, source))
    if options.output:
        model = part_of(ModelOptions, options, trilayer=not options.no_trilayer)
        embeddings = options.embeddings or ("vectors" if options.vectors else "random")
        initial = part_of(InitOptions, options, embeddings=embeddings)
        print(make_start(options.output, source, options.data, model, initial, options.vectors))
