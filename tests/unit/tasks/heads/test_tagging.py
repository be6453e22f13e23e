"""The tagger (words, rows, states) and its heads: spans and parts of speech."""

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import CLS, SEP, UNK
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.formats.conll import TaggedItem
from fairseq_xling.tasks.heads import IGNORE, find_labels, total_counts
from fairseq_xling.tasks.heads.tagging import Ner, Pos, Slots, word_rows, word_states


def item(words, tags=None, line=1):
    words = tuple(words.split())
    return TaggedItem("a.conll", line, words, tags and tuple(tags.split()), words)


LABELS = {"tag": ["B-A", "I-A", "O"]}


def test_words_keep_their_places_in_one_row(codec):
    (row,), number, place = word_rows(item("the zzz dog"), codec())
    assert row[0] == CLS and row[-1] == SEP and row[2] == UNK
    assert number.tolist() == [0, 0, 0] and place.tolist() == [1, 2, 3]


def test_a_long_sentence_is_several_rows_and_no_word_goes_without_a_place(codec):
    words = "the dog sees a cat in the big red house"
    coder = codec(max_positions=5)
    rows, number, place = word_rows(item(words), coder)
    assert [len(row) for row in rows] == [5, 5, 5, 3]
    whole = np.concatenate([coder.words([word])[0] for word in words.split()])
    assert [rows[r][p] for r, p in zip(number, place, strict=True)] == whole.tolist()
    assert all(row[0] == CLS and row[-1] == SEP for row in rows)


def test_a_word_of_several_subwords_stands_where_its_first_one_does(codec):
    coder = codec(max_positions=7)
    coder._words |= {word: np.arange(n, n + size) for word, n, size in PIECES}
    rows, number, place = word_rows(item("aaa b cc dddd"), coder)
    assert [row.tolist() for row in rows] == [
        [CLS, 10, 11, 12, 20, SEP],
        [CLS, 30, 31, SEP],
        [CLS, 40, 41, 42, 43, SEP],
    ]
    assert number.tolist() == [0, 0, 1, 2] and place.tolist() == [1, 4, 1, 1]


PIECES = (("aaa", 10, 3), ("b", 20, 1), ("cc", 30, 2), ("dddd", 40, 4))


def test_a_sentence_in_several_rows_is_counted_or_refused(codec, caplog):
    long, fits = item("the dog sees a cat", line=7), item("the dog sees")
    coder = codec(max_positions=5)
    for one in (long, fits, long):
        word_rows(one, coder)
    coder.report()
    assert [record.getMessage() for record in caplog.records] == [
        "2 items are longer than the model's 5 positions and were read in pieces; the first is "
        "a.conll:7"
    ]
    refusing = codec(max_positions=5, too_long="refuse")
    assert len(word_rows(fits, refusing)[0]) == 1
    message = (
        r"^a.conll:7: 7 tokens, more than the model's 5 positions \(`--too-long truncate` reads it "
        r"in pieces\)$"
    )
    for head in (Ner(LABELS), Pos(LABELS)):
        with pytest.raises(UserError, match=message):
            head.encode(long, refusing)


def test_the_states_of_words_in_several_rows_equal_a_loop_over_them(codec):
    torch.manual_seed(0)
    items = [item("the dog sees a cat in rain", "O O O O O O O"), item("home", "O"), item("a cat")]
    coder, head = codec(max_positions=5), Pos({"tag": ["O", "X"]})
    dataset = ItemDataset([(coder, 0, items)], head)
    batch = dataset.collater([0, 1, 2])["net_input"]
    states = torch.randn(*batch["src"]["tokens"].shape, 4)
    found = word_states(states, batch["fields"])
    first = 0
    for number, one in enumerate(items):
        rows, row, place = word_rows(one, coder)
        for word in range(len(one.words)):
            assert torch.equal(found[number, word], states[first + row[word], place[word]])
        first += len(rows)
    assert first == len(states) == 5


@pytest.mark.parametrize("head", [Ner, Slots, Pos])
def test_the_loss_is_the_cross_entropy_of_each_word(head, codec):
    torch.manual_seed(0)
    head = head(LABELS)
    items = [item("the dog sees a cat", "B-A I-A O O O"), item("rain", "O")]
    fields = ItemDataset([(codec(), 0, items)], head).collater([0, 1])["net_input"]["fields"]
    outputs = head.network(4).eval()(torch.randn(2, 7, 4), fields)
    logits, tags = outputs["logits"], fields["tag"]
    words = [*((0, word) for word in range(5)), (1, 0)]
    loss, count = head.loss(outputs, fields)
    expected = sum(torch.nn.functional.cross_entropy(logits[at], tags[at]) for at in words)
    torch.testing.assert_close(loss, expected)
    assert int(count) == 6


def test_a_tag_that_training_has_not_gives_no_loss(codec):
    encoded = Ner(LABELS).encode(item("the dog", "B-Z O"), codec())
    assert encoded.fields["tag"].tolist() == [IGNORE, 2]
    assert Ner(LABELS).encode(item("the dog"), codec()).fields["tag"].tolist() == [IGNORE] * 2


def test_what_is_no_bio_tag_is_named_with_its_line(codec):
    with pytest.raises(UserError, match=r"a.conll:8: the tag must be O, B-TYPE or I-TYPE, got 'X'"):
        Ner(LABELS).encode(item("the dog", "O X", line=7), codec())
    assert Pos({"tag": ["X"]}).encode(item("dog", "X"), codec()).fields["tag"].tolist() == [0]


def test_predictions_of_spans_are_repaired_and_counted():
    head = Ner(LABELS)
    logits = torch.eye(3)[[1, 1, 2]][None]
    assert head.decode({"logits": logits}, {"words": torch.tensor([3])}) == [["B-A", "I-A", "O"]]
    items = [item("a b c", "B-A O B-B"), item("a b", "O O")]
    assert find_labels(Ner, items) == {"tag": ["B-A", "B-B", "O"]}
    sums = total_counts(head, items, [["B-A", "O", "O"], ["B-A", "O"]])
    assert sums == {"right": 1.0, "predicted": 2.0, "gold": 2.0}
    assert head.scores(sums) == {"precision": 50.0, "recall": 50.0, "f1": 50.0}


def test_parts_of_speech_are_counted_by_word():
    sums = total_counts(Pos({}), [item("a b c", "X Y X"), item("a", "Y")], [["X", "X", "X"], ["Y"]])
    assert Pos.scores(sums) == {"accuracy": 75.0}


def test_a_file_without_tags_is_not_counted():
    assert Pos.annotated(item("a b", "X Y")) and not Pos.annotated(item("a b"))
