"""Relabelled, permuted, split and merged English."""

from fairseq_xling.corpus.languages.artificial import Merged, Permuted, Split, rename
from fairseq_xling.corpus.realiser import Token
from tests.unit.corpus.parallel import generate

SAMPLE = list(generate(["en", "xx", "yy", "xp", "xs", "xm"], 700, seed=1))


def token(form, head, deprel, slots, upos="X"):
    return Token(form, form, upos, head, deprel, "O", form, slots)


def test_relabelling_is_a_bijection_and_keeps_everything_else():
    forth, back = {}, {}
    for parallel in SAMPLE:
        english, other = parallel.sentences["en"].tokens, parallel.sentences["xx"].tokens
        assert len(english) == len(other)
        for old, new in zip(english, other, strict=True):
            assert forth.setdefault(old.form, new.form) == new.form
            assert back.setdefault(new.form, old.form) == old.form
            assert old[2:] == new[2:]
    assert len(forth) > 500


def test_relabelled_languages_share_no_word_with_english():
    words = {
        code: {word for parallel in SAMPLE for word in parallel.sentences[code].words}
        for code in ("en", "xx", "yy", "xp", "xs", "xm")
    }
    for code in ("xx", "yy", "xp", "xs", "xm"):
        assert words["en"] & words[code] == set()
    assert words["xx"] & words["yy"] <= {"!", ";"}


def test_another_seed_is_another_renaming_and_the_same_seed_the_same():
    words = ["cat", "dog", "house", "tree"]
    assert rename(words, 1) == rename(reversed(words), 1)
    assert rename(words, 1) != rename(words, 2)


def test_the_permuted_language_is_head_final_and_permutes():
    moved = 0
    for parallel in SAMPLE:
        english, other = parallel.sentences["en"], parallel.sentences["xp"]
        links = parallel.alignment("en", "xp")
        assert len(english.tokens) == len(other.tokens)
        assert {i for i, _ in links} == {i for i, t in enumerate(english.tokens) if t.slots}
        moved += sum(i != j for i, j in links) / len(links)
        for number, word in enumerate(other.tokens[:-1], start=1):
            assert word.head == 0 or word.head > number
        assert other.tokens[-1].upos == "PUNCT"
    assert moved / len(SAMPLE) > 0.6


def test_a_permutation_made_by_hand():
    # the(2) cat(3) sees(0) mice(3) .(3): dependents first, later ones before earlier ones
    tokens = [token("the", 2, "det", (1,)), token("cat", 3, "nsubj", (2,))]
    tokens += [token("sees", 0, "root", (3,)), token("mice", 3, "obj", (4,))]
    tokens += [token(".", 3, "punct", (5,), "PUNCT")]
    found = Permuted("zz", 1).arrange(tokens)
    assert [(t.form, t.head) for t in found] == [
        ("mice", 4),
        ("the", 3),
        ("cat", 4),
        ("sees", 0),
        (".", 4),
    ]


def test_a_split_made_by_hand_aligns_both_halves():
    tokens = [token("the", 2, "det", (1,)), token("katze", 3, "nsubj", (2,), "NOUN")]
    tokens += [token("sieht", 0, "root", (3,), "VERB")]
    found = Split("zz", 1).arrange(tokens)
    assert [(t.form, t.head, t.deprel, t.slots) for t in found] == [
        ("the", 2, "det", (1,)),
        ("kaq", 4, "nsubj", (2,)),
        ("xtze", 2, "fixed", (2,)),
        ("siq", 0, "root", (3,)),
        ("xeht", 4, "fixed", (3,)),
    ]


def test_split_words_are_aligned_one_to_many():
    for parallel in SAMPLE[:300]:
        links = parallel.alignment("en", "xs")
        for i, word in enumerate(parallel.sentences["en"].tokens):
            targets = sorted(j for k, j in links if k == i)
            expected = 0 if not word.slots else 2 if word.upos in ("NOUN", "VERB") else 1
            assert len(targets) == expected
            assert targets == list(range(targets[0], targets[0] + expected)) if targets else True


def test_different_words_are_split_differently():
    pairs = {}
    for parallel in SAMPLE:
        renamed = iter(parallel.sentences["xs"].tokens)
        for word in parallel.sentences["en"].tokens:
            first = next(renamed).form
            second = next(renamed).form if word.upos in ("NOUN", "VERB") else ""
            assert pairs.setdefault((first, second), word.form) == word.form


def test_a_merge_made_by_hand_unites_slots_and_heads():
    tokens = [token("in", 3, "case", (1,), "ADP"), token("the", 3, "det", (2,), "DET")]
    tokens += [token("house", 4, "obl", (3,), "NOUN"), token("sleeps", 0, "root", (4,), "VERB")]
    found = Merged("zz", 1).arrange(tokens)
    assert [(t.form, t.head, t.deprel, t.slots) for t in found] == [
        ("inqtheqhouse", 2, "obl", (1, 2, 3)),
        ("sleeps", 0, "root", (4,)),
    ]


def test_merged_words_are_aligned_many_to_one():
    for parallel in SAMPLE[:300]:
        links = parallel.alignment("en", "xm")
        english = parallel.sentences["en"].tokens
        assert all(sum(k == i for k, _ in links) == 1 for i, t in enumerate(english) if t.slots)
        for i, word in enumerate(english[:-1]):
            if word.upos == "DET":
                mine = [j for k, j in links if k == i]
                assert mine == [j for k, j in links if k == i + 1]
