"""The training text of a translator that learns from a teacher."""

from pathlib import Path

import numpy as np
import pytest
from fairseq.data import Dictionary

from fairseq_xling.data.folder import SEP, DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.papers.trelm.data import with_translations
from fairseq_xling.papers.trelm.run import trelm_steps
from fairseq_xling.papers.trelm.teacher import SHARDS, of_model

PAIR = ("en", "de")


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
    for side, other in zip(
        after.parallel("test", *PAIR), before.parallel("test", *PAIR), strict=True
    ):
        assert rows(side) == rows(other)


@pytest.mark.parametrize("change", [-1, 1])
def test_there_is_a_translation_for_each_pair(tiny_corpus, tmp_path, change):
    count = len(DataFolder(tiny_corpus.path).parallel("train", *PAIR)[0]) + change
    with pytest.raises(ValueError, match="zip"):
        with_translations(
            tiny_corpus.path, tmp_path / "new", PAIR, iter([np.array([7, SEP])] * count), False
        )


def written(tiny_corpus, folder, left_out=()):
    """Two outputs of fairseq-generate in another order, and the words in them by number."""
    folder_of = DataFolder(tiny_corpus.path)
    words = Dictionary.load(str(folder_of.dictionary_path("de")))
    count = len(folder_of.parallel("train", *PAIR)[0])
    texts = {n: [words[7 + n % 3]] * (n % 4) for n in range(count) if n not in left_out}
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
    assert found == [ids[n] for n in range(len(ids))]


def test_sentences_that_were_not_translated_are_counted(tiny_corpus, tmp_path):
    files, ids = written(tiny_corpus, tmp_path, left_out=(2, 5))
    count = len(ids) + 2
    with pytest.raises(UserError, match=f"2 of {count} training sentences have no translation"):
        next(of_model(tiny_corpus.path, PAIR, files))


def test_a_teacher_is_trained_once_and_also_translates(config, facts):
    settings = config(
        transfer_steps=3, translator_steps=3, teacher="autoregressive", autoregressive_patience=2
    )
    steps = {step.name: step for step in trelm_steps(Path("run"), settings, {"de": facts()})}
    shards = [name for name in steps if name.startswith("teacher-de-1-")]
    assert len(shards) == SHARDS
    assert all(steps["taught-de-1"].reads(steps[name]) for name in shards)
    assert steps["translator-de-1"].reads(steps["taught-de-1"])
    assert [name for name in steps if "autoregressive" in name] == [
        *("autoregressive-data-de", "autoregressive-de-1", "translate-autoregressive-de-1")
    ]
    assert "--patience" in steps["autoregressive-de-1"].commands[0]
    assert steps["autoregressive-de-1"].late is None


def test_a_finished_teacher_translates_and_chooses_among_what_the_search_finds(
    config, facts, tmp_path
):
    model = tmp_path / "model.pt"
    model.touch()
    settings = config(transfer_steps=3, translator_steps=3, slot_beam=7, teacher=str(model))
    steps = {step.name: step for step in trelm_steps(Path("run"), settings, {"de": facts()})}
    assert not any(name.startswith("autoregressive-de") for name in steps)
    (command,) = steps["translate-teacher-de-1"].commands
    assert command[command.index("--beam") + 1] == "5"
    assert command[command.index("--gen-subset") + 1] == "test"
    assert steps["translate-teacher-de-1"].reads(steps["teacher-de"])
    (command,) = steps["translate-lattice-rescored-de-1"].commands
    assert command[command.index("--rescore") + 1] == str(model)
    assert model in steps["translate-lattice-rescored-de-1"].inputs


@pytest.mark.parametrize("name", ["model.pt", "lines.txt"])
def test_a_teacher_that_is_given_translates_once_for_all_seeds(config, facts, tmp_path, name):
    (given := tmp_path / name).touch()
    settings = config(transfer_steps=3, translator_steps=3, teacher=str(given), seeds="1,2")
    steps = {step.name: step for step in trelm_steps(Path("run"), settings, {"de": facts()})}
    of_teacher = [one for one in steps if one.startswith(("teacher", "taught"))]
    model = ["teacher-de", *(f"teacher-de-{n + 1}of{SHARDS}" for n in range(SHARDS))]
    assert of_teacher == [*(model if name == "model.pt" else []), "taught-de"]
    for seed in (1, 2):
        assert steps[f"translator-de-{seed}"].reads(steps["taught-de"])


