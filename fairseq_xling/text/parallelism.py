"""Work on blocks in a few threads, with ordered results and bounded memory."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def ordered_map(function: Callable[[A], B], items: Iterable[A], workers: int) -> Iterator[B]:
    """``map(function, items)`` in ``workers`` threads; at most ``2 * workers`` items are in flight.

    Threads are enough: sentencepiece and the segmentation patterns run outside Python's lock.

    >>> list(ordered_map(abs, [-1, 2, -3], workers=2))
    [1, 2, 3]
    """
    if workers == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
