"""Named entities as BIO tags (Conneau et al., 2020, Section 3.2.2)."""

from collections.abc import Mapping, Sequence

from fairseq_xling.tasks.formats.conll import TaggedItem
from fairseq_xling.tasks.heads import f1, heads
from fairseq_xling.tasks.heads.tagger import Tagger
from fairseq_xling.tasks.spans import check_bio, count_spans, repair


@heads.register("ner")
class Ner(Tagger):
    """Spans; predictions are repaired, the gold tags are used unchanged."""

    help = "spans of words as BIO tags (named entities)"
    metric = "f1"
    count_names = ("right", "predicted", "gold")
    spans = True
    check = staticmethod(check_bio)
    finish = staticmethod(repair)

    def counts(self, item: TaggedItem, prediction: Sequence[str]) -> Sequence[float]:
        return count_spans(item.tags or (), prediction)

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return f1(sums["right"], sums["predicted"], sums["gold"])


@heads.register("slots")
class Slots(Ner):
    """The same for the slots of an utterance (xSID)."""

    help = "spans of words as BIO tags (slots of an utterance)"
