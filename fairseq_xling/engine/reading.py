"""fairseq's ways to a checkpoint: what it may contain and have built is checked first.

And its one way from a file's name to a shell is closed.
"""

import contextvars
import functools
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairseq_xling import checkpoints
from fairseq_xling.checkpoints.files import find_data, in_one_line
from fairseq_xling.checkpoints.served import SERVED
from fairseq_xling.core.errors import UserError, about, exits_on_user_error
from fairseq_xling.engine.patches import replace


def install() -> None:
    """Replace what loads a file and builds a model from it."""
    replace("fairseq.checkpoint_utils:torch", _CheckedTorch)
    replace("fairseq.checkpoint_utils:load_model_ensemble_and_task", _one_line_build)


def refuse_proteins(data: Any) -> None:
    """Refuse data folders from which fairseq would pass a file's name to a shell: in a format that
    it takes where a folder has no other of a language, whose name it takes from those of files.

    Args:
        data: as `--data` of a task of fairseq's own.
    """
    for folder in str(data or "").split(":"):
        for path in Path(folder).glob("*.fasta") if folder else ():
            raise UserError(f"{path}: must not be of proteins, which fairseq reads through a shell")


class _CheckedTorch(types.ModuleType):
    """torch for fairseq's module that reads checkpoints: what its `load` returns was checked."""

    def __init__(self, torch: Any):
        super().__init__(torch.__name__)
        self._torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def load(self, file: Any, **kwargs: Any) -> Any:
        """As torch's, of a whole checkpoint in the open ``file``.

        Raises:
            UserError: for what is no checkpoint, or not one that may be used.
        """
        return in_one_line(self._load)(file.name, file, **kwargs)

    def _load(self, path: str, file: Any, **kwargs: Any) -> Any:
        budget = checkpoints.current()
        checkpoints.check_archive(file, path)
        state = self._torch.load(file, weights_only=True, **kwargs)
        checkpoints.check_layout(state, path, checkpoints.TRAINED)
        state["model"] = checkpoints.unwrapped(state["model"])
        checkpoints.check_tensors(state["model"], path)
        checkpoints.check_served(state, path)
        if _restoring.get():  # nothing is built from it: the options of the command line hold
            checkpoints.check_optimizer(state, path)
        elif budget is not None:
            budget.allow(state["model"], path)
            budget.check_layers(checkpoints.settings_of(state["cfg"].get("model")))
            task = checkpoints.settings_of(state["cfg"].get("task"))
            if task.get("data"):
                task["data"] = find_data(task["data"], path) or task["data"]
                if task.get("_name") in SERVED["task"]:
                    refuse_proteins(task["data"])
        return state


# Whether a training is being resumed.
_restoring: contextvars.ContextVar[bool] = contextvars.ContextVar("restoring", default=False)


def _one_line_build(load: Callable[..., Any]) -> Callable[..., Any]:
    """A model and its task from a checkpoint: no larger than its weights, and in one line."""

    @functools.wraps(load)
    @exits_on_user_error
    def wrapper(filenames: Any, *args: Any, **kwargs: Any) -> Any:
        with (
            about(*filenames, from_file=True),
            checkpoints.building(", ".join(map(str, filenames))),
        ):
            return load(filenames, *args, **kwargs)

    return wrapper


_RESET = "--reset-optimizer"  # fairseq's advice where the state is another optimizer's


def one_line_restore(load: Callable[..., Any]) -> Callable[..., Any]:
    """The trainer's state from a checkpoint: whole, and in one line."""

    @functools.wraps(load)
    @exits_on_user_error
    def wrapper(trainer: Any, filename: str, *args: Any, **kwargs: Any) -> Any:
        token = _restoring.set(True)
        try:
            found = load(trainer, filename, *args, **kwargs)
            if found is not None and trainer._optimizer is not None:
                checkpoints.check_restored(trainer.optimizer, filename)
            return found
        except (UserError, OSError):
            raise
        except Exception as error:  # fairseq's own says only that something was wrong
            reason = checkpoints.reason(error.__context__ or error)
            _, _, names = reason.partition(f"({_RESET}). ")
            if names:
                theirs, _, ours = names.partition(" vs ")
                raise UserError(
                    f"{filename}: has the state of another optimizer, {theirs}, than "
                    f"`--optimizer`, {ours}; `--reset-optimizer` begins without it"
                ) from None
            raise UserError(f"{filename}: cannot be resumed ({reason})") from error
        finally:
            _restoring.reset(token)

    return wrapper
