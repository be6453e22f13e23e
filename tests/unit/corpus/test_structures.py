"""Relations and events of the corpus: the same in every language, and what the meaning says."""

import json
from collections import Counter

import pytest

from fairseq_xling.corpus import LANGUAGES, write
from fairseq_xling.corpus.corpus import sampler
from fairseq_xling.corpus.inventory import EVENT_CLASSES, GIVING, REPORTING
from fairseq_xling.corpus.meaning import PART
from fairseq_xling.corpus.structures import annotate, clauses, draw_structure, mention_type, phrases
from fairseq_xling.corpus.write import Settings, write_corpus
from fairseq_xling.tasks.formats.conllu import tree_fault

CODES = ("en", "de", "zh", "id")


@pytest.fixture(scope="module")
def drawn():
    """(meaning, its sentence in each language) of some."""
    meanings = [draw_structure(1, n, "default", LANGUAGES["en"].sentence) for n in range(150)]
    return [(one, {code: LANGUAGES[code].sentence(one) for code in CODES}) for one in meanings]


@pytest.fixture(scope="module")
def annotated(drawn):
    return [
        {code: annotate(meaning, sentences[code], "x") for code in CODES}
        for meaning, sentences in drawn
    ]


def named(line):
    """The annotation without places: types and labels by the types of what they join."""
    entities = [one["type"] for one in line["entities"]]
    triggers = [one["type"] for one in line["triggers"]]
    return {
        "entities": Counter(entities),
        "triggers": Counter(triggers),
        "relations": Counter(
            (entities[one["from"]], entities[one["to"]], one["label"]) for one in line["relations"]
        ),
        "arguments": Counter(
            (triggers[one["trigger"]], entities[one["entity"]], one["role"])
            for one in line["arguments"]
        ),
    }


def test_all_languages_have_the_same_mentions_events_roles_and_relations(annotated):
    for lines in annotated:
        first = named(lines["en"])
        assert all(named(line) == first for line in lines.values())


def test_trees_are_whole_and_spans_lie_in_the_sentence_apart_from_each_other(annotated):
    for lines in annotated:
        for line in lines.values():
            assert tree_fault(line["heads"]) is None
            assert len({len(line[name]) for name in ("words", "upos", "heads", "deprels")}) == 1
            taken = [range(*one["span"]) for one in line["entities"]]
            assert all(len(span) and span.stop <= len(line["words"]) for span in taken)
            places = [place for span in taken for place in span]
            assert len(places) == len(set(places))


def head_of(line, span):
    """The place of the one word of a span whose head lies outside it."""
    a, b = span
    (place,) = (n for n in range(a, b) if not a < line["heads"][n] <= b)
    return place


def edge(line, one, other):
    """How a word hangs on another: its relation, or the lack of an edge."""
    place, above = head_of(line, one["span"]), head_of(line, other["span"])
    while line["deprels"][place] == "conj":  # of two that are joined, the second hangs on the first
        place = line["heads"][place] - 1
    return line["deprels"][place] if line["heads"][place] == above + 1 else "no edge"


@pytest.mark.parametrize("code", CODES)
def test_roles_and_relations_are_edges_of_the_tree_that_say_the_same(annotated, code):
    expected = {"Agent": "nsubj", "Theme": "obj", "Place": "obl"}
    expected["Recipient"] = "iobj" if code == "de" else "obl"  # the German dative
    for line in (lines[code] for lines in annotated):
        entities, triggers = line["entities"], line["triggers"]
        for one in triggers:
            assert line["upos"][head_of(line, one["span"])] == "VERB"
        for one in line["arguments"]:
            found = edge(line, entities[one["entity"]], triggers[one["trigger"]])
            assert found == expected[one["role"]], line
        for one in line["relations"]:
            ends = entities[one["from"]], entities[one["to"]]
            # An owner hangs on what is owned, a place on the person or organisation.
            assert edge(line, *(ends if one["label"] == "owner" else ends[::-1])) == "nmod", line


