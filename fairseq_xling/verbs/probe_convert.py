"""Make probing rows from an annotated file.

  fairseq-xling probe convert test.conllu --task deps --output test.deps.jsonl
  fairseq-xling probe convert test.conll --columns token=1,tag=2 --task entities \\
      --output test.entities.jsonl

Tasks of a treebank (.conllu) or a tagged file with a token and its tag on each line: pos (a word,
its part of speech), deps (a word and its head, their relation; the root is left out), entities (an
entity, its type; in a treebank Entity=B-TYPE in its last column). Of bracketed trees: consts (a
constituent, its types). Of CoNLL-2009: srl (a predicate and an argument, the role). Of CoNLL-2012:
coref (two mentions of a sentence, whether they are of one entity). Of a table with the headings
text, predicate, argument, property and response: spr (a predicate and an argument, the properties
rated 4 or 5). Of SemEval-2010 task 8, or of the structures of `struct` (.json, .jsonl): relations.
"""

import dataclasses

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import FILE, NEW_FILE
from fairseq_xling.core.options import REQUIRED, argument, option

GROUP = "Analyse"


@dataclasses.dataclass(frozen=True)
class Options:
    source: str = argument("annotated file, also .gz", FILE)
    task: str = option(
        REQUIRED,
        "what is probed: pos, deps, entities, consts, srl, coref, spr or relations",
        metavar="TASK",
    )
    columns: str = shared.columns()
    output: str = shared.output("JSON lines to write", NEW_FILE)


def run(options: Options) -> None:
    from fairseq_xling.tasks.items import parse_columns
    from fairseq_xling.tasks.probing.converters import convert

    columns = parse_columns(options.columns)
    texts, targets = convert(options.source, options.output, options.task, columns)
    print(f"{options.output}: {targets:,} targets in {texts:,} texts")
