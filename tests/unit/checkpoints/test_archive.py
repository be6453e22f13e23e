"""A file that would take memory while it is unpickled is refused before."""

import _codecs
import pickle
from argparse import Namespace
from collections import OrderedDict

import numpy as np
import pytest
import torch

from fairseq_xling.checkpoints import check_archive
from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.core.errors import UserError
from tests.hostile.checkpoints import Runs


def check(path):
    with open(path, "rb") as file:
        check_archive(file, path)
        assert file.tell() == 0


@pytest.mark.parametrize("new", [True, False])
def test_what_torch_and_fairseq_write_is_loaded(tmp_path, new):
    stored = {
        "model": OrderedDict(a=torch.ones(2), b=torch.nn.Parameter(torch.ones(2).half())),
        "args": Namespace(arch="x", text="\nctorch\nload\n"),
        "best": np.float64(2.5),
        "sizes": [np.arange(3), torch.int64, torch.Size([1])],
    }
    path = tmp_path / "x.pt"
    torch.save(stored, path, _use_new_zipfile_serialization=new)
    check(path)
    assert load_plain(path)["args"].arch == "x"


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("call", [Runs(bytearray, 10**11), Runs(eval, "1"), Runs(set, [1])])
def test_a_call_of_what_no_checkpoint_needs_is_refused(tmp_path, new, call):
    path = tmp_path / "x.pt"
    torch.save({"model": {"a": call}}, path, _use_new_zipfile_serialization=new)
    for read in (check, load_plain):
        with pytest.raises(UserError, match=r"more than plain data .*\(found \w+\.(eval|set|byte)"):
            read(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"hello", pickle.dumps([1]), bytes(99)])
def test_what_is_no_checkpoint_at_all_is_one_line(tmp_path, content):
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(UserError, match=r"x\.pt: (truncated or not a checkpoint|not loaded)"):
        load_plain(tmp_path / "x.pt")


# What torch lets a pickle call, with arguments that no checkpoint has.
CALLS = {
    "memory that was another's, as weights": (torch.Tensor, 32),
    "a storage": (torch.UntypedStorage, 3 * 10**9),
    "a storage of numbers": (torch.FloatStorage, 10**9),
    "an array": (np.ndarray, (10**10,)),
    "an array before its values": (np.array(0).__reduce__()[0], np.ndarray, (10**10,), b"b"),
    "a type of many parts": (np.dtype, ",".join(["f8"] * 10**5)),
    "a slow codec": (_codecs.encode, "a" * 340_000, "punycode"),
    "a codec that packs": (_codecs.encode, b"a" * 99, "zlib"),
    "a mapping of so many pairs": (OrderedDict, [[1, 2]] * 9),
    "a device": (torch.device, "cpu" + "0" * 10**6),
}


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_what_may_be_called_has_the_arguments_of_a_checkpoint(tmp_path, new, name):
    path, (function, *arguments) = tmp_path / "x.pt", CALLS[name]
    call = Runs(function, *arguments)
    torch.save({"model": {"a": call}}, path, _use_new_zipfile_serialization=new)
    for read in (check, load_plain):
        with pytest.raises(UserError, match=r"more than plain data .*\(found [\w.]+\(\)\)$"):
            read(path)


def test_a_type_with_parts_is_refused(tmp_path):
    """An array of none of them has no bytes, and one of its rows any number."""
    path = tmp_path / "x.pt"
    torch.save({"model": {}, "a": np.empty(0, dtype=[("x", "f8", (10**6,))])}, path)
    with pytest.raises(UserError, match=r"\(found numpy\.dtype\)$"):
        check(path)
