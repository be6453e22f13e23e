"""Running fairseq's real programs on a tiny data folder, as a user would."""

import atexit
import contextlib
import copy
import functools
import importlib
import io
import json
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

import fairseq_xling
from fairseq_xling import USER_DIR
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.workflow.forking import OFF, VARIABLE, fork, fork_server

BIN = Path(sys.executable).parent


def training_options(data: Path, save_dir: Path, *extra: str) -> list[str]:
    """Options of a training of a few seconds on one thread, ``extra`` last."""
    return [
        str(data),
        *("--user-dir", str(USER_DIR)),
        *"--task bilingual_mlm --arch separable_transformer_tiny --criterion unified_lm".split(),
        *"--encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32".split(),
        *"--optimizer adam --lr 1e-3 --weight-decay 0.01 --clip-norm 1".split(),
        *"--tokens-per-sample 16 --max-tokens 64 --cpu --num-workers 0".split(),
        *"--log-format json --log-interval 1 --no-progress-bar --save-dir".split(),
        str(save_dir),
        *extra,
    ]


def small_model(data: Path, save_dir: Path, *extra: str) -> list[str]:
    """Options of a training of an encoder of two layers, two updates long, ``extra`` last."""
    return [
        *(str(data), "--user-dir", str(USER_DIR), "--save-dir", str(save_dir)),
        *"--task bilingual_mlm --arch separable_transformer_tiny --criterion unified_lm".split(),
        *"--encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32".split(),
        *"--optimizer adam --lr 1e-3 --sample-break-mode sentence --max-tokens 512".split(),
        *"--max-update 2 --cpu --num-workers 0".split(),
        *extra,
    ]


def environment() -> dict[str, str]:
    """This process's, with one thread: results are compared bit for bit.

    Programs that are started in it are forked from one process, begun with the first of them.
    """
    return {**_own(), "MASTER_PORT": "0", **_fork_server()}


def _own() -> dict[str, str]:
    """This process's environment, as far as it is not the work of an import.

    scikit-learn sets variables of OpenMP when it is imported: a fork server that began without them
    would refuse every program from then on, and each would take seconds to start.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KMP_")}
    return {**kept, "OMP_NUM_THREADS": "1"}


@functools.cache
def _fork_server() -> dict[str, str]:
    """The variable that names this process's fork server, once it is ready."""
    if VARIABLE in os.environ:
        return {}
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    env = stack.enter_context(fork_server(_own()))
    deadline = time.monotonic() + 120
    while VARIABLE in env and not os.path.exists(env[VARIABLE]):
        assert time.monotonic() < deadline, "the fork server does not begin"
        time.sleep(0.05)
    return {VARIABLE: env.get(VARIABLE, OFF)}


def apart() -> dict[str, str]:
    """The `environment` in which each program is a process of its own."""
    return {**environment(), VARIABLE: OFF}


def start(
    command: Sequence[object], output: Any, errors: Any, typed: str = "", **options: Any
) -> Any:
    """``command`` with its streams in open files, as a process that can be waited for."""
    argv = [str(word) for word in command]
    env = options.setdefault("env", environment())
    script = argv[1:] if argv[0] == sys.executable and argv[1].endswith(".py") else argv
    with tempfile.TemporaryFile() as keyboard:
        keyboard.write(typed.encode())
        keyboard.seek(0)
        fds = [keyboard.fileno(), output.fileno(), errors.fileno()]
        process = fork(script, env, fds, cwd=options.get("cwd"))
        if process is None:
            streams = {"stdin": keyboard, "stdout": output, "stderr": errors}
            own = [sys.executable, *argv] if argv[0].endswith(".py") else argv
            process = subprocess.Popen(own, **streams, **options)
    return process


