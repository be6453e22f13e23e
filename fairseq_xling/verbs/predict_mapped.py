"""Predict in a language that the fine-tuned model has never seen, using a map between two encoders.

  fairseq-xling map contextual states-de states-en --alignments de-en.pharaoh --layers 4 \\
      --output de-en.safetensors
  fairseq-xling predict mapped finetuned/checkpoint_best.pt de=test.de.tsv \\
      --encoder german/checkpoint_best.pt --map de-en.safetensors --layer 4 --output found

The lower layers of --encoder read a text; its states after --layer are mapped into the space of the
fine-tuned model, whose upper layers and head continue from there. The fine-tuned model's layers up
to that one must be those that the map was fitted on: train it with `--freeze-layers`. Otherwise as
`fairseq-xling predict`.
"""

import argparse
from typing import TYPE_CHECKING

from fairseq_xling.named_files import CHECKPOINT, DATA, Input
from fairseq_xling.ranges import NOT_NEGATIVE, Number

if TYPE_CHECKING:
    from fairseq_xling.interop.encoder import Encoder
    from fairseq_xling.mapping.fitted import FittedMap
    from fairseq_xling.tasks.predict import Predictor

GROUP = "Transfer"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs import predict

    predict.add_arguments(parser)
    add = parser.add_argument_group("the lower layers").add_argument
    add("--encoder", required=True, metavar=CHECKPOINT, help="the encoder of the files' language")
    add("--encoder-data", metavar=DATA, help="its data folder, if it has moved")
    add(
        "--map",
        required=True,
        metavar=Input("MAP"),
        help="map from its states to those of the fine-tuned model; none leaves them unchanged",
    )
    add(
        "--layer",
        type=Number(int, NOT_NEGATIVE),
        required=True,
        metavar="N",
        help="the last layer used; 0 is the embeddings",
    )


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.interop.encoder import Encoder
    from fairseq_xling.mapping.fitted import read_map
    from fairseq_xling.tasks.mapped import mapped_predictor
    from fairseq_xling.verbs.predict import predict_files

    fitted = None if args.map == "none" else read_map(args.map)
    reader = Encoder.load(args.encoder, args.encoder_data, args.device)

    def adapt(predictor: "Predictor") -> "Predictor":
        found = fitted or no_map(predictor, reader, args.layer)
        return mapped_predictor(predictor, reader, found, args.layer)

    maps = {"map": args.map} if fitted else {}
    print(predict_files(args, adapt, {"encoder": args.encoder, **maps}))


def no_map(predictor: "Predictor", reader: "Encoder", layer: int) -> "FittedMap":
    """The identity map; the upper layers read states in the language of training."""
    from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side
    from fairseq_xling.tasks.items import parse_files

    lang = parse_files("--train-file", predictor.task.cfg.train_file)[0][0]
    sides = Side(reader.width), Side(predictor.model.encoder.shape.dim)
    return FittedMap({layer: LayerMap(*sides)}, "none", {"fixed": {"lang": lang}})
