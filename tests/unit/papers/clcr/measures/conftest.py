"""What verbs of CLCR measure: a model that is perfect by construction, and labels of its pivots."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairseq_xling.data.mmap import TokenFile, write_items
from fairseq_xling.papers.clcr import labels as label
from fairseq_xling.papers.clcr.labels import write_labels
from fairseq_xling.papers.clcr.modules import Sizes
from fairseq_xling.papers.clcr.modules.order import OrderModule
from fairseq_xling.papers.clcr.trained import Clcr
from tests.toy_clcr import DIM, PAIR, POSITIONS, toy, toy_pairs

COUNT = 40


def order_module(head, **more):
    """A module that nothing has been learnt by."""
    torch.manual_seed(1)
    settings = {"head": head, "positions": 0, "table": head == "abs", **more}
    return OrderModule(settings, Sizes((DIM, DIM), POSITIONS)).eval()


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A checkpoint in name with its labels as arguments, its model, text and gold links."""
    monkeypatch.setattr(label, "BLOCK", 7)
    *texts, links = toy_pairs(COUNT)
    for name, items in zip(PAIR, texts, strict=True):
        write_items(tmp_path / name, items, np.dtype("<u2"))
    sides = TokenFile(tmp_path / "en"), TokenFile(tmp_path / "de")
    model = toy()
    model.folder = SimpleNamespace(path="toy", parallel=lambda split, *pair: sides)
    model.parts["order_abs"] = order_module("abs")
    labels = tmp_path / "labels"
    labels.mkdir()
    write_labels(model, sides, labels / "valid", {"pair": PAIR, "threshold": 0.5}, 64)
    (tmp_path / "toy.pt").write_text("")
    monkeypatch.setattr(Clcr, "load", lambda *arguments: model)
    given = [str(tmp_path / "toy.pt"), "--labels", str(labels)]
    return SimpleNamespace(model=model, texts=texts, links=links, given=given, path=tmp_path)
