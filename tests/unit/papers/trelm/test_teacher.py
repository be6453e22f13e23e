"""The training text of a translator that learns from a teacher."""

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary

from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SEP, DataFolder
from fairseq_xling.papers.trelm.data import with_translations
from fairseq_xling.papers.trelm.teacher import SHARDS, check_autoregressive, of_model
from tests.autoregressive_model import save_autoregressive

PAIR = ("en", "de")
SHORT = {"transfer_steps": 3, "translator_steps": 3}


def rows(file):
    return [file[i].tolist() for i in range(len(file))]


@pytest.mark.parametrize("original", [False, True])
def test_only_the_translations_of_the_training_text_change(tiny_corpus, tmp_path, original):
    before = DataFolder(tiny_corpus.path)
    sources, references = map(rows, before.parallel("train", *PAIR))
    count = len(sources)
    ids = [[7 + n % 5, SEP] for n in range(count)]
    ids[3] = [SEP]  # the teacher wrote nothing: the reference stays
    with_translations(tiny_corpus.path, tmp_path / "new", PAIR, iter(map(np.array, ids)), original)
    after = DataFolder(tmp_path / "new")
    found = [*map(rows, after.parallel("train", *PAIR))]
    expected = [*ids[:3], references[3], *ids[4:]]
    assert found[0] == sources * (1 + original)
    assert found[1] == expected + (references if original else [])
    meta = after.meta["parallel"]["train"]["en-de"]
    assert (meta["pairs"], meta["orders"]) == (len(found[0]), [])
    assert meta["tokens"]["de"] == sum(map(len, found[1]))
    assert not after.is_aligned("train", *PAIR) and not after.is_aligned("train", *PAIR[::-1])
    assert before.is_aligned("train", *PAIR)
    assert rows(after.mono("train", "de")) == rows(before.mono("train", "de"))
    for one in range(2):
        assert rows(after.parallel("test", *PAIR)[one]) == rows(before.parallel("test", *PAIR)[one])


@pytest.mark.parametrize("count", [19, 21])
def test_there_is_a_translation_for_each_pair(tiny_corpus, tmp_path, count):
    ids = iter([np.array([7, SEP])] * count)
    with pytest.raises(ValueError, match="zip"):
        with_translations(tiny_corpus.path, tmp_path / "new", PAIR, ids, False)


def written(tiny_corpus, folder, left_out=()):
    """Two outputs of fairseq-generate in another order, and the words in them by number."""
    words = Dictionary.load(str(DataFolder(tiny_corpus.path).dictionary_path("de")))
    texts = {n: [words[7 + n % 3]] * (n % 4) for n in range(20) if n not in left_out}
    files = []
    for shard in range(2):
        lines = []
        for n in sorted(texts, reverse=True):
            if n % 2 == shard:
                text = " ".join(texts[n])
                lines += [f"S-{n}\tH-7 x", f"H-{n}\t-0.5\t{text}", f"D-{n}\t-0.5\tother"]
        files.append(folder / f"{shard}.txt")
        files[-1].write_text("\n".join([*lines, "Generate train with beam=5: BLEU4 = 1"]) + "\n")
    return files, {n: [*map(words.index, text), SEP] for n, text in texts.items()}


def test_what_shards_have_written_is_read_in_the_order_of_the_text(tiny_corpus, tmp_path):
    files, ids = written(tiny_corpus, tmp_path)
    found = [row.tolist() for row in of_model(tiny_corpus.path, PAIR, files)]
    assert found == [ids[n] for n in range(20)]
    files, _ = written(tiny_corpus, tmp_path, left_out=(2, 5))
    with pytest.raises(UserError, match="2 of 20 training sentences have no translation"):
        next(of_model(tiny_corpus.path, PAIR, files))


def test_a_teacher_is_trained_once_and_also_translates(planned):
    steps = planned(**SHORT, teacher="autoregressive", autoregressive_patience=2)
    assert [name for name in steps if "autoregressive" in name] == [
        *("autoregressive-data-de", "autoregressive-de-1", "translate-autoregressive-de-1")
    ]
    assert "--patience" in steps["autoregressive-de-1"].commands[0]
    assert steps["autoregressive-de-1"].late is None


