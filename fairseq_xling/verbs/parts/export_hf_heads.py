"""Heads of our tasks as heads of BERT in transformers: those that give equal logits.

To add one, register a function below; the name is that of `tasks.heads`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from fairseq_xling.registry import Registry
from fairseq_xling.tasks.heads import Head

# tanh(x) = x in float32 for |x| < 2 ** -12, so for states below 256; a power of two is exact.
_SMALL = 2.0**-20


class BertHead(NamedTuple):
    """The class of transformers, its weights besides the encoder's, and its entries of the
    configuration."""

    architecture: str
    weights: dict[str, Tensor]
    config: dict[str, Any]
    notes: list[str] = []


bert_heads: Registry[Callable[[Head, nn.Module], BertHead]] = Registry(
    "head for BERT in transformers"
)


@bert_heads.register("classification")
def classification(head: Head, network: Any) -> BertHead:
    """Linear on the first state; BERT's pooler, a tanh, works where it is the identity."""
    size = network.out.in_features
    weights = {
        "bert.pooler.dense.weight": torch.eye(size) * _SMALL,
        "bert.pooler.dense.bias": torch.zeros(size),
        "classifier.weight": network.out.weight / _SMALL,
        "classifier.bias": network.out.bias,
    }
    note = "its logits are right in float32 and bfloat16, wrong in float16"
    return BertHead("BertForSequenceClassification", weights, _labels(head.labels["label"]), [note])


@bert_heads.register("pos")
@bert_heads.register("ner")
def tagging(head: Head, network: Any) -> BertHead:
    """Linear on every state; ours reads those of the words' first subwords."""
    weights = {"classifier.weight": network.out.weight, "classifier.bias": network.out.bias}
    note = "the tag of a word is that of its first subword"
    return BertHead("BertForTokenClassification", weights, _labels(head.labels["tag"]), [note])


@bert_heads.register("span_qa")
def span_qa(head: Head, network: Any) -> BertHead:
    """Two linear scores; ours are -inf outside the context, where theirs have values."""
    weights = {"qa_outputs.weight": network.out.weight, "qa_outputs.bias": network.out.bias}
    return BertHead("BertForQuestionAnswering", weights, {})


def _labels(names: list[str]) -> dict[str, Any]:
    return {
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
    }
