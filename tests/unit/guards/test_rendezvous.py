"""How processes meet, in limited time; and what is said where they do not."""

import datetime
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.guards import rendezvous


def configuration(method="tcp://host:1", limit=-1):
    found = {
        **{"distributed_init_method": method, "distributed_world_size": 4},
        **{"distributed_rank": 2, "heartbeat_timeout": limit},
    }
    return SimpleNamespace(distributed_training=SimpleNamespace(**found))


class FakeDist:
    __name__ = "dist"

    new_group = staticmethod(lambda timeout: timeout)
    get_rank = staticmethod(lambda: 7)


@pytest.mark.parametrize(("limit", "seconds"), [(-1, 600), (30, 30)])
def test_groups_have_the_limit_of_the_heartbeat_and_a_margin(limit, seconds):
    dist = rendezvous._LimitedDist(FakeDist)
    init = rendezvous._in_one_line(lambda cfg: dist.new_group(), dist)
    assert init(configuration(limit=limit)) == datetime.timedelta(seconds=seconds + 10)
    assert dist.get_rank() == 7


def test_processes_agree_on_a_name_that_no_earlier_start_had():
    store = torch.distributed.HashStore()
    names = []
    for _ in range(3):
        # Of the start before, a process that never got an answer has asked as each rank.
        for rank in (1, 2):
            store.set(f"fairseq_xling/ask/{rank}", f"stale {len(names)}")
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(lambda rank: rendezvous.agree(store, rank, 3, 30), range(3)))
        assert len(set(found)) == 1
        names.append(found[0])
    assert len(set(names)) == 3


def test_a_start_that_is_not_complete_ends():
    with pytest.raises(RuntimeError, match="timed out waiting for 2 processes"):
        rendezvous.agree(torch.distributed.HashStore(), 0, 3, 0.1)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            RuntimeError("EADDRINUSE"),
            "another program, or another process of rank 0, listens there",
        ),
        (ValueError("the wait timed out after 5 ms"), "they did not come in time"),
        (OSError("no such host\nstack"), "no such host"),
    ],
)
def test_a_meeting_that_fails_ends_in_one_line(error, reason):
    def init(cfg):
        raise error

    with pytest.raises(UserError) as caught:
        rendezvous._in_one_line(init, rendezvous._LimitedDist(FakeDist))(configuration())
    assert str(caught.value).startswith(
        f"process 3 of 4 did not meet the others at tcp://host:1 ({reason}); start each of the 4 "
    )


def test_a_process_that_waits_says_so(monkeypatch, caplog):
    monkeypatch.setattr(rendezvous, "_NOTICE", 0.01)
    monkeypatch.setenv("MASTER_ADDR", "first")
    monkeypatch.setenv("MASTER_PORT", "29500")
    caplog.set_level(logging.WARNING)

    def init(cfg):
        while not caplog.messages:
            time.sleep(0.01)

    rendezvous._in_one_line(init, rendezvous._LimitedDist(FakeDist))(configuration("env://"))
    assert caplog.messages == ["waiting for the other 3 of 4 processes at first:29500"]


def test_only_gloos_lost_connections_are_put_into_one_line():
    said = "[/x/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1. This is a"
    found = str(rendezvous.lost(RuntimeError(said)))
    assert "(Connection closed by peer [127.0.0.1]:1); its own output says why" in found
    assert rendezvous.lost(RuntimeError("shapes do not fit; Connection")) is None
