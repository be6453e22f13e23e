"""Pairs about roles: balanced, parallel, told by order alone, and apart between splits."""

from collections import Counter

import numpy as np
import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.text.synthetic import LANGUAGES
from fairseq_xling.text.synthetic.roles import ROLES, draw_role, write_roles


@pytest.fixture(scope="module")
def pairs():
    return [draw_role(1, index) for index in range(2000)]


def actors(pair):
    clause = pair.premise.main
    return [one.keys[0] for one in (clause.subject, clause.object, clause.obliques[0].phrase)]


def test_a_pair_depends_on_seed_and_number_alone(pairs):
    np.random.seed(5)
    assert draw_role(1, 77) == pairs[77] and draw_role(2, 77) != pairs[77]


@pytest.mark.row("C15")
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
