"""`--arch bilstm_baseline`: the paper's sizes, what it reads, and what is planted for it."""

import dataclasses
import random
from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SPECIALS, UNK
from fairseq_xling.models.bilstm_baseline import (
    FIRST_TAG,
    FRAME,
    UNKNOWN,
    BilstmBaseline,
    BilstmBaselineConfig,
)
from fairseq_xling.tasks.dataset import WordTagCodec, WordTagDataset, count_contents
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.heads import find_labels, heads, total_counts
from fairseq_xling.tasks.heads.parsing import ParsingOptions
from fairseq_xling.tasks.heads.srl import RolesOptions
from fairseq_xling.tasks.options import parse_options

ANIMALS, PLACES = ("dog", "cat", "cow"), ("house", "barn", "field")
SMALL = {"word_dim": 8, "tag_dim": 8, "lstm_layers": 2, "lstm_hidden": 12, "dropout": 0.0}


def phrase(draw):
    """Perhaps an article, perhaps adjectives, and a noun: words and tags."""
    inside = [("the", "DET")] * draw.randint(0, 1)
    inside += [(draw.choice(("big", "old")), "ADJ")] * draw.randint(0, 2)
    return [*inside, (draw.choice((*ANIMALS, *PLACES)), "NOUN")]


def clause(draw):
    """Rows ``[word, tag, head, relation, role]``: a phrase, a verb, and one or two phrases.

    A verb is spelt like a noun, so only its tag tells which word it is. Whether a phrase after it
    is an object or an adverbial is told by its word alone.
    """
    rows, verb, nouns = [], None, []
    for place in range(draw.randint(2, 3)):
        if place == 1:
            verb = len(rows) + 1
            rows.append([draw.choice((*ANIMALS, *PLACES)), "VERB", 0, "root", "_"])
        found = phrase(draw)
        noun = len(rows) + len(found)
        names = {"DET": "det", "ADJ": "amod"}
        rows += [[word, tag, noun, names.get(tag), "_"] for word, tag in found]
        nouns.append((noun, place))
    for noun, place in nouns:
        animal = rows[noun - 1][0] in ANIMALS
        relation, role = ("obj", "A1") if animal else ("obl", "AM-LOC")
        rows[noun - 1][2:] = [verb, *((relation, role) if place else ("nsubj", "A0"))]
    return rows


def conllu(draw):
    return "".join(
        f"{n}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n"
        for n, (word, tag, head, relation, _) in enumerate(clause(draw), start=1)
    )


def conll09(draw):
    lines = []
    for n, (word, tag, _, _, role) in enumerate(clause(draw), start=1):
        predicate = ("Y", "see.01") if tag == "VERB" else ("_", "_")
        lines.append("\t".join([str(n), word, word, "_", tag, "_", *"_" * 6, *predicate, role]))
    return "\n".join(lines) + "\n"


CASES = {
    "parsing": (conllu, "arc_dim=24,label_dim=24,dropout=0"),
    "srl": (conll09, "role_dim=24,dropout=0"),
}


def prepared(name, tmp_path, count=160):
    """The head and datasets of ``count`` training and test sentences, and the words and tags."""
    write, options = CASES[name]
    kind, draw, sets = heads[name], random.Random(1), []
    for split in ("train", "test"):
        path = tmp_path / split
        path.write_text("".join(write(draw) + "\n" for _ in range(count)))
        sets.append(list(find_format(kind.format, "").read(path, {})))
    settings = parse_options(options, kind.Options)
    head = kind(find_labels(kind, sets[0], settings), settings)
    contents = count_contents(kind, sets[0], 2)
    codec = WordTagCodec("en", *contents)
    return head, [WordTagDataset([(codec, 0, items)], head) for items in sets], contents


def make(head, contents, **changes):
    torch.manual_seed(0)
    cfg = SimpleNamespace(**{**SMALL, **changes})
    return BilstmBaseline(cfg, *map(len, contents), head)


def outputs(model, dataset, rows):
    given = dataset.collater(rows)["net_input"]
    return model(**given), given["fields"]


def test_every_default_is_the_papers():
    own = {field.name: field.default for field in dataclasses.fields(BilstmBaselineConfig)}
    assert {name: value for name, value in own.items() if not name.startswith("_")} == {
        **{"word_dim": 100, "tag_dim": 100, "lstm_layers": 3, "lstm_hidden": 400},
        "dropout": 0.33,
    }
    parsing, roles = ParsingOptions(), RolesOptions()
    assert (parsing.arc_dim, parsing.label_dim, parsing.dropout) == (500, 100, 0.33)
    assert (roles.role_dim, roles.dropout) == (100, 0.33)
    head = heads["parsing"]({"relation": ["root"]})
    model = BilstmBaseline(BilstmBaselineConfig(), 1, 1, head)
    assert [layer.forth.input_size for layer in model.layers] == [200, 800, 800]
    assert all(layer.back.hidden_size == 400 for layer in model.layers)


