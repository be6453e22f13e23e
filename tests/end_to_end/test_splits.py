"""A data folder with several sets to validate and to test on, read by every program."""

import random
import re

import pytest

from fairseq_xling import USER_DIR
from fairseq_xling.cli import main
from fairseq_xling.core.files import read_json
from fairseq_xling.papers.trelm.autoregressive import (
    autoregressive_command,
    link_translation_data,
)
from fairseq_xling.reports.record import read_record
from tests.end_to_end.engine import in_process, load, logged
from tests.records import rows

WORDS = "sun moon dog cat bird fish tree leaf red blue green one two three runs sees".split()
SIZES = {"train": 40, "valid": 8, "valid1": 5, "test": 9, "test1": 6}  # found in a folder
NAMED, NAMED_SIZE = "test12", 3  # named by options
COMMON = ["--user-dir", USER_DIR, "--cpu", "--num-workers", "0"]
MODEL = (
    "--task cdlm --arch tri_bert_tiny --criterion unified_lm --objectives cdlm,mlm "
    "--auxiliary order --encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32 "
    "--max-positions 40 --optimizer adam --lr 1e-3 --max-tokens 512 --max-update 2 "
    "--log-format json --log-interval 1 --no-progress-bar"
).split()


class Study:
    """Text, its data folder, and a model of two updates; ``printed`` is what training wrote."""

    def __init__(self, root):
        self.root, self.text, self.data = root, root / "text", root / "data"
        draw = random.Random(3)
        for split, count in SIZES.items():
            for lang, lines in self._draw(draw, count).items():
                for name in (f"mono/{split}.{lang}.txt", f"parallel/{split}.en-de.{lang}.txt"):
                    self._write(self.text / name, lines)
        named = self._draw(draw, NAMED_SIZE)
        files = [self._write(root / f"named.{lang}", lines) for lang, lines in named.items()]
        self.options = [
            *("--languages", "en,de", "--from", self.text, "--vocab-type", "word"),
            *("--vocab-size", "200", "--mono", f"{NAMED}.en={files[0]}"),
            *("--parallel", f"{NAMED}.en-de={files[0]},{files[1]}"),
        ]
        assert main(["prepare", str(self.data), *map(str, self.options)]) == 0
        self.printed = self.train("model", "valid,valid1")

    def _draw(self, draw, count):
        rows = [draw.sample(WORDS, draw.randint(2, 8)) for _ in range(count)]
        return {"en": rows, "de": [[f"x{word}" for word in row] for row in rows]}

    def _write(self, path, rows):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(" ".join(row) + "\n" for row in rows))
        return path

    @property
    def checkpoint(self):
        return self.root / "model" / "checkpoint_last.pt"

    def train(self, folder, subsets):
        options = ["--save-dir", self.root / folder, "--valid-subset", subsets]
        return in_process("train", self.data, *COMMON, *MODEL, *options)

    def generate(self, split):
        options = ["--task", "cdlm", "--path", self.checkpoint, "--gen-subset", split]
        return in_process("generate", self.data, *COMMON, *options, "--batch-size", "4")

    def refusal(self, call):
        """The one line of a program that is asked for a split that is not there."""
        with pytest.raises(SystemExit) as error:
            call()
        line = str(error.value)
        assert "\n" not in line
        return line.removeprefix(f"fairseq-xling: error: {self.data}: ")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("splits"))


THERE = "its splits are train, valid, valid1, test, test1, test12"


def test_every_set_is_in_the_folder_and_aligned(study):
    meta = read_json(study.data / "meta.json")
    sizes = {**SIZES, NAMED: NAMED_SIZE}
    assert {split: found["en"]["sentences"] for split, found in meta["mono"].items()} == sizes
    pairs = {split: found["en-de"] for split, found in meta["parallel"].items()}
    assert {split: found["pairs"] for split, found in pairs.items()} == sizes
    assert all(found["orders"] == ["en-de", "de-en"] for found in pairs.values())


