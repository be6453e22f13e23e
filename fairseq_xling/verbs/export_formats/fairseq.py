"""`--format fairseq`: the checkpoint with its vocabulary, to translate, analyse or train with."""

from __future__ import annotations

import argparse
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.named_files import FILE
from fairseq_xling.verbs.export_formats import FORMATS, Job


@FORMATS.register("fairseq")
class Fairseq:
    """See the module's docstring."""

    help = "model.pt with its vocabulary, which every command here and fairseq's own read"

    def add_arguments(self, parser: Any) -> None:
        """That of translation."""
        parser.add_argument(
            "--shortlist",
            metavar=FILE,
            help="of `fairseq-xling shortlist`, with which the folder then translates",
        )

    def write(self, job: Job, args: argparse.Namespace) -> str:
        from fairseq_xling.interop.export import export

        if job.language is not None:
            raise UserError(
                f"`--language` {job.language}: `--format fairseq` keeps all languages; leave it out"
            )
        return export(job.checkpoint, job.folder, job.data, args.shortlist)
