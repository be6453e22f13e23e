"""Trees for bare words, by a parser that stands in for a trained one."""

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks import predict as module
from fairseq_xling.tasks.formats.conllu import TaggedTree, Tree
from fairseq_xling.tasks.heads import heads
from fairseq_xling.tasks.predict import ParsedSentence, Parser

LABELS = {"relation": ["dep", "root"], "upos": ["NOUN"], "tag": ["NOUN"], "label": ["a", "b"]}


class Stub:
    """Hangs each word on the one before it; notes the calls."""

    def __init__(self, head="parsing_pos"):
        self.head, self.tags, self.calls = heads[head](LABELS), head == "parsing_pos", []

    def predict_items(self, lang, items, max_tokens, done):
        self.calls.append((lang, len(items)))
        done(len(items))
        return [self.tree(len(item.words)) for item in items]

    def tree(self, size):
        chain = tuple(range(size)), ("root",) + ("dep",) * (size - 1)
        return TaggedTree(*chain, ("NOUN",) * size) if self.tags else Tree(*chain)


@pytest.fixture
def loaded(monkeypatch):
    def load(head, **options):
        stub = Stub(head)
        monkeypatch.setattr(module.Predictor, "load", lambda path, data, device: stub)
        return stub, Parser.load("parser.pt", **options)

    return load


def test_sentences_come_back_in_their_order_block_by_block(loaded, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 2)
    stub, parser = loaded("parsing_pos", tags=True)
    found = parser.parse([["a"], ["b", "c", "d"], ["e", "f"]], "de")
    assert stub.calls == [("de", 2), ("de", 1)]
    assert found[1] == ParsedSentence(["NOUN"] * 3, [0, 1, 2], ["root", "dep", "dep"])
    assert [len(one.heads) for one in found] == [1, 3, 2]
    assert parser.parse([], "de") == []


def test_a_sentence_without_words_is_refused_before_any_is_parsed(loaded):
    stub, parser = loaded("parsing_pos")
    with pytest.raises(UserError, match=r"^sentence:2: has no words$"):
        parser.parse([["a"], []], "en")
    assert not stub.calls


def test_a_parser_without_parts_of_speech_gives_trees_unless_they_are_needed(loaded):
    _, parser = loaded("parsing")
    assert parser.parse([["a", "b"]], "en") == [ParsedSentence([], [0, 1], ["root", "dep"])]
    message = r"parser.pt: gives no parts of speech; fine-tune a parser with `--head parsing_pos`"
    with pytest.raises(UserError, match=message):
        loaded("parsing", tags=True)


def test_a_checkpoint_of_another_head_is_refused(loaded):
    with pytest.raises(UserError, match=r"parser.pt: gives no trees; fine-tune .*parsing_pos or"):
        loaded("pos")
