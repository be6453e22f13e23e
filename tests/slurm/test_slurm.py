"""Runs on a real Slurm of one node with two cores, which is set up here and taken down again."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.reports.record import read_record
from tests.end_to_end.engine import BIN, load
from tests.end_to_end.pages import DOCS
from tests.kill.disturb import TIMES, frame_rows

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("single_node.sh")
XLING = str(BIN / "fairseq-xling")
# Long enough for a training to be killed in the middle.
STUDY = (
    "ablate emerging-structure --data-text ../text --settings A1,C --seeds 1 --updates 240 "
    "--every 20 --max-tokens 512 --layers 2 --vocab-size 400 --precision fp32 --output run"
)
SLURM = ("--launcher", "slurm", "--launcher-args", "partition=tests,poll_s=1,max_jobs=2")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The environment of a process that sees Slurm."""
    pytest.importorskip("submitit")
    root = Path("/tmp", f"xling-slurm-{os.getpid()}")  # short: sockets lie in it
    done = subprocess.run([SCRIPT, "up", root], capture_output=True, text=True, timeout=300)
    if done.returncode == 3:
        pytest.skip(f"Slurm cannot be set up: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    yield {**os.environ, "SLURM_CONF": f"{root}/slurm.conf", "OMP_NUM_THREADS": "1"}
    subprocess.run([SCRIPT, "down", root], check=True, timeout=120)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A folder with text; runs have folders of their own in it, from where they are started."""
    root = tmp_path_factory.mktemp("slurm")
    command = [XLING, "synthesize", "text", "--sentences", "150", "--held-out", "40"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    return root


def begin(folder, words, env, *options):
    """The command, started; what it prints is in ``printed`` and grows."""
    folder.mkdir(exist_ok=True)
    with open(folder / "printed", "a") as printed:
        return subprocess.Popen(
            [XLING, *words.split(), *options],
            cwd=folder,
            env=env,
            stdout=printed,
            stderr=subprocess.STDOUT,
        )


def finish(folder, words, env, *options, status=0):
    """What the command printed, ended with ``status``."""
    (folder / "printed").unlink(missing_ok=True)
    ended = begin(folder, words, env, *options).wait(timeout=500)
    printed = (folder / "printed").read_text()
    assert ended == status, printed
    return printed


def await_file(path, process, seconds=120):
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None and time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.1)


def job_of(run, step):
    return json.loads((run / ".jobs" / f"{step}.json").read_text())["id"]


def slurm(env, *command):
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def same_results(one, other):
    """Compare tables, figure, all results without the provenance of the run, and the models."""
    one, other = one / "run", other / "run"
    for name in ("table.md", "table.csv", "plot.svg"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    for path in ("results.json", "results/A1-en-de-1.json", "results/C-en-de-1.json"):
        found, wanted = (without_provenance(folder / path) for folder in (one, other))
        assert found == wanted, path
    same_models(one, other)


def same_models(one, other):
    """Compare the tensors of all models."""
    paths, others = (
        sorted(path.relative_to(folder) for path in folder.rglob("checkpoint_*.pt"))
        for folder in (one, other)
    )
    assert paths and paths == others
    for path in paths:
        found, wanted = (load(folder / path)["model"] for folder in (one, other))
        assert found.keys() == wanted.keys()
        assert all(torch.equal(found[name], wanted[name]) for name in found), path


def without_provenance(path):
    record = json.loads(path.read_text(), object_hook=frame_rows)
    return {
        name: value
        for name, value in record.items()
        if name != "provenance" and not re.search(TIMES, name)
    }


@pytest.fixture(scope="module")
def local(text, cluster):
    finish(text / "local", STUDY, cluster)
    return text / "local"


def test_a_study_with_a_job_cancelled_in_the_middle_ends_as_a_local_one(text, cluster, local):
    here = text / "cancelled"
    process = begin(here, STUDY, cluster, *SLURM)
    await_file(here / "run/models/A1-en-de-1/checkpoint_last.pt", process)
    first = job_of(here / "run", "train-A1-en-de-1")
    both = slurm(cluster, "squeue", "-h", "-o", "%j %T")
    slurm(cluster, "scancel", first)
    assert process.wait(timeout=500) == 0, (here / "printed").read_text()
    printed = (here / "printed").read_text()
    assert sorted(both.split("\n")[:2]) == ["train-A1-en-de-1 RUNNING", "train-C-en-de-1 RUNNING"]
    assert f"step 'train-A1-en-de-1': job {first} ended as CANCELLED" in printed
    assert job_of(here / "run", "train-A1-en-de-1") != first
    assert re.search(r"train-A1-en-de-1: .*, job \d+ on \S+, step [\d,]+/240, loss", printed)
    log = (here / "run/logs/train-A1-en-de-1.log").read_text()
    assert "Loaded checkpoint" in log  # it resumed
    same_results(here, local)
    assert "done before" in finish(here, STUDY, cluster)  # the same stamps


MIGRATION = """\
source: source/checkpoint_last.pt
text: text
languages: [en, de]
vocab_type: word
vocab_size: 300
embed_epochs: 1
map_seeds: [1, 2]
map_refine: 1
map_keep_failed: yes
map_args: --epochs 1 --epoch-size 64 --hidden 8
commonality_steps: 200
transfer_steps: 10
language_steps: 10
warmup: 1
every: 10
batch_size: 16
precision: fp32
"""
ENGLISH = (
    f"english --user-dir {USER_DIR} --task bilingual_mlm --criterion unified_lm "
    "--arch separable_transformer_tiny --encoder-layers 4 --encoder-embed-dim 16 "
    "--encoder-ffn-embed-dim 32 --encoder-attention-heads 2 --max-positions 48 --lm-head bert "
    "--sample-break-mode sentence --optimizer adam --lr 1e-3 --max-tokens 400 --max-update 5 "
    "--disable-validation --cpu --num-workers 0 --save-dir source"
)


def test_a_migration_with_a_cancelled_training_ends_as_a_local_one(cluster, tmp_path):
    made = (
        f"{XLING} synthesize text --sentences 120 --held-out 20 --parallel-sentences 100",
        f"{XLING} prepare english --languages en --vocab-type word --vocab-size 200 "
        "--mono train.en=text/mono/train.en.txt",
        f"{BIN}/fairseq-train {ENGLISH}",
    )
    for command in made:
        subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True, env=cluster)
    for name in ("local", "slurm"):
        (tmp_path / name).mkdir()
        for shared in ("text", "source", "english"):
            (tmp_path / name / shared).symlink_to(tmp_path / shared)
        (tmp_path / name / "run.yaml").write_text(MIGRATION)
    finish(tmp_path / "local", "trelm run run.yaml --output run", cluster)
    here = tmp_path / "slurm"
    process = begin(here, "trelm run run.yaml --output run", cluster, *SLURM)
    await_file(here / "run/models/commonality-de-1/checkpoint_last.pt", process, 300)
    slurm(cluster, "scancel", job_of(here / "run", "commonality-de-1"))
    assert process.wait(timeout=500) == 0, (here / "printed").read_text()
    assert "step 'commonality-de-1': job" in (here / "printed").read_text()
    timed = re.compile(TIMES)
    found, wanted = (
        [
            row
            for row in read_record(tmp_path / name / "run").rows
            if row["kind"] != "cost" and not timed.search(row.get("measure", ""))
        ]
        for name in ("slurm", "local")
    )
    assert found == wanted
    same_models(here / "run", tmp_path / "local/run")


def test_what_slurm_is_about_to_preempt_is_requeued_as_the_same_job(text, cluster, local):
    here = text / "preempted"
    process = begin(here, STUDY, cluster, *SLURM)
    await_file(here / "run/models/C-en-de-1/checkpoint_last.pt", process)
    job = job_of(here / "run", "train-C-en-de-1")
    slurm(cluster, "scancel", "--signal=USR2", job)
    assert process.wait(timeout=500) == 0, (here / "printed").read_text()
    assert job_of(here / "run", "train-C-en-de-1") == job
    assert "Requeued job" in (here / f"run/.jobs/{job}_0_log.out").read_text()
    same_results(here, local)


def test_jobs_outlive_ctrl_c_and_are_followed_again_and_a_local_run_keeps_off(text, cluster, local):
    here = text / "interrupted"
    process = begin(here, STUDY, cluster, *SLURM)
    await_file(here / "run/models/A1-en-de-1/checkpoint_last.pt", process)
    job = job_of(here / "run", "train-A1-en-de-1")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    printed = (here / "printed").read_text()
    assert re.search(
        rf"jobs live on: .*{job} \(train-A1-en-de-1\).*; `scancel [\d ]+` ends", printed
    )
    assert slurm(cluster, "squeue", "-h", "-j", job, "-o", "%T") == "RUNNING\n"
    slurm(cluster, "scontrol", "suspend", job)  # so that it is still there when a local run comes
    refused = finish(here, STUDY, cluster, status=1)
    assert "is being carried out by another process, here or as a job" in refused
    slurm(cluster, "scontrol", "resume", job)
    finish(here, STUDY, cluster, *SLURM)
    assert job_of(here / "run", "train-A1-en-de-1") == job
    same_results(here, local)


def test_a_run_begun_here_resumes_on_the_cluster(text, cluster, local):
    here = text / "moved"
    process = begin(here, STUDY, cluster)
    await_file(here / "run/models/A1-en-de-1/checkpoint_last.pt", process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    printed = finish(here, STUDY, cluster, *SLURM)
    assert "prepare-joint.en-de: done before" in printed
    assert "Loaded checkpoint" in (here / "run/logs/train-A1-en-de-1.log").read_text()
    same_results(here, local)


def test_a_job_that_is_killed_again_and_again_is_requeued_three_times(text, cluster):
    here = text / "killed"
    process = begin(here, STUDY, cluster, *SLURM)
    ended = set()
    while process.poll() is None:
        for line in slurm(cluster, "squeue", "-h", "-t", "R", "-o", "%i %j").splitlines():
            job, name = line.split()
            if name == "prepare-joint.en-de" and job not in ended:
                ended.add(job)
                slurm(cluster, "scancel", job)
        time.sleep(0.2)
    *_, last = (here / "printed").read_text().splitlines()
    assert process.returncode == 1 and len(ended) == 4
    assert re.search(r"job \d+ ended as CANCELLED.*, after 3 requeues; the job's log is", last)
    left = (here / "printed").read_text()
    assert left.count("requeued") == 3


def test_a_program_that_fails_is_not_tried_again(text, cluster):
    here = text / "failing"
    printed = finish(here, f"{STUDY} --arch no_such_arch", cluster, *SLURM, status=1)
    assert "no_such_arch" in printed
    broken = STUDY.replace("--vocab-size 400", "--vocab-size 4")
    printed = finish(here, broken, cluster, *SLURM, status=1)
    assert re.search(r"\[\d/7\] \S+: FAILED\n  \| ", printed)
    assert re.search(r"error: step '\S+' failed with exit status 1; its log is", printed)
    assert "requeued" not in printed


def test_a_folder_that_the_node_does_not_see_is_one_line(text, cluster):
    hidden = text / "hidden"
    hidden.mkdir()
    shell = f"mount -t tmpfs none {hidden} && cd {hidden} && exec {sys.executable} {XLING} {STUDY} "
    shell = shell.replace("../text", str(text / "text")) + " ".join(SLURM)
    command = ["unshare", "--mount", "sh", "-c", shell]
    done = subprocess.run(command, env=cluster, capture_output=True, text=True, timeout=120)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no folder can be hidden here: {done.stderr.strip()}")
    assert done.returncode == 1
    *_, last = done.stderr.splitlines()
    assert re.search(
        r"error: step '\S+': job \d+ ended as FAILED before the step began, and left no log in "
        rf"{hidden}/run/.jobs; its node must see that folder$",
        last,
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("partition=nope", "`--launcher-args`: unknown partition 'nope'; known: tests"),
        ("constraint=nope", "sbatch refuses step 'prepare-"),
        ("partition=tests,timeout_min=x", "`--timeout-min` must be a whole number, got 'x'"),
        ("partitoin=tests", "unknown option 'partitoin'; did you mean 'partition'?"),
    ],
)
def test_bad_options_are_one_line(text, cluster, arguments, message):
    options = ("--launcher", "slurm", "--launcher-args", arguments)
    printed = finish(text / "bad", STUDY, cluster, *options, status=1)
    assert message in printed.splitlines()[-1]


def test_without_sacct_it_says_so(text, cluster, tmp_path):
    for name in ("sbatch", "srun", "squeue", "sinfo", "scancel"):
        (tmp_path / name).symlink_to(shutil.which(name))
    env = {**cluster, "PATH": f"{tmp_path}"}
    printed = finish(text / "no-sacct", STUDY, env, *SLURM, status=1)
    assert "needs Slurm's programs, and there is no sacct on PATH" in printed
    (tmp_path / "sacct").write_text(
        "#!/bin/sh\necho Slurm accounting storage is disabled >&2\nexit 1\n"
    )
    (tmp_path / "sacct").chmod(0o755)
    printed = finish(
        text / "no-sacct", STUDY, {**env, "PATH": f"{tmp_path}:/bin"}, *SLURM, status=1
    )
    assert (
        "needs Slurm's accounting, and sacct fails: Slurm accounting storage is disabled" in printed
    )


def test_hydras_launcher_makes_one_training_of_a_job_as_the_page_says(text, cluster, tmp_path):
    pytest.importorskip(
        "hydra_plugins.hydra_submitit_launcher", reason="needs hydra-submitit-launcher"
    )
    options = "--languages en,de --vocab-type word --vocab-size 300 --aligner none"
    command = [XLING, "prepare", "data", "--from", text / "text", *options.split()]
    subprocess.run(command, cwd=tmp_path, env=cluster, check=True, capture_output=True)
    task = (
        f"common.user_dir={USER_DIR} common.cpu=true +task._name=bilingual_mlm "
        f"+task.data={tmp_path}/data +task.sample_break_mode=sentence "
        "+model._name=separable_transformer +model.encoder_layers=1 +model.encoder_embed_dim=16 "
        "+model.encoder_attention_heads=2 +model.encoder_ffn_embed_dim=32 "
        "criterion._name=unified_lm +optimizer._name=adam 'optimization.lr=[1e-3]' "
        "dataset.max_tokens=256 dataset.num_workers=0 optimization.max_update=2"
    )
    page = (DOCS / "how-to" / "processes.md").read_text()
    (printed,) = re.findall(r"```text\n(.*submitit_slurm(?:.|\n)*?)```", page)
    # Eight GPUs are two cores here.
    for said, here in (
        ("fairseq-hydra-train", f"{BIN}/fairseq-hydra-train"),
        (" TASK ", f" {task} "),
        ("partition=gpu", "partition=tests"),
        ("tasks_per_node=8", "tasks_per_node=2"),
        ("gpus_per_node=8", "gpus_per_node=null"),
    ):
        assert printed.count(said) == 1
        printed = printed.replace(said, here)
    done = subprocess.run(
        printed, shell=True, cwd=tmp_path, env=cluster, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    saved = load(tmp_path / "sweep" / "0" / "checkpoints" / "checkpoint_last.pt")
    assert saved["cfg"]["distributed_training"]["distributed_world_size"] == 2
    assert saved["extra_state"]["train_iterator"]["num_shards"] == 2
