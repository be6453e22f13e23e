"""`--criterion unified_lm`: the one loss of all language-modelling objectives.

    L = - sum over predicted positions u of w(objective) log p(w_u | S, A)

divided by the number of predicted positions (a mean per token, whatever the mixture), plus the mean
loss of each auxiliary head of the model, weighted by `--auxiliary-weights`.

A criterion of one's own is a subclass that overrides `UnifiedLMCriterion.losses`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from omegaconf import II
from torch import Tensor

from fairseq_xling.core.errors import UserError, exits_on_user_error, shown
from fairseq_xling.models.auxiliary import auxiliary_heads
from fairseq_xling.training.config import parse_weights

LOG2 = 0.6931471805599453


@dataclass
class UnifiedLMConfig(FairseqDataclass):
    auxiliary_weights: str = field(
        default="", metadata={"help": "factors on auxiliary losses, e.g. order=0.5 (default: 1)"}
    )
    sentence_avg: bool = II("optimization.sentence_avg")


class Output(NamedTuple):
    """What a step has computed, for `UnifiedLMCriterion.losses`.

    B batch, T source length, U target length, D width, V vocabulary, n predicted positions, r rows
    that are predicted as a whole (`models.emissions`).

    Attributes:
        nll: (n + r,) negative log-likelihood in nats, of positions, then of rows.
        logits: (n, V).
        target: (n,) the ids that are right.
        where: rows and positions of the logits, (n,) each.
        states: by number the layers that the criterion reads: (B, T, D), or (B, U, D) from a
            TRILayer on.
    """

    nll: Tensor
    logits: Tensor
    target: Tensor
    where: tuple[Tensor, Tensor]
    states: Mapping[int, Tensor]


def token_nll(logits: Tensor, target: Tensor) -> Tensor:
    """(n,) nats in float32 from ``logits`` (n, V) and the right ids (n,)."""
    return F.cross_entropy(logits.float(), target, reduction="none")


@register_criterion("unified_lm", dataclass=UnifiedLMConfig)
class UnifiedLMCriterion(FairseqCriterion):
    """Negative log-likelihood with loss and perplexity per objective and language.

    Every step logs every ``<objective>_<language>`` key, zeros included, so that workers with
    different batches agree on the keys.

    Attributes:
        layers: numbers of the layers whose states `losses` reads.
    """

    layers: ClassVar[tuple[int, ...]] = ()

    @exits_on_user_error
    def __init__(self, task: Any, sentence_avg: bool = False, auxiliary_weights: str = ""):
        super().__init__(task)
        if not hasattr(task, "objective_names"):
            raise UserError(
                "`--criterion unified_lm` needs a task that makes its batches, such as "
                f"bilingual_mlm, got {type(task).__name__}"
            )
        self.sentence_avg = sentence_avg
        self.keys = [f"{name}_{lang}" for name in task.objective_names for lang in task.languages]
        self.num_languages = len(task.languages)
        weights = [task.objective_weights.get(name, 1.0) for name in task.objective_names]
        self.token_nll = token_nll  # `--compile` has another
        self.weights = None if set(weights) == {1.0} else torch.tensor(weights)
        self.auxiliary_weights = parse_weights(
            "--auxiliary-weights", auxiliary_weights, list(auxiliary_heads), "auxiliary head"
        )

    @property
    def metric_names(self) -> list[str]:
        """What validation reports, and so what `--best-checkpoint-metric` may name."""
        own = ["own"] if self.own else []
        keys = ["", *(f"{key}_" for key in [*self.keys, *own, *self.task.auxiliary_names])]
        return [f"{key}{kind}" for key in keys for kind in ("loss", "ppl")]

    def losses(self, output: Output, sample: dict[str, Any]) -> Tensor:
        """What is minimised, (n + r,) in nats; a criterion of one's own overrides this.

        Their sum takes the place of the likelihood's, weighted by `--objective-weights`. What is
        added to each is added to the mean. The log has its mean as ``own_loss``, in bits; ``loss``
        and perplexity remain those of the likelihood, which compare with other criterions'.
        """
        return output.nll

    @exits_on_user_error
    def forward(self, model: Any, sample: dict[str, Any], reduce: bool = True):
        """The summed loss, what to divide it by, and the logs of one batch.

        The divisor is the number of predicted tokens, or of examples with `--sentence-avg`.
        """
        read = {"layers": self.layers} if self.layers else {}
        prediction = model(**sample["net_input"], **read)
        logits, auxiliary = prediction.logits, prediction.auxiliary
        tgt = sample["net_input"]["tgt"]
        where = prediction.where or tgt["predict"].nonzero(as_tuple=True)
        target = sample["target"][where]
        nll = self.token_nll(logits, target)
        sizes, size, unfit = torch.ones_like(nll), nll.numel(), 0
        rows, langs = sample["objective"][where[0]], tgt["langs"][where]
        if prediction.emitted is not None:
            whole = prediction.emitted
            nll, sizes = torch.cat([nll, whole.nll]), torch.cat([sizes, whole.sizes.to(sizes)])
            rows = torch.cat([rows, sample["objective"][whole.rows]])
            langs = torch.cat([langs, tgt["langs"][whole.rows, 0]])
            size, unfit = sizes.sum(), (whole.sizes == 0).sum()

        key = rows * self.num_languages + langs
        sums = nll.new_zeros(2, len(self.keys))
        sums[0].index_add_(0, key, nll.detach())
        sums[1].index_add_(0, key, sizes)

        output = Output(nll, logits, target, where, prediction.states or {})
        losses = self.losses(output, sample)
        if losses.shape != nll.shape:
            raise UserError(
                f"`{type(self).__name__}.losses` must return one loss for each prediction, "
                f"{tuple(nll.shape)}, got {tuple(losses.shape)}"
            )
        loss = self._total(losses, rows)
        logs = {
            "loss": self._total(nll, rows).detach() if self.own else loss.detach(),
            "ntokens": sample["ntokens"],
            "nsentences": sample["nsentences"],
            "sample_size": size,
            "unfit": unfit,
        }
        for name, total, count in zip(self.keys, sums[0], sums[1], strict=True):
            logs[f"{name}_nll"] = total
            logs[f"{name}_count"] = count
        if self.own:
            logs["own_nll"], logs["own_count"] = losses.detach().sum(), size
        logs["plain_nll"], logs["plain_count"] = prediction.plain or (0.0, 0)
        for name, found in auxiliary.items():
            if not (isinstance(found, tuple) and len(found) == 2):
                raise UserError(
                    f"auxiliary head {name!r} must return the sum of its losses and their number, "
                    f"got {shown(found)}"
                )
            total, count = found
            # Its mean is added to the language model's mean, which the trainer computes later.
            mean = total / count.clamp(min=1)
            loss = loss + self.auxiliary_weights[name] * mean * size
            logs[f"{name}_nll"], logs[f"{name}_count"] = total.detach(), count
        return loss, sample["nsentences"] if self.sentence_avg else size, logs

    @property
    def own(self) -> bool:
        """Whether it minimises something else than the likelihood."""
        return type(self).losses is not UnifiedLMCriterion.losses

    def _total(self, losses: Tensor, rows: Tensor) -> Tensor:
        """The sum of ``losses``, weighted by the objectives ``rows`` of each."""
        if self.weights is None:
            return losses.sum()
        self.weights = self.weights.to(losses)  # once: a GPU is waited for
        return (losses * self.weights[rows]).sum()

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict[str, Any]]) -> None:
        """Loss and perplexity, overall and per objective and language, in bits (base 2)."""
        sums = {name: sum(log[name] for log in logging_outputs) for name in logging_outputs[0]}
        there = [name for name, value in sums.items() if torch.is_tensor(value) and value.is_cuda]
        if there:  # a GPU is waited for once
            values = torch.stack([sums[name].double() for name in there]).tolist()
            sums.update(zip(there, values, strict=True))
        size = utils.item(sums["sample_size"])
        metrics.log_scalar("loss", sums["loss"] / max(size, 1) / LOG2, size, round=3)
        metrics.log_derived("ppl", lambda meters: utils.get_perplexity(meters["loss"].avg))
        if sums["unfit"]:  # translations that need more slots than their emission has
            metrics.log_scalar_sum("unfit", sums["unfit"])
        for name in sums:
            if not name.endswith("_nll"):
                continue
            key = name[: -len("_nll")]
            count = float(sums[f"{key}_count"])
            if count == 0:  # nothing of it in this step; an average must not see it
                continue
            metrics.log_scalar(f"{key}_loss", sums[name] / count / LOG2, count, round=3)
            metrics.log_derived(
                f"{key}_ppl",
                lambda meters, name=f"{key}_loss": utils.get_perplexity(meters[name].avg),
            )

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True
