"""Write premises and hypotheses of labelled pairs as plain text, one line each, to be encoded.

  fairseq-xling clcr texts nli/train.en.tsv --output text/train.en
  fairseq-xling clcr encode model.pt --lang en --text text/train.en.premise --row T+E \\
      --output seq/TE/train.en.premise

Writes text/train.en.premise and text/train.en.hypothesis. `fairseq-xling clcr classify` finds the
sequences of both as --vectors "T+E=seq/TE/{file}.{side}".
"""

import dataclasses
from pathlib import Path

from fairseq_xling.core.named_files import FILE, OutputFile
from fairseq_xling.core.options import REQUIRED, argument, option

GROUP = "CLCR"


@dataclasses.dataclass(frozen=True)
class Options:
    source: str = argument("labelled pairs, as `fairseq-xling clcr classify` reads them", FILE)
    format: str = option("", "tsv or json_lines (default: tsv)", metavar=())
    columns: str = option("", "which column holds what, e.g. text=0,pair=1,label=2", metavar=())
    output: str = option(
        REQUIRED,
        "files to write are STEM.premise, ...",
        metavar=OutputFile("STEM", "{}.premise", "{}.hypothesis"),
    )


def run(options: Options) -> None:
    from fairseq_xling.papers.clcr.labelled import write_texts

    output = options.output
    count = write_texts(Path(options.source), output, options.format, options.columns)
    print(f"{output}.premise, {output}.hypothesis: {count:,} sentences each")
