"""Write the embedded corpus: parallel synthetic text with gold annotation.

OUT/mono/{train,valid,test}.LANG.txt     one sentence a line; training text is not parallel, valid
                                         and test are, and none of their sentences is in train
OUT/parallel/SPLIT.A-B.{A,B}.txt         the first language with each other one
OUT/parallel/SPLIT.A-B.pharaoh           gold alignment of those texts: i-j, words counted from 0;
                                         in Chinese, which has no spaces, each character counts:
                                         prepare it with --segment zh=char
OUT/parallel/SPLIT.A-B.zh.words.txt      Chinese with spaces between its words, and the alignment
     and SPLIT.A-B.words.pharaoh         of those words
OUT/dictionary/A-B.tsv                   source word, target word, weight
OUT/gold/SPLIT.LANG.conllu               parts of speech, trees, entities (Entity= in MISC)
OUT/gold/tags.SPLIT.LANG.tsv             word, part of speech, entity tag (IOB2)
OUT/gold/nli.SPLIT.LANG.tsv              premise, hypothesis, label (with --nli)
OUT/gold/structures.SPLIT.LANG.jsonl     trees with mentions, events, roles and relations, as
                                         `struct` reads them (with --structures)
OUT/provenance.json                      settings, version, seed, counts

Languages: en, de, zh, id; made from English: xx and yy (relabelled), xp (relabelled and permuted),
xs (words split), xm (words merged).
"""

import argparse

from fairseq_xling.named_files import OutputFolder
from fairseq_xling.ranges import NOT_NEGATIVE, Number
from fairseq_xling.seeds import SEED

GROUP = "Data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("out", metavar=OutputFolder("OUT"), help="folder to write; it must be new or empty")
    add("--languages", default="en,de", help="comma-separated; the first is paired with the rest")
    add(
        "--sentences",
        type=Number(int, NOT_NEGATIVE),
        default=10_000,
        help="training sentences per language",
    )
    add(
        "--parallel-sentences",
        type=Number(int, NOT_NEGATIVE),
        default=0,
        help="parallel training sentences",
    )
    add(
        "--held-out",
        type=Number(int, NOT_NEGATIVE),
        default=1000,
        help="sentences of valid, and of test",
    )
    add(
        "--nli",
        type=Number(int, NOT_NEGATIVE),
        default=0,
        help="training entailment pairs (0: no pairs at all)",
    )
    add(
        "--structures",
        type=Number(int, NOT_NEGATIVE),
        default=0,
        help="training sentences per language with relations and events (0: none at all)",
    )
    add(
        "--annotated",
        type=Number(int, NOT_NEGATIVE),
        default=1000,
        help="training sentences with gold trees, entities",
    )
    add("--seed", type=SEED, default=1, help="random seed; each gives a different corpus")
    add("--domain", default="default", help="default or other: same words, other frequencies")
    add("--spaced", action="store_true", help="also write spaces between Chinese words")


def run(args: argparse.Namespace) -> None:
    from dataclasses import fields

    from fairseq_xling.corpus.write import Settings, write_corpus
    from fairseq_xling.languages import parse_languages

    args.languages = tuple(parse_languages(args.languages))
    settings = Settings(**{field.name: getattr(args, field.name) for field in fields(Settings)})
    print(write_corpus(settings, args.out))
