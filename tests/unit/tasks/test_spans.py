"""Entities of characters on the words of a segmenter."""

import itertools
import random

import pytest
from seqeval.metrics import classification_report, f1_score
from seqeval.metrics.sequence_labeling import get_entities

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.heads import f1
from fairseq_xling.tasks.spans import count_spans, is_bio, realign, realign_file, repair, spans

TAGS = ["O", "B-A", "I-A", "B-B", "I-B", "I-C"]


def sentences(number, seed):
    chosen = random.Random(seed)
    return [chosen.choices(TAGS, k=chosen.randint(1, 9)) for _ in range(number)]


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
    tags = ("O", "B-A", "I-", "Orecurring_datetime", "o", "X-A")
    assert [tag for tag in tags if is_bio(tag)] == ["O", "B-A"]


CHARACTERS = "我\tO\n在\tO\n北\tB-LOC\n京\tI-LOC\n见\tO\n王\tB-PER\n朋\tI-PER\n\n李\tB-PER\n说\tO\n"


@pytest.fixture
def made(tmp_path):
    """``made(words)``: the summary, and the written file."""

    def make(words, characters=CHARACTERS, columns=None):
        (tmp_path / "c").write_text(characters, encoding="utf-8")
        (tmp_path / "w").write_text(words, encoding="utf-8")
        output = tmp_path / "out"
        done = realign_file(tmp_path / "c", tmp_path / "w", output, columns or {})
        return done, output.read_text(encoding="utf-8")

    return make


def test_where_boundaries_agree_nothing_changes(made):
    done, text = made("我 在 北 京 见 王 朋\n李 说\n")
    assert text == CHARACTERS + "\n"
    assert (done.sentences, done.kept, done.moved, done.lost) == (2, 3, 0, 0)
    done, text = made("我在 北京 见 王朋\n李 说\n")
    assert text == "我在\tO\n北京\tB-LOC\n见\tO\n王朋\tB-PER\n\n李\tB-PER\n说\tO\n\n"
    assert (done.kept, done.moved, done.lost) == (3, 0, 0)


def test_a_word_belongs_to_the_entity_that_has_half_of_it(made):
    done, text = made("我 在北 京见 王朋\n李说\n")
    assert text == "我\tO\n在北\tB-LOC\n京见\tI-LOC\n王朋\tB-PER\n\n李说\tB-PER\n\n"
    assert (done.kept, done.moved, done.lost) == (1, 2, 0)
    done, text = made("我在北京 见王朋\n李说\n")  # half of the first, two thirds of the second
    assert text == "我在北京\tB-LOC\n见王朋\tB-PER\n\n李说\tB-PER\n\n"
    done, text = made("我在北 京见王朋\n李说\n")  # a third of the first, a half of the second
    assert text == "我在北\tO\n京见王朋\tB-PER\n\n李说\tB-PER\n\n"
    assert (done.kept, done.moved, done.lost) == (0, 2, 1)


def test_of_two_entities_with_half_a_word_each_the_first_gets_it():
    assert realign([("A", 0, 1), ("B", 1, 2)], [2]) == (["B-A"], 0, 1, 1)
    assert realign([("A", 1, 2), ("A", 2, 4)], [1, 1, 2]).tags == ["O", "B-A", "B-A"]
    assert realign([("A", 0, 1), ("B", 1, 3)], [3]).tags == ["B-B"]


def test_it_equals_counting_the_characters_of_every_entity():
    draw = random.Random(0)
    for _ in range(300):
        size, entities, place = draw.randint(1, 14), [], 0
        while (first := place + draw.randint(0, 3)) < size:
            place = min(size, first + draw.randint(1, 5))
            entities.append((draw.choice("AB"), first, place))
        cuts = sorted({0, size, *(draw.randrange(size) for _ in range(draw.randint(0, 5)))})
        owners = []
        for start, end in itertools.pairwise(cuts):
            shares = [
                sum(a <= character < b for character in range(start, end)) / (end - start)
                for _, a, b in entities
            ]
            owners.append(next((n for n, share in enumerate(shares) if share >= 0.5), None))
        expected = [
            "O" if n is None else f"{'I' if n in owners[:word] else 'B'}-{entities[n][0]}"
            for word, n in enumerate(owners)
        ]
        lengths = [b - a for a, b in itertools.pairwise(cuts)]
        found = realign(entities, lengths)
        assert found.tags == expected
        assert found.kept + found.moved + found.lost == len(entities)
        assert found.lost == len(entities) - len(set(owners) - {None})


@pytest.mark.parametrize(
    ("words", "characters", "message"),
    [
        ("我 在 北 京 见 王\n李 说\n", CHARACTERS, r"w:1: must spell the text of .*/c:1, "),
        ("我 在 北 京 见 王 朋\n李 说话\n", CHARACTERS, r"w:2: must spell the text of .*/c:9, "),
        ("我 在 北 京 见 王 朋\n", CHARACTERS, r"w:2: has no line for the sentence of .*/c:9"),
        ("我在北京见王朋\n李说\n我\n", CHARACTERS, "w:3: must end with the last sentence of .*/c"),
        ("我\n", "我\tLOC\n", "c:1: the tag must be O, B-TYPE or I-TYPE, got 'LOC'"),
        ("我\n", "我\n", "c:1: must have a tag for each character, got no tags"),
    ],
)
def test_files_that_do_not_fit_are_named_with_their_line(
    made, words, characters, message, tmp_path
):
    with pytest.raises(UserError, match=message):
        made(words, characters)
    assert not (tmp_path / "out").exists()
