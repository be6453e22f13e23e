"""One process that has torch, fairseq and the plug-in imported, and forks for each program.

    python -m fairseq_xling.workflow.fork_server SOCKET OWNER_FD

A Python with all of that takes about three seconds of a processor to start, a fork a few
milliseconds. A run has dozens of steps, so its runner starts one such process and asks it for each
program (`fairseq_xling.workflow.forking` is the client). The process does no work of its own: it
has one thread, and neither OpenMP nor CUDA has been touched when it forks.

It ends when its owner does, and ends a program whose client has gone: a run that is killed leaves
nothing behind.
"""

import atexit
import contextlib
import dataclasses
import gc
import io
import json
import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import NoReturn

MOST_FDS = 64
HEADER = struct.Struct("!I")  # length of the JSON request that follows
STATUS = struct.Struct("!ci")  # kind of answer, then a number
STARTED, REFUSED, ENDED = b"S", b"R", b"E"  # number: process id, nothing, exit status
TERMINATE = b"T"
HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # what ends a program

# What an interpreter reads when it starts, or a library when it is loaded: a program that asks for
# another value needs a process of its own.
_READ_AT_START = ("PYTHON", "OMP_", "MKL_", "OPENBLAS_", "KMP_", "LD_", "MALLOC_", "LC_", "LANG")
_ADOPTED = ("PYTHONUNBUFFERED",)


