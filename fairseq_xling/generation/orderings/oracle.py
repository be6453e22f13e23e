"""The order and the length of the reference: the upper bound of what an ordering can reach."""

from fairseq_xling.errors import UserError
from fairseq_xling.generation.orderings import Candidates, Ordering, Sources, orderings


@orderings.register("oracle")
class Oracle(Ordering):
    """The word alignments of the data folder, as in training."""

    reads_alignments = True

    def __call__(self, sources: Sources) -> Candidates:
        if "order" not in sources.given:
            raise UserError(
                "`--ordering oracle` reads the word alignments of a data folder, but typed text "
                "has none; use identity or predicted"
            )
        given = sources.given
        return Candidates(given["tgt_lengths"], given["order"], further=given.get("further"))
