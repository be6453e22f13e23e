"""fairseq's programs inside this process: quicker than subprocesses where isolation is not it."""

import functools
import os

import pytest

from tests.end_to_end import engine


@pytest.fixture
def fairseq_train():
    """``fairseq_train(*arguments)``: the output of fairseq-train, or its SystemExit."""
    return functools.partial(engine.in_process, "train")


@pytest.fixture
def in_process(monkeypatch, fairseq_train):
    """``in_process("train", data, save_dir, *extra)``: a language model's `fairseq_train`.

    ``--only LANG`` (this fixture's own) draws every batch from one language.
    """

    def call(program: str, data, save_dir, *extra: str) -> str:
        from fairseq_xling.data import plan

        extra = list(extra)
        if "--only" in extra:
            place = extra.index("--only")
            only = extra[place + 1]
            del extra[place : place + 2]
            start = plan.Plan.__post_init__

            def keep_one(self):
                start(self)
                self._lanes = [[n for n, f in enumerate(self.feeds) if f.source.name == only]]

            monkeypatch.setattr(plan.Plan, "__post_init__", keep_one)
        return fairseq_train(*engine.training_options(data, save_dir, *extra))

    return call


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """What the trainings of `training_steps` read, but for pivots."""
    from tests.end_to_end import training_steps

    return training_steps.make_world(tmp_path_factory.mktemp("steps"))


@pytest.fixture(scope="session")
def labelled_world(world):
    """The same, with pivots."""
    from tests.end_to_end import training_steps

    training_steps.make_labels(world)
    return world


@pytest.fixture(scope="session")
def pages_root(tmp_path_factory):
    """Where the folders of documentation pages are, for all workers of the session."""
    root = tmp_path_factory.getbasetemp()
    workers = "PYTEST_XDIST_WORKER" in os.environ
    return (root.parent if workers else root) / "pages"
