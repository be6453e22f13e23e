"""Write the texts of probing rows, each once, one per line, to be encoded as sequences.

  fairseq-xling probe texts pos.train.jsonl --output pos.train.txt

`fairseq-xling clcr probe` reads their sequences in this order.
"""

import dataclasses

from fairseq_xling.core.named_files import FILE, NEW_FILE
from fairseq_xling.core.options import REQUIRED, argument, option
from fairseq_xling.verbs.probe import offsets_option

GROUP = "Analyse"


@dataclasses.dataclass(frozen=True)
class Options:
    source: str = argument("rows of `fairseq-xling probe`, also .gz", FILE)
    offsets: str = offsets_option()
    output: str = option(REQUIRED, "text to write", metavar=NEW_FILE)


def run(options: Options) -> None:
    from fairseq_xling.tasks.probing.examples import read_examples, write_texts

    lines = write_texts(read_examples(options.source, options.offsets), options.output)
    print(f"{options.output}: {lines:,} texts")
