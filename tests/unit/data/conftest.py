"""Sources of any size without files, and objectives and feeds over the tiny corpus."""

from collections.abc import Callable

import numpy as np
import pytest

from fairseq_xling.data.example import Objective, Vocabulary
from fairseq_xling.data.feeds import make_feeds
from fairseq_xling.data.folder import CLS, SEP, SPECIALS, DataFolder
from fairseq_xling.data.iterator import BatchDataset
from fairseq_xling.data.plan import Feed
from fairseq_xling.data.sources import Row, Side, Source
from fairseq_xling.objectives import objectives


class FakeSource(Source):
    """``size`` rows whose lengths follow Zipf's law; nothing is stored, so ``size`` may be huge."""

    def __init__(self, size: int, lang: str = "en", shortest: int = 5, longest: int = 120):
        self.size, self.name, self.languages = size, lang, (lang,)
        self.shortest, self.longest = shortest, longest
        self.num_sentences, self.num_tokens = size, 12 * size

    def __len__(self) -> int:
        return self.size

    def lengths(self, indices: np.ndarray) -> np.ndarray:
        uniform = (indices * 2654435761 % 1000003 + 1) / 1000004
        return np.minimum(self.shortest * uniform**-0.8, self.longest).astype(np.int64)

    def __getitem__(self, index: int) -> Row:
        length = int(self.lengths(np.array([index]))[0])
        words = SPECIALS + (index + np.arange(length - 2)) % 50
        return Row(Side(np.concatenate(([CLS], words, [SEP])), self.name))


class Reader(Objective):
    """An objective that leaves lengths as they are; for plans, which never apply it."""

    name = "reader"
    reads = "mono"


@pytest.fixture
def fake_source() -> type[FakeSource]:
    return FakeSource


@pytest.fixture
def fake_feeds() -> Callable[..., list[Feed]]:
    """One feed for each ``lang=(rows, share)``."""

    def make(**sizes: tuple[int, float]) -> list[Feed]:
        reader = Reader(None, Vocabulary({}, {}))
        return [Feed(reader, FakeSource(n, lang), share) for lang, (n, share) in sizes.items()]

    return make


@pytest.fixture
def make_dataset(tiny_corpus, options) -> Callable[..., BatchDataset]:
    """A `BatchDataset` over the tiny corpus: ``make_dataset("mlm", "tlm", split="valid")``."""

    def make(*names: str, split: str = "train", seed: int = 1, transforms=(), **changes):
        folder, cfg = DataFolder(tiny_corpus.path), options(**changes)
        vocabulary = Vocabulary(folder.vocab_sizes, {"en": 0, "de": 1}, tiny_own(tiny_corpus))
        made = [objectives[name](cfg, vocabulary) for name in names or ("mlm",)]
        shares = {objective.name: 1.0 for objective in made}
        feeds = make_feeds(folder, split, ["en", "de"], made, cfg, shares, cfg.max_positions)
        ids = {objective.name: number for number, objective in enumerate(made)}
        return BatchDataset(feeds, ids, seed, transforms)

    return make


def tiny_own(corpus) -> dict[str, np.ndarray]:
    return {lang: np.array(ids) for lang, ids in corpus.ids.items()}
