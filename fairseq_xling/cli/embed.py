"""Word vectors: of a data folder's subwords (train them, link them, look at them), or of words.

fairseq-xling embed train data-bin --languages de --output de.safetensors --dim 384
fairseq-xling embed link data-bin --pair en-de --source-vectors en.st --output de.safetensors
fairseq-xling embed words data-bin --lang de --text de.txt --output fasttext-de
fairseq-xling embed inspect de.safetensors mapped.safetensors --word Hund --output figures
"""

import argparse

GROUP = "Migrate"
SPEC_ROWS = ("T14", "T16", "S4")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    formatter = parser.formatter_class
    train = actions.add_parser(
        "train",
        help="skip-gram on the folder's training text (or vectors from a .vec file)",
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
    inspect.add_argument("vectors", nargs="+", metavar="VECTORS", help="file(s) of vectors")
    inspect.add_argument("--word", required=True, metavar="WORD", help="the word to look at")
    inspect.add_argument("--top", type=int, default=50, metavar="N", help="neighbours shown")
    inspect.add_argument("--output", required=True, metavar="DIR", help="folder for the results")


_TRAIN = """\
Train a vector for every subword of a data folder by skip-gram with negative sampling.

Reads the folder's monolingual training text, sentences of all languages mixed. One language alone
gives vectors that a map can bring to another language's; several together only share a table.
OUTPUT.json reports what was done. Subwords that do not occur, and special symbols, are drawn from
the distribution of the others. Stopped in between, the same command goes on with the next epoch.
"""

_LINK = """\
Give every subword of a data folder the mean of the source encoder's embeddings of the words that it
is aligned with in the parallel training text.

Such vectors lie among the source's embeddings already and need no map. Subwords that the source
spells alike have its embedding where no link says better; one without either is drawn by
`fairseq-xling init`. The folder must have been prepared with an --aligner or --alignment.
"""

_WORDS = """\
Train a vector for every word of a text by fastText, or take those of a .vec file, and write them as
`fairseq-xling extract --unit static` writes an encoder's: the baseline without an encoder of
`fairseq-xling eval bli` and `map`. Words are those of the data folder's segmentation. With --words
STATIC/words.txt both have the same words to choose from.

Stopped in between, the same command goes on with the next epoch.
"""

_INSPECT = """\
Show how a word lies among all others: a histogram of its cosines, and its nearest neighbours on
the plane that holds most of their variance (TreLM, appendix A.2).

Writes inspect.svg, inspect.png, histogram.csv, neighbours.csv and inspect.json.
"""


def _add_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar="DATA", help="data folder")
    add("--output", required=True, metavar="FILE", help="vectors file to write (safetensors)")
    add(
        "--languages",
        default="",
        metavar="CODES",
        help="languages whose text is read, comma-separated (default: all of the folder's); with "
        "separate vocabularies exactly one",
    )
    add(
        "--vec",
        metavar="FILE",
        help="take the vectors from this text file in word2vec's format (also .gz) instead of "
        "training them; words that it lacks are counted",
    )
    add("--dim", type=int, default=768, metavar="N", help="width: that of the source encoder")
    add("--epochs", type=int, default=10, metavar="N", help="passes over the text")
    add("--window", type=int, default=5, metavar="N", help="subwords on each side, at most")
    add("--negative", type=int, default=10, metavar="N", help="drawn words per real one")
    add(
        "--min-count",
        type=int,
        default=0,
        metavar="N",
        help="do not train subwords rarer than this",
    )
    add(
        "--sample",
        type=float,
        default=1e-3,
        metavar="X",
        help="thin out subwords above this share of the text; 1e-4 for very large vocabularies; "
        "0 = none",
    )
    add("--lr", type=float, default=0.025, metavar="X", help="learning rate, falling to 1e-4")
    add(
        "--threads",
        type=int,
        default=1,
        metavar="N",
        help="above 1 is faster, but two runs then differ",
    )
    add("--seed", type=int, default=1, metavar="N", help="of everything random")


