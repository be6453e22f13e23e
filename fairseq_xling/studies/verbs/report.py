"""Make pages of finished runs, and an index of everything that is tested and measured.

  fairseq-xling report runs/ablation eval.json --output pages --jsonl scores.jsonl
  fairseq-xling report runs/ablation --figures figures --figure-width 3.3
  pytest --rows tests.json tests
  fairseq-xling report --index --tests tests.json runs/* --output pages

RUN is the folder of a run (`trelm run`, `ablate`, `eval transfer`, `eval matrix`, `eval overlap`,
`translate mds`, `probe`, `embed inspect`, `clcr run`, `clcr classify`, `clcr probe`, `demo`), or a
JSON file of results (`eval`, `eval cka`, `map`, `clcr report`). Each page is one self-contained
HTML file: figures redrawn from the JSON, every number as CSV and JSON to download, and the command
that made it. `--index` lists every row of the specification with its tests and their outcome, the
command to run for it, and the latest measured figure.
"""

import argparse

from fairseq_xling.named_files import FILE, NEW_FILE, NEW_FOLDER, RUN, Input
from fairseq_xling.ranges import Number
from fairseq_xling.results.figure_file import DPI, WIDTHS

GROUP = "Studies and reports"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("runs", nargs="*", metavar=RUN, help="folder of a finished run, or its JSON file")
    add("--output", metavar=NEW_FOLDER, help="folder for the pages")
    add(
        "--jsonl",
        metavar=NEW_FILE,
        help="file for every score as a line of JSON: model, seed, task, language, metric, value, "
        "provenance",
    )
    add(
        "--figures",
        metavar=NEW_FOLDER,
        help="folder for every figure as a file of its own, for a paper",
    )
    add(
        "--figure-format",
        metavar="FORMAT",
        help=f"pdf (vectors, fonts within), svg or png (at {DPI} dpi) (default: pdf)",
    )
    add(
        "--figure-width",
        type=Number(float, WIDTHS),
        metavar="INCHES",
        help="width of each figure, such as 3.3 for a column and 6.9 for a page, with letters of 8 "
        "points (default: as in the pages)",
    )
    add("--index", action="store_true", help="also write index.html, the page of all rows")
    add(
        "--tests",
        action="append",
        default=[],
        metavar=FILE,
        help="test outcomes, from `pytest --rows FILE`; repeatable",
    )
    add(
        "--recipes",
        action="append",
        default=[],
        metavar=Input("PATH"),
        help="recipe (YAML) or folder of them that names rows, such as examples; repeatable",
    )


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.studies.pages.command import run_report

    run_report(args)
