"""fairseq's programs inside this process: quicker than subprocesses where isolation is not it."""

import contextlib
import io
import logging
import sys

import pytest

from fairseq_xling.compat import prepare_engine
from tests.end_to_end.engine import training_options


@pytest.fixture
def in_process(monkeypatch):
    """``in_process("train", data, save_dir, *extra)``: fairseq-train's output, or its SystemExit.

    ``--only LANG`` (this fixture's own) draws every batch from one language.
    """
    prepare_engine()

    def call(program: str, data, save_dir, *extra: str) -> str:
        from fairseq_cli import train

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
        for name in ("best", "num_runs"):  # fairseq keeps these on functions
            for function in (train.should_stop_early, train.checkpoint_utils.save_checkpoint):
                if hasattr(function, name):
                    delattr(function, name)
        monkeypatch.setattr(
            sys, "argv", [f"fairseq-{program}", *training_options(data, save_dir, *extra)]
        )
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