@pytest.mark.parametrize("code", CODES)
def test_spans_are_the_words_of_what_the_meaning_names(drawn, annotated, code):
    """A slow second way: the tokens that realise the phrases' and verbs' own slots."""
    for (meaning, sentences), lines in zip(drawn, annotated, strict=True):
        line, tokens = lines[code], sentences[code].tokens
        slots = [set(token.slots) for token in tokens]
        for clause in clauses(meaning):
            found = [
                one for one in line["triggers"] if clause.id in slots[head_of(line, one["span"])]
            ]
            assert [one["type"] for one in found] == (
                [EVENT_CLASSES[clause.verb]] if clause.verb else []
            )
        named = [phrase for clause in clauses(meaning) for phrase, _ in phrases(clause)]
        named += [phrase.origin.phrase for phrase in named if phrase.origin]
        named += [phrase.owner for phrase in named if phrase.owner]
        spans = {}
        for phrase in filter(mention_type, named):
            own = [n for n, held in enumerate(slots) if held & {phrase.id, phrase.id + PART}]
            spans[own[0], own[-1] + 1] = mention_type(phrase)
            assert own == list(range(own[0], own[-1] + 1))
        assert {tuple(one["span"]): one["type"] for one in line["entities"]} == spans


def test_every_verb_of_the_corpus_has_a_class_and_no_class_a_verb_that_is_not():
    source = sampler("default")
    verbs = {frame.verb for topic in source.topics for frame in topic.frames}
    assert set(EVENT_CLASSES) == verbs | set(REPORTING)
    assert set(GIVING) <= verbs


def test_there_is_something_of_each_kind_and_pairs_without_any(annotated):
    labels, candidates = Counter(), 0
    for lines in annotated:
        line = lines["de"]
        labels.update(one["label"] for one in line["relations"])
        labels.update(one["role"] for one in line["arguments"])
        candidates += len(line["entities"]) * (len(line["entities"]) - 1)
    assert set(labels) == {"origin", "owner", "seat", "Agent", "Theme", "Recipient", "Place"}
    assert min(labels.values()) >= 5
    assert candidates > 3 * sum(labels[name] for name in ("origin", "owner", "seat"))


FEW = 120  # meanings, so that each is drawn for several splits


def of_few(seed, index, domain, english):
    return draw_structure(seed, index % FEW, domain, english)


def test_splits_share_no_sentence_and_files_depend_on_the_seed_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "draw_structure", of_few)
    settings = Settings(("en", "zh"), sentences=10, held_out=20, annotated=0, structures=60)
    one, other = (write_corpus(settings, tmp_path / name, progress=False) for name in "ab")
    keys = {}  # what sentences say, without tense and articles, by language and split
    for code in ("en", "zh"):
        texts = {}
        for split, count in (("train", 60), ("valid", 20), ("test", 20)):
            name = f"gold/structures.{split}.{code}.jsonl"
            assert (one / name).read_bytes() == (other / name).read_bytes()
            lines = [json.loads(line) for line in (one / name).read_text().splitlines()]
            texts[split] = {" ".join(line["words"]) for line in lines}
            assert len(lines) == count
            english = LANGUAGES["en"].sentence
            keys[code, split] = {
                of_few(1, int(line["id"]), "default", english).key() for line in lines
            }
        assert not texts["train"] & (texts["valid"] | texts["test"])
        assert not texts["valid"] & texts["test"]
    # Nor a meaning, in whatever language.
    for split in ("valid", "test"):
        assert len(keys["en", split]) == 20 and keys["en", split] == keys["zh", split]
        assert not keys["en", split] & (keys["en", "train"] | keys["zh", "train"])
    assert not keys["en", "valid"] & keys["en", "test"]


def test_a_corpus_without_them_is_as_it_was(tmp_path):
    settings = Settings(("en", "de"), sentences=5, held_out=2, annotated=2)
    folder = write_corpus(settings, tmp_path / "corpus", progress=False)
    assert not list(folder.rglob("structures*"))
    assert "structures" not in json.loads((folder / "provenance.json").read_text())["settings"]
