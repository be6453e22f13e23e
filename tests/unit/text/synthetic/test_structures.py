"""Relations and events of the corpus: the same in every language, and what the meaning says."""

import json
from collections import Counter

import pytest

from fairseq_xling.text.synthetic import LANGUAGES
from fairseq_xling.text.synthetic.structures import annotate, draw_structure
from fairseq_xling.text.synthetic.write import Settings, write_corpus
from fairseq_xling.transfer.formats.conllu import tree_fault

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


@pytest.mark.row("E13")
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


def test_the_words_of_a_trigger_are_a_verb_and_an_agent_is_its_subject(annotated):
    right = total = 0
    for lines in annotated:
        line = lines["en"]
        for one in line["arguments"]:
            a, b = line["triggers"][one["trigger"]]["span"]
            assert any(line["upos"][place] in ("VERB", "ADJ") for place in range(a, b))
            if one["role"] == "Agent":
                first, end = line["entities"][one["entity"]]["span"]
                total += 1
                right += any(line["deprels"][n].startswith("nsubj") for n in range(first, end))
    # Of two subjects that are joined, the second is a conjunct.
    assert total > 100 and right / total > 0.8


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


def test_splits_share_no_sentence_and_files_depend_on_the_seed_alone(tmp_path):
    settings = Settings(("en", "zh"), sentences=10, held_out=20, annotated=0, structures=60)
    one, other = (
        write_corpus(settings, tmp_path / name, progress=False) for name in ("one", "other")
    )
    for code in ("en", "zh"):
        texts = {}
        for split, count in (("train", 60), ("valid", 20), ("test", 20)):
            name = f"gold/structures.{split}.{code}.jsonl"
            assert (one / name).read_bytes() == (other / name).read_bytes()
            lines = [json.loads(line) for line in (one / name).read_text().splitlines()]
            texts[split] = {" ".join(line["words"]) for line in lines}
            assert len(lines) == count
        assert not texts["train"] & (texts["valid"] | texts["test"])
        assert not texts["valid"] & texts["test"]


def test_a_corpus_without_them_is_as_it_was(tmp_path):
    settings = Settings(("en", "de"), sentences=5, held_out=2, annotated=2)
    folder = write_corpus(settings, tmp_path / "corpus", progress=False)
    assert not list(folder.rglob("structures*"))
    assert "structures" not in json.loads((folder / "provenance.json").read_text())["settings"]
