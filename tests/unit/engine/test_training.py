import argparse
import gc
import os

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import exclusive
from fairseq_xling.data.folder import Shards
from fairseq_xling.engine import training
from fairseq_xling.engine.prepare import prepare_engine


def test_a_training_that_diverged_is_one_line_and_leaves_no_checkpoint_of_it(tmp_path):
    def step(trainer, samples):
        (tmp_path / "crash.pt").write_text("what fairseq leaves")
        raise FloatingPointError("gradients are Nan/Inf")

    checkpoint = argparse.Namespace(save_dir=str(tmp_path))
    trainer = argparse.Namespace(
        cfg=argparse.Namespace(checkpoint=checkpoint), get_num_updates=lambda: 41
    )
    with pytest.raises(SystemExit, match=r"diverged at update 42 \(gradients are Nan/Inf\); lower"):
        training._whole_steps(step)(trainer, [])
    assert not list(tmp_path.iterdir())


def test_a_copied_checkpoint_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    from fairseq.checkpoint_utils import PathManager

    prepare_engine()
    source, target = tmp_path / "a.pt", tmp_path / "b.pt"
    source.write_bytes(b"new")
    target.write_bytes(b"old")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        PathManager.copy(str(source), str(target), overwrite=True)
    assert target.read_bytes() == b"old"
    monkeypatch.undo()
    assert PathManager.copy(str(source), str(target), overwrite=True)
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize(
    ("part", "option", "text"),
    [
        ("model", "encoder", "checkpoint_best.pt"),
        ("model", "encoder", "en=other.pt,de=checkpoint_best.pt"),
        ("task", "clcr_start", "../models/checkpoint3.pt"),
        ("", "finetune_from_model", "checkpoint_last.pt"),
    ],
)
def test_a_checkpoint_that_is_read_is_not_written_over(tmp_path, monkeypatch, part, option, text):
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("checkpoint_best.pt", "checkpoint3.pt", "checkpoint_last.pt", "other.pt"):
        (folder / name).write_text("x")
    parts = {name: argparse.Namespace() for name in ("task", "model", "criterion")}
    parts["model"].encoder_config = '{"dropout": 0.1}' * 99
    cfg = argparse.Namespace(save_dir=".", finetune_from_model=None)
    setattr(parts.get(part, cfg), option, text)
    trainer = argparse.Namespace(cfg=argparse.Namespace(**parts))
    with pytest.raises(UserError, match=rf"`--save-dir` .* than that of `--{option[:4]}.*written"):
        training._check_read(cfg, trainer)
    for saved in ("out", str(tmp_path)):
        cfg.save_dir = saved
        training._check_read(cfg, trainer)


@pytest.fixture
def trainer(tiny_corpus):
    """Makes what `load_checkpoint` reads of a trainer of ``rank``."""

    class Trainer:
        def __init__(self, rank=0):
            distributed = argparse.Namespace(distributed_rank=rank)
            self.cfg = argparse.Namespace(distributed_training=distributed)
            self.task = argparse.Namespace(shards=Shards(str(tiny_corpus.path)))

    return Trainer


def is_locked(path):
    try:
        with exclusive(path, "taken"):
            return False
    except UserError:
        return True


def test_the_first_process_of_a_training_locks_its_folders_while_it_lives(
    trainer, tmp_path, tiny_corpus
):
    saving = argparse.Namespace(save_dir=str(tmp_path), no_save=False)
    one, meta = trainer(), tiny_corpus.path / "meta.json"
    training._hold_folders(saving, one)
    assert is_locked(tmp_path / ".lock") and is_locked(meta)
    del one
    gc.collect()
    assert not (tmp_path / ".lock").exists() and not is_locked(meta)


def test_other_processes_and_trainings_that_do_not_save_only_read(trainer, tmp_path, tiny_corpus):
    for rank, unsaved in ((1, False), (0, True)):
        saving = argparse.Namespace(save_dir=str(tmp_path), no_save=unsaved)
        one = trainer(rank)
        training._hold_folders(saving, one)
        assert not (tmp_path / ".lock").exists() and is_locked(tiny_corpus.path / "meta.json")
        del one
