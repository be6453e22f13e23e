"""Reading a checkpoint that fairseq has trained: `load_trained`, the one door."""

import os
from typing import Any

from fairseq_xling.checkpoints import Budget, check_served, settings_of
from fairseq_xling.checkpoints.files import load_plain


def load_trained(path: str | os.PathLike, needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """The contents of a checkpoint of this project or of a plug-in, as on disk.

    Nothing in it can run, and it names nothing that may not be built (`checkpoints.served`). The
    project's names are registered first, since what it names is looked up among them.

    Args:
        needed: places that must be there, such as ``cfg.checkpoint``.
    """
    import fairseq_xling.plugin  # noqa: F401

    state = load_plain(path, ("model", "cfg.model", "cfg.task", *needed))
    check_served(state, path)
    Budget.of(state["model"], path).check_layers(settings_of(state["cfg"]["model"]))
    return state
