"""The systems that `cdlm_training` compares: one model and trainer, fed in two ways.

B examples, T source length, U target length.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairseq.options as options
import torch
import torch.nn.functional as F
from common import Step
from fairseq import tasks
from fairseq.data.iterators import GroupedIterator
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.trainer import Trainer

import fairseq_xling.plugin  # noqa: F401  registers our task, model and criterion
from fairseq_xling.data.folder import PAD
from fairseq_xling.data.iterator import BatchDataset
from fairseq_xling.data.plan import BatchSpec


@dataclass(frozen=True)
class Setting:
    """What both ways have in common; ``pairs`` sentence pairs make one update."""

    data: Path
    layers: int
    dim: int
    heads: int
    pairs: int
    dropout: float
    workers: int
    seed: int
    longest: int
    device: str


@dataclass
class Fed:
    """What a system was fed: pairs, and the bytes of their tensors on the host."""

    pairs: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class System:
    """A system ready to be timed; its step returns target tokens and target slots."""

    step: Step
    parameters: int
    fed: Fed


class PaddedDataset(BatchDataset):
    """Every example padded to ``longest`` on both sides, as TreLM's released code feeds them."""

    longest = 512

    def __getitem__(self, spec: BatchSpec | None) -> dict[str, Any] | None:
        batch = super().__getitem__(spec)
        return None if batch is None else pad_batch(batch, self.longest)


def pad_batch(batch: dict[str, Any], longest: int) -> dict[str, Any]:
    """``batch`` with T = U = ``longest``; what is predicted stays the same."""
    net_input = dict(batch["net_input"])
    for name in ("src", "tgt"):
        side = dict(net_input[name])
        tokens = side["tokens"]
        side.setdefault("padding_mask", torch.zeros_like(tokens, dtype=torch.bool))
        fills = {"tokens": PAD, "padding_mask": True}
        net_input[name] = {k: _wider(v, longest, fills.get(k, 0)) for k, v in side.items()}
    net_input["order"] = _wider(net_input["order"], longest, -1)
    return {**batch, "net_input": net_input, "target": _wider(batch["target"], longest, PAD)}


def _wider(tensor: torch.Tensor, width: int, fill: int) -> torch.Tensor:
    return F.pad(tensor, (0, width - tensor.shape[1]), value=fill)


def bucketed(setting: Setting, *flags: str) -> System:
    """Our loader: pairs of like length together, one batch an update."""
    return _system(setting, ["--batch-size", str(setting.pairs), *flags])


def padded(setting: Setting, micro: int, *flags: str) -> System:
    """Everything padded to ``setting.longest``; ``micro`` pairs a batch, as many as an update."""
    frequency = max(1, setting.pairs // micro)
    given = ["--batch-size", str(micro), "--update-freq", str(frequency), *flags]
    return _system(setting, given, pads=True)


def _system(setting: Setting, flags: list[str], pads: bool = False) -> System:
    cfg = configuration(setting, *flags)
    task = tasks.setup_task(cfg.task)
    torch.manual_seed(setting.seed)
    model = task.build_model(cfg.model)
    trainer = Trainer(cfg, task, model, task.build_criterion(cfg.criterion))
    task.load_dataset("train")
    if pads:
        ours = task.datasets["train"]
        task.datasets["train"] = PaddedDataset(ours.feeds, {"cdlm": 0}, ours.seed)
        PaddedDataset.longest = setting.longest
    epochs = trainer.get_train_iterator(epoch=1, load_dataset=False)
    trainer.begin_epoch(1)
    frequency = cfg.optimization.update_freq[0]
    source = _endless(lambda: GroupedIterator(epochs.next_epoch_itr(), frequency))
    fed = Fed()

    def step() -> tuple[int, int]:
        samples = next(source)
        trainer.train_step(samples)
        targets = [sample["net_input"]["tgt"] for sample in samples]
        fed.pairs += sum(sample["nsentences"] for sample in samples)
        fed.bytes += sum(map(tensor_bytes, samples))
        tokens = sum(int(tgt["predict"].sum()) for tgt in targets)
        return tokens, sum(tgt["tokens"].numel() for tgt in targets)

    return System(step, sum(p.numel() for p in model.parameters()), fed)


def tensor_bytes(batch: Any) -> int:
    """Bytes of all tensors in a nested batch."""
    if torch.is_tensor(batch):
        return batch.nbytes
    return sum(map(tensor_bytes, batch.values())) if isinstance(batch, dict) else 0


def _endless(epoch: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    while True:
        yield from epoch()


def configuration(setting: Setting, *flags: str) -> Any:
    """fairseq's configuration of the training, as its command line would make it."""
    values = {
        "--task": "cdlm",
        "--objectives": "cdlm",
        "--arch": "tri_bert_tiny",
        "--criterion": "unified_lm",
        "--encoder-layers": setting.layers,
        "--encoder-embed-dim": setting.dim,
        "--encoder-ffn-embed-dim": 4 * setting.dim,
        "--encoder-attention-heads": setting.heads,
        "--max-positions": setting.longest,
        "--dropout": setting.dropout,
        "--attention-dropout": setting.dropout,
        "--num-workers": setting.workers,
        "--seed": setting.seed,
        "--optimizer": "adam",
        "--weight-decay": 0.01,
        "--clip-norm": 5.0,
        "--lr": 1e-4,
        "--lr-scheduler": "fixed",
    }
    words = [str(word) for pair in values.items() for word in pair]
    if setting.device == "cpu":
        words.append("--cpu")
    parser = options.get_training_parser()
    arguments = [str(setting.data), *words, *flags]
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, arguments))
