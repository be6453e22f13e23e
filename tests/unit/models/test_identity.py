import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.identity import (
    KEY,
    check_identity,
    decode_identity,
    encode_identity,
    read_identity,
)


@pytest.mark.parametrize(
    "identity",
    [
        {"languages": [1]},
        {"pair": {"en": "de"}},
        {"dictionaries": {"en": 5}},
    ],
)
def test_facts_of_a_wrong_kind_are_no_identity(identity):
    tensor = encode_identity(identity)
    with pytest.raises(ValueError, match="must be"):
        decode_identity(tensor)
    assert read_identity({KEY: tensor}) == {}


@pytest.mark.parametrize(
    "tensor",
    [
        torch.full((4,), float("nan")),
        torch.full((4,), -1.0),
        torch.tensor(5.0),
        torch.tensor(list(b"[" * 100_000), dtype=torch.float32),
        torch.tensor(list(b"3"), dtype=torch.float32),
        None,
    ],
)
def test_what_is_no_identity_is_none(tensor):
    assert read_identity({KEY: tensor}) == {}


def test_any_facts_that_differ_can_be_shown():
    with pytest.raises(UserError, match=r"was trained with modules transform:\{'kind"):
        check_identity({"modules": {}}, {"modules": {"transform": {"kind": "transform"}}})
