"""`--criterion clcr`: the loss of the module being trained, and its sums."""

from typing import Any

from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics

from fairseq_xling.core.errors import UserError, exits_on_user_error


class ClcrCriterionConfig(FairseqDataclass):
    pass


@register_criterion("clcr", dataclass=ClcrCriterionConfig)
class ClcrCriterion(FairseqCriterion):
    """The mean loss over what the module counts: sentences, tokens, or key-points.

    `--best-checkpoint-metric` may name a figure of the module, such as ``distance_en_de``.
    """

    SUM = "sum_"  # prefix of the log keys of a module's sums

    @exits_on_user_error
    def __init__(self, task: Any):
        super().__init__(task)
        if not hasattr(task, "clcr_module"):
            raise UserError(f"`--criterion clcr` needs `--task clcr`, got {type(task).__name__}")

    @exits_on_user_error
    def forward(self, model: Any, sample: dict[str, Any], reduce: bool = True):
        """The summed loss, what to divide it by, and the logs of one batch."""
        loss = model(**sample["net_input"])
        logs = {
            "loss": loss.total.detach(),
            "ntokens": sample["ntokens"],
            "nsentences": sample["nsentences"],
            "sample_size": loss.size,  # a tensor: a GPU would be waited for
            **{f"{self.SUM}{name}": value for name, value in loss.sums.items()},
        }
        return loss.total, loss.size, logs

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict[str, Any]]) -> None:
        """The mean loss; the task adds the module's figures."""
        size = utils.item(sum(log["sample_size"] for log in logging_outputs))
        total = utils.item(sum(log["loss"] for log in logging_outputs))
        metrics.log_scalar("loss", total / max(size, 1), size, round=4)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True
