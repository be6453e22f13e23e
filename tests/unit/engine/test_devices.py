import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.devices import usable_device


@pytest.mark.parametrize(
    "device", ["meta", "cpuu", "", "cpu:7", "cuda:x", "xla", torch.device("meta"), None]
)
def test_a_device_is_a_processor_or_an_accelerator(device):
    with pytest.raises(UserError) as error:
        usable_device(device)
    assert str(error.value) == f"`--device` must be cpu, cuda or cuda:N, got {str(device)!r}"


def test_an_accelerator_that_is_not_there_is_named_with_the_reason():
    with pytest.raises(UserError, match=r"^`--device` cuda:99: cannot be used here \("):
        usable_device("cuda:99")
    assert usable_device("cpu") == usable_device(torch.device("cpu")) == torch.device("cpu")