def test_a_second_call_finds_the_folder_finished(study):
    before = (study.data / "meta.json").stat().st_mtime_ns
    assert main(["prepare", str(study.data), *map(str, study.options)]) == 0
    assert (study.data / "meta.json").stat().st_mtime_ns == before


def test_a_training_validates_on_each_set_and_chooses_by_the_first(study):
    losses = {name: logged(study.printed, name)[-1][f"{name}_loss"] for name in ("valid", "valid1")}
    assert losses["valid"] != losses["valid1"]
    study.train("swapped", "valid1,valid")
    for folder, first in (("model", "valid"), ("swapped", "valid1")):
        best = load(study.root / folder / "checkpoint_best.pt")["extra_state"]["best"]
        assert best == pytest.approx(losses[first], abs=1e-3)


@pytest.mark.parametrize("split", ["test", "test1", "test12"])
def test_each_set_is_translated_by_its_name(study, split):
    output = study.generate(split)
    assert f"Generate {split} with beam=5: BLEU" in output
    count = len(re.findall(r"^S-\d+\t", output, re.MULTILINE))
    assert count == {**SIZES, NAMED: NAMED_SIZE}[split]


def test_a_set_to_test_on_can_be_validated(study):
    output = in_process(
        "validate",
        *(study.data, *COMMON, "--task", "cdlm", "--path", study.checkpoint),
        *("--max-tokens", "512", "--valid-subset", "test1,valid1"),
    )
    assert "valid on 'test1' subset" in output and "valid on 'valid1' subset" in output


def test_measures_read_the_split_that_they_are_given(study, tmp_path):
    arguments = [str(study.checkpoint), "--data", str(study.data), "--measure", "retrieval,bpw"]
    arguments += ["--retrieval-split", "test1", "--bpw-split", "valid1"]
    assert main(["eval", *arguments, "--output", str(tmp_path / "e.json")]) == 0
    retrieval, bits = (one.title for one in read_record(tmp_path / "e.json").sections)
    assert "'test1' split" in retrieval and "'valid1' split" in bits
    (first, *_) = rows(tmp_path / "e.json", task="retrieval", target="de")
    assert first["chance"] == pytest.approx(1 / SIZES["test1"])


def test_the_ordinary_translation_model_reads_the_same_sets(study, tmp_path):
    """fairseq's own task refuses a folder with a validation set that is neither used nor waived."""
    links, save = tmp_path / "links", tmp_path / "save"
    link_translation_data(study.data, links, ("en", "de"))
    words = autoregressive_command(links, ("en", "de"), 1, 16, 512, 1)[1:]
    command = [save if word == "{out}" else word for word in words]
    in_process("train", *command, "--cpu", "--max-update", "1")
    output = in_process(
        *("generate", links, *COMMON, "--task", "translation", "-s", "en", "-t", "de"),
        *("--path", save / "checkpoint_last.pt", "--gen-subset", "test1", "--max-len-b", "10"),
        *("--batch-size", "4", "--required-batch-size-multiple", "1"),
    )
    assert f"Translated {SIZES['test1']} sentences" in output


def test_a_set_that_is_not_there_is_answered_in_one_line_with_those_that_are(study, capsys):
    line = study.refusal(lambda: study.generate("test2"))
    assert line.startswith(f"has no parallel 'test2' text of en-de; {THERE}; did you mean 'test1")
    line = study.refusal(lambda: study.train("none", "valid,valid2"))
    assert line.startswith(
        f"has no 'valid2' text for objective 'cdlm' (parallel) in en, de; {THERE}"
    )
    arguments = ["eval", str(study.checkpoint), "--data", str(study.data)]
    assert main([*arguments, "--measure", "retrieval", "--retrieval-split", "tset1"]) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert f"has no parallel 'tset1' text of en-de; {THERE}; did you mean 'test1'" in last
