"""Train, link or inspect vectors of a data folder's subwords, or of words.

fairseq-xling embed train data-bin --languages de --output de.safetensors --dim 384
fairseq-xling embed link data-bin --pair en-de --source-vectors en.st --output de.safetensors
fairseq-xling embed words data-bin --lang de --text de.txt --output fasttext-de
fairseq-xling embed inspect de.safetensors mapped.safetensors --word Hund --output figures
"""

import argparse

from fairseq_xling.errors import UserError, about
from fairseq_xling.named_files import DATA, FILE, NEW_FOLDER, NEW_REPORTED, Input
from fairseq_xling.ranges import BELOW_ONE, COUNT, NOT_NEGATIVE, Number, Range
from fairseq_xling.seeds import SEED

GROUP = "Migrate"
SPEC_ROWS = ("T14", "T16", "S4")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    formatter = parser.formatter_class
    train = actions.add_parser(
        "train",
        help="skip-gram or fastText on the folder's training text (or vectors from a .vec file)",
        description=_TRAIN,
        formatter_class=formatter,
    )
    _add_train(train)
    link = actions.add_parser(
        "link",
        help="means of a source encoder's embeddings, by the folder's word alignment",
        description=_LINK,
        formatter_class=formatter,
    )
    _add_link(link)
    words = actions.add_parser(
        "words",
        help="fastText on a text, or ready .vec vectors, as a folder for `eval bli` and `map`",
        description=_WORDS,
        formatter_class=formatter,
    )
    _add_words(words)
    inspect = actions.add_parser(
        "inspect",
        help="figures of a word's neighbourhood in one or more files of vectors",
        description=_INSPECT,
        formatter_class=formatter,
    )
    inspect.add_argument("vectors", nargs="+", metavar=Input("VECTORS"), help="file(s) of vectors")
    inspect.add_argument("--word", required=True, metavar="WORD", help="the word to look at")
    inspect.add_argument(
        "--top", type=Number(int, Range(2)), default=50, metavar="N", help="neighbours shown"
    )
    inspect.add_argument(
        "--output", required=True, metavar=NEW_FOLDER, help="folder for the results"
    )


_TRAIN = """\
Train a vector for every subword of a data folder by skip-gram with negative sampling, or by
fastText, which adds vectors of character n-grams.

Reads the folder's monolingual training text, sentences of all languages mixed. Vectors of a single
language can be mapped to another language's; several together only share a table.
OUTPUT.json reports what was done. Subwords that do not occur, and special symbols, are drawn from
the distribution of the others. If interrupted, the same command resumes with the next epoch.
"""

_LINK = """\
Set the vector of every subword of a data folder to the mean of the source encoder's embeddings of
the subwords that it is aligned with in the parallel training text.

Such vectors are already in the source's embedding space and need no map. Subwords that the
source spells identically keep its embedding; those without links or embedding are drawn at random
by `fairseq-xling init`. The folder must have been prepared with an --aligner or --alignment.
"""

_WORDS = """\
Train a vector for every word of a text with fastText, or read those of a .vec file, and write them
in the format of `fairseq-xling extract --unit static`: the baseline without an encoder for
`fairseq-xling eval bli` and `map`. Words are those of the data folder's segmentation. With --words
STATIC/words.txt both have the same candidate words.

If interrupted, the same command resumes with the next epoch.
"""

_INSPECT = """\
Show a word among all others: a histogram of its cosines, and its nearest neighbours on the plane
that explains most of their variance (TreLM, appendix A.2).

Writes inspect.svg, inspect.png, histogram.csv, neighbours.csv and inspect.json.
"""


def _add_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar=DATA, help="data folder")
    add("--output", required=True, metavar=NEW_REPORTED, help="vectors file to write (safetensors)")
    add(
        "--languages",
        default="",
        metavar="CODES",
        help="languages whose text is read, comma-separated (default: all of the folder's); with "
        "separate vocabularies exactly one",
    )
    add(
        "--vec",
        metavar=FILE,
        help="read the vectors from this text file in word2vec's format (also .gz) instead of "
        "training them; words missing from it are counted",
    )
    add(
        "--dim",
        type=Number(int, COUNT),
        default=768,
        metavar="N",
        help="width, which must be the source encoder's",
    )
    _add_skipgram(parser, "subwords", epochs=10, negative=10, min_count=0)
    add(
        "--method",
        default="skip-gram",
        metavar="NAME",
        help="skip-gram, or fasttext (with character n-grams)",
    )
    add(
        "--sample",
        type=Number(float, BELOW_ONE),
        metavar="X",
        help="thin out subwords above this share of the text; 1e-4 for very large vocabularies; "
        "0 = none (default: 1e-3, or 1e-4 with fasttext)",
    )
    _add_ngrams(parser, None, None, None)
    _add_learning(parser, lr=None)


def _add_ngrams(
    parser: argparse.ArgumentParser, shortest: int | None, longest: int | None, buckets: int | None
) -> None:
    """The character n-grams of fastText; the arguments are the defaults."""
    plain = "" if shortest else " (default: {}; fasttext only)"
    for name, default, own, text in (
        ("--min-n", shortest, "3", "length of the shortest character n-grams"),
        ("--max-n", longest, "6", "length of the longest character n-grams"),
        (
            "--buckets",
            buckets,
            "200000",
            "hash buckets of n-grams; fastText's 2,000,000 are 2.4 GB with width 300",
        ),
    ):
        parser.add_argument(
            name,
            type=Number(int, COUNT),
            default=default,
            metavar="N",
            help=text + plain.format(own),
        )


