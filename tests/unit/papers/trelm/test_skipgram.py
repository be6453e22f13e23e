"""fastText for subwords: its n-grams, what they give to rare subwords, and resumption."""

import dataclasses

import numpy as np
import pytest
from gensim.models.fasttext import compute_ngrams, ft_ngram_hashes

from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SEP, SPECIALS, DataFolder
from fairseq_xling.data.mmap import TokenFile, best_dtype, write_items
from fairseq_xling.mapping.vectors_file import count_ids, read_vectors
from fairseq_xling.papers.trelm.skipgram import (
    FastTextOptions,
    FastTextSubwords,
    SkipGram,
    SkipGramOptions,
    embedders,
)
from fairseq_xling.papers.trelm.vectors import train_vectors

# Ids of two families of subwords, each in its own frame; the last of each never occurs.
FAMILIES = (
    ["▁walking", "▁walked", "▁walker", "▁walks"],
    ["▁blauer", "▁blaues", "▁blauen", "▁blaue"],
)
FRAMES = (["▁i", "▁now"], ["▁ein", "▁ding"])
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<null>"]
SYMBOLS += [*FAMILIES[0], *FAMILIES[1], *FRAMES[0], *FRAMES[1], "▁q"]
NUMBER = {symbol: number for number, symbol in enumerate(SYMBOLS)}
OPTIONS = FastTextOptions(dim=16, epochs=10, sample=0.0, lr=0.1, buckets=50_000)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("text") / "x", np.random.default_rng(0)
    rows = []
    for _ in range(800):
        kind = int(rng.integers(2))
        middle = FAMILIES[kind][int(rng.integers(3))]
        rows.append([*(NUMBER[s] for s in (FRAMES[kind][0], middle, FRAMES[kind][1])), SEP])
    write_items(path, [np.array(row) for row in rows], best_dtype(100))
    return TokenFile(path)


def trained(file, kind, options, epochs=None):
    model = kind([file], count_ids([file], len(SYMBOLS)), options, SYMBOLS)
    for epoch in range(options.epochs if epochs is None else epochs):
        model.train_epoch(epoch, lambda ids: None)
    return model


@pytest.fixture(scope="module")
def model(file):
    return trained(file, FastTextSubwords, OPTIONS)


def cosine(table, a, b):
    x, y = table[NUMBER[a]], table[NUMBER[b]]
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def test_a_vector_is_the_mean_of_its_own_row_and_its_n_grams(model):
    state, _ = model.state()
    table, known = model.table()
    for place, number in enumerate(model.ids.tolist()):
        buckets = ft_ngram_hashes(SYMBOLS[number], 3, 6, OPTIONS.buckets)
        rows = np.concatenate([state["words"][place][None], state["ngrams"][buckets]])
        np.testing.assert_allclose(table[number], rows.mean(0), rtol=1e-4, atol=1e-6)
        grams = compute_ngrams(SYMBOLS[number], 3, 6)
        assert {len(gram) for gram in grams} <= {3, 4, 5, 6} and len(buckets) == len(grams)
    assert known[model.ids].all() and not known[:SPECIALS].any()


def test_a_subword_that_does_not_occur_is_like_those_spelt_like_it(file, model):
    table, known = model.table()
    assert known[NUMBER["▁walks"]] and not known[NUMBER["▁q"]]  # which shares no n-gram
    skip_gram = trained(file, SkipGram, SkipGramOptions(dim=16, epochs=1, sample=0.0))
    assert not skip_gram.table()[1][[NUMBER["▁walks"], NUMBER["▁blaue"]]].any()
    assert cosine(table, "▁walks", "▁walking") > 0.8 > 0.5 > cosine(table, "▁walks", "▁blauer")
    assert cosine(table, "▁blaue", "▁blauen") > 0.8 > 0.5 > cosine(table, "▁blaue", "▁walked")


@pytest.mark.parametrize("kind", [SkipGram, FastTextSubwords])
def test_words_of_two_languages_do_not_begin_alike(kind):
    # Equal ranks and seeds, other counts: the map between the two is to be found, not given.
    options = dataclasses.replace(OPTIONS, dim=64)
    counts = np.arange(len(SYMBOLS))[::-1] + 10
    first, same, second = (
        kind([], chosen, options, SYMBOLS).vectors() for chosen in (counts, counts, counts + 1)
    )
    np.testing.assert_array_equal(first, same)
    of_pairs = (first * second).sum(1) / np.linalg.norm(first, axis=1)
    assert abs(of_pairs / np.linalg.norm(second, axis=1)).max() < 0.6


def test_a_state_continues_as_if_it_had_not_been_interrupted(file, model):
    first = trained(file, FastTextSubwords, OPTIONS, epochs=4)
    arrays, random = first.state()
    arrays = {name: np.array(array) for name, array in arrays.items()}
    second = trained(file, FastTextSubwords, OPTIONS, epochs=0)
    second.restore(arrays, random)
    np.testing.assert_array_equal(second.vectors(), first.vectors())
    for epoch in range(4, OPTIONS.epochs):
        second.train_epoch(epoch, lambda ids: None)
    np.testing.assert_array_equal(second.table()[0], model.table()[0])


def test_the_longest_n_grams_are_no_shorter_than_the_shortest():
    with pytest.raises(UserError, match="`--max-n` must be at least 3, got 2"):
        FastTextOptions(max_n=2)


def test_the_file_says_how_its_vectors_were_made(tiny_corpus, tmp_path):
    options = FastTextOptions(dim=8, epochs=1, buckets=100)
    report = train_vectors(tiny_corpus.path, tmp_path / "v", ["en"], options, "fasttext")
    found = read_vectors(tmp_path / "v")
    assert found.settings["method"] == "fasttext" and found.settings["max_n"] == 6
    size = DataFolder(tiny_corpus.path).vocab_sizes["en"]
    parts = [report[f"{part}_ids"] for part in ("trained", "composed", "untrained")]
    assert sum(parts) == size - SPECIALS and parts[1] > 0


def test_the_command_has_options_of_its_method_only(tiny_corpus, tmp_path, capsys):
    call = ["embed", "train", str(tiny_corpus.path), "--languages", "en", "--dim", "4"]
    call += ["--epochs", "1", "--output", str(tmp_path / "v")]
    fasttext = ["--method", "fasttext", "--min-n", "2", "--max-n", "3", "--buckets", "50"]
    assert main([*call, *fasttext]) == 0
    assert "composed of n-grams" in capsys.readouterr().out
    settings = read_vectors(tmp_path / "v").settings
    assert (settings["min_n"], settings["max_n"], settings["lr"]) == (2, 3, 0.05)
    assert list(embedders) == ["fasttext", "skip-gram"]
