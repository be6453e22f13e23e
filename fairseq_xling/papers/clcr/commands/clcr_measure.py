"""Measure what CLCR learns: distances of translations, key-points, their order, and sequences.

  fairseq-xling clcr measure curves annealed=transform.log --figure curves.svg
  fairseq-xling clcr measure order model.pt --labels labels --output order.json

`fairseq-xling clcr measure KIND --help` explains one.
"""

import argparse
import importlib

GROUP = "CLCR"
KINDS = ("curves", "keypoints", "order", "report", "show")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.core.options import add_fields

    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for name in KINDS:
        module = importlib.import_module(f"fairseq_xling.papers.clcr.measures.{name}")
        text = module.__doc__.strip()
        kind = kinds.add_parser(
            name,
            help=text.splitlines()[0].rstrip("."),
            description=text,
            formatter_class=parser.formatter_class,
        )
        add_fields(kind, module.Options)
        kind.set_defaults(module=module)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.core.options import values_of
    from fairseq_xling.verbs.parts.output import check_output, finish

    options = values_of(args.module.Options, args)
    check_output(options)
    finish(options, *args.module.measure(options))
