import gc
import os
import signal
import subprocess
import sys

import pytest

from fairseq_xling.core import locks
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import exclusive
from fairseq_xling.core.locks import hold

HOLDER = """
import os, sys, time
from fairseq_xling.core.locks import hold
class Owner: pass
owner = Owner()
hold(sys.argv[1], "taken", owner, shared=sys.argv[2] == "shared")
ready, begun = os.pipe()
if os.fork() == 0:
    os.write(begun, b".")
    time.sleep(60)  # a loader's worker, which outlives its parent
os.read(ready, 1)
print(os.getpid(), flush=True)
time.sleep(60)
"""


class Owner:
    """What a lock is held for."""


@pytest.fixture
def other(tmp_path):
    """Start a process that holds a lock, with a child that does not; all end with the test."""
    started = []

    def start(path, kind):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path), kind],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path, other):
    path, owner = tmp_path / ".lock", Owner()
    process = other(path, "alone")
    with pytest.raises(UserError, match="taken"):
        hold(path, "taken", owner)
    os.kill(process.pid, signal.SIGKILL)  # its child lives on
    process.wait()
    hold(path, "taken", owner)


def test_readers_share_and_keep_a_writer_out(tmp_path, other):
    path, owner = tmp_path / "meta.json", Owner()
    path.touch()
    process = other(path, "shared")
    hold(path, "taken", owner, shared=True)
    with pytest.raises(UserError, match="read"), exclusive(path, "read"):
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(UserError, match="read"), exclusive(path, "read"):
        pass
    del owner
    gc.collect()
    with exclusive(path, "read"):
        pass


def test_a_writer_keeps_readers_out(tmp_path):
    path = tmp_path / "meta.json"
    path.touch()
    with exclusive(path, "read"), pytest.raises(UserError, match="replaced"):
        hold(path, "replaced", Owner(), shared=True)


def test_objects_of_one_process_share_a_lock_that_ends_with_the_last(tmp_path):
    path, one, two = tmp_path / ".lock", Owner(), Owner()
    hold(path, "taken", one)
    hold(path, "taken", two)
    del one
    gc.collect()
    with pytest.raises(UserError, match="held"), exclusive(path, "held"):
        pass
    del two
    gc.collect()
    assert not path.exists()


def test_a_lock_file_that_is_removed_while_it_is_opened_is_made_again(tmp_path, monkeypatch):
    path, owner, real = tmp_path / ".lock", Owner(), os.open

    def slow_open(*args):
        handle = real(*args)
        monkeypatch.setattr(os, "open", real)
        path.unlink()
        return handle

    monkeypatch.setattr(os, "open", slow_open)
    hold(path, "taken", owner)
    with pytest.raises(UserError, match="held"), exclusive(path, "held"):
        pass


def test_a_file_system_without_locks_is_only_warned_of(tmp_path, monkeypatch, caplog):
    def flock(handle, how):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    hold(tmp_path / ".lock", "taken", Owner())
    assert "cannot be locked" in caplog.text


def test_a_file_that_was_replaced_while_it_was_waited_for_is_refused(tmp_path, monkeypatch):
    path, real = tmp_path / "meta.json", os.open
    path.touch()

    def slow_open(*args):
        handle = real(*args)
        path.unlink()
        monkeypatch.setattr(os, "open", real)
        path.touch()
        return handle

    monkeypatch.setattr(os, "open", slow_open)
    with pytest.raises(UserError, match="replaced"):
        hold(path, "replaced", Owner(), shared=True)
