"""A number in a checkpoint's settings cannot ask for more memory than its weights take."""

import pytest
import torch
from torch import nn

from fairseq_xling.checkpoints import no_larger_than
from fairseq_xling.core.errors import UserError
from fairseq_xling.interop.encoder import Encoder

HUGE = 10**9


def test_a_model_of_the_sizes_of_its_weights_is_built_and_a_larger_one_is_not():
    weights = nn.Linear(3000, 3000).state_dict()
    with no_larger_than(weights, "x.pt"):
        nn.Linear(3000, 3000)
    with (
        pytest.raises(
            UserError, match=r"x\.pt: its settings must describe the model of its 9003000"
        ),
        no_larger_than(weights, "x.pt"),
    ):
        nn.ModuleList(nn.Linear(3000, 3000) for _ in range(9))
    nn.Linear(6000, 6000)  # nothing is counted any more


def test_more_than_there_is_memory_for_is_one_line():
    rule = r"x\.pt: its settings describe a model larger than memory"
    with pytest.raises(UserError, match=rule), no_larger_than({}, "x.pt"):
        nn.Embedding(10**12, 512)


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("encoder_layers", r"`encoder_layers` must be at most \d+, the number of its tensors"),
        ("max_positions", "its settings"),
        ("num_segments", "its settings"),
        ("encoder_ffn_embed_dim", "its settings"),
    ],
)
def test_a_number_that_the_weights_do_not_bear_out_is_refused(changed, option, rule):
    path = changed({f"cfg.model.{option}": HUGE})
    with pytest.raises(UserError, match=rf"{path}: {rule}"):
        Encoder.load(path)


def test_an_encoder_within_an_encoder_is_bounded_too():
    from argparse import Namespace

    from fairseq_xling.models.transfer_encoder import build_encoder

    task = Namespace(vocab_sizes={"en": 9}, dictionary_digests={})
    settings = {"_name": "separable_transformer", "encoder_layers": HUGE, "separate": f"1-{HUGE}"}
    rule = "`encoder_layers` must be at most 1, the number of"
    with pytest.raises(UserError, match=rule), no_larger_than({"a": torch.ones(2)}, "x.pt"):
        build_encoder(settings, task)
