"""`--format sentence-transformers`: the mean over a text's subwords, as a folder of that library.

`SentenceTransformer(DIR).encode(texts)` needs no code of this project. A folder is a BERT as of
`--format hf`, with the modules that leave special symbols out of the mean.
"""

from __future__ import annotations

import argparse
from typing import Any

from fairseq_xling.ranges import NOT_NEGATIVE, Number
from fairseq_xling.verbs.export_formats import FORMATS, Job


@FORMATS.register("sentence-transformers")
class SentenceTransformers:
    """See the module's docstring."""

    help = "a BERT whose mean over subwords is a text's vector, for sentence-transformers"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--sentence-layer",
            type=Number(int, NOT_NEGATIVE),
            metavar="N",
            help="layer of the states, 0 the embeddings' output; higher ones are not written "
            "(default: the last)",
        )

    def write(self, job: Job, args: argparse.Namespace) -> str:
        from fairseq_xling.verbs.parts.export_sentences import write

        return write(job, args.sentence_layer)
