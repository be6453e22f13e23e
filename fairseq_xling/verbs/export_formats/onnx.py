"""`--format onnx`: graphs for ONNX Runtime, with the vocabulary, for programs without torch."""

from __future__ import annotations

import argparse
from typing import Any

from fairseq_xling.ranges import NOT_NEGATIVE, Number
from fairseq_xling.verbs.export_formats import FORMATS, Job


@FORMATS.register("onnx")
class Onnx:
    """See the module's docstring."""

    help = "encoder.onnx (states and their mean), or the two sides of a translator, with vocabulary"

    def add_arguments(self, parser: Any) -> None:
        add = parser.add_argument
        add("--onnx-int8", action="store_true", help="write weights in 8 bits")
        add(
            "--onnx-layer",
            type=Number(int, NOT_NEGATIVE),
            metavar="N",
            help="layer of the states, 0 the embeddings' output (default: the last)",
        )
        add(
            "--onnx-pair",
            metavar="SRC-TGT",
            help="write source.onnx and target.onnx of a model with a TRILayer, instead of "
            "encoder.onnx; the order is an input of the target side",
        )

    def write(self, job: Job, args: argparse.Namespace) -> str:
        from fairseq_xling.interop.onnx_export import export_onnx

        return export_onnx(
            job.checkpoint,
            job.folder,
            job.data,
            language=job.language,
            layer=args.onnx_layer,
            pair=args.onnx_pair,
            int8=args.onnx_int8,
        )
