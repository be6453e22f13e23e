import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.interop.encoder import Encoder


@pytest.mark.parametrize("device", ["cuda:99"])
def test_a_device_that_is_not_there_is_named_before_anything_is_read(device):
    with pytest.raises(UserError, match=f"`--device` {device}: cannot be used here"):
        Encoder.load("nowhere.pt", device=device)
