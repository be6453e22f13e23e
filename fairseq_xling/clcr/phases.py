"""The phases of aligning two encoders: what each may train (CLCR, figure 1; SPEC C5).

    transform  both transforms; both encoders stay
    lm1        the first encoder, and both transforms; the second encoder stays
    lm2        the second encoder, and both transforms; the first encoder stays

Why no encoder collapses. A distance is smallest when all states are one point, so an encoder must
never be asked to move towards what it is compared with. In every phase the *target* of a distance
is a constant: D(T12(s1) vs s2) moves T12 and the first encoder, never the second; D(T21(s2) vs s1)
moves T21 and the second encoder, never the first. Of an encoder that is trained only the direction
counts whose target is the one that stands still, and it keeps its variance; an encoder that threw
something away could not hit it. The other direction lets its transform follow the moving target.
The two take turns.
"""

from dataclasses import dataclass

from fairseq_xling.registry import Registry


@dataclass(frozen=True)
class Phase:
    """One phase; ``encoder`` is the side (0 or 1) whose encoder it trains, or None."""

    name: str
    encoder: int | None = None


phases: Registry[Phase] = Registry("`--clcr-phase`")
for _phase in (Phase("transform"), Phase("lm1", 0), Phase("lm2", 1)):
    phases.register(_phase.name)(_phase)
