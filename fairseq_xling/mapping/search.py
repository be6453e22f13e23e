"""The best of several maps: one per seed, each refined and evaluated without a dictionary.

An unsupervised method can fail for a seed (Conneau et al. 2018, section 3.1; TreLM, appendix A.1),
so several are tried. The level of chance must also be measured: refinement makes words agree from
any start, and raises the criterion of a random rotation almost as far as that of a poor map. A seed
**failed** if its refined map has no higher criterion than the best refined random rotation, or if
identically spelt words do not retrieve each other (`Evidence`), or if the method itself reports it.

Symbols: ``D`` width; ``mapped = moving @ W``.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.core.folders import WorkFolder
from fairseq_xling.core.progress import progress
from fairseq_xling.mapping.csls import csls_criterion
from fairseq_xling.mapping.evidence import Evidence, find_evidence
from fairseq_xling.mapping.methods import Fit
from fairseq_xling.mapping.refine import random_rotation, refine
from fairseq_xling.mapping.space import Space


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """How maps are refined and evaluated.

    Attributes:
        refine: rounds of refinement; 0 evaluates maps unrefined.
        max_rank: most frequent words of each language that may be in a dictionary.
        criterion_rank: most frequent words of each language that the criterion uses.
        k: neighbourhood of CSLS.
        chance: number of random rotations for the level of chance.
    """

    refine: int = 5
    max_rank: int = 15_000
    criterion_rank: int = 10_000
    k: int = 10
    chance: int = 3


@dataclasses.dataclass
class Attempt:
    """A map found from one start and refined.

    Attributes:
        w: (D, D).
        criterion: of ``w``; ``unrefined`` before refinement.
        rounds: pairs and criterion of every round of refinement.
        history: the method's training history (JSON values).
        evidence: how well identically spelt words retrieve each other (an `Evidence`).
        failure: why the map is unusable, or None.
    """

    w: Tensor
    criterion: float
    unrefined: float
    rounds: list[dict[str, Any]]
    history: list[dict[str, Any]]
    evidence: dict[str, Any]
    failure: str | None = None


class Search:
    """Finds maps of ``moving`` to ``fixed``; each is kept in ``work``, so a killed run can resume.

    ``pairs`` (P, 2) are indices of words that evaluate the maps and were not used to learn them.
    """

    def __init__(
        self,
        moving: Space,
        fixed: Space,
        pairs: Tensor,
        options: SearchOptions,
        work: WorkFolder,
    ):
        self.moving, self.fixed, self.options = moving, fixed, options
        self._pairs, self._work = pairs, work

    def criterion(self, w: Tensor) -> float:
        """Mean cosine of the most frequent mapped words to their nearest by CSLS."""
        rank = self.options.criterion_rank
        mapped = self.moving.vectors[:rank] @ w
        return csls_criterion(mapped, self.fixed.vectors[:rank], self.options.k)

    def evidence(self, w: Tensor) -> Evidence:
        """How well the most frequent identically spelt words retrieve each other."""
        rank = self.options.criterion_rank
        sides = self.moving.vectors[:rank], self.fixed.vectors[:rank]
        return find_evidence(*sides, w, self._pairs, self.options.k)

    def chance(self) -> float:
        """The highest criterion that random rotations reach by refinement alone."""
        width = self.moving.vectors.shape[1]
        attempts = [
            self._attempt(f"chance-{n}", lambda n=n: Fit(random_rotation(width, n)))
            for n in range(self.options.chance)
        ]
        return max((attempt.criterion for attempt in attempts), default=-1.0)

    def attempt(self, seed: int, fit: Callable[[], Fit], chance: float) -> Attempt:
        """The map of one seed, refined and compared with ``chance``."""
        found = self._attempt(f"seed-{seed}", fit)
        if found.failure is None and found.criterion <= chance:
            found.failure = (
                f"its criterion, {found.criterion:.4f}, is not above the {chance:.4f} that refined "
                "random rotations reach"
            )
        if found.failure is None:
            found.failure = Evidence(**found.evidence).objection()
        return found

    def _attempt(self, name: str, fit: Callable[[], Fit]) -> Attempt:
        kept = self._work.find(name)
        if kept is not None:
            return Attempt(torch.from_numpy(kept[0]["w"]).to(self.moving.vectors), **kept[1])
        fitted = fit()
        w = fitted.w.to(self.moving.vectors)
        unrefined = self.criterion(w)
        rounds = []
        if self.options.refine and fitted.flaw is None:
            with progress(self.options.refine, f"refining {name}", "rounds") as bar:
                w, done = refine(
                    w,
                    self.moving.vectors,
                    self.fixed.vectors,
                    self.criterion,
                    self.options.refine,
                    self.options.max_rank,
                    self.options.k,
                    bar.update,
                )
            rounds = [dataclasses.asdict(each) for each in done]
        values = {
            "criterion": max([unrefined, *(each["criterion"] for each in rounds)]),
            "unrefined": unrefined,
            "rounds": rounds,
            "history": fitted.history,
            "evidence": dataclasses.asdict(self.evidence(w)),
            "failure": fitted.flaw,
        }
        self._work.keep(name, {"w": w.cpu().numpy()}, values)
        return Attempt(w, **values)


def best_of(attempts: Sequence[Attempt]) -> int:
    """Index of the attempt with the highest criterion, a failed one only if all failed."""
    return max(
        range(len(attempts)),
        key=lambda i: (attempts[i].failure is None, attempts[i].criterion, -i),
    )
