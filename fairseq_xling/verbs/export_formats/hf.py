"""`--format hf`: one language's path as a plain BERT that Hugging Face's transformers loads.

`AutoModel.from_pretrained(DIR)` needs no code of this project. A folder has ``config.json``,
``model.safetensors``, a tokenizer, and a model card, ``README.md``, whose licence is to be filled
in. `fairseq-xling import` reads it back.
"""

from __future__ import annotations

import argparse
from typing import Any

from fairseq_xling.verbs.export_formats import FORMATS, Job


@FORMATS.register("hf")
class HuggingFace:
    """See the module's docstring."""

    help = "a BERT with its tokenizer and a model card, for Hugging Face's transformers"

    def add_arguments(self, parser: Any) -> None:
        """It has none."""

    def write(self, job: Job, args: argparse.Namespace) -> str:
        from fairseq_xling.verbs.parts.export_hf import write

        return write(job)
