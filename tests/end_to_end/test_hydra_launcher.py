"""`fairseq-hydra-train` with a launcher: torchrun, and hydra's plug-in that submits jobs."""

import pytest

from fairseq_xling import USER_DIR
from tests.end_to_end.engine import (
    checked,
    command,
    differences,
    environment,
    launch,
    load,
    meeting_place,
)

pytestmark = pytest.mark.slow

GUARDS = "+hydra.callbacks.xling._target_=fairseq_xling.engine.hydra.Guards"


@pytest.fixture
def options(tiny_corpus):
    """Of a training of two updates; checkpoints lie in hydra's folder."""
    return [
        *(f"common.user_dir={USER_DIR}", f"+task.data={tiny_corpus.path}", "common.cpu=true"),
        *("+task._name=bilingual_mlm", "+task.sample_break_mode=sentence"),
        *("+model._name=separable_transformer", "+model.encoder_layers=2"),
        *("+model.encoder_embed_dim=16", "+model.encoder_ffn_embed_dim=32"),
        *("+model.encoder_attention_heads=2", "criterion._name=unified_lm"),
        *("+optimizer._name=adam", "dataset.max_tokens=256", "dataset.num_workers=0"),
        *("optimization.max_update=2", "checkpoint.save_dir=checkpoints"),
    ]


def test_launched_processes_are_one_training_with_the_callback_and_refused_without(
    options, tmp_path
):
    program = [*command("fairseq-hydra-train", *options, processes=2), "optimization.lr=[1e-3]"]
    env = {name: value for name, value in environment().items() if name != "MASTER_PORT"}
    checked([*program, f"hydra.run.dir={tmp_path}/joined", GUARDS], env=env)
    saved = load(tmp_path / "joined" / "checkpoints" / "checkpoint_last.pt")
    assert saved["cfg"]["distributed_training"]["distributed_world_size"] == 2
    assert saved["extra_state"]["train_iterator"]["num_shards"] == 2
    refused = launch([*program, f"hydra.run.dir={tmp_path}/refused"], env=env, merged=True)
    assert refused.returncode and f"`{GUARDS}` must be set to train one model" in refused.stdout
    assert not (tmp_path / "refused" / "checkpoints" / "checkpoint_last.pt").exists()


@pytest.fixture
def plug_in():
    pytest.importorskip(
        "hydra_plugins.hydra_submitit_launcher", reason="needs hydra-submitit-launcher"
    )


def test_the_plug_in_for_submitit_carries_out_a_training_for_each_setting(
    options, plug_in, tmp_path
):
    launcher = ["hydra/launcher=submitit_local", "hydra.launcher.timeout_min=10"]
    program = command("fairseq-hydra-train", "--multirun", *launcher, *options)
    checked([*program, f"hydra.sweep.dir={tmp_path}", "optimization.lr=[1e-3],[2e-3]"])
    found = [load(tmp_path / job / "checkpoints" / "checkpoint_last.pt") for job in "01"]
    assert [one["cfg"]["optimization"]["lr"] for one in found] == [[1e-3], [2e-3]]
    assert differences(*(one["model"] for one in found))


def test_processes_of_a_submitted_job_are_one_training_with_the_callback_and_refused_without(
    options, plug_in, tmp_path
):
    launcher = "hydra/launcher=submitit_local hydra.launcher.timeout_min=10".split()
    program = command("fairseq-hydra-train", "--multirun", *launcher, *options)
    program += ["hydra.launcher.tasks_per_node=2", "optimization.lr=[1e-3]"]
    env = {**environment(), **meeting_place()}
    checked([*program, f"hydra.sweep.dir={tmp_path}/joined", GUARDS], env=env)
    saved = load(tmp_path / "joined" / "0" / "checkpoints" / "checkpoint_last.pt")
    assert saved["extra_state"]["train_iterator"]["num_shards"] == 2
    refused = launch([*program, f"hydra.sweep.dir={tmp_path}/refused"], env=env, merged=True)
    assert refused.returncode and f"`{GUARDS}` must be set to train one model" in refused.stdout
    assert not (tmp_path / "refused" / "0" / "checkpoints" / "checkpoint_last.pt").exists()
