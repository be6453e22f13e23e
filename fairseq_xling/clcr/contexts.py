"""How far the vector of a word moves if the word, its context, or neither is replaced.

The third condition of the definition (CLCR, section 2.1): a vector is that of its token in its
context. So it must depend on both, the same sentence must give the same vector again, and the
vector is more its token's the less the context moves it. In each sentence one word is chosen; for

    token    another word of the text stands at its place
    context  all other words are replaced, each by one drawn from the text
    neither  the sentence is encoded again, in other batches

Words are drawn as they occur in the text. A distance means little alone; it is compared with that
of the vectors of two chosen words of different sentences.

n sentences, E width.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from fairseq_xling.clcr.distances import random_partners
from fairseq_xling.data.folder import text_mask
from fairseq_xling.data.sources import frame
from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.matching import norms

CHANGES = ("token", "context", "neither")
BETWEEN = "two words"


def context_shifts(
    model: Any,
    side: int,
    texts: Sequence[np.ndarray],
    rng: np.random.Generator,
    norm: str = "l2",
    max_tokens: int = 8192,
) -> dict[str, np.ndarray]:
    """By `CHANGES`, the distances (n,) that the vectors moved; and by `BETWEEN`, (n,).

    Args:
        model: a `fairseq_xling.interop.clcr.Clcr`; vectors are those of row T.
        texts: ids of sentences of ``side``; sentences of fewer than two words are left out.

    Raises:
        UserError: for fewer than two sentences, or text of a single word.
    """
    # Cut as they are read, so that the words chosen are there.
    texts = [frame(np.asarray(ids), model.positions)[1:] for ids in texts]
    words = [np.flatnonzero(text_mask(ids, unknown=True)) for ids in texts]
    kept = [number for number, places in enumerate(words) if len(places) > 1]
    if len(kept) < 2:
        raise UserError(f"contexts need at least 2 sentences of 2 words or more, got {len(kept)}")
    texts, words = [texts[i] for i in kept], [words[i] for i in kept]
    pool = np.concatenate([ids[places] for ids, places in zip(texts, words, strict=True)])
    if len(kinds := np.unique(pool)) < 2:
        raise UserError("contexts need at least 2 different words to replace one by the other")
    places = np.array([rng.choice(found) for found in words])
    changed: dict[str, list[np.ndarray]] = {change: [] for change in CHANGES}
    for ids, own, place in zip(texts, words, places, strict=True):
        changed["token"].append(_replaced(ids, [place], _other(ids[place], pool, kinds, rng)))
        around = own[own != place]
        changed["context"].append(_replaced(ids, around, rng.choice(pool, len(around))))
        changed["neither"].append(ids)
    before = _vectors(model, side, texts, places, max_tokens)
    found = {}
    for change, moved in changed.items():
        # At other sizes of batches, so that "neither" also tells whether padding leaks.
        after = _vectors(model, side, moved, places, max(1, max_tokens // 3))
        found[change] = norms[norm](after - before).numpy()
    pairs = random_partners(len(texts), 1, rng)
    found[BETWEEN] = norms[norm](before[pairs[:, 0]] - before[pairs[:, 1]]).numpy()
    return found


def _replaced(ids: np.ndarray, places: Any, words: Any) -> np.ndarray:
    result = ids.copy()
    result[places] = words
    return result


def _other(word: int, pool: np.ndarray, kinds: np.ndarray, rng: np.random.Generator) -> int:
    """A word drawn from ``pool`` that is not ``word``; in a text of nearly that word alone, any."""
    for _ in range(100):
        if (drawn := rng.choice(pool)) != word:
            return int(drawn)
    return int(rng.choice(kinds[kinds != word]))


def _vectors(
    model: Any, side: int, texts: Sequence[np.ndarray], places: np.ndarray, max_tokens: int
) -> torch.Tensor:
    """(n, E) float32, the vector of one word of each sentence."""
    found = torch.zeros(len(texts), model.widths[1])
    for indices, states, _ in model.states(texts, side, max_tokens):
        place = torch.from_numpy(places[indices] + 1).to(states.device)  # after <s>
        chosen = states[torch.arange(len(states), device=states.device), place]
        chosen = model.transform(0, chosen) if side == 0 else chosen
        found[torch.from_numpy(indices)] = chosen.float().cpu()
    return found
