"""Turn a pretrained encoder into the model that a migration to other languages starts from.

    fairseq-xling init bert-folder --source-vectors source.safetensors
    fairseq-xling init bert-folder --data data-bin --vectors mapped.safetensors --output init.pt

The model has the encoder's sizes, whatever the architecture's own defaults, and the vocabulary and
languages of the data folder. Train it with `fairseq-train --finetune-from-model init.pt`.
"""

import argparse

from fairseq_xling.named_files import DATA, FILE, NEW_FILE, Input
from fairseq_xling.ranges import COUNT, NOT_NEGATIVE, Number
from fairseq_xling.seeds import SEED

GROUP = "Migrate"
SPEC_ROWS = ("T4", "T24", "T27")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar=Input("SOURCE"),
        help="folder in Hugging Face format (BERT, RoBERTa, XLM-R or XLM, with its vocabulary), "
        "or a fairseq checkpoint (RoBERTa, or separable_transformer*)",
    )
    parser.add_argument("--data", metavar=DATA, help="data folder with the new vocabulary")
    parser.add_argument("--output", metavar=NEW_FILE, help="checkpoint to write")
    parser.add_argument(
        "--source-vectors",
        metavar=NEW_FILE,
        help="write the source's raw embeddings as a file of vectors, for `fairseq-xling map`; "
        "without --output, do only this",
    )
    parser.add_argument(
        "--source-data",
        metavar=Input("DIR"),
        help="location of a source checkpoint's dict.txt or data folder (default: as in its "
        "training)",
    )
    parser.add_argument(
        "--source-language",
        metavar="LANG",
        help="language whose private parts to use, of a separable_transformer with such parts",
    )
    words = parser.add_argument_group("embeddings of the new vocabulary")
    words.add_argument(
        "--vectors",
        action="append",
        default=[],
        metavar=FILE,
        help="vectors of the data folder's subwords, mapped onto the source's; repeatable where "
        "each language has its own vocabulary",
    )
    words.add_argument(
        "--embeddings",
        metavar="WAY",
        help="random, vectors, or source (the source's own, for text prepared with its "
        "vocabulary) (default: vectors where --vectors is given, else random)",
    )
    words.add_argument(
        "--keep-norms",
        action="store_true",
        help="keep the vectors' lengths, instead of scaling them all to the mean length "
        "of the source's",
    )
    words.add_argument(
        "--copy-shared",
        action="store_true",
        help="give subwords that the source also has, with the same spelling, the source's "
        "embedding",
    )
    model = parser.add_argument_group("model")
    model.add_argument(
        "--arch", default="tri_bert_base", metavar="NAME", help="named architecture of this project"
    )
    model.add_argument("--no-trilayer", action="store_true", help="leave the TRILayer out")
    model.add_argument(
        "--copy-embeddings",
        action="store_true",
        help="distinguish target tokens of one source word by their number (better translations; "
        "not in "
        "the paper)",
    )
    model.add_argument(
        "--trilayer-from",
        default="code",
        metavar="WHICH",
        help="layer of N that the TRILayer is copied from: code (the (N/2 + 1)-th, as in the "
        "paper's "
        "code) or text (the N/2-th)",
    )
    model.add_argument(
        "--language-init",
        default="orthogonal",
        metavar="HOW",
        help="language embeddings: orthogonal, normal, or source (the source's own where it has "
        "them)",
    )
    model.add_argument(
        "--head",
        default="reset",
        metavar="HOW",
        help="LM head: reset, keep (the source's dense layer and LayerNorm), or whole (also the "
        "biases of symbols of the same spelling)",
    )
    model.add_argument(
        "--separate",
        default="",
        metavar="PLAN",
        help="parts that are private to each language, as for fairseq-train, such as "
        "tokens,softmax; each starts as a copy of the source's",
    )
    model.add_argument(
        "--languages",
        default="",
        metavar="CODES",
        help="languages (default: all of the data folder)",
    )
    model.add_argument(
        "--max-positions",
        type=Number(int, COUNT),
        metavar="N",
        help="position rows, the first N of the source's (default: all)",
    )
    model.add_argument(
        "--num-segments",
        type=Number(int, NOT_NEGATIVE),
        metavar="N",
        help="segment rows; those missing from the source are drawn (default: as many as the "
        "source's)",
    )
    parser.add_argument("--seed", type=SEED, default=1, metavar="N", help="random seed")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.errors import UserError
    from fairseq_xling.interop.sources import read_source
    from fairseq_xling.papers.trelm.initialise import InitOptions
    from fairseq_xling.papers.trelm.start import ModelOptions, make_start, write_source_vectors

    if bool(args.output) != bool(args.data):
        raise UserError("`--data` and `--output` go together")
    if not (args.output or args.source_vectors):
        raise UserError("nothing to do: give `--data` and `--output`, or `--source-vectors`")
    source = read_source(args.source, args.source_data, args.source_language)
    if args.source_vectors:
        print(write_source_vectors(args.source_vectors, source))
    if args.output:
        model = ModelOptions(
            arch=args.arch,
            trilayer=not args.no_trilayer,
            copy_embeddings=args.copy_embeddings,
            separate=args.separate,
            languages=args.languages,
            max_positions=args.max_positions,
            num_segments=args.num_segments,
        )
        options = InitOptions(
            embeddings=args.embeddings or ("vectors" if args.vectors else "random"),
            keep_norms=args.keep_norms,
            copy_shared=args.copy_shared,
            trilayer_from=args.trilayer_from,
            language_init=args.language_init,
            head=args.head,
            seed=args.seed,
        )
        print(make_start(args.output, source, args.data, model, options, args.vectors))
