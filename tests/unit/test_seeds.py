import argparse

import numpy as np
import pytest
import torch

from fairseq_xling.errors import UserError
from fairseq_xling.seeds import MOST, check_seed, check_seeds


def test_the_largest_seed_is_taken_by_every_generator():
    np.random.RandomState(check_seed("--seed", MOST))
    torch.Generator().manual_seed(MOST)
    with pytest.raises(ValueError, match="Seed must be between"):
        np.random.RandomState(MOST + 1)


def test_every_option_that_holds_a_seed_is_checked_and_no_other():
    check_seeds(argparse.Namespace(seed=0, mask_seed=None, seeds="-1", k=-1))
    with pytest.raises(UserError, match="`--mask-seed` must not be negative, got -2"):
        check_seeds(argparse.Namespace(seed=1, mask_seed=-2))