def test_a_search_with_an_n_gram_model_is_compared_with_one_without(config, facts, tmp_path):
    (model := tmp_path / "de.arpa").touch()
    settings = config(
        transfer_steps=3, translator_steps=3, slot_beam=7, autoregressive=True, ngram=str(model)
    )
    steps = {step.name: step for step in trelm_steps(Path("run"), settings, {"de": facts()})}
    rows = [name for name in steps if name.startswith("translate-lattice")]
    names = (
        "lattice",
        "lattice-beam",
        "lattice-rescored",
        "lattice-ngram",
        "lattice-ngram-rescored",
    )
    assert rows == [f"translate-{name}-de-1" for name in names]
    led = [name for name in rows if "--ngram" in steps[name].commands[0]]
    assert led == rows[3:] and all(model in steps[name].inputs for name in led)
    assert "--rescore" in steps[led[1]].commands[0] and "--rescore" not in steps[led[0]].commands[0]


def test_a_search_with_an_n_gram_model_has_the_values_that_suit_the_validation_text(
    config, facts, tmp_path
):
    (model := tmp_path / "de.arpa").touch()
    given = {"transfer_steps": 3, "translator_steps": 3, "slot_beam": 7, "ngram": str(model)}
    steps = {step.name: step for step in trelm_steps(tmp_path, config(**given), {"de": facts()})}
    (command,) = steps["tune-de-1"].commands
    assert command[-4:] == ["--ngram", str(model), "--slot-beam", "7"]
    assert model in steps["tune-de-1"].inputs
    led, alone = steps["translate-lattice-ngram-de-1"], steps["translate-lattice-beam-de-1"]
    assert led.reads(steps["tune-de-1"]) and alone.late is None
    record = tmp_path / "results" / "tune-de-1.json"
    assert record in led.inputs and record in steps["tune-de-1"].outputs
    write_json(record, {"ngram": {"chosen": {"weight": 0.6, "bonus": 2.0}}})
    assert led.late() == ["--ngram-weight", "0.6", "--ngram-bonus", "2.0"]

    # A model that rescores, too; without the n-gram model it has its defaults.
    peer = config(**given, autoregressive=True)
    steps = {step.name: step for step in trelm_steps(tmp_path, peer, {"de": facts()})}
    tune, both = steps["tune-de-1"], steps["translate-lattice-ngram-rescored-de-1"]
    (command,), (rescores,) = tune.commands, both.commands
    other = rescores[rescores.index("--rescore") + 1]
    assert command[-6:] == ["--ngram", str(model), "--rescore", other, "--slot-beam", "7"]
    assert tune.reads(steps["autoregressive-de-1"]) and both.reads(tune)
    found = {"ngram": {"weight": 0.6, "bonus": 2.0}, "rescore": {"weight": 0.7, "bonus": 1.5}}
    write_json(record, {name: {"chosen": values} for name, values in found.items()})
    rescored = ["--rescore-weight", "0.7", "--rescore-bonus", "1.5"]
    assert both.late() == ["--ngram-weight", "0.6", "--ngram-bonus", "2.0", *rescored]
    assert steps["translate-lattice-ngram-de-1"].late() == both.late()[:4]
    assert steps["translate-lattice-rescored-de-1"].late is None
    # Without an n-gram model they are those of the search alone.
    alone = config(**(given | {"ngram": ""}), autoregressive=True)
    steps = {step.name: step for step in trelm_steps(tmp_path, alone, {"de": facts()})}
    assert steps["translate-lattice-rescored-de-1"].late() == rescored
    assert steps["translate-lattice-beam-de-1"].late is None

    without = facts(parallel={"train", "test"})  # nothing to choose them by
    steps = {step.name: step for step in trelm_steps(tmp_path, config(**given), {"de": without})}
    assert "tune-de-1" not in steps and steps["translate-lattice-ngram-de-1"].late is None


@pytest.mark.parametrize("autoregressive", [False, True])
def test_a_search_is_a_further_translation_and_so_is_what_another_model_chooses(
    autoregressive, config, facts
):
    settings = config(
        transfer_steps=3, translator_steps=3, slot_beam=7, autoregressive=autoregressive
    )
    steps = {step.name: step for step in trelm_steps(Path("run"), settings, {"de": facts()})}
    rows = [name for name in steps if name.startswith("translate-lattice")]
    rescored = ["translate-lattice-rescored-de-1"] if autoregressive else []
    assert rows == ["translate-lattice-de-1", "translate-lattice-beam-de-1", *rescored]
    plain, beam = (steps[name].commands[0] for name in rows[:2])
    assert "--slot-beam" not in plain and beam[beam.index("--slot-beam") + 1] == "7"
    for name in rescored:
        (command,) = steps[name].commands
        model = Path(command[command.index("--rescore") + 1])
        assert steps[name].reads(steps["autoregressive-de-1"])
        assert model.parent in steps["autoregressive-de-1"].outputs
