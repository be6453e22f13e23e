"""A program of fairseq's or ours in a shell, as a client of the fork server of a test's process."""

import os
import signal
from collections.abc import Sequence

from fairseq_xling.workflow.forking import fork

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(argv: Sequence[str]) -> int:
    """``argv``, forked, or else begun in place of this process."""
    process = fork(argv, os.environ)
    if process is None:
        command = ["python", *argv] if argv[0].endswith(".py") else list(argv)
        os.execvp(command[0], command)
    for number in HEARD:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: process.terminate())
    status = process.wait()
    return status if status >= 0 else 128 - status
