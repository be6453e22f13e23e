"""Answers: exact match and F1, windows of a context, and questions without one."""

import itertools
import random
import re
import string
import unicodedata

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import CLS, SEP
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.formats.squad import QuestionItem
from fairseq_xling.tasks.heads import IGNORE, check_labels, find_labels
from fairseq_xling.tasks.heads.span_qa import (
    SpanQa,
    compare,
    mixed,
    overlap,
    windows,
    words,
)
from fairseq_xling.tasks.options import parse_options

PARTS = "the a An dog Dog U.S. it's - ， 东京 「猫」 カ 1,000 é".split()


def obvious_words(text):
    """The four steps of the definition, one letter at a time."""
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split()).split()


def obvious_f1(predicted, gold):
    left, common = list(gold), 0
    for word in predicted:
        if word in left:
            left.remove(word)
            common += 1
    if not common:
        return 0.0
    precision, recall = common / len(predicted), common / len(gold)
    return 2 * precision * recall / (precision + recall)


def obvious_mixed(text):
    """Characters of the Chinese and Japanese blocks stand alone, all marks vanish."""
    kept = ""
    for letter in text.lower():
        if letter not in string.punctuation and not unicodedata.category(letter).startswith("P"):
            kept += letter
    kept = re.sub(r"\b(a|an|the)\b", " ", kept)
    spaced = ""
    for letter in kept:
        name = unicodedata.name(letter, "")
        alone = name.startswith(("CJK UNIFIED", "HIRAGANA", "KATAKANA"))
        spaced += f" {letter} " if alone else letter
    return spaced.split()


def test_words_and_f1_are_those_of_the_definition_step_by_step():
    draw = random.Random(1)
    for _ in range(500):
        one, two = (
            "".join(draw.choice(PARTS) + draw.choice([" ", "  ", ""]) for _ in range(n))
            for n in (draw.randrange(6), draw.randrange(1, 6))
        )
        assert words(one) == obvious_words(one)
        assert mixed(one) == obvious_mixed(one)
        for cut in (words, mixed):
            assert overlap(cut(one), cut(two)) == pytest.approx(obvious_f1(cut(one), cut(two)))


def test_each_figure_takes_the_gold_answer_that_suits_it_best():
    assert compare("dog", ["cat", "big dog", "the dog"]) == (1.0, 1.0)
    assert compare("big red dog", ["cat", "dog", "big red house"]) == (0.0, pytest.approx(2 / 3))
    assert compare("", ["dog"]) == (0.0, 0.0)


def test_answers_that_are_nothing_but_articles_match_without_overlap():
    assert compare("the", ["The"]) == (1.0, 0.0)


def test_characters_count_one_by_one_where_words_have_none():
    assert compare("东京都", ["东京"]) == (0.0, 0.0)
    assert compare("东京都", ["东京"], "mixed") == (0.0, pytest.approx(0.8))
    assert compare("东京。", ["东京"], "mixed") == (1.0, 1.0)


WORDS = "the dog cat sees a big red house in rain he ran home and slept".split()
LONG = " ".join(WORDS)


def item(context=LONG, *answers, question="the house", name="q", impossible=False):
    spans = tuple((context.index(text), context.index(text) + len(text)) for text in answers)
    return QuestionItem("a.json", 0, name, question, context, spans, impossible)


def head(text="", labels=()):
    return SpanQa(dict(labels), parse_options(text, SpanQa.Options))


DECLINES = {"answer": ["none"]}


def run(head, network, dataset, indices):
    batch = dataset.collater(indices)
    fields, shape = batch["net_input"]["fields"], batch["net_input"]["src"]["tokens"].shape
    states = torch.randn(*shape, 6, generator=torch.Generator().manual_seed(1))
    return batch, fields, network(states, fields)


def make(head, items, codec):
    network = head.network(6).eval()
    with torch.no_grad():
        network.out.weight.mul_(3)
    return network, ItemDataset([(codec, 0, items)], head)


