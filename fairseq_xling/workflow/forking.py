"""Starts programs by forking a warm process (`workflow.fork_server`) where there is one.

Only the standard library is imported here, so that a client itself begins at once.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fairseq_xling.workflow.fork_server import (
    ENDED,
    HEADER,
    HEARD,
    MOST_FDS,
    REFUSED,
    STATUS,
    TERMINATE,
    interpreter,
)

# Names the socket; every program of a run has it, so that runs inside a run use the same server.
# Set to "off", every program is started as a process of its own.
VARIABLE = "FAIRSEQ_XLING_FORK_SERVER"
OFF = "off"
# Hydra reads the defaults that fairseq has when it is imported, without the plug-in.
_APART = ("fairseq-hydra-train",)


class Forked:
    """A program that a fork server has started; the part of `subprocess.Popen` that is needed."""

    def __init__(self, server: socket.socket, pid: int):
        self._server, self.pid = server, pid
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the program's end and return its status, negative for a signal.

        Raises:
            subprocess.TimeoutExpired: if it has not ended after ``timeout`` seconds.
        """
        if self.returncode is None:
            if not select.select([self._server], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            kind, status = _answer(self._server)
            # Without an answer the server was killed; what became of the program is unknown.
            self.returncode = status if kind == ENDED else -signal.SIGKILL
            self._server.close()
        return self.returncode

    def terminate(self) -> None:
        """Ask the program to end, if it has not."""
        with contextlib.suppress(OSError):  # it has
            self._server.sendall(TERMINATE)


def fork(
    argv: Sequence[str],
    env: Mapping[str, str],
    fds: Sequence[int] = (0, 1, 2),
    cwd: str | os.PathLike | None = None,
) -> Forked | None:
    """The Python program ``argv``, started by the fork server that ``env`` names.

    Args:
        argv: path of the program, then its arguments.
        fds: its standard input, output and error, then descriptors that it keeps open.

    Returns:
        None where there is no server, or the program needs a process of its own.
    """
    address = env.get(VARIABLE, OFF)
    if address == OFF or len(fds) > MOST_FDS or not _is_python(argv[0]):
        return None
    request = {
        "python": interpreter(),
        "argv": list(argv),
        "env": dict(env),
        "cwd": os.fspath(cwd or os.getcwd()),
        "group": os.getpgrp(),
        "ignored": [n for n in HEARD if signal.getsignal(n) is signal.SIG_IGN],
    }
    message = json.dumps(request).encode()
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(address)
        socket.send_fds(server, [HEADER.pack(len(message))], list(fds))
        server.sendall(message)
        kind, pid = _answer(server)
    except OSError:  # not there yet, or no more
        kind, pid = REFUSED, 0
    if kind == REFUSED:
        server.close()
        return None
    return Forked(server, pid)


def _is_python(program: str) -> bool:
    """Whether this Python would run ``program``: a script, or a program installed with it."""
    if program.endswith(".py"):
        return os.path.isfile(program)
    if os.path.basename(program) in _APART:
        return False
    if os.path.dirname(program) != interpreter() or not os.path.isfile(program):
        return False
    with open(program, "rb") as file:
        return file.read(2) == b"#!" and b"python" in file.readline()


def _answer(server: socket.socket) -> tuple[bytes, int]:
    parts = b""
    while len(parts) < STATUS.size:
        try:
            more = server.recv(STATUS.size - len(parts))
        except ConnectionResetError:
            more = b""
        if not more:
            return REFUSED, 0
        parts += more
    return STATUS.unpack(parts)


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
            [sys.executable, "-m", "fairseq_xling.workflow.fork_server", address, str(theirs)],
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


def main(argv: Sequence[str]) -> int:
    """A program as a client in a shell: ``python forking.py /path/to/fairseq-train ...``."""
    process = fork(argv, os.environ)
    if process is None:
        command = [sys.executable, *argv] if argv[0].endswith(".py") else list(argv)
        os.execv(command[0], command)
    for number in HEARD:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: process.terminate())
    status = process.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
