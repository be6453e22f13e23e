"""The conditions of the definition: how far translations and words in contexts are apart.

CLCR, section 2.1, requires f(s1) and f(s2) to be close for sentences with the same meaning, and
leaves open how sequences are compared. Two distances of sequences of one space are available:

    matched    D of equation 2 without a transform, the mean of both directions: every vector
               against its match by attention on the other side, regardless of position. Attention
               compares by distance here: by dot products a long vector would be the partner of all,
               and a sequence not even close to itself
    positions  position by position, as a model reads them: (1 / n) sum_{i<=n} || x_i - y_i ||, n
               the positions that both have. Excess vectors are ignored: compared with zero they
               would be closer than wrong vectors, and pairs of different lengths the closest.

Its third condition: a vector is that of its token in its context. So it must depend on both, the
same sentence must give the same vector again, and the vector is more its token's the less the
context moves it. In each sentence one word is chosen; for

    token    another word of the text stands at its place
    context  all other words are replaced, each by one drawn from the text
    neither  the sentence is encoded again, in other batches

Words are drawn as they occur in the text. A distance means little alone; it is compared with that
of the vectors of two chosen words of different sentences.

P pairs, B of a batch, K and M vectors of the longest x and y, D width; n sentences, E width.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from fairseq_xling.analysis.correlation import correlation
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import text_mask
from fairseq_xling.data.sources import frame
from fairseq_xling.papers.clcr.modules.transform import attention, mean_of, norms
from fairseq_xling.papers.clcr.pivots import distances_between
from fairseq_xling.papers.clcr.sequences import Sequences

# By name a function ``(x, x_mask, y, y_mask, norm, tau)`` of vectors (B, K, D) and (B, M, D) with
# masks (B, K) and (B, M), True at content, to (B,).
distances: Registry[Callable[..., Tensor]] = Registry("`--distance`")


@distances.register("matched")
def matched(x: Tensor, x_mask: Tensor, y: Tensor, y_mask: Tensor, norm: str, tau: float) -> Tensor:
    """See the module's docstring; ``tau`` is attention's temperature, 0 selects the nearest vector.

    >>> x = torch.tensor([[[3.0, 0.0], [0.0, 3.0]]])
    >>> all_there = torch.ones(1, 2, dtype=torch.bool)
    >>> matched(x, all_there, x.flip(1), all_there, "l2", 0.0).tolist()  # another order
    [0.0]
    """
    far = distances_between(y, x, norm)
    ways = ((far, x, x_mask, y, y_mask), (far.transpose(1, 2), y, y_mask, x, x_mask))
    there, back = (
        mean_of(norms[norm](attention(-d, key_mask, tau).to(keys.dtype) @ keys - queries), mask)
        for d, keys, key_mask, queries, mask in ways
    )
    return (there + back) / 2


@distances.register("positions")
def positions(
    x: Tensor, x_mask: Tensor, y: Tensor, y_mask: Tensor, norm: str, tau: float
) -> Tensor:
    """See the module's docstring; ``tau`` is ignored.

    >>> x = torch.tensor([[[3.0, 0.0], [0.0, 4.0]]])
    >>> mask = torch.tensor([[True, False]])
    >>> both = torch.ones(1, 2, dtype=torch.bool)
    >>> positions(x, both, x, mask, "l2", 0.0).tolist()  # the second is ignored
    [0.0]
    """
    size = min(x.shape[1], y.shape[1])
    both = x_mask[:, :size] & y_mask[:, :size]
    return mean_of(norms[norm](x[:, :size] - y[:, :size]), both)


@torch.no_grad()
def sequence_distances(
    x: Sequences, y: Sequences, pairs: np.ndarray, distance: Callable[..., Tensor], batch_size: int
) -> np.ndarray:
    """The distance of sentence ``pairs[p, 0]`` of x and ``pairs[p, 1]`` of y: (P,) float64, NaN if
    a sentence has no key-point; ``batch_size`` pairs of similar length at a time."""
    kept_x, kept_y = x.counts[pairs[:, 0]], y.counts[pairs[:, 1]]
    found = np.full(len(pairs), np.nan)
    usable = np.flatnonzero((kept_x > 0) & (kept_y > 0))
    usable = usable[np.argsort((kept_x + kept_y)[usable], kind="stable")]
    for start in range(0, len(usable), batch_size):
        chosen = usable[start : start + batch_size]
        (a, a_padding), (b, b_padding) = x.batch(pairs[chosen, 0]), y.batch(pairs[chosen, 1])
        found[chosen] = distance(a, ~a_padding, b, ~b_padding).double().numpy()
    return found


def random_partners(sentences: int, rounds: int, generator: np.random.Generator) -> np.ndarray:
    """Pairs (rounds * sentences, 2) of each sentence with another one, never its own translation.

    >>> pairs = random_partners(5, 2, np.random.default_rng(1))
    >>> pairs.shape, bool((pairs[:, 0] == pairs[:, 1]).any())
    ((10, 2), False)
    """
    found = []
    for _ in range(rounds):
        order = generator.permutation(sentences)
        found.append(np.stack([order, np.roll(order, 1)], axis=1))
    return np.concatenate(found)


CHANGES = ("token", "context", "neither")
BETWEEN = "two words"
_BINS, _GROUPS = 40, 5  # of histograms; of pairs with similar scores


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
        model: a `fairseq_xling.papers.clcr.trained.Clcr`; vectors are those of row T.
        texts: ids of sentences of ``side``; sentences of fewer than two words are left out.
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
        for _ in range(100):  # in a text of nearly that word alone, any other
            if (other := rng.choice(pool)) != ids[place]:
                break
        else:
            other = rng.choice(kinds[kinds != ids[place]])
        token, context = ids.copy(), ids.copy()
        token[place] = other
        around = own[own != place]
        context[around] = rng.choice(pool, len(around))
        for change, made in zip(CHANGES, (token, context, ids), strict=True):
            changed[change].append(made)
    before = _vectors(model, side, texts, places, max_tokens)
    found = {}
    for change, moved in changed.items():
        # At other sizes of batches, so that "neither" also tells whether padding leaks.
        after = _vectors(model, side, moved, places, max(1, max_tokens // 3))
        found[change] = norms[norm](after - before).numpy()
    pairs = random_partners(len(texts), 1, rng)
    found[BETWEEN] = norms[norm](before[pairs[:, 0]] - before[pairs[:, 1]]).numpy()
    return found


def _vectors(
    model: Any, side: int, texts: Sequence[np.ndarray], places: np.ndarray, max_tokens: int
) -> torch.Tensor:
    """(n, E) float32, the vector of one word of each sentence."""
    found = torch.zeros(len(texts), model.widths[1])
    for indices, (states,), *_ in model.batches({side: texts}, max_tokens):
        place = torch.from_numpy(places[indices] + 1).to(states.device)  # after <s>
        chosen = states[torch.arange(len(states), device=states.device), place]
        chosen = model.transform(0, chosen) if side == 0 else chosen
        found[torch.from_numpy(indices)] = chosen.float().cpu()
    return found


def compare(near: np.ndarray, far: np.ndarray) -> dict[str, Any]:
    """Distances of translations and of random pairs, NaN if there is none.

    ``auc`` is the probability that a random pair is farther apart than a pair of translations, a
    tie counting as half (the area under the ROC curve); chance is 0.5.

    >>> found = compare(np.array([1.0, 2.0, np.nan]), np.array([2.0, 4.0]))
    >>> found["translations"]["mean"], found["random"]["mean"], found["auc"]
    (1.5, 3.0, 0.875)
    """
    near, far = near[np.isfinite(near)], far[np.isfinite(far)]
    if not (len(near) and len(far)):
        raise UserError("no pair of sentences has key-points on both sides")
    edges = np.histogram_bin_edges(np.concatenate([near, far]), _BINS)
    larger = stats.mannwhitneyu(far, near).statistic
    found = {"edges": edges.tolist(), "auc": float(larger / (len(near) * len(far)))}
    for name, values in (("translations", near), ("random", far)):
        found[name] = {
            "pairs": len(values),
            "mean": float(values.mean()),
            "sd": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
            "histogram": np.histogram(values, edges)[0].tolist(),
        }
    return found


def correlate(found: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """Pearson's and Spearman's correlation of distances with scores, and means by quintile.

    >>> found = correlate(np.array([3.0, 2.0, 1.0, np.nan]), np.array([1.0, 2.0, 3.0, 9.0]))
    >>> round(found["pearson"], 6), round(found["spearman"], 6), found["scored"]
    (-1.0, -1.0, 3)
    """
    there = np.isfinite(found)
    found, scores = found[there], scores[there]
    values = correlation(scores.tolist(), found.tolist())
    groups = [
        part for part in np.array_split(np.argsort(scores, kind="stable"), _GROUPS) if len(part)
    ]
    return {
        "scored": int(there.sum()),
        "pearson": values and values[0],
        "spearman": values and values[1],
        "by_score": [[float(scores[g].mean()), float(found[g].mean())] for g in groups],
    }
