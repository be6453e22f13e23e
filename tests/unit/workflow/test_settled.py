"""A run keeps the number format that it began with."""

import dataclasses

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.engine import precision
from fairseq_xling.studies.encoder_training import EncoderTraining
from fairseq_xling.studies.training_command import training_step
from fairseq_xling.workflow.settled import precision_option, settle, settle_config
from tests.planned_steps import digests


@dataclasses.dataclass(frozen=True)
class Config(EncoderTraining):
    device: str = "cpu"
    precision: str = precision_option()


@pytest.fixture
def machine(monkeypatch):
    """Sets whether this machine's processor has bf16."""
    return lambda native: monkeypatch.setattr(precision, "cpu_has_bf16", lambda: native)


def digest(run, config):
    data, folder, log = run / "data", run / "model", run / "log"
    data.mkdir(exist_ok=True)
    options = {"device": config.device, "precision": config.precision}
    return digests([training_step("t", config.training, data, folder, log, 1, "en", **options)])


@pytest.mark.parametrize(("native", "chosen"), [(True, "bf16"), (False, "fp32")])
def test_a_run_resumed_on_another_processor_keeps_its_format_and_says_so(
    native, chosen, machine, tmp_path
):
    machine(native)
    config, settled = settle_config(tmp_path, Config())
    assert (config.precision, settled.precision) == (chosen, chosen)
    assert settled.line == f"precision: {chosen}, chosen for this machine"
    before = digest(tmp_path, config)
    settled.keep(tmp_path)
    assert settle(tmp_path, "auto", "cpu") == settled  # here

    machine(not native)
    config, settled = settle_config(tmp_path, Config())
    other = "fp32" if native else "bf16"
    assert settled.line == (
        f"precision: {chosen}, which this run began with; on this machine auto would choose {other}"
    )
    assert digest(tmp_path, config) == before


def test_a_format_that_is_named_wins_and_is_kept_in_turn(machine, tmp_path):
    machine(True)
    settle(tmp_path, "auto", "cpu").keep(tmp_path)
    named = settle(tmp_path, "fp32", "cpu")
    assert (named.precision, named.line) == ("fp32", "")
    named.keep(tmp_path)
    assert settle(tmp_path, "auto", "cpu").precision == "fp32"


def test_what_was_kept_for_a_cpu_does_not_bind_a_gpu(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(precision, "_gpu_has_bf16", lambda: False)
    machine(True)
    settle(tmp_path, "auto", "cpu").keep(tmp_path)
    assert settle(tmp_path, "auto", "cuda").precision == "fp16"


def test_planning_writes_nothing_and_the_record_is_plain(machine, tmp_path):
    machine(False)
    settled = settle(tmp_path, "auto", "cpu")
    assert not list(tmp_path.iterdir())
    settled.keep(tmp_path)
    assert read_json(tmp_path / "precision.json") == {"device": "cpu", "precision": "fp32"}


def test_a_format_that_the_device_lacks_is_refused_before_anything_is_planned(tmp_path):
    with pytest.raises(UserError, match="`--precision fp16` needs `--device cuda`; on a CPU take"):
        settle_config(tmp_path, Config(precision="fp16"))


def test_a_record_that_was_changed_by_hand_is_named(tmp_path):
    (tmp_path / "precision.json").write_text('{"device": "cpu", "precision": "fp64"}')
    with pytest.raises(
        UserError, match=r"precision.json: must name a device and one of fp32, bf16"
    ):
        settle(tmp_path, "auto", "cpu")
