"""Programs forked from a warm process behave as programs that were started."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from fairseq_xling.workflow.forking import OFF, VARIABLE, Forked, fork, fork_server

SHOW = """
import json, logging, os, sys, threading
facts = {
    "argv": sys.argv, "cwd": os.getcwd(), "name": __name__, "typed": sys.stdin.read(),
    "env": os.environ.get("MINE"), "warm": "fairseq" in sys.modules,
    "handlers": len(logging.getLogger().handlers), "first": sys.path[0],
    "threads": threading.active_count(), "inherited": sorted(os.listdir("/proc/self/fd")),
}
print(json.dumps(facts))
sys.stderr.write("said\\n")
sys.exit(3)
"""


@pytest.fixture(scope="module")
def env():
    with fork_server({**os.environ, "OMP_NUM_THREADS": "1"}) as found:
        if VARIABLE not in found or found[VARIABLE] == OFF:
            pytest.skip("programs are forked on Linux only")
        deadline = time.monotonic() + 120
        while not os.path.exists(found[VARIABLE]):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield found


@pytest.fixture
def begin(env, tmp_path):
    """``begin(code, *arguments, **changes)``: a forked process; its streams are files."""

    def call(code, *arguments, cwd=None, keep=(), **changes):
        script = tmp_path / "script.py"
        script.write_text(code)
        (tmp_path / "in").write_text("typed\n")
        with (
            open(tmp_path / "in") as given,
            open(tmp_path / "out", "w") as out,
            open(tmp_path / "err", "w") as err,
        ):
            fds = (given.fileno(), out.fileno(), err.fileno(), *keep)
            return fork([str(script), *arguments], {**env, **changes}, fds, cwd=cwd)

    return call


def test_a_forked_program_has_its_own_arguments_streams_folder_and_environment(begin, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    process = begin(SHOW, "--loud", "ä", cwd=str(folder), MINE="yes")
    assert process.wait() == process.returncode == 3
    facts = json.loads((tmp_path / "out").read_text())
    assert facts["argv"] == [str(tmp_path / "script.py"), "--loud", "ä"]
    assert facts["cwd"] == str(folder) and facts["first"] == str(tmp_path)
    assert facts["name"] == "__main__" and facts["typed"] == "typed\n" and facts["env"] == "yes"
    assert facts["warm"] and facts["handlers"] == 0 and facts["threads"] == 1
    assert len(facts["inherited"]) == 4  # its streams, and the folder that it lists
    assert (tmp_path / "err").read_text() == "said\n"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("pass", 0),
        ("raise SystemExit('a reason')", 1),
        ("raise ValueError('a reason')", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("raise KeyboardInterrupt", -signal.SIGINT),
    ],
)
def test_its_status_is_that_of_a_program_that_was_started(begin, tmp_path, code, status):
    assert begin(code).wait() == status
    said = (tmp_path / "err").read_text()
    assert ("a reason" in said) == ("a reason" in code)
    started = subprocess.run([sys.executable, tmp_path / "script.py"], stderr=subprocess.DEVNULL)
    assert started.returncode == status


def test_what_was_written_and_registered_is_there_at_its_end(begin, tmp_path):
    code = f"""
import atexit, threading, time
file = open({str(tmp_path / "kept")!r}, "w")
file.write("not closed")
print("no newline", end="")
def late():
    time.sleep(0.2)
    print(", late", end="")
threading.Thread(target=late).start()
atexit.register(lambda: print(", registered", end=""))
import weakref
class Held: pass
held = Held()
weakref.finalize(held, print, ", finalised", end="")
if sum(one.atexit for one in weakref.finalize._registry) > 1:
    print(", and what the server held", end="")
"""
    assert begin(code).wait() == 0
    assert (tmp_path / "kept").read_text() == "not closed"
    said = (tmp_path / "out").read_text()
    assert said == "no newline, late, registered, finalised"


def test_it_can_be_asked_to_end_and_says_so(begin, tmp_path):
    code = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
print("ready", flush=True)
time.sleep(60)
"""
    process = begin(code)
    while not (tmp_path / "out").read_text():
        time.sleep(0.02)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.1)
    process.terminate()
    assert process.wait(timeout=30) == 130
    process.terminate()  # too late, and no error


def test_a_lock_travels_with_it(begin, tmp_path):
    import fcntl

    lock = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    process = begin("import sys, time; time.sleep(60)", keep=[lock])
    os.close(lock)
    again = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    process.terminate()
    assert process.wait() == -signal.SIGTERM
    fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(again)


