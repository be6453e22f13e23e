"""The source's own order and length: TreLM's method of translation (Section 5.3, Table 6)."""

from fairseq_xling.generation.orderings import Candidates, Ordering, Sources, orderings


@orderings.register("identity")
class Identity(Ordering):
    """Target position u gets source position u."""

    def __call__(self, sources: Sources) -> Candidates:
        return Candidates(sources.lengths)
