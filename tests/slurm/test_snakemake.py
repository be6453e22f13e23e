"""A run as a Snakefile, carried out by Snakemake where there is one."""

import os
import shutil
import signal
import subprocess

import pytest

from tests.slurm.test_slurm import STUDY, await_file, finish, same_results, text

__all__ = ["text"]
pytestmark = pytest.mark.slow


def test_snakemake_ends_as_a_local_run_also_after_a_kill(text):
    snakemake = shutil.which("snakemake")
    if snakemake is None:
        pytest.skip("there is no snakemake on PATH: pip install snakemake, in its own environment")
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    finish(text / "local", STUDY, env)
    here = text / "snakemake"
    told = finish(here, STUDY, env, "--export", "snakemake").splitlines()[-1]
    assert told == f"carry it out by `snakemake --snakefile run/Snakefile --cores {os.cpu_count()}`"
    command = [snakemake, *"--snakefile run/Snakefile --cores 2 --rerun-incomplete".split()]
    process = subprocess.Popen(command, cwd=here, env=env, start_new_session=True)
    await_file(here / "run/models/A1-en-de-1/checkpoint_last.pt", process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    subprocess.run([snakemake, "--snakefile", "run/Snakefile", "--unlock"], cwd=here, check=True)
    subprocess.run(command, cwd=here, env=env, check=True, timeout=500)
    same_results(here, text / "local")
    assert "Loaded checkpoint" in (here / "run/logs/train-A1-en-de-1.log").read_text()
    again = subprocess.run(command, cwd=here, env=env, check=True, capture_output=True, text=True)
    assert "Nothing to be done" in again.stdout + again.stderr
    assert "done before" in finish(here, STUDY, env)
