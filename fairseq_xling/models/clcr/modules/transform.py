"""T: the transforms of both directions, and the distances that train them (CLCR, section 3.1)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from fairseq_xling.models.clcr.matching import Matching, norms, scores, temperature
from fairseq_xling.models.clcr.modules import Loss, Module, PairStates, Sizes, modules
from fairseq_xling.models.clcr.phases import annealed_phases
from fairseq_xling.models.clcr.transforms import transforms


@modules.register("transform")
class TransformModule(Module):
    """Minimises D(T12(s1) vs s2) + D(T21(s2) vs s1), each with a constant target.

    T21 is not needed for encoding, but pseudo-gold pivots are compared in both directions.
    `fairseq_xling.models.clcr.phases` explains why targets are constant.

    Annealing counts the updates of all previous trainings in phases of `--anneal-phases`: a phase
    that returned to soft attention would blur the encoder that the previous phase had sharpened.
    A phase that is not annealed has temperature 1, and its updates do not count. Beta and the
    phases are settings of one training, not kept for the next.
    """

    def __init__(self, settings: Mapping[str, Any], sizes: Sizes):
        super().__init__()
        self.beta, self.annealed, self.norm = 0.0, True, settings["norm"]
        widths = sizes.widths

        def matching(width_in: int, width_out: int) -> Matching:
            transform = transforms[settings["transform"]](
                width_in, width_out, settings["hidden"] or width_in
            )
            score = scores[settings["score"]](width_in, width_out)
            return Matching(transform, score, (width_in, width_out), settings["norm"])

        self.forth, self.back = matching(*widths), matching(*widths[::-1])
        self.register_buffer("before", torch.zeros((), dtype=torch.int64))
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        # The first as a number, and their sum, once training has begun: a GPU is not asked then.
        self._past: int | None = None
        self._step: int | None = None

    @classmethod
    def settings(cls, cfg: Any) -> dict[str, Any]:
        # Raises for an unknown name.
        transforms.check(cfg.transform)
        scores.check(cfg.attention_score)
        norms.check(cfg.distance_norm)
        return {
            "transform": cfg.transform,
            "hidden": cfg.transform_hidden,
            "score": cfg.attention_score,
            "norm": cfg.distance_norm,
        }

    def for_training(self, cfg: Any, phase: str) -> None:
        self.annealed = phase in annealed_phases(cfg.anneal_phases)
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
        spread = [self._spread(*side) for side in zip(batch.states, batch.masks, strict=True)]
        sums = {
            "sentences": size,
            "distance1": forth.distance.sum(),
            "distance2": back.distance.sum(),
            "entropy1": forth.entropy.sum(),
            "entropy2": back.entropy.sum(),
            # Weighted by sentences, as the distances that they are compared with.
            "spread1": spread[0] * size,
            "spread2": spread[1] * size,
        }
        if not self.training:  # the distance without mixtures, independently of annealing
            sums["hard1"] = self.forth(r1, mask1, r2, mask2, 0.0).distance.sum()
            sums["hard2"] = self.back(r2, mask2, r1, mask1, 0.0).distance.sum()
        total = forth.distance.sum() + back.distance.sum()
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
