"""A trained encoder on text: vectors as numpy arrays, words for a mask, translations by search.

    encoder = xling.Encoder.load("encoder/checkpoint_best.pt")
    encoder.encode(["A dog runs.", "Two cats sleep."], "en")  # (2, D)

Each language of a checkpoint has a code, such as "en". `Encoder.using` sets the one that is meant
where none is said; then an encoder stands where a library takes a model of sentence-transformers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.analysis.retrieval import collect_vectors, sentence_vectors
from fairseq_xling.analysis.word_links import WORD_LINKS, similarities
from fairseq_xling.api import checked, measures
from fairseq_xling.core.errors import UserError, about, shown
from fairseq_xling.core.progress import progress
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import SEP, SPECIALS, text_mask
from fairseq_xling.interop import encoder as interop
from fairseq_xling.mapping.normalize import unit
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.segment import words_of

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


class Tokens(NamedTuple):
    """The subwords of a text.

    Attributes:
        ids: (T,) int64, their numbers in the data folder's dictionary.
        texts: T strings; the mark of a word's beginning is part of its first subword.
    """

    ids: np.ndarray
    texts: list[str]


class WordVectors(NamedTuple):
    """The words of a text, each the mean of its subwords' states.

    Attributes:
        words: W strings, of the text after segmentation.
        vectors: (W, D) float32; zero for a word that normalisation deletes, or behind the model's
            positions.
    """

    words: list[str]
    vectors: np.ndarray


class Encoder(interop.Encoder):
    """A checkpoint with the data folder that cuts its text; text in, numpy arrays out.

    ``languages``, ``num_layers`` and ``width`` as in `fairseq_xling.interop.encoder.Encoder`, whose
    `states` and `masked_logits` work on ids and tensors.
    """

    _default: str | None = None

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, data: str | Path | None = None, device: str = "cpu"
    ) -> Encoder:
        """The same as `load`."""
        return cls.load(folder, data, device)

    def save_pretrained(self, folder: str | Path, language: str | None = None) -> None:
        """Write the folder of `fairseq-xling export --format hf`, which transformers loads.

        Args:
            folder: a new one.
            language: whose parts are written; may be left out where no part is private.

        Raises:
            UserError: for a folder that is not empty, a language that the model does not have, or
                a model that cannot be expressed.
        """
        from fairseq_xling.api.export_hf import write
        from fairseq_xling.api.job import Job
        from fairseq_xling.core.folders import check_new, new_folder

        checked.path("folder", folder)
        output = Path(folder)
        check_new("folder", output)
        language = self._default if language is None else self._language(language)
        source, data = str(self.checkpoint), str(self.folder.path)
        settings = {"checkpoint": source, "data": data, "language": language}
        with new_folder(output, settings, "export") as partial:
            write(Job(source, data, language, partial, output))

    def using(self, lang: str) -> Encoder:
        """This encoder with ``lang`` as the language of texts of which none is said.

        Raises:
            UserError: for a language that the model does not have.
        """
        found = copy.copy(self)
        found._default = self._language(lang)
        return found

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
        batch_size: int | None = None,
        normalize_embeddings: bool = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        show_progress_bar: bool | None = False,
        **others: None,
    ) -> Any:
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
            batch_size: maximum texts per batch (default: any number).
            normalize_embeddings: whether each vector is divided by its length.
            convert_to_numpy, convert_to_tensor: numpy arrays, or with the second tensors, on the
                model's device; arrays whatever the first, which is there for other libraries.
            show_progress_bar: whether the texts that are done are counted on the terminal.
            others: what other libraries pass, such as ``prompt``; each must be None.

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
        for name, value in others.items():
            if value is not None:
                raise UserError(f"`{name}` must be None, got {shown(value)}")
        if batch_size is not None:
            checked.count("batch_size", batch_size)
        lang = self._language(lang)
        alone = isinstance(texts, str)
        given = checked.lines("texts", [texts] if alone else texts)
        ids = self.text_encoder(lang).encode(given)

        def finished(vectors: Tensor) -> Any:
            if normalize_embeddings:
                vectors = unit(vectors)
            vectors = vectors[0] if single else vectors
            return vectors.to(self.device) if convert_to_tensor else vectors.cpu().numpy()

        with progress(len(ids), "encode", "texts", shown=bool(show_progress_bar)) as bar:
            batches = self._chosen_states(
                ids, lang, chosen, unknown, max_tokens, batch_size, bar.update
            )
            if pooling == NO_POOLING:
                of_texts: list[Any] = [None] * len(ids)
                for indices, states, words in batches:
                    for row, index in enumerate(indices):
                        of_texts[index] = finished(states[:, row, words[row]])
                return of_texts[0] if alone else of_texts
            if not ids:
                return finished(torch.zeros(len(chosen), 0, self.width))
            found = finished(collect_vectors(batches, len(ids), POOLINGS[pooling]))
        return (found[0] if single else found[:, 0]) if alone else found

    def tokenize(
        self, texts: str | Sequence[str], lang: str | None = None, *, unknown: bool = False
    ) -> Any:
        """The subwords of N texts: what the rows of `encode` with ``pooling="none"`` stand for.

        Args:
            unknown: whether ``<unk>`` is one of them.

        Returns:
            N `Tokens`; of a string one.
        """
        encode = self.text_encoder(lang)
        limit = self.model.max_positions() - 2  # <s> and </s>
        found = []
        for ids in encode.encode(
            checked.lines("texts", [texts] if isinstance(texts, str) else texts)
        ):
            ids = ids[:limit]
            ids = ids[text_mask(ids, unknown)]
            found.append(Tokens(ids, encode.pieces(ids)))
        return found[0] if isinstance(texts, str) else found

    def word_vectors(
        self,
        texts: str | Sequence[str | Sequence[str]],
        lang: str | None = None,
        *,
        layer: int = -1,
    ) -> Any:
        """The words of N texts in context, each the mean of the states of its subwords.

        Args:
            texts: a sentence each, cut into words as the data folder says; or its words, as a
                list. Or one sentence as a string.

        Returns:
            N `WordVectors`; of a string one.
        """
        lang = self._language(lang)
        self._one_layer(layer)
        given = [texts] if isinstance(texts, str) else list(texts)
        lines = [list(x) if isinstance(x, list | tuple) else x for x in given]
        plain = [x for x in lines if not isinstance(x, list)]
        cut = iter(self.text_encoder(lang).segment(checked.lines("texts", plain)))
        sentences = [
            checked.lines("texts", x) if isinstance(x, list) else words_of(next(cut)) for x in lines
        ]
        found = self._of_words(sentences, lang, layer)
        return found[0] if isinstance(texts, str) else found

    def _of_words(
        self, sentences: Sequence[Sequence[str]], lang: str, layer: int
    ) -> list[WordVectors]:
        encode = self.text_encoder(lang)
        known = list(dict.fromkeys(word for words in sentences for word in words))
        pieces = dict(zip(known, encode.encode(known) if known else [], strict=True))
        ids, owners = [], []
        for words in sentences:
            parts = [pieces[word][:-1] for word in words]
            ids.append(np.concatenate([*parts, [SEP]]).astype(np.int64))
            owners.append(np.repeat(np.arange(len(words)), [len(part) for part in parts]))
        vectors = [np.zeros((len(words), self.width), dtype=np.float32) for words in sentences]
        chosen, _ = self._layers(layer)
        for indices, states, inside in self._chosen_states(ids, lang, chosen, unknown=True):
            for row, index in enumerate(indices):
                rows = states[0, row, inside[row]].cpu().numpy()
                owner = owners[index][: len(rows)]  # less where the model's positions end
                np.add.at(vectors[index], owner, rows)
                counts = np.bincount(owner, minlength=len(vectors[index]))
                vectors[index] /= np.maximum(counts, 1)[:, None]
        return [WordVectors(list(words), x) for words, x in zip(sentences, vectors, strict=True)]

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """The cosines (N, M) of vectors (N, D) and (M, D); a vector alone is one row."""
        rows = (np.atleast_2d(checked.array("embeddings", x)) for x in (embeddings1, embeddings2))
        x, y = checked.matrices(*rows, names=("embeddings1", "embeddings2"))
        checked.same_width(x, y)
        return unit(x) @ unit(y).T

    def align(
        self,
        source: str | Sequence[str | Sequence[str]],
        target: str | Sequence[str | Sequence[str]],
        langs: tuple[str, str],
        *,
        layer: int = -1,
        method: str = "argmax",
        map: Any = None,
    ) -> Any:
        """Which words of ``source`` and ``target`` translate each other, by their vectors.

        Args:
            source, target: N texts and their translations, as in `word_vectors`; or one of each.
            langs: the language of the source, and that of the target.
            layer: of the vectors, see `encode`.
            method: argmax (each the other's most similar word) or itermax (again for words that
                have no link yet): SimAlign, Jalili Sabet et al., 2020.
            map: fitted from the source's words to the target's, with ``transform`` and
                ``transform_fixed``, such as an `Aligner`.

        Returns:
            For each pair a list of ``(i, j)``: the source's word i belongs to the target's word j,
            both from 0, words as in `word_vectors`. Of two strings one such list.
        """
        checked.choice("method", method, WORD_LINKS)
        first, second = self._both(langs)
        alone = isinstance(source, str) and isinstance(target, str)
        x, y = (
            self.word_vectors([side] if alone else side, lang, layer=layer)  # type: ignore[list-item]
            for side, lang in ((source, first), (target, second))
        )
        if len(x) != len(y):
            raise UserError(
                f"`source` and `target` must have equally many texts, got {len(x)} and {len(y)}"
            )
        found = []
        for one, other in zip(x, y, strict=True):
            similar = similarities(*compared(one.vectors, other.vectors, map))
            links = WORD_LINKS[method](similar).nonzero().tolist()
            found.append([(i, j) for i, j in links])
        return found[0] if alone else found

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
        both = self._both(langs)
        given = {"queries": queries, "texts": texts}
        sides = {name: checked.lines(name, side) for name, side in given.items()}
        for name, side in sides.items():
            if not side:
                raise UserError(f"`{name}` must have at least one text, got none")
        self._one_layer(layer)
        x, y = (
            self.encode(side, lang, layers=layer, pooling=pooling, unknown=unknown)
            for side, lang in zip(sides.values(), both, strict=True)
        )
        return measures.neighbours(x, y, top=top, way=way, k=k)

    def _both(self, langs: tuple[str, str]) -> list[str]:
        both = list(langs) if isinstance(langs, Iterable) and not isinstance(langs, str) else []
        if len(both) != 2:
            raise UserError(f"`langs` must be the two languages, got {shown(langs)}")
        with about("`langs`"):
            for lang in both:
                self.check_language(lang)
        return both

    def _one_layer(self, layer: int) -> None:
        low, high = -self.num_layers - 1, self.num_layers
        if checked.count("layer", layer, low) > high:
            raise UserError(f"`layer` must lie in [{low}, {high}], got {layer}")

    def _language(self, lang: str | None) -> str:
        """``lang``, or that of `using`, or the only language of the model."""
        lang = self._default if lang is None else lang
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
        layers: list[int],
        unknown: bool,
        max_tokens: int = 8192,
        batch_size: int | None = None,
        advance: Callable[[int], Any] = lambda number: None,
    ) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        for indices, states, words in self.states(ids, lang, max_tokens, unknown, batch_size):
            yield indices, states[torch.as_tensor(layers, device=states.device)], words
            advance(len(indices))


def compared(x: np.ndarray, y: np.ndarray, map: Any) -> tuple[Tensor, Tensor]:
    """Vectors of words through a ``map`` as of `Encoder.align`, if any; zero ones stay zero."""
    if map is not None and len(x) and len(y):
        x, y = (
            side * np.any(rows, axis=1, keepdims=True)
            for rows, side in ((x, map.transform(x)), (y, map.transform_fixed(y)))
        )
    return torch.as_tensor(x).float(), torch.as_tensor(y).float()
