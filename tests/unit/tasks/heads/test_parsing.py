"""The parsing head: its loss, its trees, and what UAS and LAS count.

The parsing head that learns parts of speech as well.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats.conllu import Conllu, TaggedTree, Tree, TreeItem, tree_fault
from fairseq_xling.tasks.heads import IGNORE, find_labels, total_counts
from fairseq_xling.tasks.heads.parsing import Parsing, ParsingOptions, ParsingPos
from fairseq_xling.tasks.options import parse_options

LABELS = {"relation": ["det", "nsubj", "obj", "obj:x", "punct", "root"]}


def item(words, heads=None, relations="", upos=""):
    words = tuple(words.split())
    upos = tuple(upos.split()) or ("X",) * len(words)
    tree = heads and Tree(tuple(heads), tuple(relations.split()))
    lines = tuple(f"{n}\t{word}" + "\t_" * 8 for n, word in enumerate(words, 1))
    return TreeItem("a.conllu", 3, words, upos, tree, lines, tuple(range(len(words))))


LONG = item("the dog sees a cat", [2, 3, 0, 5, 3], "det nsubj root det obj")
SHORT = item("he ran", [2, 0], "nsubj root")


def test_the_root_is_the_first_symbol_and_words_are_their_first_subwords(codec):
    fields = Parsing(LABELS).encode(LONG, codec(max_positions=5)).fields
    assert fields["row"].tolist() == [0, 0, 0, 0, 1, 1]
    assert fields["place"].tolist() == [0, 1, 2, 3, 1, 2]
    assert fields["head"].tolist() == [2, 3, 0, 5, 3]
    assert fields["relation"].tolist() == [0, 1, 5, 0, 2]


def test_a_relation_that_training_has_not_gives_no_loss(codec):
    strange = item("he ran", [2, 0], "expl root")
    fields = Parsing(LABELS).encode(strange, codec()).fields
    assert fields["relation"].tolist() == [IGNORE, 5] and fields["head"].tolist() == [2, 0]
    assert find_labels(Parsing, [SHORT, item("a")]) == {"relation": ["nsubj", "root"]}


def test_the_loss_is_that_of_heads_and_of_relations_to_gold_heads(batch, make_network):
    head = Parsing(LABELS, ParsingOptions(arc_dim=6, label_dim=5))
    strange = item("he ran", [2, 0], "expl root")
    fields = batch(head, [LONG, strange, item("home")])
    network = make_network(head)
    outputs = network(torch.randn(3, 7, 8), fields)
    loss, terms = head.loss(outputs, fields)
    slow = 0.0
    for b, one in enumerate((LONG, strange)):
        for word, (gold, name) in enumerate(zip(*one.tree, strict=True)):
            allowed = [h for h in range(len(one.words) + 1) if h != word + 1]
            arcs = outputs["arcs"][b, word + 1, allowed]
            slow += F.cross_entropy(arcs, torch.tensor(allowed.index(gold)))
            if name in LABELS["relation"]:
                x = torch.cat([outputs["dependents"][b, word + 1], torch.ones(1)])
                y = torch.cat([outputs["heads"][b, gold], torch.ones(1)])
                scores = torch.einsum("i,kij,j->k", x, network.relation_weight, y)
                slow += F.cross_entropy(scores, torch.tensor(LABELS["relation"].index(name)))
    torch.testing.assert_close(loss, slow)
    assert int(terms) == 7


def test_predictions_are_trees_whose_relations_are_the_best_of_the_chosen_arcs(batch, make_network):
    head = Parsing(LABELS, ParsingOptions(arc_dim=6, label_dim=5))
    network = make_network(head)
    items = [item(" ".join(["dog"] * n)) for n in (1, 2, 5, 9, 12)]
    fields = batch(head, items)
    outputs = network(torch.randn(5, 14, 8), fields)
    for b, tree in enumerate(head.decode(outputs, fields)):
        assert tree_fault(tree.heads) is None and len(tree.heads) == len(items[b].words)
        for word, (chosen, name) in enumerate(zip(*tree, strict=True), start=1):
            x = torch.cat([outputs["dependents"][b, word], torch.ones(1)])
            y = torch.cat([outputs["heads"][b, chosen], torch.ones(1)])
            scores = torch.einsum("i,kij,j->k", x, network.relation_weight, y)
            assert name == LABELS["relation"][int(scores.argmax())]


def test_scores_are_those_counted_by_hand():
    """Nine words: 7 heads right; of these 5 relations, ``obj`` for ``obj:x`` among them."""
    gold = [
        item("a b c d .", [2, 3, 0, 3, 3], "det nsubj root obj:x punct", "D N V N PUNCT"),
        item("a b c .", [2, 0, 2, 2], "nsubj root obj punct", "D V N PUNCT"),
    ]
    found = [
        Tree((2, 3, 0, 3, 2), ("det", "obj", "root", "obj", "punct")),  # 4 heads, 3 relations
        Tree((2, 0, 1, 2), ("obj", "root", "obj", "punct")),  # 3 heads, 2 relations
    ]
    keep, drop = Parsing(LABELS), Parsing(LABELS, ParsingOptions(punctuation="drop"))
    sums = total_counts(keep, gold, found)
    assert sums == {"heads": 7.0, "relations": 5.0, "words": 9.0}
    assert keep.scores(sums) == {"uas": 100 * 7 / 9, "las": 100 * 5 / 9}
    assert total_counts(drop, gold, found) == {"heads": 6.0, "relations": 4.0, "words": 7.0}


def shared_task_scores(gold, system):
    """UAS and LAS of two CoNLL-U files by the script of the CoNLL 2018 shared task, in udtools."""
    scorer = pytest.importorskip("udtools.udeval", reason="udtools is not installed (extra dev)")
    found = scorer.evaluate(*(scorer.load_conllu_file(str(path)) for path in (gold, system)))
    return tuple(100 * found[name].f1 for name in ("UAS", "LAS"))


def disturbed(draw, tree, relations):
    """Another tree in place of three of ten, and another relation for three words of ten."""
    size = len(tree.heads)
    heads = _random_tree(draw, size) if draw.random() < 0.3 else tree.heads
    names = (name if draw.random() < 0.7 else draw.choice(relations) for name in tree.relations)
    return Tree(tuple(heads), tuple(map(str, names)))


def test_scores_of_a_written_file_are_those_of_the_shared_task(tmp_path):
    draw = np.random.default_rng(3)
    relations, lines = ["det", "obj", "obj:x", "obl:a", "obl:b", "root"], []
    for sentence in range(40):
        size = int(draw.integers(1, 9))
        lines.append(f"# sent_id = {sentence}")
        for n, head in enumerate(_random_tree(draw, size), start=1):
            relation = "root" if head == 0 else relations[draw.integers(5)]
            lines += [f"{n}-{n + 1}\tab" + "\t_" * 8] * (n < size and n % 4 == 0)
            lines.append(f"{n}\tw{n}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_")
            lines += [f"{n}.1\te" + "\t_" * 8] * (n == 3)
        lines.append("")
    path, out = tmp_path / "gold.conllu", tmp_path / "system.conllu"
    path.write_text("".join(f"{line}\n" for line in lines))
    items = list(Conllu.read(path, {}))
    trees = [disturbed(draw, one.tree, relations) for one in items]
    Conllu.write(out, items, trees, {})
    head = Parsing({"relation": relations})
    scores = head.scores(total_counts(head, items, trees))
    expected = shared_task_scores(path, out)
    assert 30 < expected[1] < expected[0] < 90
    assert (scores["uas"], scores["las"]) == pytest.approx(expected)


def _random_tree(draw, size):
    """The heads of a tree: each word but the root below one that is in it already."""
    order = draw.permutation(size) + 1
    heads = {int(order[0]): 0}
    for place, word in enumerate(order[1:], start=1):
        heads[int(word)] = int(order[draw.integers(place)])
    return [heads[n] for n in range(1, size + 1)]


def test_words_with_the_tags_that_are_named_are_not_counted():
    gold = [item("a b c d", [2, 0, 2, 2], "x root y z", "NN VV PU PUNCT")]
    found = [Tree((2, 0, 1, 1), ("x", "root", "y", "z"))]  # the last two are wrong
    for text, heads, words in (
        ("keep", 2.0, 4.0),
        ("drop", 2.0, 3.0),
        ("drop:PU", 2.0, 3.0),
        ("drop:PU, PUNCT", 2.0, 2.0),
        ("drop:PU,NN,PUNCT,dropout=0", 1.0, 1.0),
    ):
        options = parse_options(f"punctuation={text}", ParsingOptions)
        sums = total_counts(Parsing(LABELS, options), gold, found)
        assert (sums["heads"], sums["words"]) == (heads, words)


def test_a_sentence_without_tree_is_not_counted():
    assert Parsing.annotated(SHORT) and not Parsing.annotated(item("a b"))
    assert Parsing(LABELS).counts(item("a b"), Tree((2, 0), ("x", "y"))) == (0.0, 0.0, 0.0)


def test_punctuation_cannot_be_dropped_without_parts_of_speech(codec):
    head = Parsing(LABELS, ParsingOptions(punctuation="drop"))
    with pytest.raises(
        UserError, match=r"a.conllu:3: dropping punctuation requires parts of speech"
    ):
        head.encode(item("he ran", [2, 0], "nsubj root", "_ _"), codec())
    head.encode(item("he ran", upos="_ _"), codec())  # nothing is counted there


PARSING_POS_LABELS = {"relation": ["det", "nsubj", "obj", "root"], "upos": ["DET", "NOUN", "VERB"]}
OPTIONS = ParsingOptions(arc_dim=6, label_dim=5)


PARSING_POS_LONG = item(
    "the dog sees a cat", [2, 3, 0, 5, 3], "det nsubj root det obj", "DET NOUN VERB DET NOUN"
)
PARSING_POS_SHORT = item("cats see", [2, 0], "nsubj root", "NOUN VERB")
BARE = item("cats see", [2, 0], "nsubj root", "_ _")  # a tree without parts of speech


def test_the_loss_is_that_of_the_tree_and_of_the_tag_of_each_word(batch, make_network):
    head = ParsingPos(PARSING_POS_LABELS, OPTIONS)
    fields = batch(head, [PARSING_POS_LONG, PARSING_POS_SHORT, BARE])
    outputs = make_network(head)(torch.randn(3, 7, 8), fields)
    loss, terms = head.loss(outputs, fields)
    slow, same = Parsing(PARSING_POS_LABELS, OPTIONS).loss(outputs, fields)
    for b, one in enumerate((PARSING_POS_LONG, PARSING_POS_SHORT)):
        for word, tag in enumerate(one.upos):
            gold = torch.tensor(PARSING_POS_LABELS["upos"].index(tag))
            slow = slow + F.cross_entropy(outputs["tags"][b, word], gold)
    torch.testing.assert_close(loss, slow)
    assert int(terms) == int(same)


def test_words_without_tags_teach_the_tree_alone_and_are_not_counted(codec):
    assert find_labels(ParsingPos, [BARE])["upos"] == []
    fields = ParsingPos(PARSING_POS_LABELS).encode(BARE, codec(32)).fields
    assert fields["tag"].tolist() == [IGNORE] * 2
    head = ParsingPos(PARSING_POS_LABELS, OPTIONS)
    right = TaggedTree(*PARSING_POS_SHORT.tree, PARSING_POS_SHORT.upos)
    sums = total_counts(head, [PARSING_POS_SHORT, BARE], [right, right])
    assert head.scores(sums) == {"uas": 100.0, "las": 100.0, "upos": 100.0}
    assert sums["tags"] == 2 and sums["words"] == 4


def test_predicted_tags_are_written(tmp_path):
    path = tmp_path / "out.conllu"
    Conllu.write(path, [BARE], [TaggedTree(*PARSING_POS_SHORT.tree, ("VERB", "NOUN"))], {})
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert [(row[3], *row[6:8]) for row in rows] == [("VERB", "2", "nsubj"), ("NOUN", "0", "root")]