def random_items(count, draw):
    found = []
    for number in range(count):
        words = draw.choices(WORDS, k=draw.randrange(1, 30))
        begin = draw.randrange(len(words))
        answer = " ".join(words[begin : begin + draw.randrange(1, 5)])
        gold = [answer] if draw.random() < 0.8 else []
        question = " ".join(draw.choices(WORDS, k=draw.randrange(1, 6)))
        found.append(item(" ".join(words), *gold, question=question, name=str(number)))
    return found


def test_a_short_context_is_one_row_with_its_answer_as_targets(codec):
    encoded = head().encode(item("the dog sees a big red house", "big red"), codec())
    (row,), (segments,) = encoded.rows, encoded.segments
    ids = codec().text
    assert row.tolist() == [CLS, *ids("the house"), SEP, *ids("the dog sees a big red house"), SEP]
    assert segments.tolist() == [0] * 4 + [1] * 8
    assert (encoded.fields["first"].tolist(), encoded.fields["last"].tolist()) == ([8], [9])


def test_windows_hold_everything_and_only_those_with_the_whole_answer_have_it(codec):
    one = head("stride=3").encode(item(LONG, "big red house"), codec(max_positions=10))
    # 5 of the 15 tokens of the context fit into a row; the answer is 5, 6 and 7.
    text = codec().text(LONG).tolist()
    assert [row[4:-1].tolist() for row in one.rows] == [
        text[start : start + 5] for start in (0, 3, 6, 9, 12)
    ]
    assert one.fields["first"].tolist() == [0, 4 + 2, 0, 0, 0]
    assert one.fields["last"].tolist() == [0, 4 + 4, 0, 0, 0]


@pytest.mark.parametrize("stride", [1, 2, 5, 99])
def test_no_token_is_left_out_and_no_window_is_idle(stride):
    for total in range(1, 25):
        for room in range(1, 9):
            starts = windows(total, room, stride).tolist()
            held = [set(range(start, min(start + room, total))) for start in starts]
            assert set().union(*held) == set(range(total))
            assert all(later - earlier for earlier, later in itertools.pairwise(held))


def test_an_answer_that_no_window_holds_points_to_the_first_token_everywhere(codec):
    one = head().encode(item(LONG, LONG), codec(max_positions=10))
    assert set(one.fields["first"].tolist()) == set(one.fields["last"].tolist()) == {0}


def test_without_answer_there_is_no_target(codec):
    one = head().encode(item(), codec())
    assert one.fields["first"].tolist() == one.fields["last"].tolist() == [IGNORE]
    assert SpanQa.annotated(item(LONG, "dog")) and not SpanQa.annotated(item())
    assert find_labels(SpanQa, [item(LONG, "dog")]) == {}


def test_a_long_question_is_cut_to_its_setting_or_to_half_of_a_row(codec):
    one = head("max_question_tokens=4").encode(item(question=LONG), codec())
    assert one.fields["offset"] == 4 + 2
    short, small = codec(max_positions=13), codec(max_positions=13, too_long="refuse")
    assert head().encode(item(question=LONG), short).fields["offset"] == 5 + 2
    assert len(head().encode(item("the dog", question=LONG[:30]), small).rows) == 1
    message = "a.json: question 'q': 33 tokens, more than the model's 13 positions"
    with pytest.raises(UserError, match=message):
        head().encode(item(question=LONG), small)


