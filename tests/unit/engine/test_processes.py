"""Launched processes become one training, whatever options were left out."""

from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import processes
from fairseq_xling.engine.processes import check_joined, join_launched

LAUNCHED = {
    **{"MASTER_ADDR": "localhost", "MASTER_PORT": "29500"},
    **{"WORLD_SIZE": "4", "RANK": "2", "LOCAL_RANK": "1"},
}


def configuration(cpu=True, **changes):
    found = {
        **{"distributed_world_size": 1, "distributed_init_method": None},
        **{"distributed_no_spawn": False, "distributed_rank": 0, "device_id": 0},
        **{"distributed_backend": "nccl", "ddp_backend": "pytorch_ddp", "distributed_port": -1},
    }
    return SimpleNamespace(
        common=SimpleNamespace(cpu=cpu), distributed_training=SimpleNamespace(**found | changes)
    )


@pytest.fixture
def gpus(monkeypatch):
    def see(count):
        monkeypatch.setattr(processes, "_gpus", lambda: count)

    see(0)
    return see


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"distributed_world_size": 4},
        {"distributed_init_method": "env://", "distributed_rank": -1},
        {"distributed_backend": "gloo", "ddp_backend": "pytorch_ddp", "distributed_no_spawn": True},
    ],
)
def test_on_cpus_nothing_needs_to_be_said(gpus, given):
    cfg = configuration(**given)
    join_launched(cfg, LAUNCHED)
    assert vars(cfg.distributed_training) == {
        **{"distributed_world_size": 4, "distributed_init_method": "env://"},
        **{"distributed_no_spawn": True, "distributed_rank": 2, "device_id": 0},
        **{"distributed_backend": "gloo", "ddp_backend": "pytorch_ddp", "distributed_port": -1},
    }


def test_on_gpus_each_process_has_its_own_and_the_defaults_stay(gpus):
    gpus(2)
    cfg = configuration(cpu=False, distributed_world_size=2)  # left out: the GPUs of a machine
    join_launched(cfg, LAUNCHED)
    found = cfg.distributed_training
    assert (found.distributed_world_size, found.distributed_rank, found.device_id) == (4, 2, 1)
    assert (found.distributed_backend, found.ddp_backend) == ("nccl", "pytorch_ddp")


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"MASTER_ADDR": "localhost", "MASTER_PORT": "29500"},
        {**LAUNCHED, "WORLD_SIZE": "1", "RANK": "0"},
        {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"},
    ],
)
def test_a_program_that_was_not_launched_is_left_alone(gpus, environment):
    cfg = configuration()
    before = dict(vars(cfg.distributed_training))
    join_launched(cfg, environment)
    assert vars(cfg.distributed_training) == before


def test_another_number_of_processes_is_refused(gpus):
    rule = "^`--distributed-world-size` must be 4, the processes that were launched, got 3$"
    with pytest.raises(UserError, match=rule):
        join_launched(configuration(distributed_world_size=3), LAUNCHED)


def test_processes_that_nothing_would_start_are_refused(gpus):
    rule = "^`--distributed-world-size` must be 1 without GPUs, unless a launcher starts .* got 2$"
    for method in (None, "tcp://localhost:29500"):
        cfg = configuration(distributed_world_size=2, distributed_init_method=method)
        with pytest.raises(UserError, match=rule):
            join_launched(cfg, {})


def test_an_address_of_ones_own_is_kept(gpus):
    method = "tcp://localhost:29500"
    cfg = configuration(
        distributed_world_size=2, distributed_init_method=method, distributed_no_spawn=True
    )
    join_launched(cfg, {})
    found = cfg.distributed_training
    assert (found.distributed_init_method, found.distributed_backend) == (method, "gloo")


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({"WORLD_SIZE": "2", "RANK": "1"}, "^`MASTER_ADDR` and `MASTER_PORT` must be set with `WO"),
        ({"RANK": "1"}, "^`MASTER_ADDR` and `MASTER_PORT` and `WORLD_SIZE` must be set with `RANK"),
        ({**LAUNCHED, "RANK": "4"}, r"^`RANK` must lie in \[0, 3\], got 4$"),
        ({**LAUNCHED, "WORLD_SIZE": "two"}, "^`WORLD_SIZE` must be a whole number, got 'two'$"),
    ],
)
def test_a_process_that_could_not_meet_the_others_is_refused(gpus, environment, line):
    with pytest.raises(UserError, match=line):
        join_launched(configuration(), environment)


