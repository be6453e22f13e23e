"""A part with a learning rate of its own learns as in an optimiser with groups of parameters."""

import pytest
import torch
from torch import nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.scaled import train_faster


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def train(model, optimizer, clip):
    """Five clipped steps; their norms of the gradient."""
    generator, norms = torch.Generator().manual_seed(1), []
    for _ in range(5):
        optimizer.zero_grad()
        x, y = torch.randn(8, 3, generator=generator), torch.randn(8, 2, generator=generator)
        (30 * (model(x) - y).square().mean()).backward()
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), clip)))
        optimizer.step()
    return norms


@pytest.mark.parametrize("factor", [25.0, 0.1])
@pytest.mark.parametrize(
    "kind",
    [
        lambda groups: torch.optim.Adam(groups, lr=1e-3),
        lambda groups: torch.optim.SGD(groups, lr=1e-3, momentum=0.9),
    ],
)
@pytest.mark.parametrize("clip", [0.5, 1e9])
def test_steps_and_norms_are_those_of_an_optimiser_with_two_groups(kind, factor, clip):
    ours, theirs = make(), make()
    train_faster(ours[2], factor)
    torch.testing.assert_close(ours[2].weight, theirs[2].weight)
    groups = [
        {"params": theirs[0].parameters()},
        {"params": theirs[2].parameters(), "lr": 1e-3 * factor},
    ]
    norms = train(ours, kind(ours.parameters()), clip)
    assert norms == pytest.approx(train(theirs, kind(groups), clip), rel=1e-4)
    assert max(norms) > 0.5  # else nothing was clipped
    for number in (0, 2):
        torch.testing.assert_close(ours[number].weight, theirs[number].weight)
        torch.testing.assert_close(ours[number].bias, theirs[number].bias)
    assert not torch.allclose(make()[2].weight, ours[2].weight)


def test_what_is_frozen_stays_as_it_is():
    model = make()
    model[2].bias.requires_grad_(False)
    train_faster(model[2], 3.0)
    assert [name for name, _ in model[2].named_parameters()] == [
        "bias",
        "parametrizations.weight.original",
    ]


def test_a_rate_that_is_none_is_refused():
    with pytest.raises(UserError, match="must be above 0, got a ratio of 0"):
        train_faster(make(), 0.0)
