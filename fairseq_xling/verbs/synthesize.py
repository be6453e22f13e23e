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
OUT/dictionary/A-B.{train,test}.tsv      the same split by source word: fit a map on one, measure it
                                         on the other
OUT/gold/SPLIT.LANG.conllu               parts of speech, trees, entities (Entity= in MISC)
OUT/gold/tags.SPLIT.LANG.tsv             word, part of speech, entity tag (IOB2)
OUT/gold/nli.SPLIT.LANG.tsv              premise, hypothesis, label (with --nli)
OUT/gold/structures.SPLIT.LANG.jsonl     trees with mentions, events, roles and relations, as
                                         `struct` reads them (with --structures)
OUT/provenance.json                      settings, version, seed, counts

Languages: en, de, zh, id; made from English: xx and yy (relabelled), xp (relabelled and permuted),
xs (words split), xm (words merged).
"""

import dataclasses
from typing import Any

from fairseq_xling.core.named_files import OutputFolder
from fairseq_xling.core.options import argument, option, part_of
from fairseq_xling.core.options import seed as seed_option
from fairseq_xling.core.ranges import NOT_NEGATIVE

GROUP = "Data"


def _count(default: int, name: str, help: str) -> Any:
    return option(default, help, range=NOT_NEGATIVE, metavar=name)


@dataclasses.dataclass(frozen=True)
class Options:
    out: str = argument("folder to write; it must be new or empty", OutputFolder("OUT"))
    languages: str = option(
        "en,de", "comma-separated; the first is paired with the rest", metavar="LANGUAGES"
    )
    sentences: int = _count(10_000, "SENTENCES", "training sentences per language")
    parallel_sentences: int = _count(0, "PARALLEL_SENTENCES", "parallel training sentences")
    held_out: int = _count(1000, "HELD_OUT", "sentences of valid, and of test")
    nli: int = _count(0, "NLI", "training entailment pairs (0: no pairs at all)")
    structures: int = _count(
        0,
        "STRUCTURES",
        "training sentences per language with relations and events (0: none at all)",
    )
    annotated: int = _count(1000, "ANNOTATED", "training sentences with gold trees, entities")
    seed: int = seed_option(1, "random seed; each gives a different corpus", "SEED")
    domain: str = option(
        "default", "default or other: same words, other frequencies", metavar="DOMAIN"
    )
    spaced: bool = option(False, "also write spaces between Chinese words")


def run(options: Options) -> None:
    from fairseq_xling.core.languages import parse_languages
    from fairseq_xling.corpus.write import Settings, write_corpus

    languages = tuple(parse_languages(options.languages))
    print(write_corpus(part_of(Settings, options, languages=languages), options.out))
