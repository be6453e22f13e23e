"""A label for one or two sentences, or one of a question's own candidates.

Labels: linear on the first token's state, XNLI as in Conneau et al. (2020), "Emerging Cross-lingual
Structure", Section 3.2, and the sentence tasks of TreLM, Appendix A.6.

Candidates: a linear score of each, and a softmax over a question's. TreLM, Appendix A.6 (C3 and
CHID): question and answer come first, the passage second. Each candidate is a row, ``<s> question
candidate </s> context </s>``, or ``<s> question </s> candidate </s>`` without a context.
``first=passage`` is the order of Radford et al. (2018), Section 3.3: ``<s> context </s> question
candidate </s>``.

B questions, R rows, C candidates of a question at most, T tokens, D width.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fairseq_xling.tasks.encode import Codec, Encoded, on_one_line
from fairseq_xling.tasks.formats.choices import ChoiceItem
from fairseq_xling.tasks.formats.texts import TextItem
from fairseq_xling.tasks.heads import (
    IGNORE,
    DropoutOptions,
    Fields,
    Head,
    LinearScores,
    heads,
    label_loss,
    ratio,
)
from fairseq_xling.tasks.options import at_test


class OneLabel(Head):
    """One label for an item, or one of its candidates, measured by accuracy."""

    metric = "accuracy"
    count_names = ("right", "items")

    def loss(self, outputs: Fields, fields: Fields) -> tuple[Tensor, Tensor]:
        return label_loss(outputs["logits"].float(), fields["label"])

    def counts(self, item: Any, prediction: Any) -> Sequence[float]:
        return (0.0, 0.0) if item.label is None else (float(item.label == prediction), 1.0)

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return {"accuracy": ratio(sums["right"], sums["items"])}


@heads.register("classification")
class Classification(OneLabel):
    """One of the labels of the training file."""

    help = "a label for a sentence or a pair of sentences (NLI, intents)"
    format = "tsv"
    Options = DropoutOptions

    @classmethod
    def labels_of(cls, item: TextItem) -> Mapping[str, Sequence[str]]:
        return {"label": [] if item.label is None else [item.label]}

    def encode(self, item: TextItem, codec: Codec) -> Encoded:
        ids, segments = codec.frame(item, *(codec.text(on_one_line(text)) for text in item.texts))
        number = IGNORE if item.label is None else self.number("label", item.label)
        return Encoded([ids], [segments], {"label": np.array(number)})

    def network(self, dim: int) -> nn.Module:
        return _First(dim, len(self.labels["label"]), self.options.dropout)

    def decode(self, outputs: Fields, fields: Fields) -> list[str]:
        names = self.labels["label"]
        return [names[number] for number in outputs["logits"].argmax(-1).tolist()]


class _First(LinearScores):
    def forward(self, states: Tensor, fields: Fields) -> dict[str, Tensor]:
        return {"logits": self.out(self.dropout(states[:, 0]))}


FIRST = ("question", "passage")


@dataclasses.dataclass(frozen=True)
class ChoiceOptions(DropoutOptions):
    """``first`` is what a row begins with: the question and its answer, or the passage."""

    first: str = at_test("question", choices=FIRST)


@heads.register("multiple_choice")
class MultipleChoice(OneLabel):
    """A prediction is the number of a choice."""

    help = "one of a question's own candidates (multiple choice)"
    format = "choices"
    Options = ChoiceOptions
    older = {"first": "passage"}

    @classmethod
    def labels_of(cls, item: ChoiceItem) -> Mapping[str, Sequence[str]]:
        return {}

    @classmethod
    def annotated(cls, item: ChoiceItem) -> bool:
        return item.label is not None

    def encode(self, item: ChoiceItem, codec: Codec) -> Encoded:
        given = [item.question] if item.context is None else [item.context, item.question]
        texts = [codec.text(on_one_line(text)) for text in given]
        choices = [codec.text(on_one_line(text)) for text in item.choices]
        room = codec.max_positions - 3
        longest = max(map(len, choices)) + sum(map(len, texts))
        if longest > room:
            codec.note_long(item, longest + 3)
        rows, segments = [], []
        for choice in choices:
            *context, question, answer = fit([*texts, choice], room)
            parts = [question, answer]
            if context:
                parts = [np.concatenate(parts), *context]
            if self.options.first == "passage" and context:
                parts.reverse()
            ids, segment = codec.frame(item, *parts)
            rows.append(ids)
            segments.append(segment)
        label = IGNORE if item.label is None else item.label
        fields = {
            "rows": np.array(len(rows)),
            "choice": np.arange(len(rows)),  # its width is C, known without reading numbers
            "label": np.array(label),
        }
        return Encoded(rows, segments, fields)

    def network(self, dim: int) -> nn.Module:
        return _Candidates(dim, 1, self.options.dropout)

    def decode(self, outputs: Fields, fields: Fields) -> list[int]:
        return outputs["logits"].argmax(-1).tolist()


class _Candidates(LinearScores):
    def forward(self, states: Tensor, fields: Fields) -> dict[str, Tensor]:
        """``logits`` (B, C): -inf where a question has fewer candidates."""
        scores, rows = self.out(self.dropout(states[:, 0]))[:, 0], fields["rows"]
        number = torch.arange(fields["choice"].shape[1], device=rows.device)
        row = (rows.cumsum(0) - rows)[:, None] + number
        missing = number >= rows[:, None]
        logits = scores[row.clamp(max=len(scores) - 1)].masked_fill(missing, -torch.inf)
        return {"logits": logits}


def fit(texts: Sequence[np.ndarray], room: int) -> list[np.ndarray]:
    """Texts of at most ``room`` ids in total, cut at their ends.

    The last keeps up to half of the room, the one before it up to half of the rest, and so on: what
    distinguishes the candidates is cut last.

    >>> [len(text) for text in fit([np.zeros(9), np.zeros(3), np.zeros(4)], 10)]
    [3, 3, 4]
    >>> [len(text) for text in fit([np.zeros(9), np.zeros(9), np.zeros(9)], 10)]
    [3, 2, 5]
    >>> [len(text) for text in fit([np.zeros(1), np.zeros(9)], 8)]
    [1, 7]
    """
    kept, rest = [], [len(text) for text in texts]
    for text in reversed(texts):
        rest.pop()
        length = min(len(text), max(room - sum(rest), room // 2 if rest else room))
        kept.append(text[:length])
        room -= length
    return kept[::-1]