def test_restarts_of_processes_that_could_not_meet_again_are_refused(gpus):
    told = {**LAUNCHED, "TORCHELASTIC_MAX_RESTARTS": "3", "TORCHELASTIC_USE_AGENT_STORE": "True"}
    with pytest.raises(UserError, match=r"^`TORCH_DISABLE_SHARE_RDZV_TCP_STORE` must be 1 where"):
        join_launched(configuration(), told)
    join_launched(configuration(), {**told, "TORCHELASTIC_MAX_RESTARTS": "0"})
    join_launched(configuration(), {**told, "TORCHELASTIC_USE_AGENT_STORE": "False"})


def test_only_lost_connections_are_put_into_one_line():
    said = "[/x/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1. This is a"
    found = str(processes.lost(RuntimeError(said)))
    assert "(Connection closed by peer [127.0.0.1]:1); its own output says why" in found
    found = str(processes.lost(torch.distributed.DistStoreError("Timed out after 5 s\nmore")))
    assert "(Timed out after 5 s); its own output says why" in found
    assert processes.lost(RuntimeError("shapes do not fit; Connection")) is None


SRUN = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "3", "SLURM_LOCALID": "1"}
MPIRUN = {
    **{"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"},
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
}
SUBMITIT = {
    **{"SUBMITIT_LOCAL_NTASKS": "4", "SUBMITIT_LOCAL_GLOBALID": "3"},
    "SUBMITIT_LOCAL_LOCALID": "1",
}
ADDRESS = {"MASTER_ADDR": "first", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("launcher", "told"), [("srun", SRUN), ("submitit", SUBMITIT), ("mpirun", MPIRUN)]
)
def test_other_launchers_need_an_address(gpus, launcher, told):
    with pytest.raises(UserError, match=f"in the 4 processes that {launcher} started; to train"):
        join_launched(configuration(), told)
    for visible, device in ((0, 0), (1, 0), (4, 1)):  # none, each process's own, all
        gpus(visible)
        cfg = configuration(cpu=not visible)
        join_launched(cfg, told | ADDRESS)
        found = cfg.distributed_training
        assert (found.distributed_world_size, found.distributed_rank) == (4, 3)
        assert (found.distributed_init_method, found.device_id) == ("env://", device)


@pytest.mark.parametrize("told", [LAUNCHED, SRUN | ADDRESS, SUBMITIT | ADDRESS])
def test_processes_that_were_not_joined_are_refused_with_hydra(told):
    for size in (4, 1):
        found = configuration(distributed_world_size=size).distributed_training
        check_joined(found, {})
        if size == 4:
            check_joined(found, told)
            continue
        with pytest.raises(UserError, match="Guards` must be set to train one model in the 4 proc"):
            check_joined(found, told)


@pytest.mark.parametrize("backend", ["fully_sharded", "slowmo"])
def test_processes_that_do_not_keep_parameters_apart_are_refused(gpus, backend):
    cfg = configuration(ddp_backend=backend)
    rule = f"^`--ddp-backend` must be pytorch_ddp or legacy_ddp, which .* got {backend}$"
    with pytest.raises(UserError, match=rule):
        join_launched(cfg, {})
    with pytest.raises(UserError, match=rule):
        check_joined(cfg.distributed_training, {})
    join_launched(cfg, {}, training=False)
    join_launched(configuration(ddp_backend="no_c10d"), {})


def test_translations_that_srun_starts_are_not_joined(gpus):
    cfg = configuration()
    join_launched(cfg, SRUN, training=False)
    assert cfg.distributed_training.distributed_world_size == 1


def test_what_torchrun_says_takes_precedence_over_srun(gpus):
    cfg = configuration()
    join_launched(cfg, SRUN | LAUNCHED)
    assert cfg.distributed_training.distributed_rank == 2


def test_fairseq_may_ask_slurm_itself(gpus):
    gpus(8)
    cfg = configuration(cpu=False, distributed_world_size=16, distributed_port=29500)
    join_launched(cfg, SRUN | {"SLURM_JOB_NODELIST": "first,second"})
    assert cfg.distributed_training.distributed_init_method is None


@pytest.mark.parametrize("visible", [0, 8])
def test_commands_that_know_no_address_are_refused(gpus, visible):
    gpus(visible)
    cfg = configuration(
        cpu=not visible, distributed_world_size=16, distributed_no_spawn=not visible
    )
    with pytest.raises(UserError, match=r"^`--distributed-world-size` must be .*, got 16$"):
        join_launched(cfg, {})
