"""The ordinary translation model beside ours: its data, its command, its time."""

import shutil

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json, write_json
from fairseq_xling.papers.trelm.autoregressive_training import (
    autoregressive_step,
    link_translation_data,
)
from fairseq_xling.runs.step import Step, seconds_taken


@pytest.mark.parametrize("pair", [("en", "de"), ("de", "en")])
def test_fairseq_reads_the_same_sentences_in_either_direction(tiny_corpus, tmp_path, pair):
    from fairseq.data import Dictionary
    from fairseq.data.data_utils import load_indexed_dataset

    link_translation_data(tiny_corpus.path, tmp_path, pair)
    for side, lang in enumerate(("en", "de")):
        dictionary = Dictionary.load(str(tmp_path / f"dict.{lang}.txt"))
        stem = tmp_path / f"test.{'-'.join(pair)}.{lang}"
        found = load_indexed_dataset(str(stem), dictionary, "mmap")
        expected = [[*sentences[side], dictionary.eos()] for sentences in tiny_corpus.pairs["test"]]
        assert [row.tolist() for row in found] == expected


def test_a_second_call_links_again(tiny_corpus, tmp_path):
    for _ in range(2):
        link_translation_data(tiny_corpus.path, tmp_path, ("en", "de"))
    assert (tmp_path / "dict.en.txt").resolve() == (tiny_corpus.path / "dict.txt").resolve()


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
def test_it_trains_for_as_long_as_the_steps_it_is_compared_with(tmp_path, shared):
    steps = [Step(name, call=lambda: None) for name in ("one", "two")]
    for step, seconds in zip(steps, (1000.0, 800.0), strict=True):
        write_json(tmp_path / ".steps" / f"{step.name}.json", {"seconds": seconds})
    step = autoregressive_step(
        "peer",
        tmp_path,
        tmp_path / "save",
        tmp_path / "log",
        ("en", "de"),
        lambda: seconds_taken(tmp_path, steps),
        layers=2,
        dim=64,
        max_tokens=512,
        lr=1e-3,
        seed=1,
        shared=shared,
    )
    assert step.late() == ["--stop-time-hours", "0.5"]
    assert "--ignore-unused-valid-subsets" in step.commands[0]
    assert ("--share-all-embeddings" in step.commands[0]) == shared
    assert "--cpu" in step.commands[0]
