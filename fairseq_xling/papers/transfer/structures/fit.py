"""Train a model of structures, predict with it, and score it; `NONE` is no label.

It has its own loop instead of `fairseq-train`, as ESIM has: word vectors are frozen, an epoch takes
seconds, there is no dictionary or task, and a matrix takes dozens of such trainings in one process.
All randomness of an epoch comes from the seed and the epoch's number, so that a training that is
killed continues from the last epoch on disk with the same result.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_xling.core.array_file import ArrayFile, described_well
from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.transfer.structures.batch import Examples
from fairseq_xling.papers.transfer.structures.data import FitSettings
from fairseq_xling.papers.transfer.structures.model import StructureModel
from fairseq_xling.papers.transfer.structures.sentence import NONE
from fairseq_xling.tasks.probing import fit as probing
from fairseq_xling.tasks.probing.fit import Scores


def micro_scores(predicted: Sequence[str], gold: Sequence[str]) -> Scores:
    """The scores of ``predicted`` labels, one for each pair.

    >>> found = micro_scores(["A", "B", "NONE"], ["A", "NONE", "C"])
    >>> found.precision, found.recall, found.f1
    (0.5, 0.5, 0.5)
    """
    return probing.micro_scores(_labels(predicted), _labels(gold))


def majority(gold: Sequence[str]) -> str:
    """The most frequent label but `NONE`, which by itself scores 0; of equally frequent ones the
    first by name."""
    return probing.prior(_labels(gold))


def _labels(names: Sequence[str]) -> list[list[str]]:
    """The labels of each pair, at most one."""
    return [[name] if name != NONE else [] for name in names]


_STATE = ArrayFile("fairseq_xling.structures_training", "the state of a training of structures")
_EVERY = 5.0  # seconds between writes of the state
_WHOLE = 400  # candidates of a batch that is only predicted


@dataclasses.dataclass
class Progress:
    """Where a training is, after some epochs."""

    lr: float  # of the next
    epoch: int = 0  # how many are done
    best: int = 0  # the one with the highest F1 on dev, from 1
    curve: list[float] = dataclasses.field(default_factory=list)  # F1 on dev, in [0, 1]
    loss: list[float] = dataclasses.field(default_factory=list)  # mean of the training loss

    def ended(self, settings: FitSettings) -> bool:
        """Whether there is no further epoch."""
        waited = self.epoch - self.best
        return self.epoch >= settings.epochs or (self.epoch > 0 and waited >= settings.patience)


@torch.no_grad()
def predict(model: StructureModel, examples: Examples) -> list[np.ndarray]:
    """For each sentence the numbers of the likeliest labels of its candidates, (c,) int64."""
    model.eval()
    device = next(model.parameters()).device
    found = [np.zeros(0, dtype=np.int64) for _ in examples.counts]
    order = np.argsort(examples.sizes, kind="stable")
    for chosen in examples.batches(order, _WHOLE):
        labels = model(examples.batch(chosen).to(device)).argmax(1).cpu().numpy()
        ends = np.cumsum(examples.counts[chosen])[:-1]
        for number, own in zip(chosen, np.split(labels, ends), strict=True):
            found[number] = own
    return found


def fit(
    make: Callable[[], StructureModel],
    train: Examples,
    dev: Examples,
    gold: Sequence[str],
    labels: Sequence[str],
    settings: FitSettings,
    device: torch.device,
    state: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    passed: Callable[[float], object] = lambda f1: None,
) -> tuple[StructureModel, Progress]:
    """Train on ``train``, and keep the epoch with the best micro-F1 on ``dev``; the result depends
    on the examples and settings alone.

    Args:
        make: makes the model; its weights are drawn here.
        gold: the labels of dev's candidates, sentence by sentence; labels: names by number.
        state: file that holds the state between epochs; ``identity`` (JSON values) says what it is
            of, and a file of another training is not used.
        passed: called after each epoch with the F1 on dev, also for those that were done before.
    """
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(settings.seed)
        model = make().to(device)
        done = Progress(settings.rate)
        kept = _copied(model)
        kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[settings.optimizer]
        optimizer = kind(model.parameters(), lr=settings.rate)
        about = {"settings": dataclasses.asdict(settings), **(identity or {})}
        if state is not None and state.is_file():
            done, kept = _resumed(state, about, model, optimizer) or (done, kept)
        for f1 in done.curve:
            passed(f1)
        written = time.monotonic()
        while not done.ended(settings):
            for group in optimizer.param_groups:
                group["lr"] = done.lr
            done.loss.append(_epoch(model, optimizer, train, settings, done.epoch + 1, device))
            numbers = np.concatenate(predict(model, dev))
            f1 = micro_scores([labels[number] for number in numbers], gold).f1
            if done.curve and settings.optimizer == "sgd" and done.epoch + 1 > settings.decay_from:
                done.lr *= settings.decay if f1 <= done.curve[-1] else 1.0
            done.epoch += 1
            if not done.curve or f1 > max(done.curve):
                done.best, kept = done.epoch, _copied(model)
            done.curve.append(f1)
            if state is not None and time.monotonic() - written >= _EVERY:
                _write_state(state, about, done, model, kept, optimizer)
                written = time.monotonic()
            passed(f1)
        model.load_state_dict(kept)
    if state is not None:
        state.unlink(missing_ok=True)
    return model.eval(), done


def _epoch(
    model: StructureModel,
    optimizer: torch.optim.Optimizer,
    train: Examples,
    settings: FitSettings,
    number: int,
    device: torch.device,
) -> float:
    """One pass over the training candidates; returns the mean loss."""
    model.train()
    seeds = np.random.SeedSequence([settings.seed, number])
    torch.manual_seed(int(seeds.generate_state(1)[0]))
    total, count = 0.0, 0
    for chosen in train.shuffled(np.random.default_rng(seeds), settings.batch_size):
        batch = train.batch(chosen).to(device)
        loss = F.cross_entropy(model(batch), batch.labels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        total += loss.item() * len(batch.labels)
        count += len(batch.labels)
    if not np.isfinite(total):
        raise UserError(
            f"`--lr` must be lower: the loss of epoch {number} is not finite with {settings.rate:g}"
        )
    return total / count


def _copied(model: StructureModel) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _write_state(
    path: Path,
    about: Mapping[str, Any],
    done: Progress,
    model: StructureModel,
    kept: Mapping[str, Tensor],
    optimizer: torch.optim.Optimizer,
) -> None:
    groups = {"now": model.state_dict(), "best": kept}
    arrays = {f"{k}/{name}": v.cpu().numpy() for k, g in groups.items() for name, v in g.items()}
    for number, values in optimizer.state_dict()["state"].items():
        arrays |= {f"optimizer/{number}/{k}": v.cpu().numpy() for k, v in values.items()}
    _STATE.write(path, arrays, {"identity": dict(about), "progress": dataclasses.asdict(done)})


def _resumed(
    path: Path, about: Mapping[str, Any], model: StructureModel, optimizer: torch.optim.Optimizer
) -> tuple[Progress, dict[str, Tensor]] | None:
    """The state in ``path``, put into model and optimizer; None if it is of another training."""
    arrays, described = _STATE.read(path)
    if described.get("identity") != about:
        return None
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    with described_well(path):
        done = Progress(**described["progress"])
        names = list(model.state_dict())
        now, kept = ({name: tensors[f"{k}/{name}"] for name in names} for k in ("now", "best"))
        try:
            for weights in (kept, now):  # the shapes of both are checked
                model.load_state_dict(weights)
        except RuntimeError as error:
            raise ValueError(str(error)) from None
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            if name.startswith("optimizer/"):
                _, number, key = name.split("/")
                state.setdefault(int(number), {})[key] = value
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    device = next(model.parameters()).device
    return done, {name: value.to(device) for name, value in kept.items()}


def notes_of_scores(scores: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What a reader of a model's scores must know."""
    found = []
    for name, one in scores.items():
        if unseen := one["unseen_labels"]:
            shown = ", ".join(f"{label} ({count})" for label, count in list(unseen.items())[:8])
            found.append(
                f"{name}: {len(unseen)} labels do not occur in training and are never predicted: "
                f"{shown}"
            )
        if one["unknown_words"]:
            share = 100 * one["unknown_words"] / one["words"]
            found.append(f"{name}: {share:.1f} % of the words have no vector")
    return found
