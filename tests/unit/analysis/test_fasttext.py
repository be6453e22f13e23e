from collections import Counter

import numpy as np
import pytest

from fairseq_xling.analysis.fasttext import FastTextOptions, WordVectors, train
from fairseq_xling.core.errors import UserError

SMALL = {"dim": 16, "min_count": 1, "buckets": 500, "window": 2, "negative": 3}


def text(seed=0, count=300):
    """Sentences about animals or about colours; a word stands among those of its kind."""
    draw = np.random.default_rng(seed)
    kinds = [[f"{kind}{n}" for n in "abcdefgh"] for kind in ("animal", "colour")]
    kinds[0].append("zebra")  # without the letters of the others
    return [list(draw.choice(kinds[draw.integers(2)], 6)) for _ in range(count)]


def counts_of(sentences):
    return Counter(word for line in sentences for word in line)


def cosine(model, first, second):
    x, y = (model.vectors()[model.words.index(word)] for word in (first, second))
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def test_words_of_like_contexts_and_like_letters_come_near():
    sentences = text()
    model = train(counts_of(sentences), lambda: sentences, FastTextOptions(epochs=10, **SMALL))
    assert cosine(model, "animala", "animalb") > cosine(model, "animala", "coloura") + 0.2
    assert cosine(model, "zebra", "animala") > cosine(model, "zebra", "coloura")
    assert model.vectors().shape == (17, 16) and model.vectors().dtype == np.float32
    counts = counts_of(sentences)
    assert [counts[word] for word in model.words] == sorted(counts.values(), reverse=True)


def test_the_same_text_and_seed_give_the_same_bytes_and_another_seed_others():
    sentences = text(count=50)
    found = []
    for seed in (1, 1, 2):
        np.random.seed(seed + 7)  # the global generator plays no part
        model = train(
            counts_of(sentences), lambda: sentences, FastTextOptions(epochs=2, seed=seed, **SMALL)
        )
        found.append(model.vectors().tobytes())
    assert found[0] == found[1] != found[2]


def test_words_of_two_languages_do_not_begin_alike():
    # Equal ranks and seeds, other counts: the map between the two is to be found, not given.
    counts = Counter({word: 50 - n for n, word in enumerate("abcdefgh")})
    more = Counter({word: n + 1 for word, n in counts.items()})
    options = FastTextOptions(**{**SMALL, "dim": 64})
    first, second = (WordVectors(chosen, options).vectors() for chosen in (counts, more))
    assert (np.linalg.norm(first - second, axis=1) > np.linalg.norm(first, axis=1) / 2).all()


def test_what_was_kept_after_an_epoch_goes_on_to_the_same_bytes():
    sentences, options = text(count=60), FastTextOptions(epochs=3, **SMALL)
    counts, kept = counts_of(sentences), {}

    def keep(epoch, model):
        arrays, random = model.state()
        kept[epoch] = {name: array.copy() for name, array in arrays.items()}, random

    whole = train(counts, lambda: sentences, options, keep)
    for epoch in (1, 2, 3):
        model = WordVectors(counts, options)
        model.restore(*kept[epoch])
        train(counts, lambda: sentences, options, model=model, done=epoch)
        assert model.vectors().tobytes() == whole.vectors().tobytes()


def test_rare_words_are_left_out_and_some_word_must_be_left():
    counts = Counter({"often": 9, "rare": 2})
    options = FastTextOptions(**{**SMALL, "min_count": 3})
    assert WordVectors(counts, options).words == ["often"]
    options = FastTextOptions(**{**SMALL, "min_count": 10})
    with pytest.raises(UserError, match=r"no word occurs at least 10 times .*, the most frequent"):
        WordVectors(counts, options)


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(UserError, match="`--max-n` must be at least 5, got 4"):
        FastTextOptions(min_n=5, max_n=4)
    with pytest.raises(UserError, match="`--lr` must be finite, got nan"):
        FastTextOptions(lr=float("nan"))
