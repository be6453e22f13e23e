"""fairseq's ways to a checkpoint: what it may contain and have built is checked first.

And its one way from a file's name to a shell is closed.
"""

import contextvars
import functools
import types
from collections.abc import Callable
from typing import Any

from fairseq_xling import checkpoints
from fairseq_xling.checkpoints.files import find_data, in_one_line
from fairseq_xling.core.errors import UserError, about, exits_on_user_error


def install() -> None:
    """Wrap what loads a file, builds a model from it, and restores a trainer or a model."""
    import torch
    from fairseq import checkpoint_utils
    from fairseq.data.fasta_dataset import FastaDataset
    from fairseq.models import BaseFairseqModel
    from fairseq.trainer import Trainer

    checkpoint_utils.torch = _CheckedTorch(torch)
    checkpoint_utils.load_checkpoint_to_cpu = in_one_line(checkpoint_utils.load_checkpoint_to_cpu)
    checkpoint_utils.load_model_ensemble_and_task = _one_line_build(
        checkpoint_utils.load_model_ensemble_and_task
    )
    Trainer.load_checkpoint = _one_line_restore(Trainer.load_checkpoint)
    BaseFairseqModel.load_state_dict = _same_kinds(BaseFairseqModel.load_state_dict)
    FastaDataset._build_index = _refuse_proteins


@exits_on_user_error
def _refuse_proteins(self: Any, path: str) -> None:
    """fairseq passes the file's name to a shell, and takes languages out of names of files."""
    raise UserError(f"{path}.fasta: must not be of proteins, which fairseq reads through a shell")


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
        path, budget = file.name, checkpoints.current()
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


def _one_line_restore(load: Callable[..., Any]) -> Callable[..., Any]:
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


def _same_kinds(load: Callable[..., Any]) -> Callable[..., Any]:
    """torch turns integers in a file into a model's floating-point numbers, and back."""

    @functools.wraps(load)
    @exits_on_user_error
    def wrapper(model: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        checkpoints.check_kinds(model, state_dict)
        return load(model, state_dict, *args, **kwargs)

    return wrapper
