"""gensim models: where they begin, and one epoch at a time, so that the state can be saved in
between."""

from collections.abc import Iterable, Iterator
from typing import Any

from fairseq_xling.core.ranges import MOST, drawn

LAST_LR = 1e-4


def text_seed(seed: int, counts: Iterable[int]) -> int:
    """The seed of a model of the text with these counts of words.

    The initial vectors are drawn word by word, the most frequent first. If two languages had the
    same draws, words of equal rank would begin alike, and many would end alike: the spaces would be
    aligned in part before any map is learnt.

    >>> text_seed(1, [7, 2]) == text_seed(1, [7, 2]) != text_seed(1, [7, 3])
    True
    """
    return drawn(f"{seed}: {' '.join(map(str, counts))}") % (MOST + 1)


def train_epoch(
    model: Any, epoch: int, sentences: Iterable[list[str]], words: int, lr: float, epochs: int
) -> None:
    """Epoch number ``epoch``, from 0, of ``epochs``; what ``sentences`` raises is raised here.

    Args:
        model: a `gensim.models.Word2Vec` or `FastText` with its vocabulary.
        words: number of words in ``sentences``, including rare ones.
        lr: initial learning rate, which falls linearly to `LAST_LR` over all epochs.
    """
    failure: list[BaseException] = []

    def read() -> Iterator[list[str]]:
        # gensim reads in a separate thread, and waits forever if that thread fails.
        try:
            yield from sentences
        except BaseException as error:
            failure.append(error)

    start, end = ((1 - n / epochs) * lr + n / epochs * LAST_LR for n in (epoch, epoch + 1))
    model.train(
        corpus_iterable=read(),
        total_words=words,
        epochs=1,
        start_alpha=start,
        end_alpha=end,
    )
    if failure:
        raise failure[0]
