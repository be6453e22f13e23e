"""Make probing rows from a treebank or a tagged file.

  fairseq-xling probe convert test.conllu --task deps --output test.deps.jsonl
  fairseq-xling probe convert test.conll --columns token=1,tag=2 --task entities \\
      --output test.entities.jsonl

Tasks: pos (a word, its part of speech), deps (a word and its head, their relation; the root is left
out), entities (an entity, its type). A file whose name ends in .conllu has all three, entities as
Entity=B-TYPE in its last column; any other has a token and its tag on each line.
"""

import argparse

GROUP = "Analyse"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="FILE", help="annotated file, also .gz")
    add("--task", required=True, help="what is probed: pos, deps or entities")
    add("--columns", help="of a tagged file, such as token=0,tag=1")
    add("--output", required=True, metavar="FILE", help="JSON lines to write")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.tasks.items import parse_columns
    from fairseq_xling.tasks.probing.tasks import convert

    columns = parse_columns(args.columns or "")
    texts, targets = convert(args.source, args.output, args.task, columns)
    print(f"{args.output}: {targets:,} targets in {texts:,} texts")
