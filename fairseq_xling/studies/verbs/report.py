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

import dataclasses

from fairseq_xling.named_files import FILE, NEW_FILE, NEW_FOLDER, RUN, Input
from fairseq_xling.options import argument, option
from fairseq_xling.results.figure_file import DPI, WIDTHS

GROUP = "Studies and reports"


@dataclasses.dataclass(frozen=True)
class Options:
    runs: tuple[str, ...] = argument("folder of a finished run, or its JSON file", RUN, words="*")
    output: str | None = option(None, "folder for the pages", metavar=NEW_FOLDER)
    jsonl: str | None = option(
        None,
        "file for every score as a line of JSON: model, seed, task, language, metric, value, "
        "provenance",
        metavar=NEW_FILE,
    )
    figures: str | None = option(
        None, "folder for every figure as a file of its own, for a paper", metavar=NEW_FOLDER
    )
    figure_format: str | None = option(
        None,
        f"pdf (vectors, fonts within), svg or png (at {DPI} dpi) (default: pdf)",
        metavar="FORMAT",
    )
    figure_width: float | None = option(
        None,
        "width of each figure, such as 3.3 for a column and 6.9 for a page, with letters of 8 "
        "points (default: as in the pages)",
        range=WIDTHS,
        metavar="INCHES",
    )
    index: bool = option(False, "also write index.html, the page of all rows")
    tests: tuple[str, ...] = option(
        (), "test outcomes, from `pytest --rows FILE`; repeatable", metavar=FILE
    )
    recipes: tuple[str, ...] = option(
        (),
        "recipe (YAML) or folder of them that names rows, such as examples; repeatable",
        metavar=Input("PATH"),
    )


def run(options: Options) -> None:
    from fairseq_xling.studies.pages.command import run_report

    run_report(options)
