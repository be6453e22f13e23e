"""Write the texts of probing rows, each once, one per line, to be encoded as sequences.

  fairseq-xling probe texts pos.train.jsonl --output pos.train.txt

`fairseq-xling clcr probe` reads their sequences in this order.
"""

import dataclasses

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import FILE, NEW_FILE
from fairseq_xling.core.options import argument

GROUP = "Analyse"


@dataclasses.dataclass(frozen=True)
class Options:
    source: str = argument("rows of `fairseq-xling probe`, also .gz", FILE)
    offsets: str = shared.offsets()
    output: str = shared.output("text to write", NEW_FILE)


def run(options: Options) -> None:
    from fairseq_xling.tasks.probing.examples import read_examples, write_texts

    lines = write_texts(read_examples(options.source, options.offsets), options.output)
    print(f"{options.output}: {lines:,} texts")