def launch(
    command: Sequence[object], *, merged: bool = False, timeout: float = 1200, **options: Any
) -> subprocess.CompletedProcess[str]:
    """``command`` to its end.

    Args:
        merged: both streams in ``.stdout``.
        options: ``typed`` (what it reads), ``cwd`` and ``env``; an environment of `apart` gives it
            a process of its own.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = start(command, output, output if merged else errors, **options)
        try:
            process.wait(timeout)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return subprocess.CompletedProcess(list(command), process.returncode, *texts)


def checked(command: Sequence[object], **options: Any) -> subprocess.CompletedProcess[str]:
    """`launch`, and the test fails with what the command said if it fails."""
    done = launch(command, **options)
    if done.returncode:
        said = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        pytest.fail(f"{' '.join(map(str, command))[:500]} exited {done.returncode}:\n{said}")
    return done


# In Python, so that torchrun starts it like the program itself.
_CLIENT = """#!{python} -S
import sys
sys.path.insert(0, "{root}")
from tests.forked import main
sys.exit(main(["{program}", *sys.argv[1:]]))
"""
_PYTHON = """#!/bin/sh
case "$1" in *.py) exec {python} -S -c 'import sys; sys.path.insert(0, "{root}")
from tests.forked import main; sys.exit(main(sys.argv[1:]))' "$@";; esac
exec {python} "$@"
"""


@functools.cache
def _clients() -> str:
    """A folder of programs with the names of fairseq's and ours that ask the fork server."""
    folder = Path(tempfile.mkdtemp(prefix="clients-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for program in [*BIN.glob("fairseq-*"), BIN / "python"]:
        text = _PYTHON if program.name == "python" else _CLIENT
        root = Path(fairseq_xling.__file__).parents[1]
        (folder / program.name).write_text(
            text.format(python=sys.executable, root=root, program=program)
        )
        (folder / program.name).chmod(0o755)
    return str(folder)


def shell_environment(**variables: str) -> dict[str, str]:
    """The `environment` of a shell whose programs are this Python's."""
    path = os.pathsep.join([_clients(), str(BIN), os.environ["PATH"]])
    return {**environment(), "PATH": path, **variables}


def command(program: str, *arguments: str, processes: int = 1) -> list[str]:
    """``program`` of this environment, started by torchrun where it takes several processes."""
    base = [str(BIN / program), *arguments]
    if processes == 1:
        return base
    launcher = [str(BIN / "torchrun"), "--standalone", "--nproc_per_node", str(processes)]
    return [*launcher, *base]


def meeting_place() -> dict[str, str]:
    """Where the processes of a training can meet."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free.getsockname()[1])}


def together(program: str, *arguments: str, processes: int) -> subprocess.CompletedProcess[str]:
    """Processes of one training, in the environment that torchrun gives to each.

    torchrun itself takes a Python for each process and one more; a page of the documentation that
    the tests run starts it for real.
    """
    common = {**meeting_place(), "WORLD_SIZE": str(processes)}
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(processes)]
        started = [
            start(
                [BIN / program, *arguments],
                file,
                file,
                env={**environment(), **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            )
            for rank, file in enumerate(files)
        ]
        statuses = [process.wait(timeout=600) for process in started]
        said = []
        for file in files:
            file.seek(0)
            said.append(file.read().decode("utf-8", "replace"))
    return subprocess.CompletedProcess([program], max(map(abs, statuses)), "".join(said))


def run(program: str, *arguments: str, processes: int = 1, check: bool = True, **kwargs: Any):
    """``program`` to its end; its output is in ``.stdout`` (both streams)."""
    if processes > 1:
        done = together(program, *arguments, processes=processes)
    else:
        done = launch(command(program, *arguments), merged=True, **kwargs)
    if check and done.returncode:
        pytest.fail(f"{program} exited {done.returncode}:\n{done.stdout[-3000:]}")
    return done


def run_script(path: Path, *arguments: object, folder: Path, timeout: int, **variables: str) -> str:
    """What the shell script ``path`` prints, run in ``folder`` with this environment's programs."""
    env = shell_environment(**variables)
    return checked(["bash", path, *arguments], cwd=folder, env=env, timeout=timeout).stdout


def in_process(program: str, *arguments: object) -> str:
    """The output of one of fairseq's programs, run here: a process of its own takes seconds."""
    prepare_engine()
    from fairseq import checkpoint_utils
    from fairseq_cli import train

    module = importlib.import_module(f"fairseq_cli.{program}")
    for name in ("best", "num_runs"):  # fairseq keeps these on functions
        for function in (train.should_stop_early, checkpoint_utils.save_checkpoint):
            if hasattr(function, name):
                delattr(function, name)
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    handler.setFormatter(logging.Formatter("| %(levelname)s | %(name)s | %(message)s"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        _hasten_hydra(patch)
        patch.setattr(sys, "argv", [f"fairseq-{program}", *map(str, arguments)])
        try:
            module.cli_main()
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
    return output.getvalue()


_COMPOSED: dict[tuple[str, ...], tuple[Any, list[str]]] = {}


def _hasten_hydra(patch: pytest.MonkeyPatch) -> None:
    """Have hydra compose each kind of configuration once; others of the kind differ in values.

    fairseq gives it three hundred values for each training, which takes as long as ten updates.
    """
    from fairseq.dataclass import utils
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.core.override_parser.overrides_parser import OverridesParser

    compose = utils.compose

    def compose_once(name: str, overrides: list[str], **options: Any) -> Any:
        # The task, the model and others that are chosen by name, and the names of all settings.
        kind = tuple(
            text.partition("=")[0] if "." in text.partition("=")[0] else text for text in overrides
        )
        if kind not in _COMPOSED:
            _COMPOSED[kind] = compose(name, overrides=overrides, **options), overrides
        known, values = _COMPOSED[kind]
        changed = [new for new, old in zip(overrides, values, strict=True) if new != old]
        cfg = copy.deepcopy(known)
        ConfigLoaderImpl._apply_overrides_to_config(
            OverridesParser.create().parse_overrides(changed), cfg
        )
        return cfg

    patch.setattr(utils, "compose", compose_once)


def run_until(pattern: str, program: str, *arguments: str, log: Path, processes: int = 1) -> bool:
    """Start ``program`` and kill -9 it, with all it started, once ``pattern`` is in its output.

    Returns whether it had to be killed.
    """
    with open(log, "w") as output:
        process = start(command(program, *arguments, processes=processes), output, output)
        while True:
            try:
                process.wait(timeout=0.02)
                return False
            except subprocess.TimeoutExpired:
                if re.search(pattern, log.read_text(errors="replace")):
                    kill(process)
                    return True


def kill(process: Any) -> None:
    """kill -9 ``process`` and all that it has started, and wait until they have ended."""
    family: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended by itself
        first = psutil.Process(process.pid)
        first.suspend()  # so that it starts nobody who would be overlooked
        family = [first, *first.children(recursive=True)]
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    process.wait(timeout=30)
    # Programs that a run asked the fork server for are ended by it; no test has two runs at once.
    for server in psutil.Process().children():
        if "fairseq_xling.workflow.forking" in server.cmdline():
            family += server.children(recursive=True)
    psutil.wait_procs(family, timeout=30)


def logged(output: str, kind: str) -> list[dict[str, float]]:
    """The statistics that fairseq logged under ``kind`` (train, train_inner, valid), in order."""
    rows = re.findall(rf"\| {kind} \| (\{{.*\}})", output)
    return [{k: float(v) for k, v in json.loads(row).items() if v is not None} for row in rows]


def table_of(output: str) -> list[list[str]]:
    """The cells of the Markdown tables that a benchmark prints, with the line under each head."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in output.splitlines()
        if line.startswith("|")
    ]


def load(checkpoint: Path) -> dict[str, Any]:
    """A checkpoint as it is on disk, loaded safely."""
    prepare_engine()
    return torch.load(checkpoint, map_location="cpu")


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two nested structures differ, bit for bit."""
    if torch.is_tensor(ours):
        same = ours.dtype == theirs.dtype and torch.equal(ours, theirs)
        return [] if same else [path]
    if isinstance(ours, dict):
        if ours.keys() != theirs.keys():
            return [f"{path}: {sorted(map(str, ours.keys() ^ theirs.keys()))}"]
        return [d for key in ours for d in differences(ours[key], theirs[key], f"{path}/{key}")]
    if isinstance(ours, list | tuple):
        if len(ours) != len(theirs):
            return [f"{path}: {len(ours)} and {len(theirs)} items"]
        pairs = zip(ours, theirs, strict=True)
        return [d for i, (a, b) in enumerate(pairs) for d in differences(a, b, f"{path}/{i}")]
    return [] if ours == theirs else [f"{path}: {ours} and {theirs}"]


def assert_same_training(first: Path, second: Path, *, iterator: bool = True) -> None:
    """Parameters, optimiser state and the place in the data are bit-identical."""
    ours, theirs = load(first), load(second)
    assert not differences(ours["model"], theirs["model"])
    assert not differences(ours["last_optimizer_state"], theirs["last_optimizer_state"])
    if iterator:
        name = "train_iterator"
        assert not differences(ours["extra_state"][name], theirs["extra_state"][name])
