"""Answers that are spans of a text: two linear scores, for the start and the end.

TreLM, Appendix A.6 (CMRC 2018), after Devlin et al. (2019), Section 4.2. A row is ``<s> question
</s> context </s>``. A context that is too long is read in windows, each a row; if a window does not
contain the whole answer, its first token, ``<s>``, is the target.

Unanswerable questions (SQuAD 2.0; Rajpurkar et al., 2018) have ``<s>`` as their target in every
window. A model whose training file has such questions may decline to answer: it does if log p(first
= <s>) + log p(last = <s>), in the window where this is lowest, is above the best answer's by more
than `null_threshold` (Devlin et al., 2019, Section 4.3).

Exact match and F1 are those of SQuAD 1.1 (Rajpurkar et al., 2016, Section 6.1): text is lower case,
without ASCII punctuation and the articles a, an and the, split at white space. For languages
without spaces, where a whole answer would be one word, the segmentation ``mixed`` makes every
Chinese or Japanese character a separate word, and drops the punctuation of all scripts, like MLQA
(Lewis et al., 2020). MLQA also drops articles of other languages; here only those of English are
dropped, in every language, as when XQuAD is scored by SQuAD's script.

B questions, R rows, W rows of a question at most, T tokens, N tokens of a context, D width, L
longest answer.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import regex
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import BELOW_ONE, COUNT
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.tasks.encode import PIECES, Codec, Encoded, encode_located, on_one_line
from fairseq_xling.tasks.formats.squad import QuestionItem
from fairseq_xling.tasks.heads import IGNORE, Fields, Head, LinearScores, heads, ratio
from fairseq_xling.tasks.options import HeadOptions, at_test, setting

_ASCII_MARKS = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MARKS = regex.compile(rf"[\p{{P}}{re.escape(string.punctuation)}]")
_CHARACTER = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u30fc]")


def words(text: str) -> list[str]:
    """The words that SQuAD 1.1 compares.

    >>> words("The U.S. dollar,  and a cent!")
    ['us', 'dollar', 'and', 'cent']
    >>> words("在 东京。")
    ['在', '东京。']
    """
    return _ARTICLES.sub(" ", text.lower().translate(_ASCII_MARKS)).split()


def mixed(text: str) -> list[str]:
    """The same, and each Chinese or Japanese character is a word.

    >>> mixed("在 东京。")
    ['在', '东', '京']
    >>> mixed("the NFL 联盟")
    ['nfl', '联', '盟']
    """
    plain = _ARTICLES.sub(" ", _MARKS.sub("", text.lower()))
    return _CHARACTER.sub(r" \g<0> ", plain).split()


SEGMENTATIONS: Mapping[str, Callable[[str], list[str]]] = {"words": words, "mixed": mixed}


def overlap(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """F1 = 2 c / (p + g) of p and g words with c in common, counted as multisets.

    Without a common word it is 0, also for two answers without any word, as in SQuAD 1.1.

    >>> overlap(words("a red house in rain"), words("red red house")) # c = 2, p = 4, g = 3
    0.5714285714285714
    >>> overlap([], [])
    0.0
    """
    common = sum((Counter(predicted) & Counter(gold)).values())
    return 2 * common / (len(predicted) + len(gold)) if common else 0.0


def compare(
    prediction: str, answers: Sequence[str], segmentation: str = "words"
) -> tuple[float, float]:
    """Exact match and F1, each with its best gold answer.

    >>> compare("red house", ["a house", "The red house!"])
    (1.0, 1.0)
    >>> compare("in 东京都", ["东京"], "mixed")  # c = 2, p = 4, g = 2
    (0.0, 0.6666666666666666)
    """
    cut = SEGMENTATIONS[segmentation]
    predicted, golds = cut(prediction), [cut(answer) for answer in answers]
    return (
        float(predicted in golds),
        max(overlap(predicted, gold) for gold in golds),
    )


_DECLINED = {"answer": ["none"]}  # the labels of an unanswerable question


@dataclass(frozen=True)
class SpanQaOptions(HeadOptions):
    """Sizes of the head, all except ``dropout`` as in Devlin et al. (2019).

    Attributes:
        stride: tokens of the context from the start of a window to that of the next.
        max_question_tokens: longer questions are cut.
        max_answer_tokens: limit of predicted answers; gold ones may be longer.
        dropout: on the tokens' states.
        null_threshold: how far above the best answer's score, a sum of two natural logarithms of
            probabilities, that of no answer must be; for models that may decline.
        segmentation: units that `answers` compares: ``words`` (SQuAD 1.1), or ``mixed``, where
            Chinese and Japanese characters count separately.
    """

    stride: int = at_test(128, COUNT)
    max_question_tokens: int = at_test(64, COUNT)
    max_answer_tokens: int = at_test(30, COUNT)
    dropout: float = setting(0.1, BELOW_ONE)
    null_threshold: float = at_test(0.0)
    segmentation: str = at_test("words")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.segmentation not in SEGMENTATIONS:
            known = list(SEGMENTATIONS)
            message = unknown_name("segmentation of answers", self.segmentation, known)
            raise UserError(f"`--head-options`: {message}")


@heads.register("span_qa")
class SpanQa(Head):
    """A prediction is the first character of the answer in the context, and the one after it.

    Both are 0 where the model declines to answer.
    """

    help = "the span of a text that answers a question (SQuAD 1.1), if there is one (2.0)"
    format = "squad"
    metric = "f1"
    count_names = ("f1", "em", "questions")
    fills: ClassVar[Mapping[str, int]] = {"first": IGNORE, "last": IGNORE}
    Options = SpanQaOptions

    @classmethod
    def labels_of(cls, item: QuestionItem) -> Mapping[str, Sequence[str]]:
        return _DECLINED if item.impossible else {}

    @classmethod
    def annotated(cls, item: QuestionItem) -> bool:
        return bool(item.answers) or item.impossible

    @property
    def declines(self) -> bool:
        """Whether the training file had an unanswerable question."""
        return "answer" in self.labels

    def encode(self, item: QuestionItem, codec: Codec) -> Encoded:
        """Training is on the first gold answer."""
        question, most = codec.text(on_one_line(item.question)), self.options.max_question_tokens
        context = encode_located(codec, item.context)
        total, room = len(context.ids), codec.max_positions - 3
        own = max(room - total, room // 2)  # leave half of a row to the context
        if len(question) > most:
            limit = f"max_question_tokens={most} of `--head-options`"
            codec.note_long(item, len(question), limit=limit)
        elif len(question) > own:
            codec.note_long(item, len(question) + total + 3)
        elif len(question) + total > room:
            codec.note_long(item, len(question) + total + 3, PIECES)
        question = question[: min(most, own)]
        room -= len(question)
        starts = windows(total, room, self.options.stride)
        sizes = np.minimum(total - starts, room)
        rows, segments = zip(
            *(
                codec.frame(item, question, context.ids[start : start + size])
                for start, size in zip(starts, sizes, strict=True)
            ),
            strict=True,
        )
        offset = len(question) + 2
        targets = np.full((2, len(rows)), IGNORE)
        if item.answers:
            span = np.array(context.span(*item.answers[0]))
            inside = (span[0] >= starts) & (span[1] < starts + sizes) & (span[0] <= span[1])
            targets = np.where(inside, span[:, None] - starts + offset, 0)
        elif item.impossible and self.declines:
            targets = np.zeros_like(targets)
        fields = {
            "rows": np.array(len(rows)),
            "offset": np.array(offset),
            "window": starts,
            "size": sizes,
            "begin": context.begin,
            "end": context.end,
            "first": targets[0],
            "last": targets[1],
        }
        return Encoded(list(rows), list(segments), fields)

    def network(self, dim: int) -> nn.Module:
        return _Ends(dim, 2, self.options.dropout)

    def loss(self, outputs: Fields, fields: Fields) -> tuple[Tensor, Tensor]:
        """The mean of both cross-entropies over a row's candidates: its context, and ``<s>``."""
        question, number = row_owners(fields["rows"], len(outputs["first"]))
        total = outputs["first"].new_zeros((), dtype=torch.float)
        for name in ("first", "last"):
            gold = fields[name][question, number]
            logits = outputs[name].float()
            total += F.cross_entropy(logits, gold, ignore_index=IGNORE, reduction="sum") / 2
        return total, (gold != IGNORE).sum()

    def decode(self, outputs: Fields, fields: Fields) -> list[tuple[int, int]]:
        """The answer with the greatest log p(first) + log p(last) in any window of its question.

        The probability that a window gives to ``<s>`` is lost to its answers, so windows are
        comparable, and the window with the least of it shows whether there is an answer at all.
        """
        first, last = (outputs[name].float().log_softmax(-1) for name in ("first", "last"))
        score, length = best_spans(first, last, self.options.max_answer_tokens)
        rows, width = fields["rows"], score.shape[1]
        numbers = torch.arange(fields["window"].shape[1], device=score.device)
        row = (rows.cumsum(0) - rows)[:, None] + numbers
        row = row.clamp(max=len(score) - 1)
        missing = numbers >= rows[:, None]
        highest, best = score[row].masked_fill(missing[..., None], -torch.inf).flatten(1).max(1)
        answered = torch.ones_like(best)
        if self.declines:
            none = (first[:, 0] + last[:, 0])[row].masked_fill(missing, torch.inf).min(1).values
            answered = (none <= highest + self.options.null_threshold).long()
        question = torch.arange(len(rows), device=score.device)
        number, place = best // width, best % width
        start = (fields["window"][question, number] + place - fields["offset"]).clamp(min=0)
        stop = start + length[row[question, number], place]
        begin = fields["begin"][question, start] * answered
        end = fields["end"][question, stop] * answered
        return list(zip(begin.tolist(), end.tolist(), strict=True))

    def counts(self, item: QuestionItem, prediction: tuple[int, int]) -> Sequence[float]:
        if not self.annotated(item):
            return (0.0, 0.0, 0.0)
        begin, end = prediction
        em, f1 = compare(item.context[begin:end], item.texts or ("",), self.options.segmentation)
        return (em if item.impossible else f1, em, 1.0)

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return {name: ratio(sums[name], sums["questions"]) for name in ("f1", "em")}


