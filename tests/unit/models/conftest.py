"""Small encoders and batches, and one built task-like object for fairseq's `build_model`."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan


@pytest.fixture
def make_encoder() -> Callable[..., SeparableEncoder]:
    """``make_encoder("emb,1", layers=2)``: weights from a fixed seed, wide enough to tell apart."""

    def make(separate="", sizes=None, layers=3, **changes) -> SeparableEncoder:
        torch.manual_seed(1)
        rates = {"dropout": 0.0, "attention_dropout": 0.0, "init_std": 0.3}
        shape = EncoderShape(layers, 16, 32, 4, 12, **rates | changes)
        sizes = sizes or {"en": 30, "de": 30}
        return SeparableEncoder(shape, sizes, SharingPlan.parse(separate, layers)).eval()

    return make


@pytest.fixture
def make_src() -> Callable[..., dict[str, torch.Tensor]]:
    """The source side of a batch from rows of ids, as `collate` makes it."""

    def make(*rows, lang=0) -> dict[str, torch.Tensor]:
        width = max(map(len, rows))
        lengths = torch.tensor([len(row) for row in rows])
        tokens = torch.tensor([[*row, *[1] * (width - len(row))] for row in rows])
        places = torch.arange(width).expand(len(rows), width)
        mask = places >= lengths[:, None]
        src = {"tokens": tokens, "positions": places.masked_fill(mask, 0)}
        src["langs"] = torch.full_like(tokens, lang)
        return src | ({"padding_mask": mask} if mask.any() else {})

    return make


@pytest.fixture
def make_task() -> Callable[..., SimpleNamespace]:
    """What `build_model` and the criterion ask of a task."""

    def make(objectives=("mlm",), weights=None, **sizes) -> SimpleNamespace:
        sizes = sizes or {"en": 30, "de": 30}
        return SimpleNamespace(
            vocab_sizes=sizes,
            languages=list(sizes),
            dictionary_digests={lang: f"{size}".ljust(64, "0") for lang, size in sizes.items()},
            check_plan=lambda plan: None,
            objective_names=list(objectives),
            objective_weights=weights or {},
            auxiliary_names=[],
        )

    return make