def _add_skipgram(
    parser: argparse.ArgumentParser, units: str, epochs: int, negative: int, min_count: int
) -> None:
    """What is drawn from the text; the arguments are the defaults."""
    for name, default, least, text in (
        ("--epochs", epochs, COUNT, "passes over the text"),
        ("--window", 5, COUNT, f"{units} on each side, at most"),
        ("--negative", negative, COUNT, "negative samples per word"),
        ("--min-count", min_count, NOT_NEGATIVE, f"do not train {units} rarer than this"),
    ):
        parser.add_argument(name, type=Number(int, least), default=default, metavar="N", help=text)


def _add_learning(parser: argparse.ArgumentParser, lr: float | None) -> None:
    parser.add_argument(
        "--lr",
        type=Number(float, Range(1e-4, 1)),
        default=lr,
        metavar="X",
        help="learning rate, falling to 1e-4"
        + ("" if lr else " (default: 0.025, or 0.05 with fasttext)"),
    )
    parser.add_argument(
        "--threads",
        type=Number(int, COUNT),
        default=1,
        metavar="N",
        help="above 1 is faster, but not reproducible",
    )
    parser.add_argument("--seed", type=SEED, default=1, metavar="N", help="random seed")


def _add_link(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar=DATA, help="data folder")
    add("--output", required=True, metavar=NEW_REPORTED, help="vectors file to write (safetensors)")
    add("--pair", required=True, metavar="A-B", help="the source's language, the new language")
    add(
        "--language",
        metavar="CODE",
        help="language whose dictionary gets vectors, where each has its own (default: B)",
    )
    add(
        "--source-vectors",
        required=True,
        metavar=FILE,
        help="the source's embeddings (from `fairseq-xling init SOURCE --source-vectors FILE`)",
    )


def _add_words(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar=DATA, help="data folder, for its segmentation")
    add("--lang", required=True, help="language of the text")
    add("--text", required=True, metavar=FILE, help="UTF-8 text, a sentence per line, also .gz")
    add("--output", required=True, metavar=NEW_FOLDER, help="folder to write; it must be new")
    add("--words", metavar=FILE, help="write only these words, the first column of each line")
    add(
        "--most",
        type=Number(int, COUNT),
        default=200_000,
        metavar="N",
        help="without --words, the N most frequent words",
    )
    add("--vec", metavar=FILE, help="ready vectors in word2vec's text format, also .gz")
    add("--dim", type=Number(int, COUNT), default=300, metavar="N", help="width")
    _add_skipgram(parser, "words", epochs=5, negative=5, min_count=5)
    _add_ngrams(parser, 3, 6, 200_000)
    _add_learning(parser, lr=0.05)


def run(args: argparse.Namespace) -> None:
    actions = {"train": _train, "link": _link, "words": _words, "inspect": _inspect}
    actions[args.action](args)


def _train(args: argparse.Namespace) -> None:
    import dataclasses
    import sys

    from fairseq_xling.languages import parse_languages
    from fairseq_xling.papers.trelm.skipgram import embedders
    from fairseq_xling.papers.trelm.vectors import import_vectors, train_vectors

    method = embedders[args.method]
    languages = parse_languages(args.languages) if args.languages else []
    if args.vec:
        report = import_vectors(args.data, args.output, languages, args.vec, args.seed)
        share = 100 * report["missing_share_of_text"]
        print(
            f"{args.output}: {report['found_ids']:,} subwords from {args.vec}, "
            f"{report['missing_ids']:,} missing ({share:.2f} % of the text)"
        )
        return
    names = [field.name for field in dataclasses.fields(method.options)]
    for name in ("min_n", "max_n", "buckets"):
        if name not in names and getattr(args, name) is not None:
            raise UserError(f"`--{name.replace('_', '-')}` needs `--method fasttext`")
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    options = method.options(**given)
    if options.threads > 1:
        print(
            f"fairseq-xling: warning: with `--threads` {options.threads} two runs give different "
            "vectors",
            file=sys.stderr,
        )
    report = train_vectors(args.data, args.output, languages, options, args.method)
    composed = report["composed_ids"]
    print(
        f"{args.output}: {report['trained_ids']:,} subwords trained on {report['tokens']:,} of "
        f"{','.join(report['settings']['languages'])}, "
        + (f"{composed:,} composed of n-grams, " if composed else "")
        + f"{report['untrained_ids']:,} not ({report['seconds']:.0f} s)"
    )


def _link(args: argparse.Namespace) -> None:
    from fairseq_xling.languages import parse_pair
    from fairseq_xling.papers.trelm.vectors import link_vectors

    with about("`--pair`"):
        pair = parse_pair(args.pair)
    language = args.language or pair[1]
    print(link_vectors(args.data, args.output, pair, language, args.source_vectors))


def _words(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.embed_words import run_words

    print(run_words(args))


def _inspect(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.embed_inspect import inspect_vectors

    print(inspect_vectors(args.vectors, args.word, args.top, args.output))
