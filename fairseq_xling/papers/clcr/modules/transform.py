"""Transforms: from the states of one encoder to those of another, found by name.

CLCR, section 3.1. To add one, put a file here with a `torch.nn.Module` registered under
``@transforms.register("name")``; it is made as ``Kind(width_in, width_out, hidden)`` and maps
(..., D) to (..., E). The widths may differ.

The distance D of a transformed sentence from its translation, with soft matching and annealing
(equations 2 and 3): r1 are the states of sentence s1, r2 those of its translation s2,

    D(T(s1) vs s2) = (1/N) sum_i || T(sum_j w_ij r1_j) - r2_i ||
    w_i            = softmax_j(a_ij / tau), tau = 1 / (1 + beta * step)

a_ij is a dot product of query i (from r2) and key j (from r1), divided by the root of the width as
usual. The paper leaves open which vectors it compares, and which norm is used; both are options
here. With more steps, tau falls and w changes from a mixture to a selection of one token.

Only content counts on either side: the masks are True at words, False at ``<s>``, ``</s>`` and
padding. A sentence without content on either side has no D.

B sentence pairs, M tokens of s1, N of s2, D and E widths of the encoders, H hidden width.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry
from fairseq_xling.models.layer import scaled_products
from fairseq_xling.papers.clcr.modules import Loss, Module, PairStates, Sizes, modules
from fairseq_xling.papers.clcr.phases import phases

transforms: Registry[type[nn.Module]] = Registry("`--transform`")


def from_zero(width_in: int, width_out: int, bias: bool = True) -> nn.Linear:
    """A linear map initialised to zero, including its bias.

    The paper does not say how T is initialised. Two independently trained encoders share no basis,
    so a T that distinguishes tokens before it has learnt their partners pairs them by chance, and
    then learns those pairs. From zero all tokens have equal weight: T learns what each token of a
    sentence shares with the mean of its translation, which is already a dictionary, and attention
    becomes sharper as T becomes more accurate.
    """
    linear = nn.Linear(width_in, width_out, bias)
    for parameter in linear.parameters():
        nn.init.zeros_(parameter)
    return linear


@transforms.register("linear")
class Linear(nn.Module):
    """T(r) = A r + a, with A (E, D): linear regression; ``hidden`` is ignored."""

    def __init__(self, width_in: int, width_out: int, hidden: int = 0):
        super().__init__()
        self.A = from_zero(width_in, width_out)

    def forward(self, states: Tensor) -> Tensor:
        """(..., D) to (..., E)."""
        return self.A(states)


@transforms.register("residual")
class Residual(nn.Module):
    """T(r) = A r + a + C relu(B r + b), with A (E, D), B (H, D), C (E, H).

    The paper's. A, a and C are initialised to zero (`from_zero`), B as usual; C has no bias, since
    a is one.

    >>> transform = Residual(2, 2, 3)
    >>> transform(torch.tensor([1.0, -2.0])).tolist()
    [0.0, 0.0]
    """

    def __init__(self, width_in: int, width_out: int, hidden: int):
        super().__init__()
        self.A = from_zero(width_in, width_out)
        self.B = nn.Linear(width_in, hidden)
        self.C = from_zero(hidden, width_out, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        """(..., D) to (..., E)."""
        return self.A(states) + self.C(torch.relu(self.B(states)))


# By name the norm of the rows of (..., E), in float32.
norms: Registry[Callable[[Tensor], Tensor]] = Registry("`--distance-norm`")
norms.register("l1")(lambda x: torch.linalg.vector_norm(x.float(), 1, dim=-1))
norms.register("l2")(lambda x: torch.linalg.vector_norm(x.float(), 2, dim=-1))

# Attention scores, by name: made as ``Kind(D, E)``, called with (r1, T(r1), r2, mask2), it
# returns a, (B, N, M) float32.
scores: Registry[type[nn.Module]] = Registry("`--attention-score`")


class _Score(nn.Module):
    def __init__(self, width_in: int, width_out: int):
        super().__init__()


@scores.register("raw")
class Raw(_Score):
    """r2_i . r1_j: the raw states, which must have the same width."""

    def __init__(self, width_in: int, width_out: int):
        super().__init__(width_in, width_out)
        if width_in != width_out:
            raise UserError(
                "`--attention-score raw` needs encoders of one width, got states of "
                f"{width_in} and {width_out}; use transformed or keys"
            )

    def forward(self, r1: Tensor, transformed: Tensor, r2: Tensor, mask2: Tensor) -> Tensor:
        return scaled_products(r2, r1)


@scores.register("transformed")
class Transformed(_Score):
    """r2_i . T(r1_j): the same transform finds the partner and maps to it."""

    def forward(self, r1: Tensor, transformed: Tensor, r2: Tensor, mask2: Tensor) -> Tensor:
        return scaled_products(r2, transformed)


@scores.register("keys")
class Keys(_Score):
    """r2_i . K r1_j: a separate matrix finds the partner."""

    def __init__(self, width_in: int, width_out: int):
        super().__init__(width_in, width_out)
        self.key = from_zero(width_in, width_out, bias=False)

    def forward(self, r1: Tensor, transformed: Tensor, r2: Tensor, mask2: Tensor) -> Tensor:
        return scaled_products(r2, self.key(r1))


@scores.register("exclusive")
class Exclusive(_Score):
    """log softmax_i(r2_i . T(r1_j)): the share of key j that belongs to query i, in s2.

    With a dot product, one token can be the partner of all. "." and "the" occur in nearly every
    sentence, so little distinguishes them, and if T has confused the two, every article of the
    other language can be mapped to "." at no cost. If queries share a key, many articles must share
    one ".", and the correct pairs become the better ones. With the softmax over keys it is one
    round of Sinkhorn's scaling to one-to-one pairs, which is what pivots are.
    """

    def forward(self, r1: Tensor, transformed: Tensor, r2: Tensor, mask2: Tensor) -> Tensor:
        hidden = ~(mask2 | ~mask2.any(1, keepdim=True))[:, :, None]
        shares = scaled_products(r2, transformed).masked_fill(hidden, -torch.inf).log_softmax(1)
        return shares.masked_fill(hidden, 0.0)  # of padding, so that it stays finite


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
        transform: an instance of a kind of `transforms`, (..., D) to (..., E).
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
        far, entropy = self.norm(mixed.float() - r2.float()), torch.special.entr(weights).sum(2)
        return Matched(mean_of(far, used), mean_of(entropy, used), counted)


def mean_of(values: Tensor, used: Tensor) -> Tensor:
    """The mean of (B, N) over the used positions, 0 if there are none."""
    return values.masked_fill(~used, 0.0).sum(1) / used.sum(1).clamp(min=1)


@modules.register("transform")
class TransformModule(Module):
    """Minimises D(T12(s1) vs s2) + D(T21(s2) vs s1), each with a constant target.

    T21 is not needed for encoding, but pseudo-gold pivots are compared in both directions.
    `fairseq_xling.papers.clcr.phases` explains why targets are constant.

    Annealing counts the updates of all previous trainings in phases of `--anneal-phases`: a phase
    that returned to soft attention would blur the encoder that the previous phase had sharpened.
    A phase that is not annealed has temperature 1, and its updates do not count. Beta and the
    phases are settings of one training, not kept for the next.
    """

    def __init__(self, settings: Mapping[str, Any], sizes: Sizes):
        super().__init__()
        self.beta, self.annealed, self.norm = 0.0, True, settings["norm"]
        matchings = []
        for widths in (sizes.widths, sizes.widths[::-1]):
            hidden = settings["hidden"] or widths[0]
            transform = transforms[settings["transform"]](*widths, hidden)
            score = scores[settings["score"]](*widths)
            matchings.append(Matching(transform, score, widths, settings["norm"]))
        self.forth, self.back = matchings
        for name in ("before", "updates"):
            self.register_buffer(name, torch.zeros((), dtype=torch.int64))
        # The first as a number, and their sum, once training has begun: a GPU is not asked then.
        self._past: int | None = None
        self._step: int | None = None

    @classmethod
    def settings(cls, cfg: Any) -> dict[str, Any]:
        transforms.check(cfg.transform)  # raises for an unknown name, as the others
        scores.check(cfg.attention_score)
        norms.check(cfg.distance_norm)
        found = {"transform": cfg.transform, "hidden": cfg.transform_hidden}
        return {**found, "score": cfg.attention_score, "norm": cfg.distance_norm}

    def for_training(self, cfg: Any, phase: str) -> None:
        names = [name.strip() for name in cfg.anneal_phases.split(",")]
        unknown = [repr(name) for name in names if name not in phases]
        if unknown or len({*names}) < len(names):
            what = unknown[0] if unknown else repr(cfg.anneal_phases)
            raise UserError(
                f"`--anneal-phases` must name different ones of {', '.join(phases)}, got {what}"
            )
        self.annealed = phase in names
        self.beta = cfg.anneal_beta if self.annealed else 0.0

    @property
    def tau(self) -> float:
        """The temperature now."""
        step = int(self.before + self.updates) if self._step is None else self._step
        return temperature(step, self.beta)

    def at_update(self, number: int) -> None:
        number = number if self.annealed else -1  # `go_on` adds 1
        self.updates.fill_(number)
        self._past = int(self.before) if self._past is None else self._past
        self._step = self._past + number

    def _load_from_state_dict(self, *args: Any) -> None:
        super()._load_from_state_dict(*args)
        self._past = self._step = None

    def begin(self, first: Iterable[PairStates], encoders: Sequence[nn.Module]) -> None:
        """Estimate the means of both languages' states."""
        sums: list[Tensor | float] = [0.0, 0.0]
        counts = [0, 0]
        for batch in first:
            for side, (states, mask) in enumerate(zip(batch.states, batch.masks, strict=True)):
                sums[side] = sums[side] + states[mask].double().sum(0)
                counts[side] += int(mask.sum())
        if all(counts):
            means = [total / count for total, count in zip(sums, counts, strict=True)]
            self.forth.centre(*means)
            self.back.centre(*means[::-1])

    def go_on(self) -> None:
        self.before += self.updates + 1  # a checkpoint was saved after the step that it names
        self.updates.zero_()
        self._past = self._step = None

    def forward(self, batch: PairStates) -> Loss:
        (r1, r2), (mask1, mask2), tau = batch.states, batch.masks, self.tau
        forth = self.forth(r1, mask1, r2.detach(), mask2, tau)
        back = self.back(r2, mask2, r1.detach(), mask1, tau)
        size = forth.counted.sum()
        sums = {"sentences": size}
        for side, way in enumerate((forth, back)):
            sums[f"distance{side + 1}"] = way.distance.sum()
            sums[f"entropy{side + 1}"] = way.entropy.sum()
            # Weighted by sentences, as the distances that they are compared with.
            sums[f"spread{side + 1}"] = self._spread(batch.states[side], batch.masks[side]) * size
        if not self.training:  # the distance without mixtures, independently of annealing
            sums["hard1"] = self.forth(r1, mask1, r2, mask2, 0.0).distance.sum()
            sums["hard2"] = self.back(r2, mask2, r1, mask1, 0.0).distance.sum()
        total = sums["distance1"] + sums["distance2"]
        return Loss(total, size, {name: value.detach() for name, value in sums.items()})

    def _spread(self, states: Tensor, mask: Tensor) -> Tensor:
        """The distance of the states of a batch from their mean, which is D of the best constant T.
        It falls to 0 if an encoder collapses."""
        rows = states.detach()[mask].float()
        if len(rows) < 2:
            return rows.new_zeros(())
        # States are closer to a mean that includes them; this corrects it for any batch size.
        bias = (len(rows) / (len(rows) - 1)) ** 0.5
        return self.forth.norm(rows - rows.mean(0)).mean() * bias

    @classmethod
    def scores(cls, sums: Mapping[str, float], pair: Sequence[str]) -> dict[str, float]:
        """D, its ratio to the spread of the target's states, mean entropy, and the spreads.

        In validation also D with each token's best partner alone, and ``hard``, the mean of both
        directions. It is comparable between trainings with and without annealing, and between
        checkpoints of an annealed one (``--best-checkpoint-metric hard``): a mixture of tokens is
        closer to its target than any single one, but sequences consist of single vectors.
        """
        count = max(sums["sentences"], 1)
        found = {}
        for number, (lang, other) in enumerate((tuple(pair), tuple(pair)[::-1]), start=1):
            distance = sums[f"distance{number}"] / count
            spread = sums[f"spread{3 - number}"] / count
            found[f"distance_{lang}_{other}"] = distance
            found[f"relative_{lang}_{other}"] = distance / spread if spread else float("nan")
            if f"hard{number}" in sums:
                found[f"hard_{lang}_{other}"] = sums[f"hard{number}"] / count
            found[f"entropy_{lang}_{other}"] = sums[f"entropy{number}"] / count
            found[f"spread_{lang}"] = sums[f"spread{number}"] / count
        if "hard1" in sums:
            found["hard"] = (sums["hard1"] + sums["hard2"]) / count / 2
        return found
