"""`fairseq-xling embed` and `map` as a user types them, from text to mapped vectors."""

import re
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_xling.cli import main
from fairseq_xling.core.files import read_json
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.mapping.csls import csls_neighbours
from fairseq_xling.mapping.space import Space
from fairseq_xling.mapping.vectors_file import read_vectors
from fairseq_xling.verbs.map import read_outcome
from tests.end_to_end.engine import command, environment, run
from tests.records import rows

TRAIN = "--dim 32 --epochs 2"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A data folder of English and an artificial language, and vectors of each."""
    root = tmp_path_factory.mktemp("embed")
    options = "--languages en,xx --vocab union --vocab-type word --vocab-size 900 --aligner none"
    for words in (
        f"synthesize {root}/text --languages en,xx --sentences 2000 --held-out 20",
        f"prepare {root}/data --from {root}/text {options}",
        *(
            f"embed train {root}/data --output {root}/{lang}.safetensors --languages {lang} {TRAIN}"
            for lang in ("en", "xx")
        ),
    ):
        assert main(words.split()) == 0
    return root


@pytest.mark.slow
def test_vectors_are_the_same_whatever_the_hash_seed(study, monkeypatch):
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        assert environment()["PYTHONHASHSEED"] == seed
        output = study / f"hash{seed}.safetensors"
        arguments = ["--output", str(output), "--languages", "en", *TRAIN.split()]
        done = run("fairseq-xling", "embed", "train", str(study / "data"), *arguments)
        assert re.search(
            r"hash\d.safetensors: [\d,]+ subwords trained on [\d,]+ of en", done.stdout
        )
        assert output.read_bytes() == (study / "en.safetensors").read_bytes()
    found = read_vectors(study / "en.safetensors")
    folder = DataFolder(study / "data")
    assert len(found.vectors) == folder.vocab_sizes["en"]
    assert found.counts.sum() > 10_000


def test_more_threads_warn_that_results_vary(study):
    arguments = ["--output", str(study / "threads"), *"--threads 2 --dim 8 --epochs 1".split()]
    done = run("fairseq-xling", "embed", "train", str(study / "data"), *arguments)
    line = "fairseq-xling: warning: with `--threads` 2 two runs give different vectors"
    assert line in done.stdout.splitlines()
    assert read_vectors(study / "threads").settings["languages"] == ["en", "xx"]


@pytest.mark.slow
def test_skip_gram_killed_at_any_moment_ends_the_same(study):
    train = ["embed", "train", str(study / "data"), "--languages", "en", *"--dim 64".split()]
    run("fairseq-xling", *train, "--output", str(study / "whole"))
    cut = study / "cut"
    process = subprocess.Popen(
        command("fairseq-xling", *train, "--output", str(cut)),
        env=environment(),
        stderr=subprocess.DEVNULL,
    )
    while not Path(f"{cut}.work", "training.safetensors").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not cut.exists()
    run("fairseq-xling", *train, "--output", str(cut))
    assert read_json(f"{cut}.json")["resumed_after_epochs"] > 0
    assert cut.read_bytes() == (study / "whole").read_bytes()


def test_a_map_says_of_every_seed_whether_it_failed(study):
    output = study / "mapped.safetensors"
    done = run(
        *("fairseq-xling", "map", "adversarial", "--output", str(output), "--keep-failed"),
        *("--source-vectors", str(study / "en.safetensors")),
        *("--vectors", str(study / "xx.safetensors")),
        *"--chance 2 --seeds 1,2 --hidden 32 --epochs 2 --epoch-size 3200".split(),
    )
    for row in rows(f"{output}.json", measure="refined"):
        line = (
            rf"^ +{row['seed']} +0\.\d+ +{row['value']:.3f}.*{re.escape(row.get('failure', ''))}$"
        )
        assert re.search(line, done.stdout, re.M)
    mapped, plain = read_vectors(output), read_vectors(study / "xx.safetensors")
    np.testing.assert_allclose(mapped.vectors, plain.vectors @ mapped.map, atol=1e-4)


@pytest.mark.slow
def test_generated_german_finds_its_english_from_the_words_they_share(tmp_path):
    text, data = tmp_path / "text", tmp_path / "data"
    run("fairseq-xling", "synthesize", str(text), "--sentences", "10000", "--held-out", "20")
    options = "--languages en,de --vocab union --vocab-type word --vocab-size 2000 --aligner none"
    run("fairseq-xling", "prepare", str(data), "--from", str(text), *options.split())
    for lang in ("en", "de"):
        output = ["--output", str(tmp_path / lang), "--languages", lang, "--dim", "64"]
        run("fairseq-xling", "embed", "train", str(data), *output)
    vectors = ["--source-vectors", str(tmp_path / "en"), "--vectors", str(tmp_path / "de")]
    run("fairseq-xling", "map", "identical", *vectors, "--output", str(tmp_path / "mapped"))
    assert not read_outcome(tmp_path / "mapped.json")["failed"]

    english, german = read_vectors(tmp_path / "en"), read_vectors(tmp_path / "de")
    w = torch.from_numpy(read_vectors(tmp_path / "mapped").map)
    fixed, moving = (Space.of(each, "unit,centre,unit") for each in (english, german))
    nearest = csls_neighbours(moving.vectors @ w, fixed.vectors)[1][:, 0].tolist()
    right: dict[str, set[str]] = {}
    for line in (text / "dictionary" / "en-de.tsv").read_text(encoding="utf-8").splitlines():
        source, target, _ = line.split("\t")
        right.setdefault(f"▁{target}", set()).add(f"▁{source}")
    judged = [i for i, s in enumerate(moving.symbols[:500]) if right.get(s, set()) - {s}]
    found = [fixed.symbols[nearest[i]] in right[moving.symbols[i]] for i in judged]
    assert len(found) > 300
    assert sum(found) / len(found) > 0.5


@pytest.mark.slow
def test_inspect_shows_a_word_in_several_files(study):
    files = [str(study / "en.safetensors"), str(study / "xx.safetensors")]
    options = ["--word", "the", "--top", "20", "--output", str(study / "figures")]
    done = run("fairseq-xling", "embed", "inspect", *files, *options)
    for file in files:
        assert f"{file}: ▁the ~ " in done.stdout
    names = {file.name for file in (study / "figures").iterdir()}
    drawn = {f"{name}.svg" for name in ("histogram", "plane-1", "plane-2")}
    assert names == {*drawn, "nearest.md", "table.csv", "results.json", "report.html"}


def test_a_vec_file_takes_the_place_of_training(study):
    (study / "x.vec").write_text("2 2\n▁the 1 2\n▁a 3 4\n", encoding="utf-8")
    arguments = ["--languages", "en", "--vec", str(study / "x.vec")]
    arguments += ["--output", str(study / "vec")]
    done = run("fairseq-xling", "embed", "train", str(study / "data"), *arguments)
    assert re.search(
        r"vec: 2 subwords from .*x.vec, [\d,]+ missing \(\d+\.\d\d % of the", done.stdout
    )
