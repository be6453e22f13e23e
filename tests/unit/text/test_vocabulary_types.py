"""WordPiece, compared with the library that learns it and with BERT's own tokenizer."""

import importlib.util
import json
import random
import subprocess
import sys

import pytest

from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.data.folder import SEP, SPECIALS, UNK
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.vocabulary_types import INSIDE, learn_wordpiece, vocabulary_types
from fairseq_xling.text.vocabulary_types import SPECIALS as BERT

STEMS = "play walk talk jump look turn open close Haus über straße naïve".split()
ENDS = ["", "s", "ed", "ing", "er", "ers"]
EXTRA = ["我爱你。", "don't", "3.14!!", "play" * 26, "ωmega", "(a)", "semi\u00adsoft", "e\u0301"]


def lines_of(seed, count):
    draw = random.Random(seed)
    words = [stem + end for stem in STEMS for end in ENDS] + ["我爱你。", "3.14!!", "don't"]
    return [" ".join(draw.choices(words, k=draw.randint(1, 9))) for _ in range(count)]


LINES = lines_of(1, 300)


def vocabulary_of(content):
    numbers = content["tokenizer"]["model"]["vocab"]
    return sorted(numbers, key=numbers.__getitem__)


@pytest.fixture(scope="module")
def learnt():
    return json.loads(learn_wordpiece(LINES, 150, None, "en"))


@pytest.mark.parametrize("how", ["basic", "pre"])
def test_ids_are_those_of_berts_tokenizer_on_the_written_vocabulary(tmp_path, how):
    transformers = pytest.importorskip("transformers")
    (tmp_path / "en.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    options = ["--languages", "en", "--vocab-type", "wordpiece", "--vocab-size", "150"]
    options += ["--mono", f"train.en={tmp_path / 'en.txt'}", "--segment", f"en={how}"]
    assert main(["prepare", str(tmp_path / "data"), *options]) == 0
    content = read_json(tmp_path / "data" / "tokenizer.json")
    tokens = vocabulary_of(content)
    (tmp_path / "vocab.txt").write_text("".join(f"{t}\n" for t in tokens), encoding="utf-8")
    bert = transformers.BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=False)
    assert bert.convert_tokens_to_ids(tokens) == list(range(len(tokens)))
    encoder = TextEncoder.load(tmp_path / "data", "en")
    # Ids of the folder are those of the vocabulary without its special tokens, in its order.
    ours = {token: SPECIALS + n for n, token in enumerate(tokens[len(BERT) :])}
    text = [*lines_of(2, 200), *EXTRA]
    for line, ids in zip(text, encoder.encode(text), strict=True):
        expected = [ours.get(token, UNK) for token in bert.tokenize(line)]
        assert ids.tolist() == [*expected, SEP], line
    # What looks like a special token is text here, and cannot end a sentence.
    assert encoder.encode(["[SEP] [PAD]"])[0].tolist().count(SEP) == 1


@pytest.mark.parametrize("limit", [12, 20])
def test_no_more_letters_than_the_alphabet_allows(limit):
    tokens = vocabulary_of(json.loads(learn_wordpiece(LINES, 100, limit, "en")))
    assert tokens[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] and len(tokens) <= 105
    letters = {letter for token in tokens[5:] for letter in token.removeprefix(INSIDE)}
    counts = {letter: "".join(LINES).count(letter) for letter in {*"".join(LINES)} - {" "}}
    ranked = sorted(counts, key=lambda letter: (-counts[letter], letter))
    assert letters <= set(ranked[:limit]) and len(letters) > limit // 2


def test_the_same_text_gives_the_same_vocabulary_in_another_process(learnt):
    code = (
        "import json,sys; from tests.unit.text.test_vocabulary_types import LINES;"
        "from fairseq_xling.text.vocabulary_types import learn_wordpiece;"
        "sys.stdout.buffer.write(learn_wordpiece(LINES, 150, None, 'en'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert json.loads(done.stdout) == learnt


def test_pieces_have_the_size_that_is_asked_for(learnt):
    tokens = vocabulary_of(learnt)
    assert len(tokens) == 155 and len(set(tokens)) == 155
    assert learnt["symbols"].count("<unk>") == 1 and "▁play" in learnt["symbols"]


def test_sizes_that_do_not_fit_and_empty_text_are_refused():
    with pytest.raises(UserError, match=r"`--vocab-size` must be at least the alphabet of en \("):
        learn_wordpiece(LINES, 30, 30, "en")
    with pytest.raises(UserError, match="en: no text to learn a vocabulary from"):
        learn_wordpiece(["", " \u200b"], 30, None, "en")


def test_without_the_library_it_is_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"`--vocab-type wordpiece` needs the library tokenizers: "):
        PrepareOptions(languages=("en",), vocab_type="wordpiece")
    assert set(vocabulary_types) == {"bpe", "unigram", "word", "wordpiece"}
