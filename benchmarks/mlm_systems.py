"""The systems that `mlm_throughput` compares; each becomes a function that makes one training step.

All have the same size, rates, optimiser settings and text; a step returns its real tokens and its
slots, which are the real tokens and the padding.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairseq.options as options
import numpy as np
import torch
from common import Step
from fairseq import tasks
from fairseq.data.iterators import GroupedIterator
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.trainer import Trainer

import fairseq_xling.plugin  # noqa: F401  registers our task, model and criterion
from fairseq_xling.data.folder import PAD

LEARNING_RATE, BETAS, WEIGHT_DECAY, CLIP = 1e-4, (0.9, 0.98), 0.01, 1.0


@dataclass(frozen=True)
class Setting:
    """What all systems have in common; ``data`` is a folder made by `mlm_text.prepare`."""

    data: Path
    layers: int
    dim: int
    ffn_dim: int
    heads: int
    longest: int
    max_tokens: int
    dropout: float
    attention_dropout: float
    workers: int
    seed: int
    device: str


@dataclass(frozen=True)
class System:
    """A system ready to be timed."""

    step: Step
    parameters: int


OURS = (
    *("--task", "bilingual_mlm", "--arch", "separable_transformer", "--criterion", "unified_lm"),
    *("--lm-head", "bert", "--sample-break-mode", "sentence"),
)
STOCK = (
    *("--task", "masked_lm", "--arch", "roberta", "--criterion", "masked_lm"),
    *("--sample-break-mode", "eos"),
)


def ours(setting: Setting, *flags: str, half: str | None = None) -> System:
    """Ours through fairseq's Trainer; ``half`` is fairseq's fp16 or bf16 for accelerators."""
    return _in_trainer(configuration(setting, setting.data, *OURS, *flags), half)


def stock(setting: Setting, half: str | None = None) -> System:
    """fairseq's masked_lm with its roberta; it computes logits at masked tokens only, as ours."""
    return _in_trainer(stock_configuration(setting), half)


def stock_configuration(setting: Setting, *flags: str) -> Any:
    """That of fairseq's own task and model."""
    if not hasattr(np, "compat"):  # break mode `eos` (a sentence a row) still asks for it
        np.compat = type("compat", (), {"long": np.int64})
    return configuration(setting, setting.data / "stock", *STOCK, *flags)


def loader(setting: Setting) -> System:
    """Our batches, which nobody trains on."""
    task = tasks.setup_task(configuration(setting, setting.data, *OURS).task)
    task.load_dataset("train")
    source = _batches(task, setting)

    def step() -> tuple[int, int]:
        sample = next(source)
        return sample["ntokens"], sample["net_input"]["src"]["tokens"].numel()

    return System(step, 0)


def _batches(task: Any, setting: Setting) -> Iterator[dict[str, Any]]:
    return _endless(
        lambda: task.get_batch_iterator(
            task.dataset("train"), setting.max_tokens, num_workers=setting.workers
        ).next_epoch_itr()
    )


def hugging_face(setting: Setting, autocast: torch.dtype | None = None) -> System:
    """transformers' BertForMaskedLM in a plain loop on batches of ours; logits at all tokens."""
    from transformers import BertConfig, BertForMaskedLM

    cfg = configuration(setting, setting.data, *OURS)
    task = tasks.setup_task(cfg.task)
    task.load_dataset("train")
    torch.manual_seed(setting.seed)
    config = BertConfig(
        vocab_size=len(task.source_dictionary),
        hidden_size=setting.dim,
        num_hidden_layers=setting.layers,
        num_attention_heads=setting.heads,
        intermediate_size=setting.ffn_dim,
        hidden_dropout_prob=setting.dropout,
        attention_probs_dropout_prob=setting.attention_dropout,
        max_position_embeddings=setting.longest,
        pad_token_id=PAD,
        attn_implementation="sdpa",
    )
    model = BertForMaskedLM(config).to(setting.device).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), LEARNING_RATE, BETAS, weight_decay=WEIGHT_DECAY, fused=True
    )
    scaler = torch.amp.GradScaler(setting.device, enabled=autocast == torch.float16)
    source = _batches(task, setting)

    def step() -> tuple[int, int]:
        sample = next(source)
        src = sample["net_input"]["src"]
        padding, target = src.get("padding_mask"), sample["target"]
        inputs = {
            "input_ids": src["tokens"],
            "attention_mask": None if padding is None else (~padding).long(),
            "labels": target.masked_fill(target == PAD, -100),
        }
        inputs = {k: None if v is None else v.to(setting.device) for k, v in inputs.items()}
        optimizer.zero_grad()
        with (
            contextlib.nullcontext()
            if autocast is None
            else torch.autocast(setting.device, autocast)
        ):
            loss = model(**inputs).loss
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        scaler.step(optimizer)
        scaler.update()
        loss.item()  # as the trainer, which logs its loss
        return sample["ntokens"], src["tokens"].numel()

    return System(step, sum(p.numel() for p in model.parameters()))


def in_trainer(cfg: Any, half: str | None) -> tuple[Trainer, Iterator[list[dict[str, Any]]]]:
    """fairseq's trainer for a configuration, and the batches of each step, without end.

    ``half`` is fairseq's fp16 or bf16 for accelerators.
    """
    if half:  # the command line keeps --bf16 for TPUs; the configuration does not
        setattr(cfg.common, half, True)
        if half in cfg.task:  # a task of ours reads it, too
            setattr(cfg.task, half, True)
    task = tasks.setup_task(cfg.task)
    model = task.build_model(cfg.model)
    trainer = Trainer(cfg, task, model, task.build_criterion(cfg.criterion))
    epochs = trainer.get_train_iterator(epoch=1)
    trainer.begin_epoch(1)
    return trainer, _endless(lambda: GroupedIterator(epochs.next_epoch_itr(shuffle=True), 1))


def tokens_of(sample: dict[str, Any]) -> torch.Tensor:
    """(B, T) of a batch of ours or of fairseq's."""
    inputs = sample["net_input"]
    return inputs["src_tokens"] if "src_tokens" in inputs else inputs["src"]["tokens"]


def _in_trainer(cfg: Any, half: str | None) -> System:
    trainer, source = in_trainer(cfg, half)

    def step() -> tuple[int, int]:
        samples = next(source)
        trainer.train_step(samples)
        return int(samples[0]["ntokens"]), tokens_of(samples[0]).numel()

    return System(step, sum(p.numel() for p in trainer.get_model().parameters()))


def _endless(epoch: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    while True:
        yield from epoch()


def configuration(setting: Setting, data: Path, *flags: str) -> Any:
    """fairseq's whole configuration of a training."""
    options_with_values = {
        "--encoder-layers": setting.layers,
        "--encoder-embed-dim": setting.dim,
        "--encoder-ffn-embed-dim": setting.ffn_dim,
        "--encoder-attention-heads": setting.heads,
        "--max-positions": setting.longest,
        "--dropout": setting.dropout,
        "--attention-dropout": setting.attention_dropout,
        "--max-tokens": setting.max_tokens,
        "--tokens-per-sample": setting.longest,
        "--num-workers": setting.workers,
        "--seed": setting.seed,
        "--optimizer": "adam",
        "--adam-betas": BETAS,
        "--weight-decay": WEIGHT_DECAY,
        "--clip-norm": CLIP,
        "--lr": LEARNING_RATE,
        "--lr-scheduler": "fixed",
    }
    words = [str(word) for pair in options_with_values.items() for word in pair]
    if setting.device == "cpu":
        words.append("--cpu")
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(
        options.parse_args_and_arch(parser, [str(data), *words, *flags])
    )
