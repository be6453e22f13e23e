"""Settings of a study whose files are there, and hold a few rows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fairseq_xling.papers.transfer import zero_shot
from fairseq_xling.papers.transfer.zero_shot import Options


@pytest.fixture
def config(tmp_path, monkeypatch) -> Callable[..., Options]:
    """``config(lrs="1e-3,1e-4")``: English to German, in an empty folder. No encoder is read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(zero_shot, "check_encoders", lambda *_: None)
    Path("models").mkdir()
    Path("models/best.pt").touch()
    Path("data").mkdir()
    for name, rows in (("en.train", 10), ("en.dev", 3), ("en.test", 2), ("de.test", 2)):
        Path(name).write_text("".join(f"text {n}\tyes\n" for n in range(rows)))

    def make(**changes) -> Options:
        given = {
            "encoder": ("models/best.pt",),
            "data": ("data",),
            "train": ("en=en.train",),
            "valid": ("en=en.dev",),
            "test": ("en=en.test", "de=de.test"),
            "lrs": "5e-5",
        }
        return Options(**{**given, **changes})

    return make