def test_what_is_cut_or_read_in_windows_is_counted_or_refused(codec, caplog):
    one, short = head("max_question_tokens=4"), codec(max_positions=10)
    one.encode(item("the dog", question="the big red house in rain"), short)
    one.encode(item("the dog sees a cat in rain and ran", question="who ran"), short)
    one.encode(item("the dog", question="who ran"), short)
    short.report()
    assert [record.getMessage() for record in caplog.records] == [
        "1 items are longer than max_question_tokens=4 of `--head-options` and were cut; the first "
        "is a.json: question 'q'",
        "1 items are longer than the model's 10 positions and were read in pieces; the first is "
        "a.json: question 'q'",
    ]
    strict = codec(max_positions=10, too_long="refuse")
    with pytest.raises(UserError, match="'q': 6 tokens, more than max_question_tokens=4 of `--h"):
        one.encode(item("the dog", question="the big red house in rain"), strict)
    with pytest.raises(
        UserError, match=r"14 tokens, more than the model's 10 .*reads it in pieces"
    ):
        one.encode(item("the dog sees a cat in rain and ran", question="who ran"), strict)
    assert len(one.encode(item("the dog", question="who ran"), strict).rows) == 1


def test_texts_of_several_lines_are_read_as_one(codec):
    text = "the dog\nsees\n\na cat"
    one = head().encode(item(text, "a cat", question="who\nsees"), codec())
    assert one.rows[0][-6:-1].tolist() == codec().text("the dog sees a cat").tolist()
    start, stop = one.fields["first"][0] - one.fields["offset"], one.fields["last"][0]
    stop -= one.fields["offset"]
    assert text[one.fields["begin"][start] : one.fields["end"][stop]] == "a cat"


def test_only_context_and_first_token_can_be_answers(codec):
    one = head("stride=4")
    items = random_items(6, random.Random(1))
    network, dataset = make(one, items, codec(max_positions=14))
    batch, _, outputs = run(one, network, dataset, range(6))
    expected = []
    for tokens in batch["net_input"]["src"]["tokens"].tolist():
        second = tokens.index(SEP) + 1
        size = tokens[second:].index(SEP)
        places = [0, *range(second, second + size)]
        expected.append([place in places for place in range(len(tokens))])
    assert outputs["first"].isfinite().tolist() == expected
    assert outputs["last"].isfinite().tolist() == expected


def test_the_loss_is_the_mean_of_both_ends_summed_over_annotated_rows(codec):
    one = head("stride=4")
    items = random_items(8, random.Random(3))
    network, dataset = make(one, items, codec(max_positions=14))
    _, fields, outputs = run(one, network, dataset, range(8))
    expected, count, row = 0.0, 0, 0
    for number, encoded in enumerate(dataset.encoded):
        for window in range(len(encoded.rows)):
            if items[number].answers:
                for name in ("first", "last"):
                    gold = encoded.fields[name][window]
                    scores = outputs[name][row][outputs[name][row].isfinite()]
                    expected += 0.5 * (scores.exp().sum().log() - outputs[name][row, gold])
                count += 1
            row += 1
    total, terms = one.loss(outputs, fields)
    assert int(terms) == count
    torch.testing.assert_close(total, expected)
    total.backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())


def test_the_answer_is_the_best_span_of_all_windows(codec):
    one = head("stride=4,max_answer_tokens=3")
    items = random_items(12, random.Random(4))
    network, dataset = make(one, items, codec(max_positions=14))
    with torch.no_grad():
        _, fields, outputs = run(one, network, dataset, range(12))
    found, row = one.decode(outputs, fields), 0
    for question, encoded, prediction in zip(items, dataset.encoded, found, strict=True):
        best, answer = -float("inf"), None
        place = encoded.fields["offset"]
        for start in encoded.fields["window"]:
            size = len(encoded.rows[0]) if len(encoded.rows) == 1 else 14
            first, last = (outputs[name][row].log_softmax(-1) for name in ("first", "last"))
            words = question.context.split()[start : start + size - place - 1]
            for i in range(len(words)):
                for j in range(i, min(i + 3, len(words))):
                    score = float(first[place + i] + last[place + j])
                    if score > best:
                        best, answer = score, " ".join(words[i : j + 1])
            row += 1
        assert question.context[slice(*prediction)] == answer