@pytest.mark.parametrize("name", CASES)
def test_what_is_planted_in_words_and_tags_is_learned_and_holds_for_other_sentences(name, tmp_path):
    head, (train, test), contents = prepared(name, tmp_path)
    model = make(head, contents)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.9))
    generator = torch.Generator().manual_seed(1)
    for _ in range(120):
        rows = torch.randperm(len(train), generator=generator)[:32].tolist()
        total, terms = head.loss(*outputs(model, train, rows))
        optimizer.zero_grad()
        (total / terms).backward()
        optimizer.step()
    model.eval()
    given = test.collater(range(len(test)))["net_input"]
    tokens, tags = given["src"]["tokens"], given["fields"]["tags"]

    def score():
        with torch.no_grad():
            predictions = head.decode(model(**given), given["fields"])
        return head.scores(total_counts(head, test.items, predictions))[head.metric]

    assert score() >= 97
    given["src"]["tokens"] = tokens.masked_fill(tokens >= SPECIALS, UNK)
    assert score() < 90  # it reads words
    given["src"]["tokens"] = tokens
    given["fields"]["tags"] = tags.masked_fill(tags >= FIRST_TAG, UNKNOWN)
    assert score() < 90  # and tags


@pytest.mark.parametrize("name", CASES)
def test_a_sentence_alone_is_as_in_a_padded_batch(name, tmp_path):
    head, (train, _), contents = prepared(name, tmp_path, count=8)
    model = make(head, contents).eval()
    for parameter in model.network.parameters():  # those of biaffine scores begin as zero
        torch.nn.init.normal_(parameter, std=0.3)
    together, fields = outputs(model, train, range(8))
    scores = "arcs" if name == "parsing" else "logits"
    for row in range(8):
        (alone, _), words = outputs(model, train, [row]), int(fields["words"][row])
        size = words + (name == "parsing")
        expected = together[scores][row][:, :size] if name == "srl" else together[scores][row]
        found = alone[scores][0]
        assert found.isfinite().any() and found[found.isfinite()].abs().max() > 0.01
        torch.testing.assert_close(expected[: found.shape[0], : found.shape[1]], found)


def test_rows_are_the_root_the_words_and_the_end_with_a_tag_each(tmp_path):
    _, (train, _), (words, tags) = prepared("parsing", tmp_path, count=8)
    assert words == sorted(words) and tags == ["ADJ", "DET", "NOUN", "VERB"]
    codec = WordTagCodec("en", words, tags)
    assert [int(n[0]) for n in codec.words([words[0], "zebra"])] == [SPECIALS, UNK]
    assert codec.tags(["ADJ", "X"]).tolist() == [FRAME, FIRST_TAG, UNKNOWN, FRAME]
    batch = train.collater([0])
    item = train.items[0]
    assert batch["net_input"]["src"]["tokens"].shape == (1, len(item.words) + 2)
    assert batch["net_input"]["fields"]["tags"].shape == (1, len(item.words) + 2)


def test_of_a_word_without_its_tag_or_a_tag_without_its_word_the_other_counts_twice(tmp_path):
    head, (train, _), contents = prepared("parsing", tmp_path, count=8)
    model = make(head, contents, dropout=0.4)
    given = train.collater(range(8))["net_input"]
    tokens, tags = given["src"]["tokens"], given["fields"]["tags"]
    whole = model.eval()._vectors(tokens, tags).unflatten(-1, (2, 8))
    dropped = model.train()._vectors(tokens, tags).unflatten(-1, (2, 8))
    real = tokens >= SPECIALS
    factor = (dropped / whole)[real]
    assert torch.allclose(factor, factor[..., :1].expand_as(factor))  # whole words, whole tags
    kinds = {tuple(pair) for pair in factor[..., 0].round().int().tolist()}
    assert kinds == {(0, 0), (1, 1), (0, 2), (2, 0)}


def test_rare_words_are_unknown_and_sentences_without_parts_of_speech_are_refused(tmp_path):
    path = tmp_path / "file.conllu"
    row = "1\t{}\t_\t{}\t_\t_\t0\troot\t_\t_\n\n"
    path.write_text(row.format("a", "X") + row.format("a", "X") + row.format("b", "X"))
    items = list(find_format("conllu", "").read(path, {}))
    assert count_contents(heads["parsing"], items, 2) == (["a"], ["X"])
    assert count_contents(heads["parsing"], items, 1) == (["a", "b"], ["X"])
    path.write_text(row.format("a", "X") + row.format("a", "_"))
    items = list(find_format("conllu", "").read(path, {}))
    with pytest.raises(UserError, match=r"file\.conllu:3: must have parts of speech, got '_'"):
        count_contents(heads["parsing"], items, 1)


def test_frames_have_the_predicted_tag_where_there_is_one(tmp_path):
    path = tmp_path / "file.conll09"
    cells = [["1", "a", "a", "_", "X", "Y"], ["2", "b", "b", "_", "Z", "_"]]
    path.write_text("\n".join("\t".join([*row, *"_" * 8]) for row in cells) + "\n")
    (item,) = find_format("conll09", "").read(path, {})
    assert item.tags == ("Y", "Z")


def test_what_is_left_out_of_half_precision_leaves_it_in_half_precision(tmp_path):
    head, (train, _), contents = prepared("parsing", tmp_path)
    model = make(head, contents, dropout=0.3).to(torch.bfloat16).train()
    seen = []
    for layer in model.layers:
        layer.register_forward_pre_hook(lambda _, given: seen.append(given[0].dtype))
        # An LSTM in bf16 is not there on every processor.
        layer.forward = lambda states, lengths: states.new_ones(*states.shape[:2], 24)
    outputs(model, train, [train[0], train[1]])
    assert seen == 2 * [torch.bfloat16]
