"""Who of several processes hangs, by what they say of themselves."""

import datetime
import time

import pytest
import torch.distributed as dist

from fairseq_xling.guards import heartbeat
from fairseq_xling.guards.heartbeat import Beat, Watch


def beats(*pairs):
    return [
        Beat(number, meetings, f"process {rank}") for rank, (number, meetings) in enumerate(pairs)
    ]


def test_a_beat_is_read_as_it_was_written():
    beat = Beat(3, 17, "process 12 of some host")
    assert Beat.parse(str(beat)) == beat
    assert Beat.parse(str(Beat())) == Beat()


def test_a_process_that_was_not_heard_of_is_named():
    watch = Watch(0, silent=3, behind=100)
    said = [watch.look(beats((look, 5), (look, 5), (min(look, 4), 5))) for look in range(8)]
    assert said == [""] * 7 + ["rank 2 of 3 (process 2) was not heard of for 3 seconds"]


def test_a_process_that_the_others_wait_for_is_named():
    watch = Watch(2, silent=100, behind=3)
    said = [watch.look(beats((look, 5), (look, 4), (look, 5))) for look in range(4)]
    assert said == [""] * 3 + ["rank 1 of 3 (process 1) has kept the others waiting for 3 seconds"]


def test_nobody_is_named_while_all_are_at_the_same_place_or_the_last_moves():
    watch = Watch(0, silent=3, behind=3)
    assert not any(watch.look(beats((look, 5), (look, 5))) for look in range(20))
    watch = Watch(0, silent=3, behind=3)
    assert not any(watch.look(beats((look, look), (look, look // 2))) for look in range(20))
    watch = Watch(0, silent=3, behind=3)  # the last is the watcher: the others say so
    assert not any(watch.look(beats((look, 1), (look, 2))) for look in range(20))


@pytest.fixture
def hearts(monkeypatch):
    """Two processes' heartbeats on one store, and what ended each."""
    monkeypatch.setattr(heartbeat, "_EVERY", 0.02)
    said = {}
    monkeypatch.setattr(
        heartbeat._Heart,
        "_give_up",
        lambda self, hangs: said.setdefault(self._rank, hangs) and self.stop(),
    )
    server = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    seconds = datetime.timedelta(seconds=30)
    made = [
        heartbeat._Heart(
            dist.TCPStore("localhost", server.port, wait_for_workers=False, timeout=seconds),
            rank,
            2,
            10,
        )
        for rank in range(2)
    ]
    yield made, said, server
    for heart in made:
        heart.stop()


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_two_processes_live_until_one_is_silent(hearts):
    (first, second), said, _ = hearts
    first.start()
    second.start()
    time.sleep(0.6)  # thirty looks, three times what a silence may last
    assert not said
    second.stop()
    wait_for(lambda: said)
    assert said[0].startswith("rank 1 of 2 (process ") and said[0].endswith("for 10 seconds")


def test_the_store_that_is_gone_ends_a_process(hearts, monkeypatch):
    (first, _), said, _ = hearts

    def gone(keys):
        raise RuntimeError("connection reset")

    first.start()
    wait_for(lambda: first._watch._last)
    first._store = type("Gone", (), {"set": lambda *_: gone(0), "multi_get": gone})()
    wait_for(lambda: said)
    assert said[0] == "rank 0, where the processes met, did not answer for 10 seconds"


def test_each_wait_for_the_others_is_counted():
    before = heartbeat._meetings
    collective = heartbeat._counted(lambda value, group: value)
    assert [collective(1, None), collective(2, group=None)] == [1, 2]
    assert heartbeat._meetings == before + 2
