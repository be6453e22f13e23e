"""The distance D of a transformed sentence from its translation, with soft matching and annealing.

CLCR, section 3.1, equations 2 and 3. r1 are the states of sentence s1, r2 those of its translation
s2:

    D(T(s1) vs s2) = (1/N) sum_i || T(sum_j w_ij r1_j) - r2_i ||
    w_i            = softmax_j(a_ij / tau), tau = 1 / (1 + beta * step)

a_ij is a dot product of query i (from r2) and key j (from r1), divided by the root of the width as
usual. The paper leaves open which vectors it compares, and which norm is used; both are options
here. With more steps, tau falls and w changes from a mixture to a selection of one token.

Only content counts on either side: the masks are True at words, False at ``<s>``, ``</s>`` and
padding. A sentence without content on either side has no D.

B sentence pairs, M tokens of s1, N of s2, D and E widths of the encoders.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fairseq_xling.errors import UserError
from fairseq_xling.registry import Registry

# By name the norm of the rows of (..., E), in float32.
norms: Registry[Callable[[Tensor], Tensor]] = Registry("`--distance-norm`")
norms.register("l1")(lambda x: torch.linalg.vector_norm(x.float(), 1, dim=-1))
norms.register("l2")(lambda x: torch.linalg.vector_norm(x.float(), 2, dim=-1))

# Attention scores, by name: made as ``Kind(D, E)``, called with (r1, T(r1), r2, mask2), it
# returns a, (B, N, M) float32.
scores: Registry[type[nn.Module]] = Registry("`--attention-score`")


@scores.register("raw")
class Raw(nn.Module):
    """r2_i . r1_j: the raw states, which must have the same width."""

    def __init__(self, width_in: int, width_out: int):
        super().__init__()
        if width_in != width_out:
            raise UserError(
                "`--attention-score raw` needs encoders of one width, got states of "
                f"{width_in} and {width_out}; use transformed or keys"
            )

    def forward(self, r1: Tensor, transformed: Tensor, r2: Tensor, mask2: Tensor) -> Tensor:
        return _dot(r2, r1)


@scores.register("transformed")
class Transformed(nn.Module):
    """r2_i . T(r1_j): the same transform finds the partner and maps to it."""

    def __init__(self, width_in: int, width_out: int):
        super().__init__()

    def forward(self, r1: Tensor, transformed: Tensor, r2: Tensor, mask2: Tensor) -> Tensor:
        return _dot(r2, transformed)


@scores.register("keys")
class Keys(nn.Module):
    """r2_i . K r1_j: a separate matrix finds the partner."""

    def __init__(self, width_in: int, width_out: int):
        super().__init__()
        self.key = nn.Linear(width_in, width_out, bias=False)
        nn.init.zeros_(self.key.weight)  # like T

    def forward(self, r1: Tensor, transformed: Tensor, r2: Tensor, mask2: Tensor) -> Tensor:
        return _dot(r2, self.key(r1))


@scores.register("exclusive")
class Exclusive(nn.Module):
    """log softmax_i(r2_i . T(r1_j)): the share of key j that belongs to query i, in s2.

    With a dot product, one token can be the partner of all. "." and "the" occur in nearly every
    sentence, so little distinguishes them, and if T has confused the two, every article of the
    other language can be mapped to "." at no cost. If queries share a key, many articles must share
    one ".", and the correct pairs become the better ones. With the softmax over keys it is one
    round of Sinkhorn's scaling to one-to-one pairs, which is what pivots are.
    """

    def __init__(self, width_in: int, width_out: int):
        super().__init__()

    def forward(self, r1: Tensor, transformed: Tensor, r2: Tensor, mask2: Tensor) -> Tensor:
        hidden = ~(mask2 | ~mask2.any(1, keepdim=True))[:, :, None]
        shares = _dot(r2, transformed).masked_fill(hidden, -torch.inf).log_softmax(1)
        return shares.masked_fill(hidden, 0.0)  # of padding, so that it stays finite


def _dot(queries: Tensor, keys: Tensor) -> Tensor:
    # Scaled before the product, and float32 after it: half precision ends at 65,504.
    return (queries * queries.shape[-1] ** -0.5 @ keys.transpose(1, 2)).float()


def temperature(step: int, beta: float) -> float:
    """tau after ``step`` updates; 1 if ``beta`` is 0 (no annealing).

    >>> round(temperature(1000, 0.01), 4), temperature(1000, 0)
    (0.0909, 1.0)
    """
    return 1.0 / (1.0 + beta * step)


def attention(scores: Tensor, key_mask: Tensor, tau: float) -> Tensor:
    """softmax_j(a_ij / tau) over the content keys: (B, N, M) float32.

    The largest score is subtracted before the division, so no tau is too small: in the limit,
    including 0, w is the argmax (shared by keys with equal scores).

    Args:
        scores: a, (B, N, M).
        key_mask: (B, M), True at content; weights of a row without content are meaningless.

    >>> a = torch.tensor([[[1.0, 3.0, 2.0]]])
    >>> attention(a, torch.ones(1, 3, dtype=torch.bool), 0.0).tolist()
    [[[0.0, 1.0, 0.0]]]
    """
    hidden = ~(key_mask | ~key_mask.any(1, keepdim=True))[:, None]
    scores = scores.float().masked_fill(hidden, -torch.inf)
    below = scores - scores.detach().amax(2, keepdim=True)
    # In float32 the inverse of a temperature ends below 1e38.
    return (below / max(tau, 1e-30)).softmax(2)


class Matched(NamedTuple):
    """One direction of a batch; sentences that are not counted have zeros.

    Attributes:
        distance: (B,) D.
        entropy: (B,) mean entropy of w_i, in nats.
        counted: (B,) whether both sentences have content.
    """

    distance: Tensor
    entropy: Tensor
    counted: Tensor


class Matching(nn.Module):
    """T of one direction with its attention, on centred states.

    Subtracting the means (`centre`) changes neither the family of T nor a distance: it sets T's
    initial biases. But the common component of all states of a language makes all dot products
    similar, and a T that has to learn it first assigns it to tokens that occur in every sentence.

    Args:
        transform: an instance of a kind of `fairseq_xling.models.clcr.transforms`, (..., D) to
            (..., E).
        score: an instance of a kind of `scores`.
        widths: D and E.
        norm: a name of `norms`.
    """

    def __init__(
        self, transform: nn.Module, score: nn.Module, widths: tuple[int, int], norm: str = "l2"
    ):
        super().__init__()
        self.transform, self.score = transform, score
        self.norm = norms[norm]
        self.register_buffer("source_mean", torch.zeros(widths[0]))
        self.register_buffer("target_mean", torch.zeros(widths[1]))

    def centre(self, source_mean: Tensor, target_mean: Tensor) -> None:
        """Set the means, (D,) and (E,), which are initially 0."""
        self.source_mean.copy_(source_mean)
        self.target_mean.copy_(target_mean)

    def move(self, states: Tensor) -> Tensor:
        """T of states of s1 (..., D), in the space of s2: (..., E)."""
        return self.transform(states - self.source_mean) + self.target_mean

    def forward(
        self, r1: Tensor, mask1: Tensor, r2: Tensor, mask2: Tensor, tau: float = 1.0
    ) -> Matched:
        """D(T(s1) vs s2) of each pair.

        Args:
            r1: (B, M, D) with ``mask1`` (B, M); r2: (B, N, E) with ``mask2`` (B, N), True at
                content.
        """
        r1, r2 = r1 - self.source_mean, r2 - self.target_mean
        weights = attention(self.score(r1, self.transform(r1), r2, mask2), mask1, tau)
        mixed = self.transform(weights.to(r1.dtype) @ r1)
        counted = mask1.any(1) & mask2.any(1)
        used = mask2 & counted[:, None]
        far = self.norm(mixed.float() - r2.float())
        return Matched(
            mean_of(far, used), mean_of(torch.special.entr(weights).sum(2), used), counted
        )


def mean_of(values: Tensor, used: Tensor) -> Tensor:
    """The mean of (B, N) over the used positions, 0 if there are none."""
    return values.masked_fill(~used, 0.0).sum(1) / used.sum(1).clamp(min=1)
