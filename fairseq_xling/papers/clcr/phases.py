"""The phases of aligning two encoders: what each trains (CLCR, figure 1).

    transform  both transforms; both encoders are frozen
    lm1        the first encoder, and both transforms; the second encoder is frozen
    lm2        the second encoder, and both transforms; the first encoder is frozen

Why no encoder collapses: a distance is smallest when all states are one point, so an encoder must
never be trained as a target. In every phase the *target* of a distance is a constant: D(T12(s1) vs
s2) trains T12 and the first encoder, never the second; D(T21(s2) vs s1) trains T21 and the second
encoder, never the first. An encoder is trained only by the direction whose target is the frozen
one, which keeps its variance; an encoder that discarded information could not match it. In the
other direction only the transform follows the moving target. The two encoders alternate.
"""

from fairseq_xling.core.registry import Registry

# The encoders whose states the classifiers of key-points read: those of the phases, or copies of
# their own.
FROZEN, FINETUNE = ENCODERS = ("frozen", "finetune")


# By name the side (0 or 1) whose encoder a phase trains, or None.
phases: Registry[int | None] = Registry("`--clcr-phase`")
phases.register("transform")(None)
phases.register("lm1")(0)
phases.register("lm2")(1)
