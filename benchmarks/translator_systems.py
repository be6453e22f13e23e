"""Trained translation models that `translators` compares: each a function from text to text.

One call is one batch. Ours are `Translator`s; the autoregressive model is a checkpoint of fairseq's
`translation` task, by its own SequenceGenerator and converted by CTranslate2's own functions.
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from ctranslate2_model import convert
from fairseq import models
from fairseq.data import Dictionary
from fairseq.sequence_generator import SequenceGenerator

import fairseq_xling.plugin  # noqa: F401  checkpoints are read by rules of our own
from fairseq_xling.data.folder import PAD, SEP, DataFolder
from fairseq_xling.generation.translator import Translator
from fairseq_xling.papers.trelm.teacher import check_autoregressive
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.trained import load_trained

Translate = Callable[[Sequence[str]], list[str]]

_WHOLE = 10**9  # tokens of a batch: whatever it is given


def ours(model: Path, precision: str, **options: object) -> tuple[Translate, int]:
    """A translator in fp32, bf16 or int8, and its number of parameters."""
    int8 = precision == "int8"
    number = "fp32" if int8 else precision
    translator = Translator.load(model, precision=number, int8=int8, **options)
    size = sum(parameter.numel() for parameter in translator.models[0].parameters())
    return lambda lines: translator.translate(lines, batch_tokens=_WHOLE), size


class Autoregressive:
    """A checkpoint of fairseq's `translation` task and the data folder that it was trained on."""

    def __init__(self, checkpoint: Path, data: Path, pair: tuple[str, str]):
        folder = DataFolder(data)
        self.source, self.target = (
            Dictionary.load(str(folder.dictionary_path(lang))) for lang in pair
        )
        check_autoregressive(checkpoint, data, pair, "--autoregressive")
        state = load_trained(checkpoint)
        task = Namespace(source_dictionary=self.source, target_dictionary=self.target)
        self.model = models.build_model(state["cfg"]["model"], task).eval()
        self.model.load_state_dict(state["model"])
        self.encoder, self.decoder = (TextEncoder.load(data, lang) for lang in pair)
        self.size = sum(parameter.numel() for parameter in self.model.parameters())

    def stock(self, beam: int) -> Translate:
        """fairseq's own search."""
        generator = SequenceGenerator([self.model], self.target, beam_size=beam)

        def translate(lines: Sequence[str]) -> list[str]:
            # Padded on the left, as fairseq's translation task has it.
            rows = [torch.from_numpy(row).long() for row in self.encoder.encode(list(lines))]
            tokens = torch.nn.utils.rnn.pad_sequence(rows, True, PAD, padding_side="left")
            lengths = torch.tensor([len(row) for row in rows])
            sample = {"net_input": {"src_tokens": tokens, "src_lengths": lengths}}
            found = generator.generate([self.model], sample)
            return [
                self.decoder.decode([t for t in one[0]["tokens"].tolist() if t != SEP])
                for one in found
            ]

        return translate

    def ctranslate2(self, beam: int, compute_type: str, threads: int) -> Translate:
        """The same weights in CTranslate2."""
        translator = convert(self.model, self.source, self.target, compute_type, threads)

        def translate(lines: Sequence[str]) -> list[str]:
            rows = self.encoder.encode(list(lines))
            pieces = [[self.source[i] for i in row.tolist() if i != SEP] for row in rows]
            found = translator.translate_batch(pieces, beam_size=beam, max_batch_size=0)
            written = [[self.target.index(word) for word in one.hypotheses[0]] for one in found]
            return [self.decoder.decode(ids) for ids in written]

        return translate
