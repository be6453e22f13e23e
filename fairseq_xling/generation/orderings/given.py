"""Orders that are given: the source's own, or the reference's."""

from fairseq_xling.core.errors import UserError
from fairseq_xling.generation.orderings import Candidates, Ordering, Sources, orderings


@orderings.register("identity")
class Identity(Ordering):
    """Target position u gets source position u: TreLM's method of translation (Appendix A.7, Table
    6), with the source's own order and length."""

    def __call__(self, sources: Sources) -> Candidates:
        return Candidates(sources.lengths)


@orderings.register("oracle")
class Oracle(Ordering):
    """The word alignments of the data folder, as in training: the order and the length of the
    reference, an upper bound of what an ordering can reach."""

    reads_alignments = True

    def __call__(self, sources: Sources) -> Candidates:
        if "order" not in sources.given:
            raise UserError(
                "`--ordering oracle` reads the word alignments of a data folder, but typed text "
                "has none; use identity or predicted"
            )
        given = sources.given
        return Candidates(given["tgt_lengths"], given["order"], further=given.get("further"))
