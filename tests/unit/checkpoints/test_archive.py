"""A file that would take memory while it is unpickled is refused before."""

import io
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
def test_what_is_no_checkpoint_at_all_is_left_to_torch(tmp_path, content):
    (tmp_path / "x.pt").write_bytes(content)
    check(tmp_path / "x.pt")
    with pytest.raises(UserError, match=r"x\.pt: "):
        load_plain(tmp_path / "x.pt")
    check_archive(io.BytesIO(content), "x.pt")
