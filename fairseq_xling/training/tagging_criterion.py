"""`--criterion adversarial_tagging`: L_tag and the adversary's loss; in validation, the scores."""

from typing import Any

import torch
from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.tasks.heads import total_counts
from fairseq_xling.training.transfer_criterion import COUNT

LANGUAGE = tuple(
    f"language_{side}_{what}" for side in ("source", "target") for what in ("right", "read")
)


class TaggingCriterionConfig(FairseqDataclass):
    pass


@register_criterion("adversarial_tagging", dataclass=TaggingCriterionConfig)
class TaggingCriterion(FairseqCriterion):
    """In training the adversary's total; in validation L_tag, the head's counts and those of D.

    `--best-checkpoint-metric f1 --maximize-best-checkpoint-metric` selects by span F1: on the dev
    file of the annotated language, with `--low-resource` on that of the target.
    """

    @exits_on_user_error
    def __init__(self, task: Any):
        super().__init__(task)
        if not hasattr(task, "adversary"):
            raise UserError(
                "`--criterion adversarial_tagging` needs `--task adversarial_tagging`, got "
                f"{type(task).__name__}"
            )
        self.task = task

    @property
    def metric_names(self) -> list[str]:
        """What validation reports, and so what `--best-checkpoint-metric` may name."""
        return ["loss", *self.task.metric_names]

    def forward(self, model: Any, sample: dict[str, Any], reduce: bool = True):
        """The loss, what to divide it by, and the logs of one batch."""
        parts = sample["net_input"]["parts"]
        logs = {"ntokens": sample["ntokens"], "nsentences": sample["nsentences"]}
        if model.training:
            losses = self.task.adversary(
                model,
                parts,
                self.task.update,
                self.task.weight_now(),
                lambda found: model.tagging_loss(found, parts),
            )
            # A mean already; each batch of an update counts the same.
            logs |= {"loss": losses.total.detach(), "sample_size": 1}
            for name in ("tagging", "language"):
                value = getattr(losses, name)
                logs[f"{name}_loss"] = (
                    losses.total.new_zeros(()) if value is None else value.detach()
                )
                logs[f"{name}_updates"] = int(value is not None)
            logs |= language_counts(losses.logits, losses.target)
            return losses.total, 1, logs
        found = model(**sample["net_input"])
        annotated = sum("tag" in part for part in parts) * sample["nsentences"]
        loss = model.tagging_loss(found, parts) * annotated
        logs |= {"loss": loss.detach(), "sample_size": annotated}
        logs |= language_counts(found.get("language"), found["target"])
        head, target = self.task.head, bool(parts[0]["lang"])
        sums = [0.0] * len(head.count_names)
        if annotated:
            predictions = head.decode(found, sample["net_input"])
            sums = list(total_counts(head, sample["items"], predictions).values())
        for name, value in zip(head.count_names, sums, strict=True):
            for side, own in (("source", not target), ("target", target)):
                logs[f"{COUNT}{side}_{name}"] = value * own
        return loss, annotated, logs

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict[str, Any]]) -> None:
        """Means of the losses; the task adds the scores."""
        size = sum(log["sample_size"] for log in logging_outputs)
        loss = utils.item(sum(log["loss"] for log in logging_outputs))
        metrics.log_scalar("loss", loss / max(size, 1), size, round=4)
        for name in ("tagging", "language"):
            count = sum(log.get(f"{name}_updates", 0) for log in logging_outputs)
            if count:
                total = utils.item(sum(log[f"{name}_loss"] for log in logging_outputs))
                metrics.log_scalar(f"{name}_loss", total / count, count, round=4)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True


def language_counts(logits: Tensor | None, target: Tensor | None) -> dict[str, Any]:
    """How many sentences of each language D read, and of how many it knew the language."""
    if logits is None or target is None:
        return {f"{COUNT}{name}": 0 for name in LANGUAGE}
    right = (logits.detach() > 0) == target
    found: list[Tensor] = []
    for side in (~target, target):
        found += [torch.sum(right & side), torch.sum(side)]
    return {f"{COUNT}{name}": value for name, value in zip(LANGUAGE, found, strict=True)}
