"""A training's folders: held by one at a time, written whole, and read from where it was said."""

import argparse
import contextlib
import functools
import logging
import math
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling import checkpoints
from fairseq_xling.core.errors import UserError, exits_on_user_error, one_line
from fairseq_xling.core.files import same_place, unlink_link
from fairseq_xling.core.locks import hold
from fairseq_xling.core.named_files import existing
from fairseq_xling.core.ranges import option_name
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.engine.patches import replace
from fairseq_xling.engine.reading import one_line_restore

_SAVED = re.compile(r"checkpoint(\d|_|\.best_).*\.pt")  # what fairseq calls what it writes
logger = logging.getLogger(__name__)


def install() -> None:
    """Replace a step of training, and what reads and writes checkpoints for it."""
    replace("fairseq.checkpoint_utils:load_checkpoint", _checked_restore)
    replace("fairseq.checkpoint_utils:PathManager", _whole_files)
    replace("fairseq.trainer:Trainer.train_step", _whole_steps)


def _whole_steps(train_step: Callable[..., Any]) -> Callable[..., Any]:
    """Gradients that are NaN or infinite, and a loss scale at its minimum, are the end of a
    training: fairseq leaves a traceback, and a checkpoint from which nothing can be resumed.

    And where a process has fewer batches of an update than others, fairseq takes all of its batches
    for empty if the last one is: their gradients count, their sizes and logs do not."""

    @functools.wraps(train_step)
    @exits_on_user_error
    def wrapper(trainer: Any, samples: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return train_step(trainer, sorted(samples, key=bool), *args, **kwargs)
        except FloatingPointError as error:
            Path(trainer.cfg.checkpoint.save_dir, "crash.pt").unlink(missing_ok=True)
            reason = str(error).partition(".")[0]
            raise UserError(
                f"the training diverged at update {trainer.get_num_updates() + 1} ({reason}); "
                "lower `--lr`, or the maximum gradient norm, `--clip-norm`"
            ) from error

    return wrapper


def _whole_files(manager: Any) -> type:
    class PathManager(manager):
        """fairseq's, where checkpoints are written: whole, never through a link, or in one line."""

        @staticmethod
        def open(path: str, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            file = functools.partial(manager.open, path, mode, *args, **kwargs)
            return _writing(path, file) if "w" in mode else file()

        @staticmethod
        @exits_on_user_error
        def copy(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
            temporary = f"{dst_path}.tmp"
            unlink_link(temporary)
            shutil.copyfile(src_path, temporary)
            os.replace(temporary, dst_path)
            return True

    return PathManager


@contextlib.contextmanager
def _writing(path: str, opened: Callable[[], Any]) -> Iterator[Any]:
    """The file ``path``, which fairseq renames when it is whole."""

    def keep(record: logging.LogRecord) -> bool:  # no tracebacks of errors that are raised anyway
        return not record.getMessage().startswith("Traceback")

    named = logging.getLogger("fairseq.checkpoint_utils")
    named.addFilter(keep)
    try:
        unlink_link(path)
        with opened() as file:
            yield file
    except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        said = UserError(
            f"{path.removesuffix('.tmp')}: could not be written ({str(error).splitlines()[0]}); "
            "earlier checkpoints are kept"
        )
        raise SystemExit(one_line(said)) from None
    finally:
        named.removeFilter(keep)


def _checked_restore(load: Callable[..., Any]) -> Callable[..., Any]:
    """Reject a missing `--restore-file`, make every worker read the checkpoint, and lock folders.

    fairseq only logs that the file is missing and trains from scratch, and notices an unknown
    `--best-checkpoint-metric` after the first epoch. It continues a training that is finished.
    And where one worker reads for all, it sends the configuration as pickled objects that torch's
    safe loading refuses.
    """

    @functools.wraps(load)
    @exits_on_user_error
    def wrapper(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        named = cfg.restore_file != "checkpoint_last.pt"
        if named and not os.path.isfile(cfg.restore_file):
            raise UserError(f"`--restore-file` {cfg.restore_file}: no such checkpoint")
        if cfg.finetune_from_model and not os.path.isfile(cfg.finetune_from_model):
            raise UserError(f"`--finetune-from-model` {cfg.finetune_from_model}: no such file")
        reported = getattr(trainer.get_criterion(), "metric_names", None)
        chosen = cfg.best_checkpoint_metric
        if reported and chosen not in reported and not trainer.cfg.dataset.disable_validation:
            raise unknown_name("`--best-checkpoint-metric`", chosen, reported)
        if not cfg.no_save:
            _check_read(cfg, trainer)
        trainer.cfg.checkpoint.load_checkpoint_on_all_dp_ranks = True
        _hold_folders(cfg, trainer)
        first = cfg.finetune_from_model or cfg.restore_file
        place = first if named or cfg.finetune_from_model else Path(cfg.save_dir, first)
        restore = one_line_restore(type(trainer).load_checkpoint)
        trainer.load_checkpoint = functools.partial(restore, trainer)  # what comes next is data
        try:
            with checkpoints.reading(place):
                result = load(cfg, trainer, **kwargs)
        finally:
            del trainer.load_checkpoint
        # fairseq compares with --max-update only after a step, so every repetition of a finished
        # training would add one.
        if 0 < trainer.cfg.optimization.max_update <= trainer.get_num_updates():
            logger.info("--max-update %d is reached already", trainer.cfg.optimization.max_update)
            trainer.cfg.optimization.stop_min_lr = math.inf
        return result

    return wrapper


def _check_read(cfg: Any, trainer: Any) -> None:
    """Refuse to write over a checkpoint that the training starts from, such as its encoder."""
    named = {"finetune_from_model": cfg.finetune_from_model}
    for part in ("task", "model", "criterion"):
        section = getattr(trainer.cfg, part)
        named |= vars(section) if isinstance(section, argparse.Namespace) else dict(section or {})
    for option, value in named.items():
        for path in existing(value) if isinstance(value, str) else ():
            if _SAVED.fullmatch(path.name) and same_place(path.parent, cfg.save_dir):
                raise UserError(
                    f"`--save-dir` {cfg.save_dir}: must be another folder than that of "
                    f"`--{option_name(option)}` {path}, which would be written over"
                )


def _hold_folders(cfg: Any, trainer: Any) -> None:
    """Keep other trainings from writing the same checkpoints, which fairseq does not notice, and
    `prepare` from replacing the data folder while it is read.
    """
    from fairseq.distributed.utils import is_master

    if is_master(trainer.cfg.distributed_training) and not cfg.no_save:
        taken = f"`--save-dir` {cfg.save_dir}: another training is writing it"
        hold(Path(cfg.save_dir, ".lock"), taken, trainer)
    for path in getattr(getattr(trainer.task, "shards", None), "paths", ()):
        taken = f"{path}: is being prepared again"
        hold(path / "meta.json", taken, trainer, shared=True)
