"""Pairs about roles: balanced, parallel, told by order alone, and apart between splits."""

from collections import Counter

import numpy as np
import pytest

from examples.clcr.write_roles import ROLES, draw_role, mix_text, write_roles
from fairseq_xling.core.errors import UserError
from fairseq_xling.corpus import LANGUAGES
from fairseq_xling.corpus.write import Settings, write_corpus


@pytest.fixture(scope="module")
def pairs():
    return [draw_role(1, index) for index in range(2000)]


def actors(pair):
    clause = pair.premise.main
    return [one.keys[0] for one in (clause.subject, clause.object, clause.obliques[0].phrase)]


def test_a_pair_depends_on_seed_and_number_alone(pairs):
    np.random.seed(5)
    assert draw_role(1, 77) == pairs[77] and draw_role(2, 77) != pairs[77]


def test_the_label_is_the_role_that_the_hypothesis_subject_has(pairs):
    assert Counter(pair.label for pair in pairs) == dict.fromkeys(ROLES, 500)
    for pair in pairs:
        about, three = pair.hypothesis.main.subject.keys[0], actors(pair)
        assert len(set(three)) == 3
        role = ROLES[three.index(about)] if about in three else "absent"
        assert role == pair.label


def test_no_word_of_the_hypothesis_has_a_role_of_its_own(pairs):
    words = Counter((pair.hypothesis.main.subject.keys[0], pair.label) for pair in pairs)
    nouns = {noun for noun, _ in words}
    best = sum(max(words[noun, role] for role in ROLES) for noun in nouns)
    assert best / len(pairs) < 0.4  # 70 nouns seen 29 times each; chance is 0.25


def test_german_and_chinese_name_the_getter_before_what_is_given():
    pair = next(p for p in map(draw_role, [1] * 400, range(400)) if p.premise.main.verb == "show")
    for code, getter_first in (("en", False), ("de", True), ("zh", True)):
        tokens = LANGUAGES[code].sentence(pair.premise).tokens
        concepts = [token.concept for token in tokens]
        _, given, getter = actors(pair)
        assert (concepts.index(f"{getter}.n") < concepts.index(f"{given}.n")) == getter_first


def test_files_are_parallel_and_no_held_out_premise_is_trained_on(tmp_path):
    write_roles(tmp_path, ["en", "zh"], train=40, held_out=12)
    rows = {
        (split, code): [
            line.split("\t")
            for line in (tmp_path / f"roles.{split}.{code}.tsv").read_text().splitlines()
        ]
        for split in ("train", "valid", "test")
        for code in ("en", "zh")
    }
    assert [len(rows[split, "en"]) for split in ("train", "valid", "test")] == [40, 12, 12]
    for split in ("train", "valid", "test"):
        labels = [[row[2] for row in rows[split, code]] for code in ("en", "zh")]
        assert labels[0] == labels[1] == [ROLES[n % 4] for n in range(len(labels[0]))]
    premises = [{row[0] for row in rows[split, "en"]} for split in ("train", "valid", "test")]
    assert not premises[0] & premises[1] and not premises[1] & premises[2]
    with pytest.raises(UserError, match=r"roles\.test: must have at least 1 pair, got 0"):
        write_roles(tmp_path, ["en"], train=4, held_out=0)


def test_sentences_are_mixed_into_the_training_text_with_their_alignment(tmp_path):
    settings = Settings(("en", "de", "zh"), 10, 10, 5, annotated=1)
    corpus = write_corpus(settings, tmp_path / "corpus", progress=False)
    mixed = mix_text(corpus, ["en", "de", "zh"], 6, tmp_path / "mixed")
    for name in ("mono/valid.de.txt", "parallel/test.en-zh.zh.txt"):
        assert (mixed / name).read_bytes() == (corpus / name).read_bytes()
    names = ("en-de.en.txt", "en-de.de.txt", "en-de.pharaoh", "en-zh.zh.txt", "en-zh.pharaoh")
    read = {name: (mixed / "parallel" / f"train.{name}").read_text() for name in names}
    lines = {name: text.splitlines() for name, text in read.items()}
    assert {len(found) for found in lines.values()} == {16}
    english, german, links = (lines[f"en-de.{name}"] for name in ("en.txt", "de.txt", "pharaoh"))
    for line, other, link in zip(english[10:], german[10:], links[10:], strict=True):
        words, theirs = line.split(), other.split()
        pairs = [tuple(map(int, pair.split("-"))) for pair in link.split()]
        assert (len(words) - 1, len(theirs) - 1) in pairs  # the stop
        given, getter = words.index("to") - 1, words.index("to") + 2
        (first,), (second,) = ([j for i, j in pairs if i == one] for one in (getter, given))
        assert first < second
    characters = [len(line.replace(" ", "")) for line in lines["en-zh.zh.txt"][10:]]
    ends = [max(int(p.split("-")[1]) for p in row.split()) for row in lines["en-zh.pharaoh"][10:]]
    assert [n - 1 for n in characters] == ends  # every character counts, the stop is the last
    assert mix_text(corpus, ["en", "de", "zh"], 6, tmp_path / "mixed") == mixed
