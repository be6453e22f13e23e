"""Batches of items, and networks of heads with fixed weights."""

import pytest
import torch

from fairseq_xling.tasks.dataset import ItemDataset


@pytest.fixture
def batch(codec):
    """``batch(head, items)``: the fields of these items together."""

    def make(head, items):
        dataset = ItemDataset([(codec(), 0, items)], head)
        return dataset.collater(range(len(items)))["net_input"]["fields"]

    return make


@pytest.fixture
def make_network():
    """``make_network(head)``: the network of a head over states 8 wide."""

    def make(head):
        torch.manual_seed(0)
        network = head.network(8).eval()
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        return network

    return make