def test_an_answer_is_what_stands_in_the_context(codec):
    one = head()
    text = "The  big,red house\nin rain"
    question = item(text, "red house\nin")
    network, dataset = make(one, [question], codec())
    _, fields, outputs = run(one, network, dataset, [0])
    outputs = {name: scores.clone() for name, scores in outputs.items()}
    for name in ("first", "last"):
        outputs[name][0, fields[name][0, 0]] = 50
    ((begin, end),) = one.decode(outputs, fields)
    assert text[begin:end] == "red house\nin"


def test_a_question_without_answer_points_to_the_first_token_everywhere(codec):
    none = item(impossible=True)
    assert SpanQa.annotated(none) and find_labels(SpanQa, [item(LONG, "dog"), none]) == DECLINES
    fields = head(labels=DECLINES).encode(none, codec(max_positions=10)).fields
    assert set(fields["first"].tolist()) == set(fields["last"].tolist()) == {0}
    # A model whose training had none cannot say so: such a question teaches it nothing.
    assert set(head().encode(none, codec()).fields["first"].tolist()) == {IGNORE}
    with pytest.raises(
        UserError, match=r"question 'q': answer 'none' is not among those .*no such"
    ):
        check_labels(head(), [none])
    check_labels(head(labels=DECLINES), [none])


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 2.0])
def test_a_model_declines_where_the_least_of_its_windows_does(codec, threshold):
    one = head(f"stride=4,max_answer_tokens=3,null_threshold={threshold}", DECLINES)
    plain = head("stride=4,max_answer_tokens=3")
    items = random_items(40, random.Random(5))
    network, dataset = make(one, items, codec(max_positions=14))
    with torch.no_grad():
        _, fields, outputs = run(one, network, dataset, range(40))
        draw = torch.Generator().manual_seed(1)
        for name in ("first", "last"):
            outputs[name][:, 0] += 4 + 4 * torch.randn(len(outputs[name]), generator=draw)
    found, always, row = one.decode(outputs, fields), plain.decode(outputs, fields), 0
    declined = 0
    for encoded, prediction, answer in zip(dataset.encoded, found, always, strict=True):
        none, best, place = float("inf"), -float("inf"), int(encoded.fields["offset"])
        for size in encoded.fields["size"]:
            first, last = (outputs[name][row].log_softmax(-1) for name in ("first", "last"))
            none = min(none, float(first[0] + last[0]))
            for i in range(size):
                for j in range(i, min(i + 3, size)):
                    best = max(best, float(first[place + i] + last[place + j]))
            row += 1
        assert prediction == ((0, 0) if none > best + threshold else answer)
        declined += none > best + threshold
    assert 2 < declined < 38


def test_declining_is_right_where_there_is_no_answer_and_wrong_elsewhere():
    one = head(labels=DECLINES)
    assert one.counts(item("the dog ran home", impossible=True), (0, 0)) == (1.0, 1.0, 1.0)
    assert one.counts(item("the dog ran home", impossible=True), (4, 7)) == (0.0, 0.0, 1.0)
    assert one.counts(item("the dog ran home", "dog"), (0, 0)) == (0.0, 0.0, 1.0)


def test_f1_and_exact_match_are_means_over_annotated_questions():
    one = head()
    sums = [
        one.counts(item("the dog ran home", "the dog", "dog ran"), (0, 7)),
        one.counts(item("the dog ran home", "dog ran"), (4, 7)),
        one.counts(item("the dog ran home"), (0, 7)),
    ]
    assert sums == [(1.0, 1.0, 1.0), (pytest.approx(2 / 3), 0.0, 1.0), (0.0, 0.0, 0.0)]
    totals = dict(zip(one.count_names, map(sum, zip(*sums, strict=True)), strict=True))
    assert one.scores(totals) == {"f1": pytest.approx(100 * 5 / 6), "em": 50.0}


def test_characters_are_compared_where_a_setting_says_so():
    question = item("他在东京都。", "东京")
    assert head().counts(question, (2, 5)) == (0.0, 0.0, 1.0)
    assert head("segmentation=mixed").counts(question, (2, 5)) == (pytest.approx(0.8), 0.0, 1.0)
