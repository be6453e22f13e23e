"""Turn a pretrained encoder into the model that a migration to other languages starts from.

    fairseq-xling init bert-folder --source-vectors source.safetensors
    fairseq-xling init bert-folder --data data-bin --vectors mapped.safetensors --output init.pt

The model has the sizes of the encoder, whatever the architecture's own are, and the vocabulary and
languages of the data folder. It is the start of `fairseq-train --finetune-from-model init.pt`.
"""

import argparse

GROUP = "Migrate"
SPEC_ROWS = ("T4", "T24", "T27")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="folder in Hugging Face's form (BERT, RoBERTa, XLM-R or XLM, with its vocabulary), "
        "or a fairseq checkpoint (RoBERTa, or separable_transformer*)",
    )
    parser.add_argument("--data", metavar="DATA", help="data folder with the new vocabulary")
    parser.add_argument("--output", metavar="FILE", help="checkpoint to write")
    parser.add_argument(
        "--source-vectors",
        metavar="FILE",
        help="write the source's raw embeddings as a file of vectors, for `fairseq-xling map`; "
        "without --output this is all",
    )
    parser.add_argument(
        "--source-data",
        metavar="DIR",
        help="where a source checkpoint's dict.txt or data folder is (None: where it was trained)",
    )
    parser.add_argument(
        "--source-language",
        metavar="LANG",
        help="whose parts to take of a separable_transformer with private ones",
    )
    words = parser.add_argument_group("embeddings of the new vocabulary")
    words.add_argument(
        "--vectors",
        action="append",
        default=[],
        metavar="FILE",
        help="vectors of the data folder's subwords, mapped onto the source's; repeat it where "
        "each language has its own vocabulary",
    )
    words.add_argument(
        "--embeddings",
        metavar="WAY",
        help="random, or vectors (None: vectors where --vectors is given, else random)",
    )
    words.add_argument(
        "--keep-norms",
        action="store_true",
        help="leave vectors as long as they are, instead of scaling them all to the mean length "
        "of the source's",
    )
    words.add_argument(
        "--copy-shared",
        action="store_true",
        help="give subwords that the source has too, spelt alike, the source's embedding",
    )
    model = parser.add_argument_group("model")
    model.add_argument(
        "--arch", default="tri_bert_base", metavar="NAME", help="named architecture of this project"
    )
    model.add_argument("--no-trilayer", action="store_true", help="leave the TRILayer out")
    model.add_argument(
        "--copy-embeddings",
        action="store_true",
        help="tell tokens of one source word apart by their number (better translations; not in "
        "the paper)",
    )
    model.add_argument(
        "--trilayer-from",
        default="code",
        metavar="WHICH",
        help="layer that the TRILayer begins as, of N: code (the (N/2 + 1)-th, as the paper's "
        "program) or text (the N/2-th)",
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
        "biases of subwords that it spells alike)",
    )
    model.add_argument(
        "--separate",
        default="",
        metavar="PLAN",
        help="parts that each language has for itself, as for fairseq-train, such as "
        "tokens,softmax; each begins as the source's",
    )
    model.add_argument(
        "--languages", default="", metavar="CODES", help="languages (None: all of the data folder)"
    )
    model.add_argument(
        "--max-positions",
        type=int,
        metavar="N",
        help="position rows, the first N of the source's (None: all)",
    )
    model.add_argument(
        "--num-segments",
        type=int,
        metavar="N",
        help="segment rows; those that the source lacks are drawn (None: as many as the source's)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all that is drawn")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.errors import UserError
    from fairseq_xling.interop.sources import read_source
    from fairseq_xling.trelm.initialise import InitOptions
    from fairseq_xling.trelm.start import ModelOptions
    from fairseq_xling.trelm.start_file import make_start, write_source_vectors

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
