"""The head of semantic roles: its pairs, its loss, and the arguments that it counts."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats.conll09 import Frames, FramesItem
from fairseq_xling.tasks.heads import IGNORE, check_labels, find_labels, total_counts
from fairseq_xling.tasks.heads.srl import RolesOptions, SemanticRoles

LABELS = {"role": ["A0", "A1", "AM"]}


def item(words, predicates=(), *frames, senses=""):
    words, senses = tuple(words.split()), tuple(senses.split()) or ("w.01",) * len(predicates)
    roles = tuple(tuple(frame.split()) for frame in frames) if frames or not predicates else None
    lemmas = tuple(sense.partition(".")[0] for sense in senses)
    return FramesItem("a.conll09", 4, words, tuple(predicates), roles, lemmas, senses, words)


LONG = item("the dog sees a cat run", (2, 5), "_ A0 _ _ A1 _", "_ _ _ _ A0 _")
SHORT = item("he ran", (1,), "A0 _")
NOTHING = item("in rain")


def test_a_frame_has_a_label_for_each_word_and_none_is_the_first(codec):
    head = SemanticRoles(LABELS)
    fields = head.encode(LONG, codec()).fields
    assert fields["predicate"].tolist() == [2, 5]
    assert fields["role"].tolist() == [[0, 1, 0, 0, 2, 0], [0, 0, 0, 0, 1, 0]]
    bare = head.encode(item("the dog sees", (2,)), codec()).fields
    assert bare["role"].tolist() == [[IGNORE] * 3]
    assert head.encode(NOTHING, codec()).fields["role"].shape == (0, 2)


def test_a_role_that_training_has_not_gives_no_loss(codec):
    strange = item("he ran", (1,), "A9 _")
    fields = SemanticRoles(LABELS).encode(strange, codec()).fields
    assert fields["role"].tolist() == [[IGNORE, 0]]
    assert find_labels(SemanticRoles, [LONG, NOTHING]) == {"role": ["A0", "A1"]}


def test_logits_and_loss_equal_a_loop_over_predicates_and_words(batch, make_network):
    head = SemanticRoles(LABELS, RolesOptions(role_dim=5))
    network, items = make_network(head), [NOTHING, LONG, SHORT]
    fields, states = batch(head, items), torch.randn(3, 8, 8)
    outputs, slow = network(states, fields), 0.0
    loss, terms = head.loss(outputs, fields)
    for b, one in enumerate(items):
        for p, (predicate, frame) in enumerate(zip(one.predicates, one.roles, strict=True)):
            for word, role in enumerate(frame):
                x = torch.cat([network.predicate(states[None, b, [predicate + 1]])[0, 0], ONE])
                y = torch.cat([network.argument(states[None, b, [word + 1]])[0, 0], ONE])
                scores = torch.einsum("i,kij,j->k", x, network.weight, y)
                torch.testing.assert_close(outputs["logits"][b, p, word], scores)
                slow += F.cross_entropy(scores, torch.tensor(["_", *LABELS["role"]].index(role)))
    torch.testing.assert_close(loss, slow)
    assert int(terms) == 2 * 6 + 2


ONE = torch.ones(1)


def test_sentences_without_predicates_alone_have_no_loss_and_no_frames(batch, make_network):
    head = SemanticRoles(LABELS)
    fields = batch(head, [NOTHING, item("home")])
    outputs = make_network(head)(torch.randn(2, 4, 8), fields)
    loss, terms = head.loss(outputs, fields)
    loss.backward()
    assert loss.item() == 0 and int(terms) == 0
    assert head.decode(outputs, fields) == [Frames(()), Frames(())]


WITH = RolesOptions(role_dim=5, senses="yes")
TRAINING = [
    item("a b c", (0, 2), "_ _ A0", "_ _ _", senses="see.02 go.1"),
    item("a b", (0, 1), "_ A1", "_ _", senses="see.01 run.01"),
    item("d", (0,), senses="bare.03"),
    NOTHING,
]


def sense_head(training=TRAINING):
    return SemanticRoles(find_labels(SemanticRoles, training, WITH), WITH)


def test_arguments_and_senses_are_counted_by_hand():
    """Gold 2 arguments and 4 senses, predicted 3 and 4, right 1 and 2."""
    gold = [
        item("a b c", (0, 2), "_ A0 _", "_ _ A1", senses="see.01 go.02"),
        item("a b", (0, 1), "_ _", "_ _", senses="see.01 U.S.03"),
    ]
    found = [
        # go.02 is not go.03; 1 is 01.
        Frames((("_", "A0", "_"), ("_", "A1", "AM")), ("see.1", "go.03")),
        # A number alone, of a lemma without senses in training.
        Frames((("_", "_"), ("_", "_")), ("see.02", ".03")),
    ]
    sums = total_counts(sense_head(), gold, found)
    assert sums == {"right": 3.0, "predicted": 7.0, "gold": 6.0}
    expected = {"precision": 300 / 7, "recall": 50.0, "f1": 600 / 13}
    assert SemanticRoles.scores(sums) == pytest.approx(expected)
    perfect = [Frames(one.roles, one.senses) for one in gold]
    assert total_counts(sense_head(), gold, perfect) == dict.fromkeys(sums, 6.0)
    # Without the option only arguments count.
    sums = total_counts(SemanticRoles(LABELS), gold, [Frames(one.roles) for one in found])
    assert sums == {"right": 1.0, "predicted": 3.0, "gold": 2.0}


def test_training_keeps_the_senses_of_each_lemma_and_the_most_frequent_number(codec):
    head = sense_head()
    assert head.labels["sense"] == ["go\tgo.1", "run\trun.01", "see\tsee.01", "see\tsee.02"]
    assert head.labels["number"] == ["01"]  # 2 of 4: go.1 has another spelling
    assert find_labels(SemanticRoles, TRAINING) == {"role": ["A0", "A1"]}
    one = item("a b c d", (0, 1, 2, 3), *["_ _ _ _"] * 4, senses="see.02 fly.01 see.09 go.1")
    fields = head.encode(one, codec()).fields
    assert fields["candidates"].tolist() == [[2, 3], [IGNORE, IGNORE], [2, 3], [0, IGNORE]]
    assert fields["sense"].tolist() == [1, IGNORE, IGNORE, 0]
    bare = head.encode(item("a b", (0,), senses="see.02"), codec()).fields
    assert bare["sense"].tolist() == [IGNORE]
    check_labels(head, [one])  # an unknown sense is a mistake of the model, not of the file


def test_scores_and_losses_of_senses_equal_a_loop_over_them(batch, make_network):
    head = sense_head()
    network, items = make_network(head), [NOTHING, *TRAINING[:2], item("fly", (0,), "_")]
    fields, states = batch(head, items), torch.randn(4, 8, 8)
    outputs, slow, best = network(states, fields), 0.0, []
    for b, one in enumerate(items):
        found = []
        for place, lemma, gold in zip(one.predicates, one.lemmas, one.senses, strict=True):
            known = [pair.split("\t") for pair in head.labels["sense"]]
            rows = [row for row, (other, _) in enumerate(known) if other == lemma]
            x = torch.cat([states[b, place + 1], ONE])
            scores = torch.stack([network.senses.weight[row] @ x for row in rows] or [ONE[0]])
            names = [known[row][1] for row in rows] or [".01"]
            found.append(names[int(scores.argmax())])
            if rows:
                slow += F.cross_entropy(scores, torch.tensor(names.index(gold)))
        best.append(tuple(found))
    assert [frames.senses for frames in head.decode(outputs, fields)] == best
    roles = {name: value for name, value in outputs.items() if name != "senses"}
    both, alone = head.loss(outputs, fields), head.loss(roles, fields)
    torch.testing.assert_close(both[0] - alone[0], slow)
    assert int(both[1]) == int(alone[1])
    both[0].backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in network.parameters())


def test_senses_that_are_missing_are_named_with_their_line(codec):
    head = sense_head()
    hidden = item("a b c", (0, 2), "_ _ _", "_ _ _", senses="see.01 _")
    message = r"^a.conll09:6: `senses=yes` needs the predicate's {}, got '_'$"
    with pytest.raises(UserError, match=message.format("PLEMMA or LEMMA")):
        head.encode(hidden, codec())
    hidden = dataclasses.replace(hidden, lemmas=("see", "go"))
    for call in (lambda: head.encode(hidden, codec()), lambda: sense_head([hidden])):
        with pytest.raises(UserError, match=message.format("sense as PRED")):
            call()
    head.encode(dataclasses.replace(hidden, roles=None), codec())  # what a test file has


def test_a_sentence_without_frames_is_not_counted():
    bare = item("he ran", (1,))
    assert bare.roles is None and not SemanticRoles.annotated(bare)
    assert not SemanticRoles.annotated(NOTHING)  # a file of such says nothing
    assert SemanticRoles.annotated(item("he ran", (1,), "_ _"))
    assert SemanticRoles(LABELS).counts(bare, Frames((("A0", "_"),))) == (0.0, 0.0, 0.0)
