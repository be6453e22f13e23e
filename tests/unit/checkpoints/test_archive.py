"""A file that would take memory while it is unpickled is refused before."""

import io
import pickle
import zipfile
from argparse import Namespace
from collections import OrderedDict

import numpy as np
import pytest
import torch

from fairseq_xling.checkpoints import check_archive
from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.core.errors import UserError


class Call:
    """Pickled as a call of ``function`` with ``arguments``."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


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
@pytest.mark.parametrize("call", [Call(bytearray, 10**11), Call(eval, "1"), Call(set, [1])])
def test_a_call_of_what_no_checkpoint_needs_is_refused(tmp_path, new, call):
    path = tmp_path / "x.pt"
    torch.save({"model": {"a": call}}, path, _use_new_zipfile_serialization=new)
    for read in (check, load_plain):
        with pytest.raises(UserError, match=r"more than plain data .*\(found \w+\.(eval|set|byte)"):
            read(path)


def test_a_compressed_archive_is_refused(tmp_path):
    plain, packed = tmp_path / "x.pt", tmp_path / "packed.pt"
    torch.save({"model": {"a": torch.zeros(10**5)}}, plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for record in old.infolist():
            new.writestr(record.filename, old.read(record))
    with pytest.raises(UserError, match=r"packed\.pt: must not be compressed, got a record of"):
        load_plain(packed)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"hello", pickle.dumps([1]), bytes(99)])
def test_what_is_no_checkpoint_at_all_is_left_to_torch(tmp_path, content):
    (tmp_path / "x.pt").write_bytes(content)
    check(tmp_path / "x.pt")
    with pytest.raises(UserError, match=r"x\.pt: "):
        load_plain(tmp_path / "x.pt")
    check_archive(io.BytesIO(content), "x.pt")


def test_a_weight_with_a_flipped_bit_is_refused(tmp_path):
    path, weight = tmp_path / "x.pt", torch.rand(100)
    torch.save({"model": {"a": weight}}, path)
    data = path.read_bytes()
    path.write_bytes(data.replace(weight.numpy().tobytes(), (-weight).numpy().tobytes()))
    assert torch.equal(torch.load(path, weights_only=True)["model"]["a"], -weight)  # torch's own
    for read in (check, load_plain):
        with pytest.raises(UserError, match=r"x\.pt: damaged, .*: \w+/data/0 does not have"):
            read(path)
