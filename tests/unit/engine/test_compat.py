"""The facts about fairseq and torch that `compat` works around."""

import argparse
import logging
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_xling import guards
from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import compat


@pytest.fixture(autouse=True)
def engine():
    guards.prepare_engine()


def test_a_missing_engine_is_explained_by_the_step_that_installs_it(monkeypatch):
    monkeypatch.setattr(compat.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"install it with: pip install .*--no-deps fairseq-fixed"):
        compat.require_engine()


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


@pytest.mark.slow
def test_a_verb_does_not_wait_for_metrics_that_it_does_not_need_and_fairseq_still_has_them():
    code = (
        "import sys\n"
        "from fairseq_xling.engine.compat import _LeanEngine, lean_engine\n"
        "lean_engine(); lean_engine()\n"
        "import fairseq_xling.plugin\n"
        "print('sklearn' in sys.modules, 'scipy.stats' in sys.modules)\n"
        "print(any(isinstance(finder, _LeanEngine) for finder in sys.meta_path))\n"
        "from fairseq.criterions import sentence_prediction\n"
        "from fairseq.tasks import audio_classification\n"
        "print(sentence_prediction.matthews_corrcoef([1, 0, 1, 1], [1, 0, 1, 1]))\n"
        "print(audio_classification.sklearn_metrics.accuracy_score([1, 0], [1, 1]))\n"
        "import sklearn.metrics, scipy.stats\n"
        "print(sklearn.metrics.f1_score([1, 0], [1, 0]), scipy.stats.norm.cdf(0))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False", "False", "1.0", "0.5", "1.0", "0.5"]


def test_what_fairseq_stores_beside_tensors_loads_safely(tmp_path):
    stored = {"args": argparse.Namespace(lr=1.0), "best": np.float64(2.5), "sizes": np.arange(3)}
    torch.save(stored, tmp_path / "checkpoint.pt")
    loaded = torch.load(tmp_path / "checkpoint.pt")
    assert loaded["args"].lr == 1.0 and loaded["best"] == 2.5
    assert loaded["sizes"].tolist() == [0, 1, 2]


def test_preparing_twice_wraps_once():
    import fairseq.checkpoint_utils as checkpoint_utils

    wrapped = checkpoint_utils.load_checkpoint_to_cpu
    guards.prepare_engine()
    assert checkpoint_utils.load_checkpoint_to_cpu is wrapped


def test_the_engine_leaves_the_root_logger_alone():
    assert logging.getLogger().level == logging.WARNING  # after `engine`, which imports it


@pytest.mark.slow
def test_importing_fairseq_leaves_the_root_logger_alone():
    code = (
        "import logging; from fairseq_xling.guards import prepare_engine; prepare_engine();"
        "print(logging.getLogger().level)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == logging.WARNING


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
        (False, True, "AMD64", True),
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


def test_bf16_on_the_command_line_does_not_mean_a_tpu(tmp_path):
    guards.prepare_engine()
    from fairseq import options

    parser = options.get_training_parser()
    args = [str(tmp_path), "--bf16", "--task", "language_modeling", "--arch", "transformer_lm"]
    parsed = options.parse_args_and_arch(parser, args)
    assert (parsed.bf16, parsed.tpu) == (True, False)


def test_help_lists_the_options_of_what_was_named_in_groups(capsys):
    from fairseq import options

    import fairseq_xling.plugin  # noqa: F401

    named = {"task": "cdlm", "arch": "tri_bert_tiny", "criterion": "unified_lm"}
    line = [word for kind, name in named.items() for word in (f"--{kind}", name)]
    with pytest.raises(SystemExit) as ended:
        options.parse_args_and_arch(options.get_training_parser(), [*line, "--help"])
    assert ended.value.code == 0
    blocks = capsys.readouterr().out.split("\n\n")
    groups = {title: text for title, _, text in (block.partition(":\n") for block in blocks)}
    added = {"task": "--objectives", "arch": "--emission", "criterion": "--auxiliary-weights"}
    for kind, own in added.items():
        group = groups[f"{kind} {named[kind]}"]
        assert own in group and "--seed" not in group
    assert "--seed" in groups["options"] and "--objectives" not in groups["options"]


def test_help_without_an_architecture_and_a_training_without_one(capsys):
    from fairseq import options

    import fairseq_xling.plugin  # noqa: F401

    line = ["--task", "bilingual_mlm"]
    with pytest.raises(SystemExit):
        options.parse_args_and_arch(options.get_training_parser(), ["data", *line, "-h"])
    assert "task bilingual_mlm:" in capsys.readouterr().out
    sound = options.get_generation_parser()
    sound.add_argument("--arch", default="wav2vec2")  # as in fairseq-generate
    with pytest.raises(SystemExit):
        options.parse_args_and_arch(sound, ["data", *line, "-h"])
    assert "wav2vec2:" not in capsys.readouterr().out
    with pytest.raises(SystemExit, match="required: --arch"):
        options.parse_args_and_arch(options.get_training_parser(), ["data", *line])


def test_what_onednn_keeps_for_shapes_is_bounded_unless_the_user_says_how(monkeypatch):
    for name in compat.SHAPE_CACHES:
        monkeypatch.delenv(name, raising=False)
        guards.prepare_engine()
        assert os.environ[name] == "16"
        monkeypatch.setenv(name, "1024")
        guards.prepare_engine()
        assert os.environ[name] == "1024"


def test_a_process_that_translates_keeps_more_shapes_unless_the_user_says_how(monkeypatch):
    first, second = compat.SHAPE_CACHES
    monkeypatch.delenv(first, raising=False)
    monkeypatch.setenv(second, "7")
    guards.prepare_engine()
    compat.bound_shape_caches()
    compat.keep_shapes_of_sentences()
    assert (os.environ[first], os.environ[second]) == ("256", "7")


_LOGGED = """
import os
from fairseq_xling import guards
guards.prepare_engine()
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


@pytest.mark.parametrize("text", ["print('ran')", "hello", "(0.9, 0.98).__class__"])
def test_an_option_that_fairseq_evaluates_is_a_plain_value_or_one_line(text, capsys):
    from fairseq import utils
    from fairseq.optim.adam import FairseqAdam

    betas = argparse.Namespace(adam_betas="(0.9, 0.98)", adam_eps=1e-8, weight_decay=0.0, lr=[1])
    optimizer = object.__new__(FairseqAdam)
    optimizer.cfg = betas
    assert optimizer.optimizer_config["betas"] == (0.9, 0.98)
    assert utils.eval_str_list("1,2", int) == [1, 2] and utils.eval_bool("False") is False
    betas.adam_betas = text
    words = "fairseq-xling: error: an option must be a plain value"
    with pytest.raises(SystemExit, match=words):
        _ = optimizer.optimizer_config
    with pytest.raises(SystemExit, match=words):
        utils.eval_str_list(text)
    assert not capsys.readouterr().out


def test_no_module_of_fairseq_that_is_loaded_evaluates_python():
    import fairseq_xling.plugin  # noqa: F401

    loaded = {n: m for n, m in sys.modules.items() if n.partition(".")[0] == "fairseq"}
    asking = [n for n, m in loaded.items() if _names_eval(m)]
    assert "fairseq.models.fconv_self_att" in asking and "fairseq.utils" in asking
    assert not [name for name in asking if "eval" not in vars(loaded[name])]


def _names_eval(module):
    """Whether the source calls the function ``eval``, not a method of that name."""
    path = getattr(module, "__file__", None) or ""
    if not path.endswith(".py"):
        return False
    return re.search(r"(?<![\w.])eval\(", Path(path).read_text(encoding="utf-8")) is not None
