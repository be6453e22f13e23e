"""Spans over vectors, and the vectors for a file of examples, from a frozen encoder to disk.

`Spans` are all that a probe needs from a text, whatever the source of the vectors. Each distinct
text is encoded once. If spans count tokens, every token is split into subwords separately, like
tagged and parsed words; if they count characters, the raw text is encoded, and a span is all
subwords that overlap it.

E texts, N examples, S spans of each (1 or 2), K vectors or subwords of all texts, L layers, D
width, B examples of a batch, M vectors of the longest span in it, C labels.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.growing import GrowingArrays
from fairseq_xling.analysis.subject import Encoder
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, remove_links, write_json
from fairseq_xling.core.progress import progress
from fairseq_xling.data.folder import SEP
from fairseq_xling.tasks.encode import Codec, encode_located
from fairseq_xling.tasks.probing.examples import Example


@dataclass(frozen=True)
class Spans:
    """Examples as positions in arrays of vectors.

    Attributes:
        layers: L arrays (K, D), in memory or mapped; a probe mixes them if L > 1.
        places: (N, S, 2) int64: span s of example n is rows ``[places[n, s, 0], places[n, s, 1])``.
            An empty span means that the example has no vectors: it is not trained on, and nothing
            is predicted for it, so that its labels count as missed.
        labels: N lists of labels, or None if unknown.

    Raises:
        UserError: if shapes do not fit, or a span is outside the arrays.
    """

    layers: Sequence[np.ndarray]
    places: np.ndarray
    labels: Sequence[Sequence[str]] | None = None

    def __post_init__(self) -> None:
        shapes = {layer.shape for layer in self.layers}
        if len(shapes) != 1 or len(next(iter(shapes))) != 2:
            raise UserError(f"layers must be arrays (vectors, width) of one shape, got {shapes}")
        if self.places.ndim != 3 or self.places.shape[1] not in (1, 2) or self.places.shape[2] != 2:
            raise UserError(f"places must be (examples, 1 or 2 spans, 2), got {self.places.shape}")
        rows = len(self.layers[0])
        if self.places.size and not (self.places.min() >= 0 and self.places.max() <= rows):
            raise UserError(f"spans must lie in the {rows} vectors")
        if self.labels is not None and len(self.labels) != len(self.places):
            raise UserError(
                f"there must be labels for each of {len(self.places)} examples, "
                f"got {len(self.labels)}"
            )

    def __len__(self) -> int:
        return len(self.places)

    @property
    def width(self) -> int:
        """D."""
        return self.layers[0].shape[1]

    @property
    def usable(self) -> np.ndarray:
        """(N,) bool, whether every span of an example has vectors."""
        return (self.places[..., 0] < self.places[..., 1]).all(1)

    def gather(self, chosen: np.ndarray) -> list[tuple[Tensor, Tensor]]:
        """The vectors of some examples: for each span (B, M, L, D) float32 and (B, M) bool, True
        where there is a vector."""
        found = []
        for number in range(self.places.shape[1]):
            first, end = self.places[chosen, number].T
            inside = np.arange((end - first).max()) < (end - first)[:, None]
            rows = np.where(inside, first[:, None] + np.arange(inside.shape[1]), first[:, None])
            vectors = np.stack([layer[rows] for layer in self.layers], axis=2)
            found.append((torch.from_numpy(vectors.astype(np.float32)), torch.from_numpy(inside)))
        return found


def label_names(labels: Iterable[Sequence[str]]) -> list[str]:
    """All labels, sorted.

    >>> label_names([("b",), (), ("a", "b")])
    ['a', 'b']
    """
    return sorted({label for some in labels for label in some})


def label_matrix(labels: Sequence[Sequence[str]], names: Sequence[str]) -> np.ndarray:
    """(N, C) bool, whether an example has a label; those that are not in ``names`` are left out.

    >>> label_matrix([("b",), ("a", "x")], ["a", "b"]).tolist()
    [[False, True], [True, False]]
    """
    numbers = {name: number for number, name in enumerate(names)}
    found = np.zeros((len(labels), len(names)), dtype=bool)
    pairs = [(n, numbers[x]) for n, some in enumerate(labels) for x in some if x in numbers]
    if pairs:
        found[tuple(np.array(pairs).T)] = True
    return found


_META = "meta.json"
_BLOCK = 1024  # texts


@dataclass(frozen=True)
class Placed:
    """Examples whose spans count subwords.

    Attributes:
        texts: ids of each distinct text, ``</s>`` at the end, E arrays.
        owner: (N,) the text of each example.
        places: (N, S, 2), first and end of each span among the subwords of its text.
    """

    texts: list[np.ndarray]
    owner: np.ndarray
    places: np.ndarray


def place(examples: Sequence[Example], codec: Codec, offsets: str) -> Placed:
    """Encode the texts of ``examples`` and find their spans.

    A span of characters that overlaps no subword, such as white space, is empty.
    """
    numbers: dict[str, int] = {}
    texts: list[np.ndarray] = []
    spans: list[Any] = []
    owner = np.zeros(len(examples), dtype=np.int64)
    places = np.zeros((len(examples), len(examples[0].spans), 2), dtype=np.int64)
    for n, example in enumerate(examples):
        if example.text not in numbers:
            numbers[example.text] = len(texts)
            ids, find = _encoded(example.text, codec, offsets)
            texts.append(np.append(ids, SEP))
            spans.append(find)
        owner[n] = numbers[example.text]
        places[n] = [spans[owner[n]](*span) for span in example.spans]
    return Placed(texts, owner, places)


def _encoded(text: str, codec: Codec, offsets: str) -> tuple[np.ndarray, Any]:
    """Ids, and a function from spans of tokens or characters to spans of subwords."""
    if offsets == "characters":
        located = encode_located(codec, text)

        def find(first: int, end: int) -> tuple[int, int]:
            begin, last = located.span(first, end)
            return begin, max(begin, last + 1)

        return located.ids, find
    words = codec.words(text.split())
    ends = np.cumsum([0, *map(len, words)])
    return np.concatenate(words), lambda first, end: (int(ends[first]), int(ends[end]))


def keep_states(
    encoder: Encoder,
    texts: Sequence[np.ndarray],
    lang: str,
    layers: Sequence[int],
    folder: Path,
    identity: Mapping[str, Any],
    dtype: str = "float32",
    max_tokens: int = 8192,
) -> None:
    """Write the states of ``texts``: ``layerNN.npy`` (K, D) and ``sizes.npy`` (E,) int64, the
    number of subwords of each text there (those beyond the model's positions have no row).

    Existing files with the same ``identity`` are kept, or resumed after a kill.
    """
    remove_links(folder)
    meta = folder / _META
    wanted = {**identity, "layers": list(layers), "dtype": dtype, "texts": len(texts)}
    there = read_json(meta) if meta.is_file() else {}
    if there.get("settings") == wanted and there["done"]:
        return
    folder.mkdir(parents=True, exist_ok=True)
    if there.get("settings") != wanted:
        for path in folder.iterdir():
            path.unlink()
        write_json(meta, {"settings": wanted, "done": False})
    row = ((encoder.width,), np.dtype(dtype))
    names = {layer: f"layer{layer:02d}" for layer in layers}
    arrays = GrowingArrays(
        folder, {**dict.fromkeys(names.values(), row), "sizes": ((), np.dtype("int64"))}
    )
    with progress(len(texts), f"encode {lang}", "texts") as bar:
        bar.update(arrays.done)
        for start in range(arrays.done, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            rows: list[np.ndarray] = [np.zeros(0)] * len(block)
            for indices, states, _ in encoder.states(block, lang, max_tokens):
                for number, index in enumerate(indices):
                    # Of <s>, the subwords, </s>; a row as long as the batch may have been cut.
                    kept = min(len(block[index]) - 1, states.shape[2] - 2)
                    rows[index] = states[list(layers), number, 1 : 1 + kept].cpu().numpy()
            whole = np.concatenate(rows, axis=1)
            found = {names[layer]: whole[n] for n, layer in enumerate(layers)}
            found["sizes"] = np.array([one.shape[1] for one in rows])
            arrays.append(found, start + len(block))
            bar.update(len(block))
    arrays.finish()
    write_json(meta, {"settings": wanted, "done": True})


def open_spans(
    folder: Path, layers: Sequence[int], placed: Placed, labels: Sequence[Sequence[str]] | None
) -> Spans:
    """The examples over the arrays that `keep_states` wrote, mapped.

    An example with a span that was cut off has an empty one.
    """
    arrays = [
        np.load(folder / f"layer{layer:02d}.npy", mmap_mode="r", allow_pickle=False)
        for layer in layers
    ]
    sizes = np.load(folder / "sizes.npy", allow_pickle=False)
    starts = (np.cumsum(sizes) - sizes)[placed.owner][:, None, None]
    whole = placed.places[..., 1] <= sizes[placed.owner][:, None]
    places = np.where(whole[..., None], starts + placed.places, 0)
    return Spans(arrays, places, labels)
