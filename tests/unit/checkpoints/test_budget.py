"""A number in a checkpoint's settings cannot ask for more memory than its weights take."""

import subprocess
import sys

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


def test_a_table_is_refused_before_its_memory_is_used(monkeypatch):
    def filled(*_):
        raise AssertionError("the table was filled")

    monkeypatch.setattr(nn.Embedding, "reset_parameters", filled)
    with pytest.raises(UserError, match="got a larger one"), no_larger_than({}, "x.pt"):
        nn.Embedding(10**8, 1)


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


@pytest.mark.slow
def test_refusing_it_takes_no_more_memory_than_loading_a_good_one(changed):
    """In a process of its own, the good one first: a process's peak never falls."""
    code = (
        "import resource, sys\n"
        "from fairseq_xling.core.errors import UserError\n"
        "from fairseq_xling.interop.encoder import Encoder\n"
        "for path in sys.argv[1:]:\n"
        "    try: Encoder.load(path)\n"
        "    except UserError: print('refused')\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    options = ["encoder_layers", "max_positions", "encoder_ffn_embed_dim"]
    bad = [changed({f"cfg.model.{option}": HUGE}, f"{option}.pt") for option in options]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, [changed({}), *bad])],
        capture_output=True,
        text=True,
        check=True,
    )
    good, *others = done.stdout.split()
    assert others[::2] == ["refused"] * 3
    unit = 1 if sys.platform == "darwin" else 1024
    assert all((int(peak) - int(good)) * unit < 2**28 for peak in others[1::2])
