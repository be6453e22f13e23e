"""Programs forked from one process that has torch, fairseq and the plug-in imported.

A Python with all of that takes seconds of a processor to start, a fork milliseconds. A run has
dozens of programs, so it starts one such process and asks it for each:

    python -m fairseq_xling.workflow.forking SOCKET OWNER_FD

For each request this server forks a keeper, which forks the program and waits with it. The keeper
tells the client how the program ended, and ends it when the client or the server's owner has gone:
a run that is killed leaves nothing behind. Only the standard library is imported at first, so that
a client itself begins at once.
"""

import atexit
import contextlib
import gc
import io
import json
import os
import runpy
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

# Names the socket; every program of a run has it, so that runs inside a run use the same server.
# Set to "off", every program is started as a process of its own.
VARIABLE = "FAIRSEQ_XLING_FORK_SERVER"
OFF = "off"
_STATUS = struct.Struct("!ci")  # kind of answer, then a number
_STARTED, _REFUSED, _ENDED = b"S", b"R", b"E"  # number: process id, nothing, exit status
_TERMINATE = b"T"
_HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # what ends a program
_MOST, _MOST_FDS = 1 << 18, 64  # bytes of a request, and descriptors in it
# What an interpreter reads when it starts, or a library when it is loaded: a program that asks for
# another value needs a process of its own.
_READ_AT_START = ("PYTHON", "OMP_", "MKL_", "OPENBLAS_", "KMP_", "LD_", "MALLOC_", "LC_", "LANG")
_ADOPTED = ("PYTHONUNBUFFERED",)
# Hydra reads the defaults that fairseq has when it is imported, without the plug-in.
_APART = ("fairseq-hydra-train",)


