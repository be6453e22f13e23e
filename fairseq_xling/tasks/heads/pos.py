"""Parts of speech: a tag for each word, measured by accuracy."""

from collections.abc import Mapping, Sequence

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats.conll import TaggedItem
from fairseq_xling.tasks.heads import heads, ratio
from fairseq_xling.tasks.heads.tagger import Tagger


@heads.register("pos")
class Pos(Tagger):
    """A tag for each word."""

    help = "a tag for each word (parts of speech)"
    metric = "accuracy"
    count_names = ("right", "words")

    @staticmethod
    def check(item: TaggedItem) -> None:
        """Refuse ``_`` among tags, as tables made of treebanks give it to multiword tokens."""
        tags = item.tags or ()
        if "_" in tags and {*tags} != {"_"}:
            raise UserError(
                f"{item.place_of(tags.index('_'))}: each word must have a tag, got _; remove "
                "multiword tokens, whose words have tags of their own"
            )

    def counts(self, item: TaggedItem, prediction: Sequence[str]) -> Sequence[float]:
        pairs = zip(item.tags or (), prediction, strict=True)
        return float(sum(a == b for a, b in pairs)), float(len(item.words))

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return {"accuracy": ratio(sums["right"], sums["words"])}
