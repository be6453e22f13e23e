"""Planted spaces: a fixed one, and the same rotated, so that the right map is known."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.extracted_folder import write_extracted


@dataclass
class Planted:
    """``moving @ rotation`` is ``fixed[partner]``: row i of one belongs to row partner[i]."""

    moving: Tensor
    fixed: Tensor
    rotation: Tensor
    partner: Tensor

    def accuracy(self, w: Tensor) -> float:
        """Share of moving rows whose nearest fixed row by cosine is the right one."""
        mapped = torch.nn.functional.normalize(self.moving @ w)
        nearest = (mapped @ torch.nn.functional.normalize(self.fixed).T).argmax(1)
        return float((nearest == self.partner).double().mean())


@pytest.fixture(scope="session")
def planted():
    """``planted(angle, noise=0, rows=1500)``: clusters, longer in some directions than others."""

    def make(angle: float, noise: float = 0.0, rows: int = 1500, width: int = 20) -> Planted:
        generator = torch.Generator().manual_seed(5)

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator)

        spread = torch.linspace(1.5, 0.3, width)
        centres = normal(30, width) * spread + 0.5 * torch.rand(width, generator=generator)
        sizes = torch.rand(30, generator=generator) ** 2
        owner = torch.multinomial(sizes, rows, True, generator=generator)
        fixed = centres[owner] + 0.4 * normal(rows, width) * spread
        skew = normal(width, width)
        skew = skew - skew.T
        rotation = torch.matrix_exp(angle * skew / torch.linalg.matrix_norm(skew, 2))
        partner = torch.randperm(rows, generator=generator)
        moving = fixed[partner] @ rotation.T + noise * normal(rows, width)
        return Planted(moving, fixed, rotation, partner)

    return make


@pytest.fixture
def write_states(tmp_path):
    """``write_states("de", {0: rows, 3: rows}, unit="types")``: a folder of states called "de", of
    German; other named arguments are arrays beside those of the layers."""

    def write(name, layers, unit="sentences", vocabulary=None, dtype="float32", **arrays):
        folder = write_extracted(
            tmp_path / name, layers, unit=unit, lang=name, words=vocabulary, dtype=dtype
        )
        for each, array in arrays.items():
            np.save(folder / f"{each}.npy", np.asarray(array, dtype=np.int32))
        return folder

    return write
