"""`--criterion cross_lingual_transfer`: the loss of a head and, in validation, its metric."""

from typing import Any

from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.tasks.heads import total_counts

COUNT = "count_"  # prefix of the log keys of a head's counts, and of a discriminator's


class TransferCriterionConfig(FairseqDataclass):
    pass


@register_criterion("cross_lingual_transfer", dataclass=TransferCriterionConfig)
class TransferCriterion(FairseqCriterion):
    """The mean loss over all terms; in validation also the head's counts.

    `--best-checkpoint-metric accuracy --maximize-best-checkpoint-metric` selects by the metric.
    """

    @exits_on_user_error
    def __init__(self, task: Any):
        super().__init__(task)
        if not hasattr(task, "head"):
            raise UserError(
                "`--criterion cross_lingual_transfer` needs `--task cross_lingual_transfer`, got "
                f"{type(task).__name__}"
            )
        self.head = task.head

    @property
    def metric_names(self) -> list[str]:
        """What validation reports, and so what `--best-checkpoint-metric` may name."""
        return ["loss", *self.head.scores(dict.fromkeys(self.head.count_names, 0.0))]

    def forward(self, model: Any, sample: dict[str, Any], reduce: bool = True):
        """The summed loss, the number of its terms, and the logs of one batch."""
        fields = sample["net_input"]["fields"]
        outputs = model(**sample["net_input"])
        loss, size = self.head.loss(outputs, fields)  # of tensors: a GPU would be waited for
        logs = {
            "loss": loss.detach(),
            "ntokens": sample["ntokens"],
            "nsentences": sample["nsentences"],
            "sample_size": size,
        }
        if not model.training:
            predictions = self.head.decode(outputs, fields)
            sums = total_counts(self.head, sample["items"], predictions)
            logs |= {f"{COUNT}{name}": value for name, value in sums.items()}
        return loss, size, logs

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict[str, Any]]) -> None:
        """The mean loss; the task adds the head's figures."""
        size = utils.item(sum(log["sample_size"] for log in logging_outputs))
        loss = utils.item(sum(log["loss"] for log in logging_outputs))
        metrics.log_scalar("loss", loss / max(size, 1), size, round=4)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True
