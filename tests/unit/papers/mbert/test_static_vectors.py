"""Vectors that stay as they are, read by a small network."""

import dataclasses

import numpy as np
import pytest
import torch

from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import DataFolder, read_dictionary
from fairseq_xling.mapping.vectors_file import Vectors, write_vectors
from fairseq_xling.papers.mbert.static_vectors import (
    NETWORKS,
    OfMeans,
    StaticEncoder,
    StaticPairs,
    classify,
)
from fairseq_xling.studies.gold_tasks import TASKS, transfer_mean


@pytest.mark.parametrize("max_tokens", [1, 9, 8192])
def test_every_sentence_gets_its_rows_whatever_the_batches(max_tokens):
    table = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    sentences = [np.array([*ids, 2]) for ids in ([7, 8, 9], [], [29], [10, 3, 11])]
    found = {}
    for indices, states, words in StaticEncoder(table, ["en"]).states(sentences, "en", max_tokens):
        assert states.shape[:3] == (1, *words.shape)
        for row, index in enumerate(indices):
            found[index] = states[0, row], words[row]
    for index, ids in enumerate(sentences):
        states, words = found[index]
        assert (
            words[: len(ids) + 1].tolist() == [False, *(ids >= 6)]
            and not words[len(ids) + 1 :].any()
        )
        assert torch.equal(states[1 : len(ids)], torch.from_numpy(table[ids[:-1]]))