def fixed(env: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a running interpreter cannot take over.

    >>> fixed({"HOME": "/root", "OMP_NUM_THREADS": "2", "PYTHONUNBUFFERED": "1"})
    {'OMP_NUM_THREADS': '2'}
    """
    return {k: v for k, v in env.items() if k.startswith(_READ_AT_START) and k not in _ADOPTED}


def interpreter() -> str:
    """Which Python this is: the folder of its programs."""
    return os.path.dirname(sys.executable)


@dataclasses.dataclass
class Job:
    """A program to run, as its client asked for it.

    Attributes:
        python: the client's `interpreter`.
        argv: path of the program, a Python script, then its arguments.
        env: its whole environment.
        cwd: its working directory.
        group: the client's process group, so that Ctrl-C reaches the program, too.
        ignored: signals that the client ignores.
        fds: standard input, output and error, then descriptors that only have to stay open.
    """

    python: str
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    group: int
    ignored: Sequence[int]
    fds: Sequence[int]

    def run(self) -> None:
        """Become the program. Called in the forked process, with nothing of the server below it."""
        for place in range(3):
            os.dup2(self.fds[place], place)
            os.close(self.fds[place])
        with contextlib.suppress(OSError):  # the group has ended, or belongs to another session
            os.setpgid(0, self.group)
        for number in self.ignored:
            signal.signal(number, signal.SIG_IGN)
        os.environ.clear()
        os.environ.update(self.env)
        os.chdir(self.cwd)
        for stream in (sys.stdout, sys.stderr):
            unbuffered = bool(self.env.get("PYTHONUNBUFFERED"))
            stream.reconfigure(
                write_through=unbuffered, line_buffering=stream is sys.stderr or stream.isatty()
            )
        sys.argv = list(self.argv)
        sys.path[0] = os.path.dirname(self.argv[0])
        try:
            _load_plugins()
            runpy.run_path(self.argv[0], run_name="__main__")
        except SystemExit as ended:
            _end(ended.code)
        _end(None)


def _load_plugins() -> None:
    from fairseq_xling.core.errors import exits_on_user_error
    from fairseq_xling.engine.extensions import load_plugins

    exits_on_user_error(load_plugins)()


def _end(code: object) -> NoReturn:
    """What Python does at its end, but for taking down every module, which takes longer than many
    a program."""
    if not (code is None or isinstance(code, int)):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # waits for threads, as Python does
    atexit._run_exitfuncs()
    for one in gc.get_objects():
        if isinstance(one, io.TextIOWrapper | io.BufferedWriter) and not one.closed:
            one.flush()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit((code or 0) & 0xFF)


class Server:
    """Answers requests until the owner has gone.

    Args:
        listener: a listening Unix socket.
        owner: a descriptor that reads as ended when the owner has.
    """

    def __init__(self, listener: socket.socket, owner: int):
        self._listener, self._owner = listener, owner
        self._clients: dict[socket.socket, int] = {}  # the program's process id, 0 before
        self._wake, self._woken = socket.socketpair()
        self._select = selectors.DefaultSelector()
        for one in (listener, owner, self._woken):
            self._select.register(one, selectors.EVENT_READ)

    def serve(self) -> Job | None:
        """Returns a job in each forked process, and None in the server when its owner has gone."""
        for end in (self._wake, self._woken):
            end.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in HEARD:
            signal.signal(number, signal.SIG_IGN)  # the owner hears them, too, and decides
        while True:
            for key, _ in self._select.select():
                if key.fileobj is self._woken:
                    self._woken.recv(4096)
                    self._reap()
                elif key.fileobj is self._listener:
                    client, _ = self._listener.accept()
                    self._clients[client] = 0
                    self._select.register(client, selectors.EVENT_READ)
                elif key.fileobj == self._owner:
                    for process in filter(None, self._clients.values()):
                        os.kill(process, signal.SIGKILL)
                    return None
                elif key.fileobj in self._clients:
                    job = self._heard(key.fileobj)
                    if job is not None:
                        return job

    def _heard(self, client: socket.socket) -> Job | None:
        if self._clients[client]:
            try:
                told = client.recv(1)
            except ConnectionResetError:  # it went without reading what it was sent
                told = b""
            number = signal.SIGTERM if told == TERMINATE else signal.SIGKILL
            os.kill(self._clients[client], number)  # not reaped yet, so it is still this process
            if not told:  # the client has gone
                self._select.unregister(client)
            return None
        try:
            job = _read_job(client)
        except (OSError, ValueError, TypeError, EOFError):  # this is no client of ours
            self._close(client)
            return None
        if fixed(job.env) != fixed(os.environ) or job.python != interpreter():
            _send(client, REFUSED, 0)
            self._close(client)
        else:
            # The server ignores these; a program must hear one that comes before it says so.
            signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
            process = os.fork()
            if not process:
                self._forget()
                signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
                return job
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
            self._clients[client] = process
            _send(client, STARTED, process)
        _close_all(job.fds)
        return None

    def _reap(self) -> None:
        for client, process in list(self._clients.items()):
            if process:
                ended, status = os.waitpid(process, os.WNOHANG)
                if ended:
                    _send(client, ENDED, os.waitstatus_to_exitcode(status))
                    self._close(client)

    def _close(self, client: socket.socket) -> None:
        del self._clients[client]
        if client in self._select.get_map():
            self._select.unregister(client)
        client.close()

    def _forget(self) -> None:
        """In the forked process: let go of all that is the server's."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._select.close()
        for one in (self._listener, self._wake, self._woken, *self._clients):
            one.close()
        os.close(self._owner)


def _send(client: socket.socket, kind: bytes, number: int) -> None:
    with contextlib.suppress(OSError):  # it has gone, which is heard from it next
        client.sendall(STATUS.pack(kind, number))


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _read_job(client: socket.socket) -> Job:
    client.settimeout(10)
    start, fds, _, _ = socket.recv_fds(client, HEADER.size, MOST_FDS)
    try:
        if len(start) < HEADER.size or len(fds) < 3:
            raise EOFError
        (missing,) = HEADER.unpack(start)
        parts = []
        while missing:
            parts.append(client.recv(min(missing, 1 << 16)))
            if not parts[-1]:
                raise EOFError
            missing -= len(parts[-1])
        client.settimeout(None)
        return Job(**json.loads(b"".join(parts)), fds=fds)
    except BaseException:
        _close_all(fds)
        raise


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


def main() -> Job | None:
    """The server; returns in it when it is over, and in every program that it forks."""
    path, owner = sys.argv[1], int(sys.argv[2])
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # the other way of asking forbids to fork
    _import_everything()
    for one in list(weakref.finalize._registry):  # not for each program to finalise at its end
        one.atexit = False
    gc.collect()
    gc.freeze()  # forked processes share these pages as long as nobody writes to them
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(128)
    os.rename(path + ".new", path)  # who sees it can connect
    job = Server(listener, owner).serve()
    if job is None:  # the owner may have been killed
        with contextlib.suppress(OSError):
            os.unlink(path)
            os.rmdir(os.path.dirname(path))
    return job


if __name__ == "__main__":
    found = main()
    if found is not None:
        found.run()
