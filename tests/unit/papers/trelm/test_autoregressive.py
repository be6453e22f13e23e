"""The ordinary translation model beside ours: its data, its command, its time, its search."""

import shutil

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.papers.trelm.autoregressive import (
    choose_penalty,
    chosen_penalty,
    link_translation_data,
)
from fairseq_xling.papers.trelm.run import trelm_steps


@pytest.mark.parametrize("pair", [("en", "de"), ("de", "en")])
def test_fairseq_reads_the_same_sentences_in_either_direction(tiny_corpus, tmp_path, pair):
    from fairseq.data import Dictionary
    from fairseq.data.data_utils import load_indexed_dataset

    for _ in range(2):  # a second call links again
        link_translation_data(tiny_corpus.path, tmp_path, pair)
    assert (tmp_path / "dict.en.txt").resolve() == (tiny_corpus.path / "dict.txt").resolve()
    for side, lang in enumerate(("en", "de")):
        dictionary = Dictionary.load(str(tmp_path / f"dict.{lang}.txt"))
        stem = tmp_path / f"test.{'-'.join(pair)}.{lang}"
        found = load_indexed_dataset(str(stem), dictionary, "mmap")
        expected = [[*sentences[side], dictionary.eos()] for sentences in tiny_corpus.pairs["test"]]
        assert [row.tolist() for row in found] == expected


def test_every_split_is_linked_whichever_way_round_it_was_prepared(make_corpus, tmp_path):
    path = make_corpus().path
    meta = read_json(path / "meta.json")
    for split in ("valid1", "test1"):
        meta["parallel"][split] = {"de-en": meta["parallel"]["test"]["en-de"]}
        for file in (path / "parallel").glob("test.en-de.??.*"):
            name = file.name.replace("test.en-de", f"{split}.de-en")
            shutil.copyfile(file, file.with_name(name))
    write_json(path / "meta.json", meta)
    link_translation_data(path, tmp_path / "links", ("en", "de"))
    for name in ("train.en-de.en.bin", "test1.en-de.en.idx", "valid1.en-de.de.bin"):
        assert (tmp_path / "links" / name).is_file()
    first, second = (tmp_path / "links" / f"{x}.en-de.de.bin" for x in ("test", "test1"))
    assert first.read_bytes() == second.read_bytes()


def test_text_without_the_pair_is_refused(tiny_corpus, tmp_path):
    with pytest.raises(UserError) as error:
        link_translation_data(tiny_corpus.path, tmp_path, ("en", "fr"))
    assert str(error.value) == f"{tiny_corpus.path}: has no parallel 'train' text of en-fr"


@pytest.mark.parametrize("shared", [True, False])
def test_it_trains_for_as_long_as_the_steps_it_is_compared_with(config, facts, tmp_path, shared):
    known = {"de": facts(dictionaries=(("en", "de"),) if shared else (("en",), ("de",)))}
    steps = trelm_steps(tmp_path, config(autoregressive=True), known)
    (step,) = (step for step in steps if step.name == "autoregressive-de-1")
    for name, seconds in (("commonality-de-1", 1000.0), ("forward-de-1", 800.0)):
        write_json(tmp_path / ".steps" / f"{name}.json", {"seconds": seconds})
    for name in ("prepare-de", "backward-de-1"):  # which it does not build on, or both need
        write_json(tmp_path / ".steps" / f"{name}.json", {"seconds": 5.0})
    assert step.late() == ["--stop-time-hours", "0.5"]
    assert "--ignore-unused-valid-subsets" in step.commands[0]
    assert ("--share-all-embeddings" in step.commands[0]) == shared
    assert "--cpu" in step.commands[0]


REFERENCES = ["a b c d e", "f g h i"]
GIVEN = {"transfer_steps": 3, "translator_steps": 3, "autoregressive_lenpens": "0.6,1"}


@pytest.mark.parametrize("changed", [{"autoregressive_lenpens": ""}, {}])
def test_without_values_or_a_validation_text_nothing_is_tried(planned, facts, changed):
    text = facts(**({} if changed else {"parallel": {"train": (), "test": ()}}))
    steps = planned({"de": text}, **(GIVEN | changed), autoregressive=True)
    assert not [name for name in steps if name.startswith("lenpen")]
    assert steps["translate-autoregressive-de-1"].late is None


def outputs(folder, texts):
    for number, text in enumerate(texts):
        lines = [
            f"{kind}-{n}\t{'-1.0' + chr(9) if kind == 'D' else ''}{line}\n"
            for kind, side in (("S", REFERENCES), ("T", REFERENCES), ("D", text))
            for n, line in enumerate(side)
        ]
        (folder / f"{number}.txt").write_text("".join(lines))
        yield folder / f"{number}.txt"


def test_the_highest_bleu_is_chosen_and_what_was_tried_is_kept(tmp_path):
    texts = [["a b c", "f g h i"], REFERENCES, ["a b c d e x", "f g h i x"]]
    files = list(outputs(tmp_path, texts))
    choose_penalty([0.6, 1.4, 1.8], files, "13a", tmp_path / "found.json")
    found = read_json(tmp_path / "found.json")
    assert [one["lenpen"] for one in found["tried"]] == [0.6, 1.4, 1.8]
    assert found["tried"][1]["bleu"] == pytest.approx(100)
    assert found["chosen"] == 1.4 and "tok:13a" in found["signature"]
    assert chosen_penalty(tmp_path / "found.json") == ["--lenpen", "1.4"]
    files = list(outputs(tmp_path, [REFERENCES] * 3))
    choose_penalty([0.2, 1.2, 2.0], files, "13a", tmp_path / "found.json")
    assert read_json(tmp_path / "found.json")["chosen"] == 1.2  # the nearest to 1 among equals
