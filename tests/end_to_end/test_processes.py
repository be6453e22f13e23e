"""Several processes of one training: how they meet, and what happens if one dies."""

import contextlib
import re
import socket
import time

import psutil
import pytest

from tests.end_to_end.engine import (
    BIN,
    apart,
    assert_same_training,
    environment,
    meeting_place,
    run,
    start,
    training_options,
)

LAST = "checkpoint_last.pt"
SAVING = (
    "--max-update 40 --epoch-updates 16 --save-interval-updates 5 --keep-interval-updates 1 "
    "--separate emb,1 --disable-validation"
).split()
ENDLESS = "--max-epoch 90000 --epoch-updates 16 --disable-validation --no-save".split()


def end(process):
    """Kill what is left of ``process`` and of what it has started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        first = psutil.Process(process.pid)
        for member in [*first.children(recursive=True), first]:
            member.kill()
    process.wait(timeout=30)


@contextlib.contextmanager
def torchrun(log, *arguments, restarts=0):
    """A running torchrun of two processes, each its own, that writes into ``log``."""
    command = [
        *(BIN / "torchrun", "--standalone", "--nproc_per_node", 2, "--max-restarts", restarts),
        *(BIN / "fairseq-train", *arguments),
    ]
    with open(log, "w") as output:
        env = {**apart(), "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
        process = start(command, output, output, env=env)
        try:
            yield process
        finally:
            end(process)


@contextlib.contextmanager
def two(folder, *arguments, **variables):
    """Two processes of one training and where each writes."""
    common = meeting_place()
    with contextlib.ExitStack() as stack:
        processes, logs = [], [folder / f"rank{rank}.log" for rank in range(2)]
        for rank, log in enumerate(logs):
            output = stack.enter_context(open(log, "w"))
            own = {"WORLD_SIZE": "2", "RANK": str(rank), "LOCAL_RANK": str(rank)}
            env = {**environment(), **common, **own, **variables}
            processes.append(start([BIN / "fairseq-train", *arguments], output, output, env=env))
            stack.callback(end, processes[-1])
        yield processes, logs


def wait_for(pattern, log, seconds=60):
    deadline = time.monotonic() + seconds
    while not re.search(pattern, text := log.read_text(errors="replace")):
        assert time.monotonic() < deadline, text[-3000:]
        time.sleep(0.02)


def worker(launcher, rank):
    """The process of ``rank`` that ``launcher`` has started."""
    for child in psutil.Process(launcher.pid).children(recursive=True):
        if child.environ().get("RANK") == str(rank):
            return child
    raise AssertionError(f"no process of rank {rank}")


@pytest.mark.slow
def test_torchrun_restarts_a_training_whose_process_was_killed_to_the_same_bits(
    tiny_corpus, tmp_path
):
    undisturbed = training_options(tiny_corpus.path, tmp_path / "undisturbed", *SAVING)
    run("fairseq-train", *undisturbed, processes=2)
    log, options = (
        tmp_path / "log",
        training_options(tiny_corpus.path, tmp_path / "killed", *SAVING),
    )
    with torchrun(log, *options, restarts=1) as launcher:
        wait_for('"num_updates": "13"', log)
        worker(launcher, 1).kill()
        assert launcher.wait(timeout=60) == 0
    said = log.read_text()
    assert re.search(r"Loaded checkpoint \S+ \(epoch 1 @ 1\d updates\)", said)
    assert '"num_updates": "40"' in said
    assert_same_training(tmp_path / "undisturbed" / LAST, tmp_path / "killed" / LAST)


@pytest.mark.slow
def test_a_process_that_dies_ends_the_other_at_once(tiny_corpus, tmp_path):
    options = training_options(tiny_corpus.path, tmp_path / "saved", *ENDLESS)
    with two(tmp_path, *options) as (processes, logs):
        wait_for("train_inner", logs[0])
        psutil.Process(processes[1].pid).kill()
        killed = time.monotonic()
        assert processes[0].wait(timeout=60) == 1
        assert time.monotonic() - killed < 10
    last = logs[0].read_text().splitlines()[-1]
    assert last.startswith("fairseq-xling: error: another process of this training did not come, ")
    assert "Traceback" not in logs[0].read_text()


def test_a_process_whose_others_never_start_ends_in_one_line(tiny_corpus, tmp_path):
    options = training_options(tiny_corpus.path, tmp_path)
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        address = f"tcp://localhost:{taken.getsockname()[1]}"
        options += ["--distributed-world-size", "2", "--distributed-no-spawn"]
        done = run("fairseq-train", *options, "--distributed-init-method", address, check=False)
    assert done.returncode == 1 and "Traceback" not in done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith(
        "fairseq-xling: error: another process of this training did not come, has ended or does "
        "not answer (The server socket has failed to listen on any local network address); "
    )


def test_a_process_that_knows_no_address_trains_no_model_of_its_own(tiny_corpus, tmp_path):
    options = training_options(tiny_corpus.path, tmp_path / "saved", *"--max-update 2".split())
    env = {**environment(), "WORLD_SIZE": "2", "RANK": "0"}
    done = run("fairseq-train", *options, env=env, check=False)
    assert done.returncode == 1 and not (tmp_path / "saved").exists()
    assert "`MASTER_ADDR` must be set with `MASTER_PORT` 0 and `WORLD_SIZE` 2" in done.stdout
