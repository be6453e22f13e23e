"""`--criterion word_alignment`: fine-tune an encoder until aligned words have the same states.

Cao et al. (2020), "Multilingual Alignment of Contextual Word Representations", Section 3, a
transfer of TreLM's Table 9. For sentence pairs with aligned tokens (i, j):

    L = sum over (i, j) |h_s[i] - h_t[j]|^2 + w sum over source tokens i |h_s[i] - h0_s[i]|^2

h are the states of a layer, each sentence encoded on its own, and h0 those of the initial encoder:
they anchor the source language to where it was, since otherwise all states could collapse. The
first sum excludes special symbols. Divided by the number of aligned pairs.

    fairseq-train data --user-dir ... --task cdlm --objectives word-alignment --directions en-de \\
        --criterion word_alignment --initial-encoder mlm.pt --finetune-from-model mlm.pt ...

B batch, T source length, U target length, D width, P aligned pairs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

import torch
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.ranges import NOT_NEGATIVE, ranged
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.models.transfer_encoder import check_layer
from fairseq_xling.objectives import objectives


@dataclass
class WordAlignmentConfig(FairseqDataclass):
    initial_encoder: str = field(
        default="",
        metadata={"help": "checkpoint whose states anchor the source language; training starts "
        "from the same, by --finetune-from-model"},
    )  # fmt: skip
    drift_weight: float = field(
        default=1.0,
        metadata=ranged("factor on the source language's drift; 0 is no anchor", NOT_NEGATIVE),
    )
    align_layer: Optional[int] = field(
        default=None,
        metadata=ranged("align the states after this layer (default: the last)", NOT_NEGATIVE),
    )


@register_criterion("word_alignment", dataclass=WordAlignmentConfig)
class WordAlignmentCriterion(FairseqCriterion):
    """See the module's docstring. Logs ``align`` and ``drift``: mean squared distances, of an
    aligned pair and of a source token."""

    @exits_on_user_error
    def __init__(
        self,
        task: Any,
        initial_encoder: str = "",
        drift_weight: float = 1.0,
        align_layer: Optional[int] = None,
    ):
        super().__init__(task)
        NOT_NEGATIVE.check("--drift-weight", drift_weight)
        NOT_NEGATIVE.check("--align-layer", align_layer)
        names = getattr(task, "objective_names", [])
        if not names or any(objectives[n].criterion != "word_alignment" for n in names):
            raise UserError("`--criterion word_alignment` needs `--objectives word-alignment`")
        if not task.cfg.directions:
            raise UserError(
                "`--directions` must say which language stays in place, the first of each, as "
                "in en-de"
            )
        if drift_weight and not initial_encoder:
            raise UserError(
                "`--initial-encoder` must name the checkpoint that training starts from"
            )
        self.drift_weight, self.layer = drift_weight, align_layer
        # In a list, so that it is neither trained nor saved.
        self._initial = [load_initial(initial_encoder, task)] if drift_weight else []

    @property
    def metric_names(self) -> list[str]:
        """What `--best-checkpoint-metric` may name."""
        return ["loss", "align", "drift"]

    @exits_on_user_error
    def forward(self, model: Any, sample: dict[str, Any], reduce: bool = True):
        """The summed loss, the number of aligned pairs, and the logs of one batch."""
        net = sample["net_input"]
        src, tgt, order = net["src"], net["tgt"], net["order"]
        langs = net.get("pair") or (None, None)
        source = self._states(model.encoder, src, langs[0])
        target = self._states(model.encoder, tgt, langs[1])
        row, place, index = aligned(src["tokens"], tgt["tokens"], order)
        distance = (source[row, index] - target[row, place]).square().sum()
        real = src.get("padding_mask")
        real = torch.ones_like(src["tokens"], dtype=torch.bool) if real is None else ~real
        drift = distance.new_zeros(())
        for initial in self._initial:
            with torch.no_grad():
                before = self._states(initial.to(source.device), src, langs[0])
            where = real.nonzero(as_tuple=True)  # once: a GPU is waited for
            drift = (source - before)[where].square().sum()
        size = max(len(row), 1)
        loss = distance + self.drift_weight * drift
        logs = {
            "loss": loss.detach(),
            "distance": distance.detach(),
            "drift": drift.detach(),
            "tokens": real.sum(),
            "ntokens": sample["ntokens"],
            "nsentences": sample["nsentences"],
            "sample_size": size,
        }
        return loss, size, logs

    def _states(self, encoder: Any, side: Mapping[str, Tensor], lang: Optional[str]) -> Tensor:
        """(B, T, D) float32 of sentences that are encoded on their own."""
        layer = encoder.depth if self.layer is None else self.layer
        check_layer("--align-layer", layer, encoder.depth)
        read = {name: x for name, x in side.items() if name != "predict"}
        return encoder.states(read, None if lang is None else (lang, lang))[layer].float()

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict[str, Any]]) -> None:
        """Loss and mean squared distance for each aligned pair, drift for each source token."""
        sums = {name: sum(log[name] for log in logging_outputs) for name in logging_outputs[0]}
        size, tokens = max(sums["sample_size"], 1), max(sums["tokens"], 1)
        metrics.log_scalar("loss", sums["loss"] / size, size, round=4)
        metrics.log_scalar("align", sums["distance"] / size, size, round=4)
        metrics.log_scalar("drift", sums["drift"] / tokens, tokens, round=4)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True


def aligned(source: Tensor, target: Tensor, order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Row, target position and source position of each aligned pair of words, (P,) each.

    Special symbols and padding are excluded.

    Args:
        source: tokens (B, T); target: tokens (B, U); order: (B, U), -1 for none.

    >>> source, target = torch.tensor([[0, 9, 8, 2]]), torch.tensor([[0, 7, 6, 2]])
    >>> [x.tolist() for x in aligned(source, target, torch.tensor([[0, 2, -1, 3]]))]
    [[0], [1], [2]]
    """
    found = source.gather(1, order.clamp(min=0))
    row, place = ((order >= 0) & (target >= SPECIALS) & (found >= SPECIALS)).nonzero(as_tuple=True)
    return row, place, order[row, place]


def load_initial(path: str, task: Any) -> torch.nn.Module:
    """The encoder in a checkpoint, in evaluation mode and never trained.

    Raises:
        UserError: if it reads other languages or another vocabulary than ``task``.
    """
    from fairseq_xling.interop.encoder import Encoder

    found = Encoder.load(path, task.folder.path)
    if found.languages != list(task.languages):
        raise UserError(
            f"`--initial-encoder` {path}: has languages {','.join(found.languages)}, not "
            f"{','.join(task.languages)} (`--languages`)"
        )
    return found.model.encoder.requires_grad_(False)
