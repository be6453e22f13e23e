import random

import pytest
from seqeval.metrics import classification_report, f1_score
from seqeval.metrics.sequence_labeling import get_entities

from fairseq_xling.tasks.heads import f1
from fairseq_xling.tasks.spans import count_spans, is_bio, repair, spans

TAGS = ["O", "B-A", "I-A", "B-B", "I-B", "I-C"]


def sentences(number, seed):
    chosen = random.Random(seed)
    return [chosen.choices(TAGS, k=chosen.randint(1, 9)) for _ in range(number)]


@pytest.mark.row("E3")
@pytest.mark.filterwarnings("ignore")
def test_spans_and_f1_are_those_of_seqeval_on_any_sequences():
    gold, predicted = sentences(300, 1), sentences(300, 1)
    for place, other in enumerate(sentences(300, 2)):
        if place % 3 == 0 and len(other) <= len(predicted[place]):
            predicted[place][: len(other)] = other
    for tags in gold + predicted:
        assert spans(tags) == set(get_entities(tags))
    sums = [sum(x) for x in zip(*map(count_spans, gold, predicted), strict=True)]
    report = classification_report(gold, predicted, output_dict=True)["micro avg"]
    ours = f1(*sums)
    assert 20 < ours["f1"] < 90
    assert ours["f1"] == pytest.approx(100 * f1_score(gold, predicted))
    assert ours["precision"] == pytest.approx(100 * report["precision"])
    assert ours["recall"] == pytest.approx(100 * report["recall"])


@pytest.mark.row("E3")
@pytest.mark.parametrize(
    ("tags", "repaired"),
    [
        ("I-A", "B-A"),
        ("O I-A I-A", "O B-A I-A"),
        ("B-A I-B I-C", "B-C I-C I-C"),
        ("I-A I-B O I-C", "B-B I-B O B-C"),
        ("B-A B-B I-A", "B-A B-A I-A"),
        ("B-A I-A", "B-A I-A"),
    ],
)
def test_a_span_begins_with_b_and_its_last_type_wins(tags, repaired):
    assert " ".join(repair(tags.split())) == repaired


def test_what_was_repaired_is_sound_and_stays():
    for tags in sentences(300, 3):
        sound = repair(tags)
        for before, tag in zip(["O", *sound], sound, strict=False):
            assert tag[0] != "I" or before[2:] == tag[2:]
        assert repair(sound) == sound
        assert [tag == "O" for tag in sound] == [tag == "O" for tag in tags]


def test_what_is_no_tag_is_known():
    assert [
        tag for tag in ("O", "B-A", "I-", "Orecurring_datetime", "o", "X-A") if is_bio(tag)
    ] == [
        "O",
        "B-A",
    ]
