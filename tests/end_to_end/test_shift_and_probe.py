"""`fairseq-xling mean`, `translate mds` and `probe` on a model that fairseq-train has just made."""

import json

import pytest
import torch

from fairseq_xling.analysis.mean_file import read_mean
from fairseq_xling.cli import main
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.record import read_record
from fairseq_xling.reports.rows import GIVEN, select
from tests.end_to_end.engine import in_process, load, small_model
from tests.records import rows as recorded
from tests.records import values


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Text, a data folder with one vocabulary, and a model of it; Indonesian is a third language
    that no test asks for."""
    root = tmp_path_factory.mktemp("shift")
    languages = "--languages en,de,id"
    options = f"{languages} --from {root}/text --vocab union --vocab-type word --vocab-size 1000"
    for words in (
        f"synthesize {root}/text {languages} --sentences 200 --held-out 40",
        f"prepare {root}/data {options} --aligner none",
    ):
        assert main(words.split()) == 0
    in_process("train", *small_model(root / "data", root / "model", "--max-update", "10"))
    return root


DE = object()  # the German text
GRID = ["--layers", "1", "--alphas", "1", "--reference", DE]


def model(study):
    return [str(study / "model" / "checkpoint_last.pt"), "--data", str(study / "data")]


def text(study, lang, split="valid"):
    return str(study / "text" / "mono" / f"{split}.{lang}.txt")


def mean(study, output, lang, *options):
    assert main(["mean", *model(study), "--lang", lang, *options, "--output", str(output)]) == 0
    return read_mean(output)


def translate(study, output, *options):
    given = ["--from", "en", "--to", "de", "--text", text(study, "en"), "--output", str(output)]
    return main(["translate", "mds", *model(study), *given, *map(str, options)])


def fails(capsys, status):
    """The single line that the command prints for bad input."""
    assert status == 1
    lines = capsys.readouterr().err.strip().splitlines()
    ours = [line for line in lines if line.startswith("fairseq-xling: error:")]
    assert len(ours) == 1 and lines[-1] == ours[0]
    return ours[0]


def test_means_of_a_text_and_of_the_split_made_from_it_are_one(study, tmp_path, capsys):
    found = mean(study, tmp_path / "text", "de", "--text", text(study, "de"))
    assert "de, " in capsys.readouterr().out
    split = mean(study, tmp_path / "split", "de", "--split", "valid", "--max-tokens", "100")
    assert found.mean.shape == (3, 16) and found.tokens == split.tokens > 200
    torch.testing.assert_close(found.mean, split.mean, atol=1e-6, rtol=0)
    assert found.about["sentences"] == 40
    assert set(found.about["provenance"]["inputs"]) == {"checkpoint", "data", "text"}


def test_one_translation_with_given_means_or_with_those_of_the_split(study, tmp_path, capsys):
    reference = ["--reference", text(study, "de")]
    assert translate(study, tmp_path / "a.txt", "--layer", 2, "--alpha", 1, *reference) == 0
    assert "convert rate" in capsys.readouterr().out
    files = [tmp_path / lang for lang in ("de", "en")]
    for file in files:
        mean(study, file, file.name, "--text", text(study, file.name))
    options = ["--layer", 2, "--alpha", 1, *reference, "--means", *files]
    assert translate(study, tmp_path / "b.txt", *options) == 0
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()
    first, second = (read_record(tmp_path / f"{x}.txt.json") for x in "ab")
    assert first.rows == second.rows
    assert len((tmp_path / "a.txt").read_text().splitlines()) == 40
    own = select(first.rows, {"setting": None})
    scores = {row["measure"]: row["value"] for row in own}
    assert scores["convert rate"] == pytest.approx(
        scores["converted"] / (scores["tokens"] - scores["shared"])
    )
    assert 0 < first.facts["common"] < min(first.facts["sizes"])
    (third,) = select(own, {"measure": "in another language"})
    assert third["of"] == "id" and 0 < third["value"] <= scores["neither"] < scores["tokens"]
    assert set(first.provenance) == {"command", "date", "inputs", "machine", "versions"}
    names = {"a.txt", "a.txt.json", "b.txt", "b.txt.json", "en", "de"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_grid_is_a_table_that_grows_and_alpha_zero_is_its_row_without_shift(study, tmp_path):
    output, reference = tmp_path / "grid", ["--reference", text(study, "de")]
    assert translate(study, output, "--layers", "1-2", "--alphas", "1", *reference) == 0
    names = {path.name for path in (output / "cells").glob("*.txt")}
    assert names == {"no-shift.txt", "layer01-alpha1.txt", "layer02-alpha1.txt"}
    before = {path: path.stat().st_mtime_ns for path in (output / "cells").iterdir()}
    means = {path: path.stat().st_mtime_ns for path in (output / "means").iterdir()}
    options = ["--layers", "1-2", "--alphas=1,-2", "--fixed", "2,3", *reference]
    assert translate(study, output, *options) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before  # not computed again
    assert {path: path.stat().st_mtime_ns for path in means} == means
    cells = recorded(output, measure="BLEU-1 precision", setting=None)
    assert len(cells) == 6
    chosen = recorded(output, measure="BLEU-1 precision", setting=GIVEN)
    assert [row["setting"] for row in chosen] == ["no shift", "best", "fixed"]
    assert chosen[1]["value"] == max(row["value"] for row in cells if row["layer"])
    assert (output / "plot.svg").read_text().count("<svg") == 1
    assert translate(study, tmp_path / "zero.txt", "--layer", 1, "--alpha", 0, *reference) == 0
    plain = (output / "cells" / "no-shift.txt").read_bytes()
    assert (tmp_path / "zero.txt").read_bytes() == plain


def test_a_grid_of_another_text_is_not_mixed_with_this_one(study, tmp_path, capsys):
    options = ["--layers", "1", "--alphas", "1", "--reference"]
    assert translate(study, tmp_path / "grid", *options, text(study, "de")) == 0
    capsys.readouterr()
    line = fails(capsys, translate(study, tmp_path / "grid", *options, text(study, "en")))
    assert "must be a new folder; it contains something else" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layer", "1"], "`--layer` and `--alpha` belong together, got one of them"),
        ([], "give `--layer` and `--alpha`, or `--layers` and `--alphas` for a grid"),
        (["--layers", "1", "--alphas", "1"], "a grid (`--layers`) needs `--reference`"),
        (["--layer", "3", "--alpha", "1"], "`--layer` must lie in [1, 2], got 3"),
        (["--layer", "1", "--alpha", "1", "--to", "en"], "`--from` and `--to` must be two lang"),
        (["--layer", "1", "--alpha", "1", "--to", "fr"], "not on 'fr'"),
        (["--layer", "1", "--alpha", "1", "--reference", __file__], "must have the 40 lines of"),
        (["--layer", "1", "--alpha", "1e30"], "`--alpha` 1e+30 is too large: the states overflow"),
        (["--layer", "1", "--alpha", "1", "--means-split", "no"], "has no monolingual 'no' text"),
        ([*GRID, "--means", __file__, __file__], "not a safetensors file, or damaged"),
        ([*GRID, "--fixed", "1,1,2"], "`--fixed` must be LAYER,ALPHA such as 11,3, got '1,1,2'"),
        ([*GRID, "--tokenizer", "ja-mecab"], "`tokenizer` ja-mecab: cannot be used here"),
    ],
)
def test_mistakes_of_translate_are_one_line(study, tmp_path, capsys, options, message):
    assert message in fails(
        capsys,
        translate(study, tmp_path / "out", *[text(study, "de") if o is DE else o for o in options]),
    )
    assert not list(tmp_path.iterdir())


def test_means_of_another_model_are_refused(study, tmp_path, capsys):
    mean(study, tmp_path / "en", "en", "--split", "valid")
    other = tmp_path / "other.pt"
    state = load(study / "model" / "checkpoint_last.pt")
    torch.save({**state, "last_optimizer_state": None}, other)
    options = ["--layer", "1", "--alpha", "1", "--means", tmp_path / "en", tmp_path / "en"]
    given = ["--data", str(study / "data"), "--from", "en", "--to", "de"]
    given += ["--text", text(study, "en"), "--output", str(tmp_path / "out"), *map(str, options)]
    line = fails(capsys, main(["translate", "mds", str(other), *given]))
    assert "the mean of another model than" in line
    line = fails(capsys, translate(study, tmp_path / "out", *options))
    assert "`--means` must name a file for each language, got none of 'de'" in line


def test_a_random_direction_is_another_shift_and_the_same_for_its_seed(study, tmp_path, capsys):
    options = ["--layer", "1", "--alpha", "40"]
    for name, more in (("mean", []), ("one", [1]), ("again", [1]), ("other", [2])):
        control = ["--random-direction", *more] if more else []
        assert translate(study, tmp_path / name, *options, *control) == 0
    mean, one, again, other = (
        (tmp_path / n).read_text() for n in ("mean", "one", "again", "other")
    )
    assert one == again and len({mean, one, other}) == 3
    folder = tmp_path / "grid"
    grid = ["--layers", "1", "--alphas", "1", "--reference", text(study, "de")]
    assert translate(study, folder, *grid) == 0
    line = fails(capsys, translate(study, folder, *grid, "--random-direction", "1"))
    assert "must be a new folder; it contains something else" in line


@pytest.fixture(scope="module")
def rows(study):
    """Parts of speech of the gold files as probing rows, by split and language."""
    found = {}
    for split in ("train", "valid", "test"):
        for lang in ("en", "de"):
            found[split, lang] = study / f"{split}.{lang}.jsonl"
            gold = str(study / "text" / "gold" / f"{split}.{lang}.conllu")
            options = ["--task", "pos", "--output", str(found[split, lang])]
            assert main(["probe", "convert", gold, *options]) == 0
    return found


def probe(study, rows, output, *options):
    given = ["--train", f"en={rows['train', 'en']}", "--valid", f"en={rows['valid', 'en']}"]
    given += ["--test", f"en={rows['test', 'en']}", "--test", f"de={rows['test', 'de']}"]
    return main(["probe", *model(study), *given, "--output", str(output), *options])


@pytest.mark.slow
def test_a_probe_of_each_layer_finds_parts_of_speech_and_leaves_predictions(study, rows, tmp_path):
    output = tmp_path / "out"
    options = ["--layers", "0-1", "--lr", "1e-2", "--epochs", "20", "--hidden", "32"]
    assert probe(study, rows, output, *options) == 0
    name = "en.test.en.jsonl"
    found = recorded(output, task=name, measure="F1", seed=GIVEN)
    assert len(found) == 2 and all(row["value"] > row["chance"] + 20 for row in found)
    assert not (output / "states").exists() and (output / "plot.svg").is_file()
    (predicted,) = output.glob(f"predictions/layer00-*/{name}")
    gold = [json.loads(line) for line in rows["test", "en"].read_text().splitlines()]
    ours = [json.loads(line) for line in predicted.read_text().splitlines()]
    labels = [[target["label"] for row in x for target in row["targets"]] for x in (gold, ours)]
    ours = [[one] if isinstance(one, str) else one for one in labels[1]]
    right = sum(a in b for a, b in zip(labels[0], ours, strict=True))
    assert (right, len(labels[0])) == (found[0]["right"], found[0]["gold"])
    before = {path: path.stat().st_mtime_ns for path in output.glob("probes/*")}
    assert probe(study, rows, output, *options, "--layers", "0-2") == 0  # one layer more
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(list(output.glob("probes/*"))) == 3


def test_a_mixture_says_how_much_of_each_layer_it_takes(study, rows, tmp_path, capsys):
    options = ["--layers", "all", "--mix", "--epochs", "2", "--classifier", "linear"]
    assert probe(study, rows, tmp_path / "out", *options, "--seeds", "1,2") == 0
    assert "seed 2 mixes layers 0: " in capsys.readouterr().out
    for seed in (1, 2):
        assert sum(values(tmp_path / "out", measure="share", seed=seed)) == pytest.approx(100)
    _, table = parts(read_record(tmp_path / "out"))
    _, line = table.shown[1]
    assert line[0] == "mix" and len(line[1].values) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mix"], "`--mix` needs several `--layers`, got 2"),
    ],
)
def test_mistakes_of_probe_are_one_line(study, rows, tmp_path, capsys, options, message):
    capsys.readouterr()
    assert message in fails(capsys, probe(study, rows, tmp_path / "out", *options))
    assert not list(tmp_path.iterdir())