def _add_link(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar="DATA", help="data folder")
    add("--output", required=True, metavar="FILE", help="vectors file to write (safetensors)")
    add("--pair", required=True, metavar="A-B", help="the source's language, the new language")
    add(
        "--language",
        metavar="CODE",
        help="whose dictionary gets vectors, where each has its own (default: B)",
    )
    add(
        "--source-vectors",
        required=True,
        metavar="FILE",
        help="the source's embeddings (from `fairseq-xling init SOURCE --source-vectors FILE`)",
    )


def _add_words(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar="DATA", help="data folder, for its segmentation")
    add("--lang", required=True, help="language of the text")
    add("--text", required=True, metavar="FILE", help="UTF-8 text, a sentence per line, also .gz")
    add("--output", required=True, metavar="DIR", help="folder to write; it must be new")
    add("--words", metavar="FILE", help="write these words only, the first column of each line")
    add("--most", type=int, default=200_000, metavar="N", help="else this many frequent words")
    add("--vec", metavar="FILE", help="ready vectors in word2vec's text format, also .gz")
    add("--dim", type=int, default=300, metavar="N", help="width")
    add("--epochs", type=int, default=5, metavar="N", help="passes over the text")
    add("--window", type=int, default=5, metavar="N", help="words on each side, at most")
    add("--negative", type=int, default=5, metavar="N", help="drawn words per real one")
    add("--min-count", type=int, default=5, metavar="N", help="do not train words rarer than this")
    add("--min-n", type=int, default=3, metavar="N", help="letters of the shortest n-grams")
    add("--max-n", type=int, default=6, metavar="N", help="letters of the longest n-grams")
    add(
        "--buckets",
        type=int,
        default=200_000,
        metavar="N",
        help="rows that n-grams share; fastText has 2,000,000, which are 2.4 GB with width 300",
    )
    add("--lr", type=float, default=0.05, metavar="X", help="learning rate, falling to 1e-4")
    add("--threads", type=int, default=1, metavar="N", help="above 1 two runs differ")
    add("--seed", type=int, default=1, metavar="N", help="of everything random")


def run(args: argparse.Namespace) -> None:
    actions = {"train": _train, "link": _link, "words": _words, "inspect": _inspect}
    actions[args.action](args)


def _train(args: argparse.Namespace) -> None:
    import dataclasses
    import sys

    from fairseq_xling.languages import parse_languages
    from fairseq_xling.trelm.skipgram import SkipGramOptions
    from fairseq_xling.trelm.vectors import import_vectors, train_vectors

    languages = parse_languages(args.languages) if args.languages else []
    if args.vec:
        report = import_vectors(args.data, args.output, languages, args.vec, args.seed)
        share = 100 * report["missing_share_of_text"]
        print(
            f"{args.output}: {report['found_ids']:,} subwords from {args.vec}, "
            f"{report['missing_ids']:,} missing ({share:.2f} % of the text)"
        )
        return
    names = [field.name for field in dataclasses.fields(SkipGramOptions)]
    options = SkipGramOptions(**{name: getattr(args, name) for name in names})
    if options.threads > 1:
        print(
            f"fairseq-xling: warning: with `--threads` {options.threads} two runs give different "
            "vectors",
            file=sys.stderr,
        )
    report = train_vectors(args.data, args.output, languages, options)
    print(
        f"{args.output}: {report['trained_ids']:,} subwords trained on {report['tokens']:,} of "
        f"{','.join(report['settings']['languages'])}, {report['untrained_ids']:,} not "
        f"({report['seconds']:.0f} s)"
    )


def _link(args: argparse.Namespace) -> None:
    from fairseq_xling.languages import parse_pair
    from fairseq_xling.trelm.linked import link_vectors

    pair = parse_pair(args.pair)
    language = args.language or pair[1]
    print(link_vectors(args.data, args.output, pair, language, args.source_vectors))


def _words(args: argparse.Namespace) -> None:
    from fairseq_xling.runs.word_vectors import run_words

    print(run_words(args))


def _inspect(args: argparse.Namespace) -> None:
    from fairseq_xling.trelm.inspect import inspect_vectors

    print(inspect_vectors(args.vectors, args.word, args.top, args.output))
