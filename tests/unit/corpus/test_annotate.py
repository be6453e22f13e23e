"""CoNLL-U by its own rules, and dictionaries that agree with the gold alignments."""

from collections import defaultdict

import pytest

from fairseq_xling.corpus.annotate import character_places, conllu, dictionary, tagged
from tests.unit.corpus.parallel import generate


def read(block):
    comments = [line for line in block.splitlines() if line.startswith("#")]
    rows = [line.split("\t") for line in block.splitlines() if line and line[0] != "#"]
    return comments, rows


def test_blocks_follow_the_rules_and_give_everything_back():
    for parallel in generate(["en", "de", "zh", "id", "xm"], 200, seed=1):
        for code, sentence in parallel.sentences.items():
            block = conllu(sentence, "s1")
            comments, rows = read(block)
            assert block.endswith("\n\n") and not block.endswith("\n\n\n")
            assert comments == ["# sent_id = s1", f"# text = {sentence.text}"]
            assert all(len(row) == 10 and all(row) for row in rows)
            assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
            for row, token in zip(rows, sentence.tokens, strict=True):
                misc = dict(part.split("=", 1) for part in row[9].split("|"))
                ours = token.form, token.upos, token.head, token.deprel
                assert (row[1], row[3], int(row[6]), row[7]) == ours
                assert misc.get("Entity", "O") == token.entity
                assert (row[6] == "0") == (row[7] == "root")
            columns = [line.split("\t") for line in tagged(sentence)[:-2].split("\n")]
            assert columns == [[t.form, t.upos, t.entity] for t in sentence.tokens]
            ends = ["" if "SpaceAfter=No" in row[9] else " " for row in rows[:-1]] + [""]
            text = "".join(row[1] + end for row, end in zip(rows, ends, strict=True))
            assert text == sentence.text, code


def test_character_places_cover_the_text_once():
    for parallel in generate(["zh", "en"], 300, seed=1):
        places = character_places(parallel.sentences["zh"])
        flat = [at for place in places for at in place]
        assert flat == list(range(len(flat)))
        english = character_places(parallel.sentences["en"])
        assert [list(place) for place in english] == [[i] for i in range(len(english))]


@pytest.mark.parametrize("pair", [("en", "de"), ("en", "zh"), ("id", "en"), ("en", "xx")])
def test_weights_of_a_source_word_add_up_to_one(pair):
    totals = defaultdict(float)
    for word, _, weight in dictionary(*pair):
        totals[word] += weight
    assert len(totals) > 400
    assert all(abs(total - 1) < 1e-9 for total in totals.values())


@pytest.mark.parametrize("other", ["de", "zh", "id", "xx"])
def test_aligned_content_words_are_in_the_dictionary(other):
    entries = defaultdict(set)
    for source, target, _ in dictionary("en", other):
        entries[source].add(target)
    checked = 0
    for parallel in generate(["en", other], 500, seed=2):
        english = parallel.sentences["en"].tokens
        foreign = parallel.sentences[other].tokens
        links = parallel.alignment("en", other)
        for i, j in links:
            alone = [one for one in links if one[0] == i or one[1] == j] == [(i, j)]
            if alone and english[i].upos in ("NOUN", "ADJ", "ADV") and english[i].form in entries:
                assert foreign[j].form in entries[english[i].form], english[i].form
                checked += 1
    assert checked > 500


def test_the_dictionary_of_a_relabelled_language_is_one_to_one():
    entries = dictionary("en", "xx")
    assert all(weight == 1 for _, _, weight in entries)
    assert len({s for s, _, _ in entries}) == len({t for _, t, _ in entries}) == len(entries)
