"""The run of `fairseq-xling predict mapped`."""

import argparse
import functools

from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side, read_map
from fairseq_xling.tasks.items import parse_files
from fairseq_xling.tasks.mapped import mapped_predictor
from fairseq_xling.tasks.predict import Predictor
from fairseq_xling.verbs.parts.predict import predict_files


def predict_mapped(args: argparse.Namespace) -> str:
    """`predict_files` with ``args.encoder`` up to ``args.layer``, and the map ``args.map``."""
    plain = args.map == "none"
    fitted = None if plain else read_map(args.map)
    reader = Encoder.load(args.encoder, args.encoder_data, args.device)
    inputs = {"encoder": args.encoder, **({} if plain else {"map": args.map})}
    adapt = functools.partial(_adapt, reader=reader, fitted=fitted, layer=args.layer)
    return predict_files(args, adapt, inputs)


def _adapt(
    predictor: Predictor, reader: Encoder, fitted: FittedMap | None, layer: int
) -> Predictor:
    return mapped_predictor(predictor, reader, fitted or no_map(predictor, reader, layer), layer)


def no_map(predictor: Predictor, reader: Encoder, layer: int) -> FittedMap:
    """The identity map; the upper layers read states in the language of training."""
    lang = parse_files("--train-file", predictor.task.cfg.train_file)[0][0]
    sides = Side(reader.width), Side(predictor.model.encoder.shape.dim)
    return FittedMap({layer: LayerMap(*sides)}, "none", {"fixed": {"lang": lang}})
