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

import dataclasses
from typing import TYPE_CHECKING

from fairseq_xling.core.named_files import CHECKPOINT, DATA, Input
from fairseq_xling.core.options import REQUIRED, option
from fairseq_xling.core.ranges import NOT_NEGATIVE
from fairseq_xling.verbs import predict

if TYPE_CHECKING:
    from fairseq_xling.interop.encoder import Encoder
    from fairseq_xling.mapping.fitted import FittedMap
    from fairseq_xling.tasks.predict import Predictor

GROUP = "Transfer"
_LOWER = "the lower layers"


@dataclasses.dataclass(frozen=True)
class Options(predict.Options):
    encoder: str = option(
        REQUIRED, "the encoder of the files' language", metavar=CHECKPOINT, group=_LOWER
    )
    encoder_data: str | None = option(
        None, "its data folder, if it has moved", metavar=DATA, group=_LOWER
    )
    map: str = option(
        REQUIRED,
        "map from its states to those of the fine-tuned model; none leaves them unchanged",
        metavar=Input("MAP"),
        group=_LOWER,
    )
    layer: int = option(
        REQUIRED, "the last layer used; 0 is the embeddings", range=NOT_NEGATIVE, group=_LOWER
    )


def run(options: Options) -> None:
    from fairseq_xling.interop.encoder import Encoder
    from fairseq_xling.mapping.fitted import read_map
    from fairseq_xling.tasks.mapped import mapped_predictor

    fitted = None if options.map == "none" else read_map(options.map)
    reader = Encoder.load(options.encoder, options.encoder_data, options.device)

    def adapt(predictor: "Predictor") -> "Predictor":
        found = fitted or no_map(predictor, reader, options.layer)
        return mapped_predictor(predictor, reader, found, options.layer)

    maps = {"map": options.map} if fitted else {}
    print(predict.predict_files(options, adapt, {"encoder": options.encoder, **maps}))


def no_map(predictor: "Predictor", reader: "Encoder", layer: int) -> "FittedMap":
    """The identity map; the upper layers read states in the language of training."""
    from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side
    from fairseq_xling.tasks.items import parse_files

    lang = parse_files("--train-file", predictor.task.cfg.train_file)[0][0]
    sides = Side(reader.width), Side(predictor.model.encoder.shape.dim)
    return FittedMap({layer: LayerMap(*sides)}, "none", {"fixed": {"lang": lang}})
