"""Every Python that is supported, and the lowest versions of what is required: `nox --list`.

    pip install nox
    nox --session tests-3.12 lowest
    nox --session tests-3.12 -- tests/unit/mapping    # these tests alone

Each session makes an environment of its own, as `make` does.
"""

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
# The last Python that all of these versions exist for, with what constraints.txt has for it.
LOWEST_PYTHON = "3.10"
LOWEST = {"numpy": "1.26.0", "torch": "2.6.0"}

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = True
nox.options.reuse_existing_virtualenvs = True


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The pinned versions: the fast tests, and the tiny demo."""
    install(session)
    check(session)


@nox.session(python=LOWEST_PYTHON)
def lowest(session: nox.Session) -> None:
    """The lowest versions of numpy and torch: likewise."""
    install(session)
    session.install(*(f"{name}=={version}" for name, version in LOWEST.items()))
    check(session)


def install(session: nox.Session) -> None:
    """What `make` installs, into the session's environment."""
    session.run("python", ".ci/set_up.py", session.virtualenv.location)


def check(session: nox.Session) -> None:
    """Run the tests that are named, or the fast ones and the tiny demo."""
    one_thread = {"OMP_NUM_THREADS": "1"}
    fast = ["-n", "2", "--dist", "loadscope", "--no-loadscope-reorder", "-m", "not slow"]
    named = session.posargs or [*fast, "--doctest-modules", "fairseq_xling", "tests"]
    session.run("python", "-m", "pytest", "-q", *named, env=one_thread)
    if not session.posargs:
        demo = ["demo", "--scale", "tiny", "--output", f"{session.create_tmp()}/demo"]
        session.run("fairseq-xling", *demo)
