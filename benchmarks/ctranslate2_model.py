"""An autoregressive model of fairseq in CTranslate2, converted by that library's own functions."""

import tempfile

import ctranslate2
import torch
from ctranslate2.converters import fairseq as converter
from ctranslate2.specs import transformer_spec
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel


def convert(
    model: TransformerModel, source: Dictionary, target: Dictionary, compute_type: str, threads: int
) -> ctranslate2.Translator:
    """On a CPU, with the weights of ``model`` in ``compute_type``."""
    config = model.decoder.cfg
    spec = transformer_spec.TransformerSpec.from_config(
        (config.encoder.layers, config.decoder.layers),
        config.encoder.attention_heads,
        pre_norm=False,
    )
    with torch.no_grad():
        converter.set_transformer_encoder(spec.encoder, model.encoder)
        converter.set_transformer_decoder(spec.decoder, model.decoder)
    spec.register_source_vocabulary(_words(source))
    spec.register_target_vocabulary(_words(target))
    spec.config.decoder_start_token = spec.config.eos_token
    spec.config.add_source_eos = True
    spec.validate()
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        return ctranslate2.Translator(
            folder, compute_type=compute_type, inter_threads=1, intra_threads=threads
        )


def _words(dictionary: Dictionary) -> list[str]:
    return ["<blank>" if word == "<pad>" else word for word in dictionary.symbols]
