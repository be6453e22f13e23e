"""A trained model with the methods that fairseq's models have in torch.hub.

model = SeparableTransformer.from_pretrained("encoder", "checkpoint_best.pt")
model = torch.hub.load("fairseq_xling", "separable_transformer", "encoder", source="local")
model.extract_features(model.encode("A dog runs.", "en"), "en")          # (1, T, D)

The names are those of fairseq's `RobertaHubInterface` and `GeneratorHubInterface`; a model of
several languages is also told the language.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor, nn

from fairseq_xling.api import checked
from fairseq_xling.api.encoder import Encoder, Filled
from fairseq_xling.core import arguments
from fairseq_xling.core.errors import UserError, about, shown
from fairseq_xling.data.folder import CLS, PAD, SEP
from fairseq_xling.engine.precision import AUTO, resolve
from fairseq_xling.generation.translator import Translator


def load(
    folder: str | Path,
    checkpoint_file: str = "checkpoint_best.pt",
    data: str | Path | None = None,
    kind: type | None = None,
    *,
    lang: str | None = None,
    device: str = "cpu",
) -> HubInterface:
    """The model of a folder.

    Args:
        folder: of a training (`--save-dir`), or one of `fairseq-xling export`, whose model is not
            called ``checkpoint_file``.
        checkpoint_file: the file in it.
        data: its data folder, if it has moved.
        kind: class of the model; it may be of a subclass (default: any).
        lang: language of texts for which none is named (default: the first of the model).

    Raises:
        UserError: as `Encoder.load`, for a folder that is missing, an unknown language, and a model
            of another class.
    """
    place = arguments.path("folder", folder)
    if not place.is_dir():
        raise UserError(f"{place}: no such folder; models are loaded from folders, not downloaded")
    file = place / arguments.path("checkpoint_file", checkpoint_file)
    encoder = Encoder.load(file if file.is_file() else place, data, device)
    if kind is not None and not isinstance(encoder.model, kind):
        found = type(encoder.model).__name__
        raise UserError(f"{file}: must be a model of class {kind.__name__}, got {found}")
    return HubInterface(encoder, str(place), lang)


class HubInterface(nn.Module):
    """Text, ids and states of one model, in evaluation mode.

    ``model`` is the fairseq model, ``task`` its task, ``langs`` its languages, ``lang`` the one of
    texts for which none is named. ``to(device)`` moves it.
    """

    def __init__(self, encoder: Encoder, name: str, lang: str | None = None):
        super().__init__()
        self.model, self.task, self.name = encoder.model, encoder.task, name
        self.langs = list(encoder.languages)
        self._encoder = encoder
        # The last one, and what it was asked for: to convert a model takes longer than a sentence.
        self._translator: tuple[Any, Translator] | None = None
        self.lang = self.langs[0] if lang is None else lang
        with about("`lang`"):
            encoder.check_language(self.lang)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def encode(self, sentence: str, lang: str | None = None) -> Tensor:
        """Ids of a sentence, int64 (T,): ``<s>``, its subwords, ``</s>``.

        Raises:
            UserError: for an unknown language, or what is not one string.
        """
        if not isinstance(sentence, str):
            raise UserError(f"`sentence` must be a string, got {shown(sentence)}")
        (ids,) = self._encoder.text_encoder(lang or self.lang).encode([sentence])
        return torch.from_numpy(np.concatenate([[CLS], ids]))

    @overload
    def decode(self, tokens: Sequence[int], lang: str | None = None) -> str: ...
    @overload
    def decode(self, tokens: Tensor, lang: str | None = None) -> str | list[str]: ...
    def decode(self, tokens: Any, lang: str | None = None) -> str | list[str]:
        """The text of ids (T,), without special symbols; of (B, T) a list.

        Raises:
            UserError: for an unknown language, or numbers that are not ids.
        """
        rows = self._rows(tokens)
        text = self._encoder.text_encoder(lang or self.lang)
        if any(row.min(initial=0) < 0 or row.max(initial=0) >= text.vocab_size for row in rows):
            raise UserError(f"`tokens` must be ids, in [0, {text.vocab_size - 1}]")
        found = [text.decode(row.tolist()) for row in rows]
        return found if torch.as_tensor(tokens).dim() == 2 else found[0]

    def extract_features(
        self, tokens: Tensor, lang: str | None = None, return_all_hiddens: bool = False
    ) -> Tensor | list[Tensor]:
        """States of the last layer, (B, T, D) float32 without gradients.

        Args:
            tokens: ids as `encode` makes them, (T,) or (B, T), padded with 1.
            return_all_hiddens: a list of the states after every layer, the embeddings' first.

        Returns:
            Zeros at padding.

        Raises:
            UserError: for ids that do not begin with ``<s>`` and end with ``</s>``, and for more
                of them than the model has positions.
        """
        rows, limit = self._rows(tokens), self.model.max_positions()
        given = torch.as_tensor(tokens)
        if bool((given[..., :-1] == PAD).logical_and(given[..., 1:] != PAD).any()):
            raise UserError("`tokens` must have padding at the end of rows, got it before ids")
        for row in rows:
            if len(row) < 2 or row[0] != CLS or row[-1] != SEP:
                raise UserError(f"`tokens` must begin with <s> and end with </s>, got {row[:8]}")
            if len(row) > limit:
                raise UserError(f"`tokens` must be at most {limit} ids, got {len(row)}")
        length = given.shape[-1]
        encoder = self._on_device()
        shape = (encoder.num_layers + 1, len(rows), length, encoder.width)
        states = torch.zeros(shape, device=encoder.device)
        whole = max(1, len(rows) * length)
        for indices, found, _ in encoder.states(
            [row[1:] for row in rows], lang or self.lang, whole
        ):
            for place, index in enumerate(indices):
                states[:, index, : len(rows[index])] = found[:, place, : len(rows[index])]
        return list(states) if return_all_hiddens else states[-1]

    def fill_mask(self, masked_input: str, topk: int = 5, lang: str | None = None) -> list[Filled]:
        """The ``topk`` best (text, probability, token) for the ``<mask>``; see `Encoder.fill_mask`.

        Raises:
            UserError: as there.
        """
        return self._on_device().fill_mask(masked_input, lang or self.lang, top_k=topk)

    @overload
    def translate(self, sentences: str, **options: Any) -> str: ...
    @overload
    def translate(self, sentences: Sequence[str], **options: Any) -> list[str]: ...
    def translate(self, sentences: str | Sequence[str], **options: Any) -> str | list[str]:
        """Translations, of a model with a TRILayer.

        Args:
            sentences: one, or a list.
            options: as of `Translator.load`, such as ``ordering``, ``source`` and ``target``.

        Raises:
            UserError: as there.
        """
        lines = [sentences] if isinstance(sentences, str) else checked.lines("sentences", sentences)
        weights = [(id(weight), weight._version) for weight in self.parameters()]
        asked = sorted(options.items()), self.device, weights
        if self._translator is None or self._translator[0] != asked:
            encoder = self._on_device()
            precision = options.get("precision", AUTO)
            if self.device.type == "cpu" or resolve(precision, self.device.type) != "fp32":
                # Weights in another format are those of translation alone.
                encoder = copy.copy(encoder)
                encoder.model = copy.deepcopy(encoder.model)
            self._translator = asked, Translator.of(encoder, self.name, **options)
        found = self._translator[1].translate(lines)
        return found[0] if isinstance(sentences, str) else found

    def _on_device(self) -> Encoder:
        self._encoder.device = self.device
        return self._encoder

    def _rows(self, tokens: Any) -> list[np.ndarray]:
        """Each row of ids (T,) or (B, T) without its padding."""
        found = torch.as_tensor(tokens)
        if found.dim() not in (1, 2) or found.is_floating_point() or found.dtype == torch.bool:
            what = f"{found.dtype} of shape {tuple(found.shape)}"
            raise UserError(f"`tokens` must be whole numbers of shape (T,) or (B, T), got {what}")
        rows = torch.atleast_2d(found).cpu().numpy().astype(np.int64)
        return [row[row != PAD] for row in rows]