@pytest.mark.parametrize("name", ["model.pt", "lines.txt"])
def test_a_teacher_that_is_given_translates_once_for_all_seeds(planned, tmp_path, name):
    (given := tmp_path / name).touch()
    steps = planned(**SHORT, teacher=str(given), seeds="1,2")
    of_teacher = [one for one in steps if one.startswith(("teacher", "taught"))]
    model = ["teacher-de", *(f"teacher-de-{n + 1}of{SHARDS}" for n in range(SHARDS))]
    assert of_teacher == [*(model if name == "model.pt" else []), "taught-de"]
    for seed in (1, 2):
        assert steps[f"translator-de-{seed}"].reads(steps["taught-de"])
    assert not any(name.startswith("autoregressive-de") for name in steps)
    if name == "model.pt":  # which also translates
        assert steps["translate-teacher-de-1"].reads(steps["teacher-de"])


@pytest.fixture
def changed(tiny_corpus, tmp_path):
    """A checkpoint whose contents a function has changed."""

    def write(change):
        path = tmp_path / "changed.pt"
        save_autoregressive(path, tiny_corpus.path)
        state = load_plain(path)
        change(state)
        torch.save(state, path)
        return path

    return write


def of_another_task(state):
    state["cfg"]["task"]["_name"] = "cdlm"


def of_fewer_words(state):
    table = state["model"]["decoder.embed_tokens.weight"]
    state["model"]["decoder.embed_tokens.weight"] = table[1:]


@pytest.mark.parametrize(
    ("change", "pair", "rule"),
    [
        (lambda state: None, PAIR[::-1], "must translate de-en, got en-de"),
        (of_another_task, PAIR, "must be a model of `--task translation`, got 'cdlm'"),
        (of_fewer_words, PAIR, "must have the vocabulary of .*, 86 words of 'de', got 85"),
    ],
)
def test_a_model_of_another_direction_task_or_vocabulary_is_refused(
    tiny_corpus, changed, change, pair, rule
):
    with pytest.raises(UserError, match=f"^`--teacher` .*: {rule}$"):
        check_autoregressive(changed(change), tiny_corpus.path, pair, "--teacher")


@pytest.mark.parametrize("place", ["where it was trained", "beside it"])
def test_a_model_of_as_many_other_words_is_refused(tiny_corpus, tmp_path, changed, place, caplog):
    folder = tmp_path / "trained on" if place == "where it was trained" else tmp_path
    folder.mkdir(exist_ok=True)
    path = changed(lambda state: state["cfg"]["task"].update(data=str(folder)))
    check_autoregressive(path, tiny_corpus.path, PAIR, "--teacher")
    assert "its words cannot be compared with those of" in caplog.text
    caplog.clear()
    for lang in PAIR:
        lines = DataFolder(tiny_corpus.path).dictionary_path(lang).read_text()
        (folder / f"dict.{lang}.txt").write_text(lines)
    check_autoregressive(path, tiny_corpus.path, PAIR, "--teacher")
    assert caplog.text == ""
    *others, one, last = lines.splitlines(keepends=True)
    (folder / "dict.de.txt").write_text("".join([*others, last, one]))
    rule = (
        r"^`--teacher` .*changed\.pt: must have the vocabulary of .*; word \d+ of 'de' is '.*' th"
    )
    with pytest.raises(UserError, match=rule):
        check_autoregressive(path, tiny_corpus.path, PAIR, "--teacher")
    (folder / "dict.de.txt").write_text("no dictionary\n")
    with pytest.raises(UserError, match=r"dict\.de\.txt:1: must be a symbol, a space and a count"):
        check_autoregressive(path, tiny_corpus.path, PAIR, "--teacher")


def test_files_that_are_no_checkpoints_are_refused(tiny_corpus, tmp_path):
    (tmp_path / "text.pt").write_text("text")
    for name, line in (("none.pt", "none.pt: no such checkpoint"), ("text.pt", "text.pt: ")):
        with pytest.raises(UserError, match=line):
            check_autoregressive(tmp_path / name, tiny_corpus.path, PAIR, "--teacher")
