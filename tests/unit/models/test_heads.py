import math

import pytest
import torch
from torch.nn.functional import layer_norm

from fairseq_xling.models.heads import lm_heads


def test_the_linear_head_is_a_tied_product_and_a_bias():
    torch.manual_seed(0)
    head = lm_heads["linear"](4, 7)
    torch.nn.init.normal_(head.bias)
    x, table = torch.randn(3, 4), torch.randn(7, 4)
    found = head(x, table).detach()
    for n in range(3):
        for v in range(7):
            assert found[n, v].item() == pytest.approx(
                float(x[n] @ table[v]) + head.bias[v].item(), abs=1e-5
            )
    assert sum(p.numel() for p in head.parameters()) == 7


def test_berts_head_transforms_first():
    torch.manual_seed(0)
    head = lm_heads["bert"](4, 7)
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    x, table = torch.randn(3, 4), torch.randn(7, 4)
    inner = x @ head.dense.weight.T + head.dense.bias
    inner = 0.5 * inner * (1 + torch.erf(inner / math.sqrt(2)))
    inner = layer_norm(inner, (4,), head.norm.weight, head.norm.bias)
    expected = inner @ table.T + head.bias
    assert torch.allclose(head(x, table), expected, atol=1e-5)
    assert sum(p.numel() for p in head.parameters()) == 7 + 4 * 4 + 4 + 2 * 4