class _Ends(LinearScores):
    def forward(self, states: Tensor, fields: Fields) -> dict[str, Tensor]:
        """``first`` and ``last`` (R, T): scores, -inf where no answer can start or end."""
        question, number = row_owners(fields["rows"], len(states))
        place = torch.arange(states.shape[1], device=states.device)
        offset = fields["offset"][question, None]
        size = fields["size"][question, number][:, None]
        allowed = (place == 0) | ((place >= offset) & (place < offset + size))
        scores = self.out(self.dropout(states)).masked_fill(~allowed[..., None], -torch.inf)
        return {"first": scores[..., 0], "last": scores[..., 1]}


def windows(total: int, room: int, stride: int) -> np.ndarray:
    """Where windows of ``room`` tokens start, so that together they cover all of ``total``.

    >>> windows(10, 4, 3).tolist()
    [0, 3, 6]
    >>> windows(10, 4, 9).tolist()  # nothing is left out
    [0, 4, 8]
    """
    step = min(stride, room)
    return np.arange(0, max(total - room, 0) + step, step)


def row_owners(rows: Tensor, total: int) -> tuple[Tensor, Tensor]:
    """The item of each of R rows (R,), and the row's number in it (R,), from their numbers (B,).

    ``total`` is R.

    >>> [owner.tolist() for owner in row_owners(torch.tensor([2, 1]), 3)]
    [[0, 0, 1], [0, 1, 0]]
    """
    items = torch.arange(len(rows), device=rows.device)
    item = torch.repeat_interleave(items, rows, output_size=total)
    return item, torch.arange(len(item), device=rows.device) - (rows.cumsum(0) - rows)[item]


def best_spans(first: Tensor, last: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """The best score of a span from each token (R, T), and the distance of its last token (R, T).

    A span's score is first[r, t] + last[r, u] with t <= u < t + longest; both are (R, T). Position
    0 starts none.

    >>> first, last = torch.tensor([[9.0, 1.0, 2.0, 0.0]]), torch.tensor([[9.0, 0.0, 1.0, 3.0]])
    >>> [values.tolist() for values in best_spans(first, last, 2)]
    [[[-inf, 2.0, 5.0, 3.0]], [[0, 1, 1, 0]]]
    """
    first = torch.cat([torch.full_like(first[:, :1], -torch.inf), first[:, 1:]], 1)
    ends = F.pad(last, (0, longest - 1), value=-torch.inf).unfold(1, longest, 1)  # (R, T, L)
    score, length = (first[..., None] + ends).max(-1)
    return score, length
