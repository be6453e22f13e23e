"""`fairseq-xling prepare --shards` as a user calls it, compared with one data folder."""

import os
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from fairseq_xling.data.folder import DataFolder
from tests.end_to_end.engine import BIN, apart, launch
from tests.slurm_stand_in import write_stand_in

SHARDS = 3


def call(*arguments):
    return launch([BIN / "fairseq-xling", *map(str, arguments)], timeout=300)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """The text, `whole` and `cut` into shards."""
    folder = tmp_path_factory.mktemp("shards")
    done = call(
        *["synthesize", folder / "text", "--languages", "en,de", "--sentences", 150],
        *["--held-out", 20, "--parallel-sentences", 100],
    )
    assert done.returncode == 0, done.stderr
    for links in (folder / "text" / "parallel").glob("*.pharaoh"):
        links.unlink()
    assert call(*options(folder, "whole")).returncode == 0
    done = call(*options(folder, "cut"), "--shards", SHARDS, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{folder / 'cut'}: 3 shards, shard0 to shard2"
    return folder


def options(folder: Path, out: str) -> list:
    command = ["prepare", folder / out, "--languages", "en,de", "--from", folder / "text"]
    return [*command, "--vocab-size", 300]


def texts(folder: DataFolder, split: str) -> dict[str, list[list[int]]]:
    """Every sentence and its links, by file."""
    files = {f"mono {lang}": folder.mono(split, lang) for lang in ("en", "de")}
    for name, side in zip(("en", "de"), folder.parallel(split, "en", "de"), strict=True):
        files[f"parallel {name}"] = side
    files["forward"] = folder.order(split, "en", "de")
    files["reverse"] = folder.order(split, "de", "en")
    return {name: [file[k].tolist() for k in range(len(file))] for name, file in files.items()}


def test_shards_are_the_sentences_links_and_vocabulary_of_one_folder(world):
    whole = DataFolder(world / "whole")
    cut = [DataFolder(world / "cut" / f"shard{k}") for k in range(SHARDS)]
    for shard in cut:
        assert shard.meta["dictionaries"] == whole.meta["dictionaries"]
        for name in ("dict.txt", "sentencepiece.model", "anchors.en.json", "anchors.de.json"):
            assert (shard.path / name).read_bytes() == (whole.path / name).read_bytes(), name
        assert shard.meta["vocab"] == whole.meta["vocab"]
    parts = [texts(shard, "train") for shard in cut]
    for name, sentences in texts(whole, "train").items():
        assert list(chain(*(part[name] for part in parts))) == sentences, name
        sizes = np.array([len(part[name]) for part in parts])
        assert sizes.max() - sizes.min() <= 1
    assert texts(cut[0], "valid") == texts(whole, "valid")
    assert cut[0].splits == whole.splits and cut[1].splits == ["train"]
    checked = call("check", cut[1].path)
    assert checked.returncode == 0, checked.stderr


def test_a_repeated_call_makes_only_the_shard_that_is_missing(world):
    meta = world / "cut" / "shard1" / "meta.json"
    kept, before = meta.read_bytes(), (world / "cut" / "shard2" / "meta.json").stat().st_mtime_ns
    meta.unlink()
    done = call(*options(world, "cut"), "--shards", SHARDS, "--workers", 1)
    assert done.returncode == 0, done.stderr
    states = {line.partition("] ")[2].split(" in ")[0] for line in done.stdout.splitlines()[:-1]}
    skipped = {"models: done before", "shard0: done before", "shard2: done before"}
    assert states == {*skipped, "shard1 ...", "shard1: done"}
    assert meta.read_bytes() == kept
    assert (world / "cut" / "shard2" / "meta.json").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--jobs", 2, "--part", "shard0"], "`--part` needs `--shards`"),
        (["--launcher", "slurm"], "`--launcher` needs `--shards`"),
        (["--shards", 2], "was begun with `--shards` 3, not 2"),
        (["--shards", 3, "--seed", 2], "was begun with `--seed` 1, not 2"),
        (["--shards", 101], "`--shards` must be at most the number of lines of each training text"),
        (["--shards", 3, "--part", "shard3"], "`--part`: unknown part 'shard3'"),
        (
            ["--shards", 3, "--aligner", "eflomal"],
            "`--shards` needs an aligner that keeps its parameters (fast_align), or none",
        ),
    ],
)
def test_bad_calls_end_with_one_line(world, more, message):
    done = call(*options(world, "cut"), *more)
    assert done.returncode == 1
    assert message in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_shard_is_refused_for_text_that_has_changed(world):
    file = world / "text" / "mono" / "train.en.txt"
    content, time = file.read_bytes(), file.stat()
    try:
        file.write_bytes(content + b"more\n")
        done = call(*options(world, "cut"), "--shards", SHARDS, "--part", "shard1")
    finally:
        file.write_bytes(content)
        os.utime(file, ns=(time.st_atime_ns, time.st_mtime_ns))
    assert done.returncode == 1
    assert "was made of text that has changed; repeat with `--overwrite`" in done.stderr


def test_a_shard_of_blank_lines_is_refused(tmp_path):
    (tmp_path / "en.txt").write_text("one dog\n" * 20 + "\n" * 20, encoding="utf-8")
    command = ["prepare", tmp_path / "out", "--languages", "en", "--vocab-type", "word"]
    command += ["--mono", f"train.en={tmp_path / 'en.txt'}", "--shards", 2, "--part"]
    assert call(*command, "models").returncode == 0
    assert call(*command, "shard0").returncode == 0
    done = call(*command, "shard1")
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == (
        f"fairseq-xling: error: {tmp_path}/out/shard1: its lines of mono/train.en are all blank; "
        "choose fewer `--shards`"
    )


def test_columns_of_tables_are_cut_as_files_of_text_are(tmp_path):
    text = tmp_path / "train.jsonl"
    lines = [f"a dog runs {number}" for number in range(40)]
    text.write_text("".join(f'{{"text": "{line}"}}\n' for line in lines), encoding="utf-8")
    given = ["--languages", "en", "--mono", f"train.en={text}:text", "--vocab-type", "word"]
    done = call("prepare", tmp_path / "cut", *given, "--shards", 2)
    assert done.returncode == 0, done.stderr
    assert call("prepare", tmp_path / "whole", *given).returncode == 0
    cut = [DataFolder(tmp_path / "cut" / f"shard{k}").mono("train", "en") for k in range(2)]
    whole = DataFolder(tmp_path / "whole").mono("train", "en")
    assert [len(part) for part in cut] == [20, 20]
    found = [part[k].tolist() for part in cut for k in range(20)]
    assert found == [whole[k].tolist() for k in range(40)]


@pytest.mark.slow
def test_every_shard_is_a_job_of_a_cluster(world, tmp_path):
    pytest.importorskip("submitit")
    environment = {**apart(), **write_stand_in(tmp_path / "slurm")}
    command = [BIN / "fairseq-xling", *options(world, "jobs"), "--shards", SHARDS]
    command += ["--launcher", "slurm", "--launcher-args", "partition=tests,poll_s=1"]
    done = launch(list(map(str, command)), env=environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "slurm" / "last").read_text().strip() == "4"  # the models and the shards
    for number in range(SHARDS):
        names = ["cut", "jobs"]
        one, other = (DataFolder(world / name / f"shard{number}").meta for name in names)
        assert one["files"] == other["files"]