WORDS, LANGUAGES = 30, ["en", "de", "zh"]
LABELS = ("entailment", "neutral", "contradiction")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Languages whose words are w0, w1, ..; a hypothesis says its label by the kind of its words.

    German vectors are those of English; Chinese ones are those of other words."""
    root = tmp_path_factory.mktemp("world")
    random = np.random.default_rng(1)
    for lang in LANGUAGES:
        lines = [" ".join(f"{lang}{n}" for n in random.permutation(WORDS)) for _ in range(4)]
        (root / f"{lang}.txt").write_text("\n".join(lines) + "\n")
    (root / "gold").mkdir()
    for split, count in (("train", 500), ("valid", 60), ("test", 150)):
        rows = []
        for _ in range(count):
            label = random.integers(3)
            premise = random.integers(WORDS, size=random.integers(1, 6))
            hypothesis = 3 * random.integers(WORDS // 3, size=random.integers(1, 4)) + label
            rows.append((premise, hypothesis, LABELS[label]))
        for lang in LANGUAGES if split == "test" else LANGUAGES[:1]:
            texts = [
                (*(" ".join(f"{lang}{n}" for n in side) for side in sides), label)
                for *sides, label in rows
            ]
            path = root / "gold" / f"nli.{split}.{lang}.tsv"
            path.write_text("".join("\t".join(row) + "\n" for row in texts))
    options = ["--languages", ",".join(LANGUAGES), "--vocab-type", "word", "--vocab", "prefixed"]
    for lang in LANGUAGES:
        options += ["--mono", f"train.{lang}={root / lang}.txt"]
    assert main(["prepare", str(root / "data"), *options]) == 0
    folder = DataFolder(root / "data")
    symbols = read_dictionary(folder.dictionary_path("en"))
    table = random.normal(size=(len(symbols), 12)).astype(np.float32)
    place = {symbol: row for row, symbol in enumerate(symbols)}
    rows = [[row for symbol, row in place.items() if symbol.endswith(f"{lang}{n}")]
            for lang in LANGUAGES for n in range(WORDS)]  # fmt: skip
    assert all(len(row) == 1 for row in rows)
    english, german, chinese = np.array(rows)[:, 0].reshape(3, WORDS)
    table[german] = table[english]
    table[chinese] = table[english[random.permutation(WORDS)]]
    digests = {lang: folder.dictionary_digest(lang) for lang in LANGUAGES}
    counts = np.ones(len(symbols), dtype=np.int64)
    write_vectors(root / "vectors.safetensors", Vectors(table, counts, symbols, digests, {}))
    return root


@pytest.fixture
def quick(monkeypatch):
    fast = {"lr": 5e-3, "epochs": 20, "hidden": 32}
    for name, (kind, options) in NETWORKS.items():
        own = dataclasses.replace(options, dropout=0.0, **fast)
        monkeypatch.setitem(NETWORKS, name, (kind, own))


def files_of(text):
    """The arguments of `classify` that say what the task is, with its files in ``text``."""
    task = TASKS["nli"]
    tests = {lang: str(task.file(text, "test", lang)) for lang in LANGUAGES}
    own = {split: str(task.file(text, split, "en")) for split in ("train", "valid")}
    return {"title": task.title, **own, "tests": tests, "columns": task.columns}


def scores(world, output, network, seed=1):
    files = files_of(world)
    vectors, data = str(world / "vectors.safetensors"), str(world / "data")
    classify(vectors, data, **files, output=str(output), network=network, seed=seed)
    return {lang: transfer_mean(output, lang) for lang in LANGUAGES}


@pytest.mark.parametrize("network", NETWORKS)
def test_a_language_with_the_vectors_of_english_scores_the_same_and_others_are_at_chance(
    world, quick, tmp_path, network
):
    before = (world / "vectors.safetensors").read_bytes()
    found = scores(world, tmp_path, network)
    assert found["en"] > 95
    assert found["de"] == found["en"]
    assert 15 < found["zh"] < 55  # chance is 33
    assert (world / "vectors.safetensors").read_bytes() == before


def test_a_seed_gives_one_result_whatever_torchs_generator(world, quick, tmp_path):
    torch.manual_seed(5)
    first = scores(world, tmp_path / "a", "means", seed=2)
    torch.manual_seed(6)
    assert scores(world, tmp_path / "b", "means", seed=2) == first


def test_a_pair_does_not_depend_on_its_batch():
    torch.manual_seed(1)
    network = OfMeans(4, 3).eval()
    u, v = torch.randn(1, 2, 4), torch.randn(1, 3, 4)
    none = [torch.zeros(1, n, dtype=torch.bool) for n in (2, 3, 2)]
    mean_u, mean_v = u.mean(1), v.mean(1)
    features = torch.cat([mean_u, mean_v, (mean_u - mean_v).abs(), mean_u * mean_v], 1)
    expected = network.classify(torch.tanh(network.hidden(features)))
    assert torch.allclose(network(u, none[0], v, none[1]), expected, atol=1e-6)
    wide = torch.cat([u, torch.full((1, 2, 4), 9.0)], 1)
    padding = torch.cat([none[0], ~none[2]], 1)
    assert torch.allclose(network(wide, padding, v, none[1]), expected, atol=1e-6)


def test_a_text_without_known_words_has_a_vector_of_zeros(world, tmp_path):
    from fairseq_xling.text.encoder import TextEncoder

    path = tmp_path / "pairs.tsv"
    path.write_text("nothing known\ten3\tneutral\nen1 en2\ten4 nothing en5\tneutral\n")
    encoder = TextEncoder.load(world / "data", "en")
    table = torch.arange(float(encoder.vocab_size + 1))[:, None]
    table[-1] = 0
    pairs = StaticPairs(path, "", encoder, table, {}, training=True)
    premise, padding, hypothesis, other = pairs.inputs(np.array([0, 1]), torch.device("cpu"))
    ids = [encoder.encode([line])[0] for line in ("en1", "en2", "en3", "en4", "en5")]
    one, two, three, four, five = (float(row[0]) for row in ids)
    assert premise[0, 0] == 0 and premise[1, :, 0].tolist() == [one, two]
    assert padding.tolist() == [[False, True], [False, False]]
    assert hypothesis[0, 0] == three and hypothesis[1, :, 0].tolist() == [four, five]
    assert other.tolist() == [[False, True], [False, False]]
    assert pairs.sizes.tolist() == [2, 4]


def test_a_file_without_pairs_and_vectors_of_another_vocabulary_are_refused(world, tmp_path):
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "nli.train.en.tsv").write_text("en1\tneutral\n")
    given = {"data": str(world / "data"), **files_of(tmp_path), "network": "means", "seed": 1}
    given["output"] = str(tmp_path / "out")
    with pytest.raises(UserError, match=r"nli\.train\.en\.tsv:1: must have two texts and a label"):
        classify(str(world / "vectors.safetensors"), **given)
    other = tmp_path / "other.safetensors"
    short = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    write_vectors(other, Vectors(np.ones((5, 2), np.float32), np.ones(5, np.int64), short, {}, {}))
    with pytest.raises(UserError, match=r"must have a vector for each of \d+ pieces of .*, got 5"):
        classify(str(other), **given)
    assert not (tmp_path / "out").exists()
