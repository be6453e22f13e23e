"""The parsing head that learns parts of speech as well."""

import pytest
import torch
import torch.nn.functional as F

from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.formats.conllu import Conllu, Tree, TreeItem
from fairseq_xling.tasks.heads import IGNORE, find_labels, total_counts
from fairseq_xling.tasks.heads.parsing import Parsing, ParsingOptions
from fairseq_xling.tasks.heads.parsing_pos import ParsingPos

LABELS = {"relation": ["det", "nsubj", "obj", "root"], "upos": ["DET", "NOUN", "VERB"]}
OPTIONS = ParsingOptions(arc_dim=6, label_dim=5)


def item(words, heads, relations, upos):
    words = tuple(words.split())
    tree = Tree(tuple(heads), tuple(relations.split()))
    lines = tuple(f"{n}\t{word}" + "\t_" * 8 for n, word in enumerate(words, 1))
    rows = tuple(range(len(words)))
    return TreeItem("a.conllu", 3, words, tuple(upos.split()), tree, lines, rows)


LONG = item(
    "the dog sees a cat", [2, 3, 0, 5, 3], "det nsubj root det obj", "DET NOUN VERB DET NOUN"
)
SHORT = item("cats see", [2, 0], "nsubj root", "NOUN VERB")
BARE = item("cats see", [2, 0], "nsubj root", "_ _")  # a tree without parts of speech


@pytest.fixture
def outputs_of(codec):
    """``outputs_of(head, items)``: fields, and the outputs of a network with fixed weights."""

    def make(head, items, states):
        dataset = ItemDataset([(codec(32), 0, items)], head)
        fields = dataset.collater(range(len(items)))["net_input"]["fields"]
        torch.manual_seed(0)
        network = head.network(8).eval()
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        return fields, network(states, fields)

    return make


def test_the_loss_is_that_of_the_tree_and_of_the_tag_of_each_word(outputs_of):
    states = torch.randn(3, 7, 8)
    head = ParsingPos(LABELS, OPTIONS)
    fields, outputs = outputs_of(head, [LONG, SHORT, BARE], states)
    loss, terms = head.loss(outputs, fields)
    tree, same = Parsing(LABELS, OPTIONS).loss(outputs, fields)
    slow = tree
    for b, one in enumerate((LONG, SHORT)):
        for word, tag in enumerate(one.upos):
            gold = torch.tensor(LABELS["upos"].index(tag))
            slow = slow + F.cross_entropy(outputs["tags"][b, word], gold)
    torch.testing.assert_close(loss, slow)
    assert int(terms) == int(same)


def test_tags_of_one_sentence_are_those_of_its_row_in_a_padded_batch(outputs_of):
    head, states = ParsingPos(LABELS, OPTIONS), torch.randn(2, 7, 8)
    both, outputs = outputs_of(head, [LONG, SHORT], states)
    alone, single = outputs_of(head, [SHORT], states[1:, :4])
    torch.testing.assert_close(outputs["tags"][1:, :2], single["tags"][:, :2])
    assert head.decode(outputs, both)[1] == head.decode(single, alone)[0]
    assert [len(tree.upos) for tree in head.decode(outputs, both)] == [5, 2]


def test_words_without_tags_teach_the_tree_alone_and_are_not_counted(codec):
    assert find_labels(ParsingPos, [BARE])["upos"] == []
    assert ParsingPos(LABELS).encode(BARE, codec(32)).fields["tag"].tolist() == [IGNORE] * 2
    head = ParsingPos(LABELS, OPTIONS)
    right = (*SHORT.tree, SHORT.upos)
    sums = total_counts(head, [SHORT, BARE], [head_tree(right), head_tree(right)])
    assert head.scores(sums) == {"uas": 100.0, "las": 100.0, "upos": 100.0}
    assert sums["tags"] == 2 and sums["words"] == 4


def head_tree(parts):
    from fairseq_xling.tasks.formats.conllu import TaggedTree

    return TaggedTree(*parts)


def test_predicted_tags_are_written(tmp_path):
    path = tmp_path / "out.conllu"
    Conllu.write(path, [BARE], [head_tree((*SHORT.tree, ("VERB", "NOUN")))], {})
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert [(row[3], row[6], row[7]) for row in rows] == [
        ("VERB", "2", "nsubj"),
        ("NOUN", "0", "root"),
    ]
