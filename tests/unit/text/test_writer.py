"""Files that grow survive an interruption after any chunk, and at any step of finishing."""

import errno
import os

import numpy as np
import pytest

from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.text import writer as writer_module
from fairseq_xling.text.writer import ResumableFiles

CHUNKS = [
    [(np.arange(k * 10, k * 10 + 5), np.array([2, 3])), (np.arange(k), np.array([k]))]
    for k in range(1, 9)
]


class Killed(BaseException):
    """Stands for a signal that no code sees."""


def write(folder, stop_after=None):
    """Write all chunks from where the journal says; breaks off after ``stop_after`` of them."""
    files = started(folder)
    begun = files.position
    for k in range(begun, len(CHUNKS) if not files.complete else 0):
        files.append(CHUNKS[k], k + 1, {"chunks": 1}, 100)
        if stop_after is not None and k + 1 - begun == stop_after:
            files.close()  # what was buffered reaches the disk, though no journal knows of it
            raise Killed
    return files.finish(), begun


def content(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "out").iterdir())}


def started(folder):
    outputs = {folder / "out" / "a": np.dtype("<u2"), folder / "out" / "b": np.dtype("<i4")}
    return ResumableFiles(outputs, folder / "work", "job", start=0)


@pytest.fixture
def undisturbed(tmp_path):
    write(tmp_path / "whole")
    a, b = (TokenFile(tmp_path / "whole" / "out" / name) for name in "ab")
    assert [item.tolist() for item in a] == [
        item for k in range(10, 90, 10) for item in ([k, k + 1], [k + 2, k + 3, k + 4])
    ]
    assert [item.tolist() for item in b] == [list(range(k)) for k in range(1, 9)]
    return content(tmp_path / "whole")


@pytest.mark.parametrize("sync", [0, 15, 1 << 30])
@pytest.mark.parametrize("stop", range(1, 9))
def test_a_run_that_was_cut_off_ends_in_the_same_files(
    tmp_path, monkeypatch, undisturbed, stop, sync
):
    monkeypatch.setattr(writer_module, "_SYNC_BYTES", sync)
    with pytest.raises(Killed):
        write(tmp_path, stop_after=stop)
    assert not (tmp_path / "out").exists()
    counts, begun = write(tmp_path)
    assert counts == {"chunks": len(CHUNKS)}
    assert begun == (0 if sync == 1 << 30 else stop if sync == 0 else begun)
    assert content(tmp_path) == undisturbed


@pytest.mark.parametrize("step", range(5))
def test_finishing_can_be_cut_off_anywhere(tmp_path, monkeypatch, undisturbed, step):
    calls = iter(range(100))

    def cut(function):
        def call(*args):
            if next(calls) == step:
                raise Killed
            return function(*args)

        return call

    monkeypatch.setattr(writer_module.os, "replace", cut(os.replace))
    monkeypatch.setattr(writer_module, "write_index", cut(writer_module.write_index))
    with pytest.raises(Killed):
        write(tmp_path)
    monkeypatch.undo()
    assert write(tmp_path)[0] == {"chunks": len(CHUNKS)}
    assert content(tmp_path) == undisturbed
    assert not list((tmp_path / "work").glob("*.bin"))


def test_a_full_disk_is_named_and_costs_nothing_that_was_journalled(tmp_path, undisturbed):
    with pytest.raises(Killed):
        write(tmp_path, stop_after=3)
    files = started(tmp_path)
    part = next(iter(files._files))
    files._files[part].close()
    files._files[part] = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
    with pytest.raises(OSError) as caught:
        files.append(CHUNKS[0], 1, {}, 0)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "work"))
    files.close()
    write(tmp_path)
    assert content(tmp_path) == undisturbed


def test_a_job_that_wrote_fewer_files_starts_from_the_beginning(tmp_path, monkeypatch, undisturbed):
    monkeypatch.setattr(writer_module, "_SYNC_BYTES", 0)
    earlier = ResumableFiles({tmp_path / "out" / "a": np.dtype("<u2")}, tmp_path / "work", "job", 0)
    earlier.append(CHUNKS[0][:1], 1, {"chunks": 1}, 100)
    earlier.close()
    counts, begun = write(tmp_path)
    assert (counts, begun) == ({"chunks": 8}, 0)
    assert content(tmp_path) == undisturbed
