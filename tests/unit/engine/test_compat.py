"""The facts about fairseq and torch that `compat` works around."""

import argparse
import importlib.metadata
import logging
import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import compat
from fairseq_xling.engine.prepare import prepare_engine


@pytest.fixture(autouse=True)
def engine():
    prepare_engine()


def test_a_missing_engine_is_explained_by_the_step_that_installs_it(monkeypatch):
    monkeypatch.setattr(compat.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"install it with: pip install .*--no-deps fairseq-fixed"):
        compat.require_engine()


@pytest.mark.parametrize(
    ("installed", "line"),
    [
        ({"fairseq-fixed": "0.12.3.1"}, ""),
        ({"fairseq": "0.12.2"}, ""),
        ({}, ""),  # a folder on the path: what is replaced in it is looked for
        ({"fairseq": "0.10.2"}, "must be fairseq-fixed==0.12.3.1, got fairseq 0.10.2; install it"),
        ({"fairseq-fixed": "0.13.0"}, "must be fairseq-fixed==0.12.3.1, got fairseq-fixed 0.13.0;"),
    ],
)
def test_another_version_of_the_engine_is_refused(monkeypatch, installed, line):
    def version(name):
        if name not in installed:
            raise importlib.metadata.PackageNotFoundError
        return installed[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    if not line:
        compat.require_engine()
        return
    with pytest.raises(UserError, match=f"^the engine {line}"):
        compat.require_engine()


def test_a_function_that_torch_lacks_is_none():
    assert compat.operator("ops.aten.relu")(torch.tensor(-1.0)) == 0
    assert compat.operator("_foreach_norm") is torch._foreach_norm
    assert compat.operator("ops.aten._no_such") is compat.operator("_no.such") is None


def test_loading_a_model_without_the_engine_ends_in_one_line(tmp_path):
    """A meta path finder hides fairseq from a fresh process, as where it is not installed."""
    (tmp_path / "x.pt").touch()
    code = (
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'fairseq': raise ModuleNotFoundError(name)\n"
        "import importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'fairseq' else real(n, *a)\n"
        "sys.meta_path.insert(0, Hide())\n"
        "from fairseq_xling.core.errors import exits_on_user_error\n"
        "from fairseq_xling.interop.encoder import Encoder\n"
        "exits_on_user_error(Encoder.load)('x.pt')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr.strip().endswith(compat.ENGINE_STEP)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_engine_does_not_make_other_packages_chat():
    code = (
        "import logging\n"
        "from fairseq_xling.engine.compat import quiet_engine\n"
        "with quiet_engine():\n"
        "    import fairseq.models\n"
        "    logging.getLogger('other').debug('noise')\n"
        "    logging.getLogger('other').info('noise')\n"
        "    logging.getLogger('other').warning('heard')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert "heard" in done.stderr and "noise" not in done.stderr


def test_what_fairseq_stores_beside_tensors_loads_safely(tmp_path):
    stored = {"args": argparse.Namespace(lr=1.0), "best": np.float64(2.5), "sizes": np.arange(3)}
    torch.save(stored, tmp_path / "checkpoint.pt")
    loaded = torch.load(tmp_path / "checkpoint.pt")
    assert loaded["args"].lr == 1.0 and loaded["best"] == 2.5
    assert loaded["sizes"].tolist() == [0, 1, 2]


def test_a_verb_called_in_passing_leaves_the_engine_as_loud_as_it_was():
    engine = logging.getLogger("fairseq")
    before = engine.level
    with pytest.raises(RuntimeError), compat.quiet_engine():
        assert not engine.isEnabledFor(logging.INFO)
        raise RuntimeError
    assert engine.level == before


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"architecture": "x86_64", "avx512_bf16": True, "amx_bf16": False}, True),
        ({"architecture": "x86_64", "avx512_bf16": False, "amx_bf16": True}, True),
        ({"architecture": "x86_64", "avx512_bf16": False, "amx_bf16": False}, False),
        ({"architecture": "arm64", "bf16": True}, None),
        ({"architecture": "arm64", "bf16": False, "sve_bf16": True}, None),
        ({"architecture": "arm64", "bf16": False}, False),
    ],
)
def test_torch_tells_whether_the_processor_has_bf16(monkeypatch, capabilities, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert compat.native_bf16() is expected


@pytest.mark.parametrize(
    ("avx512", "amx", "architecture", "expected"),
    [
        (True, False, "x86_64", True),
        (False, False, "x86_64", False),
        (None, False, "x86_64", None),  # a torch without the private function
        (True, True, "aarch64", None),  # they are about x86
    ],
)
def test_an_older_torch_is_asked_by_its_private_functions(
    monkeypatch, avx512, amx, architecture, expected
):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    for name, value in (("_is_avx512_bf16_supported", avx512), ("_is_amx_tile_supported", amx)):
        if value is None:
            monkeypatch.delattr(torch.cpu, name, raising=False)
        else:
            monkeypatch.setattr(torch.cpu, name, lambda value=value: value, raising=False)
    monkeypatch.setattr(compat.platform, "machine", lambda: architecture)
    assert compat.native_bf16() is expected


def test_what_onednn_keeps_for_shapes_is_bounded_unless_the_user_says_how(monkeypatch):
    for name in compat.SHAPE_CACHES:
        monkeypatch.delenv(name, raising=False)
        prepare_engine()
        assert os.environ[name] == "16"
        monkeypatch.setenv(name, "1024")
        prepare_engine()
        assert os.environ[name] == "1024"


def test_a_process_that_translates_keeps_more_shapes_unless_the_user_says_how(monkeypatch):
    first, second = compat.SHAPE_CACHES
    monkeypatch.delenv(first, raising=False)
    monkeypatch.setenv(second, "7")
    prepare_engine()
    compat.bound_shape_caches()
    compat.keep_shapes_of_sentences()
    assert (os.environ[first], os.environ[second]) == ("256", "7")


_LOGGED = """
import os
from fairseq_xling.engine.prepare import prepare_engine
prepare_engine()
import torch
torch.set_num_threads(1)
for size in range(2, 40):
    torch.nn.functional.linear(torch.ones(size, 16).bfloat16(), torch.ones(16, 16).bfloat16())
torch.nn.functional.linear(torch.ones(2, 16).bfloat16(), torch.ones(16, 16).bfloat16())
"""


@pytest.mark.slow
def test_the_bound_holds_where_products_are_compiled():
    """oneDNN's own log says of every product whether it was in the cache."""
    env = {k: v for k, v in os.environ.items() if k not in compat.SHAPE_CACHES}
    env |= {"ONEDNN_VERBOSE": "profile_create"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _LOGGED], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    made = [line for line in done.stdout.splitlines() if ",create:" in line and "matmul" in line]
    if not made:
        pytest.skip("this build of torch multiplies without oneDNN")
    assert "cache_miss" in made[0] and "cache_miss" in made[-1]  # the first was let go


_FREED = """
import ctypes, resource
from fairseq_xling.engine.compat import keep_freed_memory
keep_freed_memory()

def allocate():
    kept = [bytearray(8 << 20) for _ in range(3)]  # freed together

allocate()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    allocate()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_what_is_freed_is_kept_for_what_comes_next_unless_the_user_says_how():
    env = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    faults = []
    for more in ({}, {"MALLOC_TRIM_THRESHOLD_": "100000", "MALLOC_MMAP_THRESHOLD_": "33554432"}):
        done = subprocess.run(
            [sys.executable, "-c", _FREED], env=env | more, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        faults.append(int(done.stdout))
    assert faults[0] < 100 < 10_000 < faults[1]
