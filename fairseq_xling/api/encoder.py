"""A trained encoder on text: vectors as numpy arrays, words for a mask, translations by search.

    encoder = xling.Encoder.load("encoder/checkpoint_best.pt")
    encoder.encode(["A dog runs.", "Two cats sleep."], "en")  # (2, D)

Each language of a checkpoint has a code, such as "en".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.analysis.retrieval import collect_vectors, sentence_vectors
from fairseq_xling.api import checked, measures
from fairseq_xling.core.errors import UserError, about, shown
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import SEP, SPECIALS
from fairseq_xling.interop import encoder as interop
from fairseq_xling.text.encoder import TextEncoder

MASK_TEXT = "<mask>"
Layers = int | str | Sequence[int]

# (states (L, B, T, D), words (B, T)) to a vector for each sentence, (L, B, D).
POOLINGS: Registry[Callable[[Tensor, Tensor], Tensor]] = Registry("`pooling`")
NO_POOLING = "none"

POOLINGS.register("mean")(sentence_vectors)


@POOLINGS.register("first")
def first_state(states: Tensor, words: Tensor) -> Tensor:
    """The state of ``<s>``, in front of the sentence."""
    return states[:, :, 0]


class Filled(NamedTuple):
    """A word for a mask.

    Attributes:
        text: the text with it, as segmented.
        probability: of the token, in [0, 1], among the whole vocabulary.
        token: its text.
    """

    text: str
    probability: float
    token: str


class Encoder(interop.Encoder):
    """A checkpoint with the data folder that cuts its text; text in, numpy arrays out.

    ``languages``, ``num_layers`` and ``width`` as in `fairseq_xling.interop.encoder.Encoder`, whose
    `states` and `masked_logits` work on ids and tensors.
    """

    def text_encoder(self, lang: str | None = None) -> TextEncoder:
        """Text of ``lang`` to ids, loaded once.

        Raises:
            UserError: for a language that the model does not have.
        """
        lang = self._language(lang)
        known: dict[str, TextEncoder] = self.__dict__.setdefault("_text_encoders", {})
        if lang not in known:
            known[lang] = TextEncoder.load(self.folder.path, lang)
        return known[lang]

    def encode(
        self,
        texts: str | Sequence[str],
        lang: str | None = None,
        *,
        layers: Layers = -1,
        pooling: str = "mean",
        unknown: bool = False,
        max_tokens: int = 8192,
    ) -> np.ndarray | list[np.ndarray]:
        """Vectors of N texts.

        Args:
            texts: a sentence each, or one sentence as a string; too long ones are cut at the
                model's positions.
            lang: their language; may be left out where the model has one.
            layers: a number, or several: a sequence, "0,2-4" or "all". 0 is the output of the
                embeddings, -1 the last layer.
            pooling: mean (over the subwords), first (the state of ``<s>``) or none.
            unknown: whether ``<unk>``, of what the vocabulary does not have, is a subword of the
                text; otherwise it is left out, as ``<s>`` and ``</s>`` always are.
            max_tokens: maximum padded tokens per batch.

        Returns:
            (N, D) float32, with several layers (L, N, D). The mean of a blank text is zero. Without
            pooling a list: for each text the states of its subwords, (T, D) or (L, T, D). Of a
            string what there would be for it in a list: (D,), (L, D), (T, D) or (L, T, D).

        Raises:
            UserError: for an unknown language, layer or pooling, or texts that are not strings.
        """
        chosen, single = self._layers(layers)
        if pooling not in (known := [*POOLINGS, NO_POOLING]):
            raise UserError(f"`pooling` must be one of {', '.join(known)}, got {shown(pooling)}")
        checked.count("max_tokens", max_tokens)
        lang = self._language(lang)
        if isinstance(texts, str):
            found = self.encode([texts], lang, layers=layers, pooling=pooling, unknown=unknown)
            return found[0] if single or pooling == NO_POOLING else found[:, 0]  # type: ignore[call-overload]
        ids = self.text_encoder(lang).encode(checked.lines("texts", texts))
        batches = self._chosen_states(ids, lang, max_tokens, chosen, unknown)
        if pooling == NO_POOLING:
            of_texts: list[np.ndarray] = [np.empty(0)] * len(ids)
            for indices, states, words in batches:
                for row, index in enumerate(indices):
                    kept = states[:, row, words[row]].cpu().numpy()
                    of_texts[index] = kept[0] if single else kept
            return of_texts
        if not ids:
            vectors = np.zeros((len(chosen), 0, self.width), dtype=np.float32)
        else:
            vectors = collect_vectors(batches, len(ids), POOLINGS[pooling]).cpu().numpy()
        return vectors[0] if single else vectors

    def fill_mask(self, text: str, lang: str | None = None, *, top_k: int = 5) -> list[Filled]:
        """The ``top_k`` most probable tokens for the ``<mask>`` in ``text``, best first.

        Text before and after the mask is cut into subwords separately. Special tokens are left out.

        Raises:
            UserError: unless ``text`` has exactly one mask, inside the model's positions.
        """
        if checked.text("text", text).count(MASK_TEXT) != 1:
            raise UserError(f"`text` must contain {MASK_TEXT} exactly once, got {shown(text)}")
        checked.count("top_k", top_k)
        lang = self._language(lang)
        encode = self.text_encoder(lang)
        before, after = (ids[:-1] for ids in encode.encode(text.split(MASK_TEXT)))
        place, limit = len(before), self.model.max_positions() - 2  # <s> and </s>
        if place >= limit:
            raise UserError(
                f"`text` must have its mask among the first {limit} tokens, got it at {place + 1}"
            )
        # What stands at a masked place does not matter, but it must be a word.
        ids = np.concatenate([before, [SPECIALS], after, [SEP]]).astype(np.int64)
        ((logits, _),) = self.masked_logits([ids], [np.array([place])], lang)
        probabilities = logits[0].softmax(-1).cpu()
        order = probabilities[SPECIALS:].argsort(descending=True, stable=True) + SPECIALS
        return [
            Filled(
                encode.decode([*before, token, *after]),
                float(probabilities[token]),
                encode.decode([token]),
            )
            for token in order[:top_k].tolist()
        ]

    def retrieve(
        self,
        queries: Sequence[str],
        texts: Sequence[str],
        langs: tuple[str, str],
        *,
        top: int = 1,
        layer: int = -1,
        pooling: str = "mean",
        unknown: bool = False,
        way: str = "cosine",
        k: int = 10,
    ) -> measures.Neighbours:
        """For each query the ``top`` nearest of ``texts``, best first.

        Args:
            langs: the language of the queries, and that of the texts.
            layer, pooling, unknown: of the vectors, see `encode`; pooling none is not possible.
            way, k: see `fairseq_xling.api.measures.neighbours`.

        Raises:
            UserError: as `encode` and `measures.neighbours`; also if a side has no text.
        """
        if pooling == NO_POOLING:
            raise UserError(f"`pooling` must be one of {', '.join(POOLINGS)}, got {pooling!r}")
        both = list(langs) if isinstance(langs, Iterable) and not isinstance(langs, str) else []
        if len(both) != 2:
            raise UserError(f"`langs` must be the two languages, got {shown(langs)}")
        with about("`langs`"):
            for lang in both:
                self.check_language(lang)
        given = {"queries": queries, "texts": texts}
        sides = {name: checked.lines(name, side) for name, side in given.items()}
        for name, side in sides.items():
            if not side:
                raise UserError(f"`{name}` must have at least one text, got none")
        low, high = -self.num_layers - 1, self.num_layers
        if checked.count("layer", layer, low) > high:
            raise UserError(f"`layer` must lie in [{low}, {high}], got {layer}")
        x, y = (
            self.encode(side, lang, layers=layer, pooling=pooling, unknown=unknown)
            for side, lang in zip(sides.values(), both, strict=True)
        )
        return measures.neighbours(x, y, top=top, way=way, k=k)

    def _language(self, lang: str | None) -> str:
        """``lang``, or the only language of the model."""
        if lang is None:
            if len(self.languages) > 1:
                raise UserError(f"`lang` must be one of {', '.join(self.languages)}, got none")
            return self.languages[0]
        checked.text("lang", lang)
        with about("`lang`"):
            self.check_language(lang)
        return lang

    def _layers(self, layers: Layers) -> tuple[list[int], bool]:
        """The layers, and whether a single number named it."""
        if isinstance(layers, str):
            return list(parse_layers(layers, self.num_layers, "layers")), False
        single = isinstance(layers, int | np.integer)
        try:
            wanted = [layers] if single else list(layers)  # type: ignore[arg-type]
        except TypeError:
            wanted = []
        depth = self.num_layers + 1
        found = []
        for layer in wanted:
            if isinstance(layer, bool) or not isinstance(layer, int | np.integer):
                raise UserError(f"`layers` must be whole numbers, got {shown(layer)}")
            if not -depth <= layer < depth:
                raise UserError(f"`layers` must lie in [-{depth}, {depth - 1}], got {layer}")
            found.append(int(layer) % depth)
        if not found:
            raise UserError(f"`layers` must name at least one layer, got {shown(layers)}")
        return found, single

    def _chosen_states(
        self,
        ids: Sequence[np.ndarray],
        lang: str,
        max_tokens: int,
        layers: list[int],
        unknown: bool,
    ) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        for indices, states, words in self.states(ids, lang, max_tokens, unknown):
            yield indices, states[torch.as_tensor(layers, device=states.device)], words