class Forked:
    """A program that a fork server has started; the part of `subprocess.Popen` that is needed."""

    def __init__(self, server: socket.socket, pid: int):
        self._server, self.pid = server, pid
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the program's end and return its status, as `subprocess.Popen.wait` does."""
        if self.returncode is None:
            if not select.select([self._server], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            kind, status = _answer(self._server)
            # Without an answer its keeper was killed; what became of the program is unknown.
            self.returncode = status if kind == _ENDED else -signal.SIGKILL
            self._server.close()
        return self.returncode

    def terminate(self) -> None:
        """Ask the program to end, if it has not."""
        with contextlib.suppress(OSError):  # it has
            self._server.sendall(_TERMINATE)


def fork(
    argv: Sequence[str],
    env: Mapping[str, str],
    fds: Sequence[int] = (0, 1, 2),
    cwd: str | os.PathLike | None = None,
) -> Forked | None:
    """The Python program ``argv``, a path and arguments, started by the fork server that ``env``
    names; None where there is no server, or it needs a process of its own.

    ``fds`` are its standard input, output and error, then descriptors that it keeps open.
    """
    address = env.get(VARIABLE, OFF)
    if address == OFF or len(fds) > _MOST_FDS or not _is_python(argv[0]):
        return None
    request = {
        "python": os.path.dirname(sys.executable),
        "argv": list(argv),
        "env": dict(env),
        "cwd": os.fspath(cwd or os.getcwd()),
        "group": os.getpgrp(),  # so that Ctrl-C reaches the program, too
        "ignored": [n for n in _HEARD if signal.getsignal(n) is signal.SIG_IGN],
    }
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        server.connect(address)
        socket.send_fds(server, [json.dumps(request).encode()], list(fds))
        kind, pid = _answer(server)
    except OSError:  # not there yet, or no more
        kind, pid = _REFUSED, 0
    if kind == _REFUSED:
        server.close()
        return None
    return Forked(server, pid)


def _is_python(program: str) -> bool:
    """Whether this Python would run ``program``: a script, or a program installed with it."""
    if program.endswith(".py"):
        return os.path.isfile(program)
    if os.path.basename(program) in _APART or not os.path.isfile(program):
        return False
    with open(program, "rb") as file:
        first = file.read(2) + file.readline()
    own = os.path.dirname(program) == os.path.dirname(sys.executable)
    return own and first.startswith(b"#!") and b"python" in first


def _answer(server: socket.socket) -> tuple[bytes, int]:
    with contextlib.suppress(ConnectionResetError, struct.error):
        return _STATUS.unpack(server.recv(_STATUS.size))
    return _REFUSED, 0


@contextlib.contextmanager
def fork_server(env: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """``env`` for the programs of a run, with a fork server that ends with the block.

    The server imports for a few seconds; programs that start before are ordinary processes. Inside
    a program that has a server, that one serves.
    """
    if VARIABLE in env or sys.platform != "linux":  # elsewhere forking is unsafe or impossible
        yield dict(env)
        return
    folder = Path(tempfile.mkdtemp(prefix="fairseq-xling-"))
    address, (theirs, ours) = folder / "fork-server", os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, address, str(theirs)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # what cannot be imported is said by the programs
            env=dict(env),
            pass_fds=[theirs],
        )
        os.close(theirs)
        try:
            yield {**env, VARIABLE: str(address)}
        finally:
            os.close(ours)
            if not address.exists():  # it is still importing
                process.kill()
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- The server


def fixed(env: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a running interpreter cannot take over.

    >>> fixed({"HOME": "/root", "OMP_NUM_THREADS": "2", "PYTHONUNBUFFERED": "1"})
    {'OMP_NUM_THREADS': '2'}
    """
    return {k: v for k, v in env.items() if k.startswith(_READ_AT_START) and k not in _ADOPTED}


def _serve(address: str, owner: int) -> None:
    """Answer requests until the owner has gone, when reading from ``owner`` ends."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"{address}.new")
    listener.listen(128)
    os.rename(f"{address}.new", address)  # who sees it can connect
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers need no one to wait for them
    for number in _HEARD:
        signal.signal(number, signal.SIG_IGN)  # the owner hears them, too, and decides
    while owner not in select.select([listener, owner], [], [])[0]:
        client, _ = listener.accept()
        if not os.fork():
            listener.close()
            _keep(client, owner)
        client.close()
    with contextlib.suppress(OSError):  # the owner may have been killed
        os.unlink(address)
        os.rmdir(os.path.dirname(address))


def _keep(client: socket.socket, owner: int) -> NoReturn:
    """Start the program that ``client`` asks for, and wait for its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        client.settimeout(10)
        message, fds, _, _ = socket.recv_fds(client, _MOST, _MOST_FDS)
        job = json.loads(message)
        known = fixed(job["env"]) == fixed(os.environ)
        if not known or job["python"] != os.path.dirname(sys.executable) or len(fds) < 3:
            client.sendall(_STATUS.pack(_REFUSED, 0))
            os._exit(0)
    except (OSError, ValueError, TypeError, KeyError):  # this is no client of ours
        os._exit(1)
    # Those are ignored here; a program must hear one that comes before it says so.
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    program = os.fork()
    if not program:
        client.close()
        os.close(owner)
        for number in _HEARD[1:]:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
        _become(job, fds)
    for descriptor in fds:
        os.close(descriptor)
    with contextlib.suppress(OSError):  # it has gone, which is heard from it next
        client.sendall(_STATUS.pack(_STARTED, program))
    watched: list[Any] = [ended := os.pidfd_open(program), client, owner]
    while ended not in (ready := select.select(watched, [], [])[0]):
        told = b""
        if client in ready:
            with contextlib.suppress(ConnectionResetError):  # it did not read what it was sent
                told = client.recv(1)
        # It is not waited for yet.
        os.kill(program, signal.SIGTERM if told == _TERMINATE else signal.SIGKILL)
        watched = watched if told else [ended]
    status = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    with contextlib.suppress(OSError):
        client.sendall(_STATUS.pack(_ENDED, status))
    os._exit(0)


def _become(job: Mapping[str, Any], fds: Sequence[int]) -> NoReturn:
    """Be the program of a request."""
    for place in range(3):
        os.dup2(fds[place], place)
        os.close(fds[place])
    with contextlib.suppress(OSError):  # the group has ended, or belongs to another session
        os.setpgid(0, job["group"])
    for number in job["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["cwd"])
    for place, name in ((1, "stdout"), (2, "stderr")):
        # A new one: the server's remembers of its own file whether it could be sought in.
        old, lines = getattr(sys, name), name == "stderr" or os.isatty(place)
        how = {"encoding": old.encoding, "errors": old.errors, "line_buffering": lines}
        now = bool(job["env"].get("PYTHONUNBUFFERED"))
        binary = open(place, "wb", 0 if now else -1, closefd=False)  # noqa: SIM115
        setattr(sys, name, io.TextIOWrapper(binary, write_through=now, **how))
    sys.argv = list(job["argv"])
    sys.path[0] = os.path.dirname(sys.argv[0])
    code: object = None
    try:
        from fairseq_xling.core.errors import exits_on_user_error
        from fairseq_xling.engine.extensions import load_plugins

        exits_on_user_error(load_plugins)()
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    if not (code is None or isinstance(code, int)):
        print(code, file=sys.stderr)
        code = 1
    # What Python does at its end, but for taking down every module, which takes longer than many a
    # program.
    threading._shutdown()  # waits for threads, as Python does
    atexit._run_exitfuncs()
    for one in gc.get_objects():
        if isinstance(one, io.TextIOWrapper | io.BufferedWriter) and not one.closed:
            one.flush()
    os._exit(int(code or 0) & 0xFF)


def _import_everything() -> None:
    """What the programs of a run import, and nothing that decides how they log."""
    import logging

    from fairseq_xling.engine.lean import lean_engine

    lean_engine()
    import fairseq.trainer  # noqa: F401
    import torch._dynamo  # noqa: F401  every optimiser asks for it, and it takes longest

    with contextlib.suppress(ImportError):  # an extra
        import matplotlib.figure  # noqa: F401
    from fairseq_xling.engine.extensions import held

    # A user's own code may start threads, after which nothing can be forked.
    with held():
        import fairseq_xling.plugin  # noqa: F401

    for handler in list(logging.getLogger().handlers):
        logging.getLogger().removeHandler(handler)
    logging.getLogger().setLevel(logging.WARNING)


def main(address: str, owner: str) -> None:
    """The server."""
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # the other way of asking forbids to fork
    _import_everything()
    for one in list(weakref.finalize._registry):  # not for each program to finalise at its end
        one.atexit = False
    gc.collect()
    gc.freeze()  # forked processes share these pages as long as nobody writes to them
    _serve(address, int(owner))


if __name__ == "__main__":
    main(*sys.argv[1:])
