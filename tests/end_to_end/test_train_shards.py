"""Trainings on shards, as subprocesses: killed, resumed, in two processes, and of bad shards."""

import time

import pytest

from tests.conftest import build_corpus
from tests.end_to_end.engine import (
    assert_same_training,
    command,
    kill,
    load,
    run,
    run_until,
    start,
    training_options,
)

OPTIONS = (
    "--max-update 30 --epoch-updates 7 --save-interval-updates 4 --keep-interval-updates 1 "
    "--separate emb,1 --num-workers 1"
).split()
LAST = "checkpoint_last.pt"


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """A folder of three shards."""
    folder = tmp_path_factory.mktemp("cut")
    for number in range(3):
        build_corpus(folder / f"shard{number}", seed=number)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_killed_in_the_middle_of_shards_it_ends_with_the_same_parameters(cut, tmp_path, processes):
    undisturbed = training_options(cut, tmp_path / "undisturbed", *OPTIONS)
    run("fairseq-train", *undisturbed, processes=processes)
    options = training_options(cut, tmp_path / "killed", *OPTIONS)
    for update in (5, 14, 26):  # in the first shard, at the end of the second, in the first again
        assert run_until(
            rf'"num_updates": "{update}"',
            "fairseq-train",
            *options,
            log=tmp_path / f"killed{update}.log",
            processes=processes,
        )
    assert "Loaded checkpoint" in run("fairseq-train", *options, processes=processes).stdout
    assert_same_training(tmp_path / "undisturbed" / LAST, tmp_path / "killed" / LAST)


@pytest.mark.slow
def test_two_processes_train_on_shards_as_one_with_twice_the_batches(cut, tmp_path):
    extra = "--max-update 18 --epoch-updates 4 --dropout 0 --separate emb,1 --disable-validation"
    one, two = tmp_path / "one", tmp_path / "two"
    run("fairseq-train", *training_options(cut, one, *extra.split(), "--update-freq", "2"))
    run("fairseq-train", *training_options(cut, two, *extra.split()), processes=2)
    assert load(two / LAST)["extra_state"]["train_iterator"]["shards"] == 3
    assert_same_training(one / LAST, two / LAST, iterator=False)


def test_a_shard_that_disappears_ends_a_training_with_one_line(tmp_path):
    for number in range(2):
        build_corpus(tmp_path / "cut" / f"shard{number}", seed=number)
    data = f"{tmp_path}/cut/shard0:{tmp_path}/cut/shard1"
    options = training_options(
        data, tmp_path / "saved", "--epoch-updates", "40", "--max-epoch", "2"
    )
    log = tmp_path / "log"
    with open(log, "w") as output:
        process = start(command("fairseq-train", *options), output, output)
        try:
            deadline = time.monotonic() + 300
            while '"num_updates": "1"' not in log.read_text():
                assert time.monotonic() < deadline
                time.sleep(0.01)
            (tmp_path / "cut" / "shard1" / "meta.json").unlink()
            assert process.wait(300) == 1
        finally:
            kill(process)
    said = log.read_text()
    assert '"num_updates": "40"' in said and "Traceback" not in said
    assert said.strip().splitlines()[-1] == (
        f"fairseq-xling: error: {tmp_path}/cut/shard1: not a finished data folder (no meta.json); "
        f"run `fairseq-xling prepare {tmp_path}/cut/shard1`"
    )
