"""Probe folders of sequences: what can be probed from spans after T, and after extraction.

  fairseq-xling probe texts pos.train.jsonl --output pos.train.txt      (and so on, then encode)
  fairseq-xling clcr probe --data data-bin --train en=pos.train.jsonl --valid en=pos.valid.jsonl \\
      --test en=pos.test.jsonl --vectors "T=seq/T/{file}" --vectors "T+E(.2)=seq/TE2/{file}" \\
      --vectors "T+E(.5)=seq/TE5/{file}" --output runs/probe

Rows are those of `fairseq-xling probe`, which probes the encoder itself, before T. Each
--vectors is a row of the table; {file} stands for the name of a file of rows without its ending:
seq/T/pos.train then holds the sequences of its texts, each text once, in the order of
`fairseq-xling probe texts`. {name} is {file} without its language, {lang}; use {seed} where each
of --seeds has its own model.

A span is all kept vectors whose subwords lie within it. Where none was kept, nothing is predicted
and its labels count as missed. Writes results.json, table.csv and predictions. If interrupted,
the same command resumes.
"""

import dataclasses

from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.core.named_files import DATA, NEW_FOLDER, Input
from fairseq_xling.core.options import REQUIRED, option
from fairseq_xling.verbs.probe import ExampleOptions, ProbeRunOptions

GROUP = "CLCR"


@dataclasses.dataclass(frozen=True)
class _Rows:
    data: str = option(REQUIRED, "data folder that the texts were encoded with", metavar=DATA)
    vectors: tuple[str, ...] = option(
        (),
        "a row of the table and its folders of sequences, see above; repeatable",
        metavar=Input("ROW=FOLDERS"),
    )


@dataclasses.dataclass(frozen=True)
class _Output:
    output: str = option(REQUIRED, "folder to write", metavar=NEW_FOLDER)


@dataclasses.dataclass(frozen=True)
class Options(_Output, ProbeRunOptions, ExampleOptions, _Rows):
    """All of them, in this order from the end."""


def run(options: Options) -> None:
    check_installed("`fairseq-xling clcr probe`", *OF_PAGES)
    from fairseq_xling.papers.clcr.probing import run_clcr_probe

    run_clcr_probe(options)
