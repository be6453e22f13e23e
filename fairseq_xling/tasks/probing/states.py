"""The vectors for a file of probing examples, from a frozen encoder to arrays on disk.

Each distinct text is encoded once. If spans count tokens, every token is split into subwords
separately, like tagged and parsed words; if they count characters, the raw text is encoded, and a
span is all subwords that overlap it.

E texts, N examples, S spans of each, K subwords of all texts, L layers, D width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from fairseq_xling.analysis.growing import GrowingArrays
from fairseq_xling.analysis.subject import Encoder
from fairseq_xling.data.folder import SEP
from fairseq_xling.files import read_json, remove_links, write_json
from fairseq_xling.progress import progress
from fairseq_xling.tasks.encode import Codec
from fairseq_xling.tasks.offsets import encode_located
from fairseq_xling.tasks.probing.examples import Example
from fairseq_xling.tasks.probing.spans import Spans

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
                    rows[index] = _inner(states[:, number], len(block[index]), layers)
            whole = np.concatenate(rows, axis=1)
            found = {names[layer]: whole[n] for n, layer in enumerate(layers)}
            found["sizes"] = np.array([one.shape[1] for one in rows])
            arrays.append(found, start + len(block))
            bar.update(len(block))
    arrays.finish()
    write_json(meta, {"settings": wanted, "done": True})


def _inner(states: Tensor, size: int, layers: Sequence[int]) -> np.ndarray:
    """(L, n, D): the subwords of a text of ``size`` ids, from the states (L+1, T, D) of its row.

    The row is ``<s>``, the subwords, ``</s>``; a row as long as the batch may have been cut.
    """
    kept = min(size - 1, states.shape[1] - 2)
    return states[list(layers), 1 : 1 + kept].cpu().numpy()


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
