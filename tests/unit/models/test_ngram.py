"""N-gram models, against the definition of back-off, word by word."""

import math

import pytest
import torch

from fairseq_xling.data.arpa import read_arpa
from fairseq_xling.errors import UserError
from fairseq_xling.models.ngram import Ngram

WORDS = ["", "", "", "a", "b", "c", "new"]  # of a dictionary: the first three are special

MODEL = """\\data\\
ngram 1=6
ngram 2=5
ngram 3=2

\\1-grams:
-1.2\t<unk>
-99\t<s>\t-0.3
-0.9\t</s>
-0.6\ta\t-0.25
-0.7\tb\t-0.5
-1.1\tc

\\2-grams:
-0.4\t<s> a\t-0.1
-0.5\ta b\t-0.2
-0.8\tb a
-0.3\tb </s>
-0.2\ta a

\\3-grams:
-0.15\t<s> a b
-0.05\ta b </s>

\\end\\
"""


@pytest.fixture
def written(tmp_path):
    def write(text=MODEL):
        path = tmp_path / "model.arpa"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def table(path):
    """By words their log10 probability and back-off weight, read as simply as possible."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        parts = line.split("\t")
        if len(parts) > 1:
            found[tuple(parts[1].split())] = (float(parts[0]), float([*parts, "0"][2]))
    return found


def reference(found, before, word):
    """log10 p(word | before), by the definition."""
    word = word if (word,) in found else "<unk>"
    if (*before, word) in found:
        return found[(*before, word)][0]
    if not before:
        raise AssertionError("every word is a 1-gram")
    weight = found[before][1] if before in found else 0.0
    return weight + reference(found, before[1:], word)


def numbers(words):
    return torch.tensor([[WORDS.index(word) for word in words]])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_every_word_after_every_text_has_the_probability_of_the_definition(order, written):
    lines = MODEL.split("\n\n")
    text = "\n\n".join([lines[0], *lines[1 : order + 1], "\\end\\\n"])
    text = "\n".join(
        line for line in text.split("\n") if not line.startswith("ngram") or int(line[6]) <= order
    )
    path = written(text)
    model, found = Ngram(read_arpa(path), WORDS), table(path)
    assert model.order == order
    texts = [(), ("a",), ("b",), ("a", "b"), ("b", "a"), ("c", "a", "b"), ("new", "a"), ("c", "c")]
    for one in texts:
        before = model.start(1, 1)
        for word in one:
            before = model.extended(before, numbers([word]))
        known = tuple(word if (word,) in found else "<unk>" for word in ("<s>", *one))
        known = known[len(known) - order + 1 :] if order > 1 else ()
        scores = model.score(before, numbers(["a", "b", "c", "new"]))[0, 0]
        for word, score in zip(["a", "b", "c", "new"], scores.tolist(), strict=True):
            expected = reference(found, known, word) * math.log(10)
            assert score == pytest.approx(expected, abs=1e-5), (one, word)
        end = float(model.stop(before))
        assert end == pytest.approx(reference(found, known, "</s>") * math.log(10), abs=1e-5)


def test_prefixes_are_scored_together_as_alone(written):
    model = Ngram(read_arpa(written()), WORDS)
    before = model.start(2, 2)
    before = model.extended(before, torch.tensor([[3, 4], [5, 3]]))
    words = torch.tensor([[3, 4, 6], [4, 5, 3]])
    together = model.score(before, words)
    assert together.shape == (2, 2, 3)
    for row in range(2):
        for prefix in range(2):
            alone = model.score(before[row : row + 1, prefix : prefix + 1], words[row : row + 1])
            assert torch.equal(alone[0, 0], together[row, prefix])


@pytest.mark.parametrize("name", ["<unk>", "<UNK>", None])
def test_an_unknown_word_is_that_of_the_model_or_as_probable_as_its_rarest(name, written):
    text = MODEL.replace("<unk>", name or "<unk>")
    if name is None:
        text = text.replace("-1.2\t<unk>\n", "").replace("ngram 1=6", "ngram 1=5")
    model = Ngram(read_arpa(written(text)), WORDS)
    before = model.start(1, 1)
    rarest = -1.1 if name is None else -1.2  # that of "c": <s> has a smaller one, and is no word
    expected = (-0.3 + rarest) * math.log(10)
    assert model.score(before, numbers(["new"])) == pytest.approx(expected)
    after = model.extended(before, numbers(["new"]))
    assert model.score(after, numbers(["b"])) == pytest.approx(-0.7 * math.log(10))


def test_a_model_of_other_words_is_refused(written):
    with pytest.raises(UserError, match=r"m\.arpa: must be a model of text in pieces of this"):
        Ngram(read_arpa(written()), ["", "a", "x", "y"], "m.arpa")


def test_a_vocabulary_may_have_the_words_of_many_languages(written):
    Ngram(read_arpa(written()), [*WORDS, *(f"of another language {n}" for n in range(100))])


def test_an_order_without_ngrams_adds_nothing(written):
    lines = MODEL.split("\n\n")
    empty = [lines[0].replace("ngram 3=2", "ngram 3=0"), *lines[1:3], "\\3-grams:\n", "\\end\\\n"]
    model = Ngram(read_arpa(written("\n\n".join(empty))), WORDS)
    whole = Ngram(read_arpa(written()), WORDS)
    assert (model.order, whole.order) == (2, 3)
    for one in (model, whole):
        score = one.score(one.start(1, 1), numbers(["a"]))
        assert score == pytest.approx(-0.4 * math.log(10))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-0.5\ta b", "-0.5\tc b", r":23: the n-gram of this line must begin with an n-gram"),
        ("-0.2\ta a", "-0.2\ta b", r":19: the n-gram of this line is there twice"),
        ("-0.9\t</s>", "-0.9\tend", r"'</s>' is no 1-gram"),
        ("-99\t<s>\t-0.3", "-99\tstart\t-0.3", r"'<s>' is no 1-gram"),
    ],
)
def test_a_model_that_cannot_be_followed_is_refused(old, new, message, written):
    assert old in MODEL
    with pytest.raises(UserError, match=message):
        Ngram(read_arpa(written(MODEL.replace(old, new))), WORDS)


def test_a_model_needs_the_symbols_of_both_ends(written):
    lines = MODEL.split("\n\n")
    text = lines[0].split("\n")[:2]
    one = "\n".join(text) + "\n\n" + lines[1].replace("</s>", "x") + "\n\\end\\\n"
    with pytest.raises(UserError, match=r"must have the 1-gram </s>"):
        Ngram(read_arpa(written(one)), WORDS)
