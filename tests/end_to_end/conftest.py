"""fairseq's programs inside this process: quicker than subprocesses where isolation is not it."""

import contextlib
import io
import logging
import sys

import pytest

from fairseq_xling.compat import prepare_engine
from tests.end_to_end.engine import training_options


@pytest.fixture
def fairseq_train(monkeypatch):
    """``fairseq_train(*arguments)``: the output of fairseq-train, or its SystemExit."""
    prepare_engine()

    def call(*arguments: str) -> str:
        from fairseq_cli import train

        for name in ("best", "num_runs"):  # fairseq keeps these on functions
            for function in (train.should_stop_early, train.checkpoint_utils.save_checkpoint):
                if hasattr(function, name):
                    delattr(function, name)
        monkeypatch.setattr(sys, "argv", ["fairseq-train", *map(str, arguments)])
        output = io.StringIO()
        handler = logging.StreamHandler(output)
        handler.setFormatter(logging.Formatter("| %(levelname)s | %(name)s | %(message)s"))
        root = logging.getLogger()
        level = root.level
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        try:
            with contextlib.redirect_stdout(output):
                train.cli_main()
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
        return output.getvalue()

    return call


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
        return fairseq_train(*training_options(data, save_dir, *extra))

    return call