def test_programs_run_at_the_same_time(begin, tmp_path):
    meet = """
import os, sys, time
mine, other = sys.argv[1:]
open(mine, "w").close()
for _ in range(500):
    if os.path.exists(other):
        sys.exit(0)
    time.sleep(0.02)
sys.exit(1)
"""
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    first, second = begin(meet, a, b), begin(meet, b, a)
    assert (first.wait(), second.wait()) == (0, 0)


def test_an_environment_that_python_reads_at_its_start_needs_a_process_of_its_own(begin):
    assert begin("pass", PYTHONHASHSEED="7") is None
    assert begin("pass", OMP_NUM_THREADS="2") is None
    assert begin("pass", PYTHONUNBUFFERED="1").wait() == 0


def test_without_a_server_or_for_another_program_there_is_nothing_to_fork(env, begin, tmp_path):
    for server in (OFF, str(tmp_path / "gone")):
        assert begin("pass", **{VARIABLE: server}) is None
    assert fork([str(tmp_path / "script.py")], {}) is None
    for program in ("/bin/ls", str(tmp_path / "missing.py")):
        assert fork([program], env) is None


OWNER = """
import os, sys, time
from fairseq_xling.workflow.forking import VARIABLE, fork, fork_server
with fork_server(os.environ) as env:
    while not os.path.exists(env[VARIABLE]):
        time.sleep(0.05)
    process = fork([sys.argv[1]], env)
    print(process.pid, env[VARIABLE], flush=True)
    process.wait()
"""


@pytest.mark.slow
def test_a_killed_owner_leaves_neither_server_nor_program_nor_files(tmp_path):
    script = tmp_path / "sleep.py"
    script.write_text("import time; time.sleep(100)")
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, script],
        env={name: value for name, value in os.environ.items() if name != VARIABLE},
        stdout=subprocess.PIPE,
        text=True,
    )
    pid, address = owner.stdout.readline().split()
    family = psutil.Process(owner.pid).children(recursive=True)
    assert int(pid) in [process.pid for process in family]
    owner.kill()
    owner.wait()
    assert not psutil.wait_procs(family, timeout=30)[1]
    assert not Path(address).parent.exists()


def test_a_client_that_is_killed_takes_its_program_with_it(env, tmp_path):
    script = tmp_path / "sleep.py"
    script.write_text("import time; time.sleep(100)")
    code = (
        "import os, sys; from fairseq_xling.workflow.forking import fork\n"
        "p = fork([sys.argv[1]], os.environ); print(p.pid, flush=True); p.wait()"
    )
    command = [sys.executable, "-c", code, script]
    client = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    program = psutil.Process(int(client.stdout.readline()))
    client.kill()
    client.wait()
    assert not psutil.wait_procs([program], timeout=30)[1]


def test_a_broken_request_does_not_end_the_server(env, begin):
    for message in (b"", b"\0\0\0\5", b"{}", b"[7]"):
        for fds in ([], [0, 1, 2]):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
                one.connect(env[VARIABLE])
                if message:
                    socket.send_fds(one, [message], fds)
    assert isinstance(begin("pass"), Forked)


def test_a_client_that_does_not_wait_for_the_answer_does_not_end_the_server(env, begin, tmp_path):
    script = tmp_path / "late.py"
    script.write_text(f"import time; time.sleep(2); open({str(tmp_path / 'late')!r}, 'w')")
    request = {
        **{"python": str(Path(sys.executable).parent), "argv": [str(script)], "env": dict(env)},
        **{"cwd": "/", "group": os.getpgrp(), "ignored": []},
    }
    for changes in ({}, {"python": "/elsewhere"}):
        message = json.dumps({**request, **changes}).encode()
        for _ in range(20):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
                one.connect(env[VARIABLE])
                socket.send_fds(one, [message], [0, 1, 2])
    assert begin("pass").wait() == 0
    time.sleep(2.5)
    assert not (tmp_path / "late").exists()  # their programs have ended with them


def test_a_forked_program_imports_a_users_folders_itself(begin, tmp_path):
    """The server does not: code of a user's may start threads, and programs may name others."""
    mine = tmp_path / "xling_forked"
    mine.mkdir()
    (mine / "__init__.py").write_text("import os\npid = os.getpid()\n")
    code = "import os, sys; sys.exit(sys.modules['xling_forked'].pid != os.getpid())"
    assert begin(code, FAIRSEQ_XLING_USER_DIR=str(mine)).wait() == 0
    assert begin("import sys; sys.exit('xling_forked' in sys.modules)").wait() == 0
    assert begin("", FAIRSEQ_XLING_USER_DIR=str(tmp_path / "nope")).wait() == 1
    line = f"fairseq-xling: error: `FAIRSEQ_XLING_USER_DIR` {tmp_path}/nope: no such folder\n"
    assert (tmp_path / "err").read_text() == line
