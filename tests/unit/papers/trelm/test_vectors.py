import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.data.folder import SEP, SPECIALS, DataFolder
from fairseq_xling.data.mmap import TokenFile, best_dtype, write_items
from fairseq_xling.mapping.vectors_file import (
    Vectors,
    count_ids,
    fill_missing,
    read_vectors,
    write_vectors,
)
from fairseq_xling.papers.trelm import skipgram
from fairseq_xling.papers.trelm.skipgram import SkipGram, SkipGramOptions, mixed_sentences
from fairseq_xling.papers.trelm.vectors import (
    count_links,
    import_vectors,
    link_vectors,
    mean_of_linked,
    train_vectors,
)
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.sources import parse_sources

SMALL = SkipGramOptions(dim=8, epochs=2, sample=0.0)


def file_of(path, sentences):
    write_items(path, [np.array([*s, SEP]) for s in sentences], best_dtype(100))
    return TokenFile(path)


def test_every_sentence_of_all_languages_comes_once_mixed_by_the_key(tiny_corpus):
    folder = DataFolder(tiny_corpus.path)
    files = [folder.mono("train", lang) for lang in ("en", "de")]
    orders = [[s.tolist() for s in mixed_sentences(files, 1, epoch)] for epoch in (0, 0, 1)]
    everything = [*tiny_corpus.mono["train"]["en"], *tiny_corpus.mono["train"]["de"]]
    assert sorted(orders[0]) == sorted(everything)
    assert orders[0] == orders[1] != orders[2]
    german = set(tiny_corpus.ids["de"])
    places = [i for i, sentence in enumerate(orders[0]) if sentence[0] in german]
    assert len(places) == 30
    assert sum(places[:15]) / 15 < 60 < sum(places[15:]) / 15 < 120
    assert min(places) < 15  # not after the English ones


def test_special_symbols_are_dropped_and_long_sentences_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(skipgram, "_LONGEST", 4)
    file = file_of(tmp_path / "x", [[6, 3, 7, 8, 9, 10, 11], [], [3]])
    pieces = sorted(s.tolist() for s in mixed_sentences([file], 1))
    assert pieces == [[6, 7, 8, 9], [10, 11]]


def test_words_that_stand_in_the_same_places_get_like_vectors(tmp_path):
    # 6 and 7 always stand between 20 and 21; 8 and 9 between 30 and 31.
    rng = np.random.default_rng(0)
    sentences = []
    for _ in range(1500):
        words, frame = ((6, 7), (20, 21)) if rng.random() < 0.5 else ((8, 9), (30, 31))
        sentences.append([frame[0], int(rng.choice(words)), frame[1]])
    file = file_of(tmp_path / "x", sentences)
    model = SkipGram([file], count_ids([file], 40), SkipGramOptions(dim=16, sample=0.0, lr=0.1))
    for epoch in range(10):
        model.train_epoch(epoch, lambda ids: None)
    vectors = {
        int(i): v / np.linalg.norm(v) for i, v in zip(model.ids, model.vectors(), strict=True)
    }
    assert sorted(vectors) == [6, 7, 8, 9, 20, 21, 30, 31]
    assert min(vectors[6] @ vectors[7], vectors[8] @ vectors[9]) > 0.9
    assert max(vectors[6] @ vectors[8], vectors[7] @ vectors[9]) < 0.5


def test_an_error_in_reading_is_raised_and_does_not_hang(tmp_path, monkeypatch):
    file = file_of(tmp_path / "x", [[6, 7], [8, 9]])
    model = SkipGram([file], count_ids([file], 40), SMALL)

    def broken(*_):
        yield np.array([6, 7])
        raise OSError("disk gone")

    monkeypatch.setattr(skipgram, "mixed_sentences", broken)
    with pytest.raises(OSError, match="disk gone"):
        model.train_epoch(0, lambda ids: None)


def test_the_file_has_a_finite_row_for_every_id_and_counts_and_symbols(tiny_corpus, tmp_path):
    report = train_vectors(tiny_corpus.path, tmp_path / "v", ["en"], SMALL)
    found, folder = read_vectors(tmp_path / "v"), DataFolder(tiny_corpus.path)
    assert found.vectors.shape == (86, 8)
    assert list(found.symbols[4:8]) == ["<mask>", "<null>", "▁en0", "▁en1"]
    assert found.dictionaries == {"en": folder.dictionary_digest("en")}
    assert found.settings["languages"] == ["en"]
    english = np.bincount(np.concatenate(tiny_corpus.mono["train"]["en"]), minlength=86)
    assert found.counts.tolist() == english.tolist()
    assert report["trained_ids"] == (english > 0).sum()
    assert report["untrained_ids"] == (english[SPECIALS:] == 0).sum() > 0
    assert read_json(f"{tmp_path}/v.json") == report
    assert not (tmp_path / "v.work").exists()
    assert (np.linalg.norm(found.vectors, axis=1) > 0).all()


def test_rows_without_training_are_drawn_like_the_others():
    rng = np.random.default_rng(0)
    table = (rng.standard_normal((4000, 3)) * [1, 2, 0] + [5, 0, 7]).astype(np.float32)
    known = np.arange(4000) < 2000
    filled = fill_missing(table, known, seed=1)
    assert np.array_equal(filled[known], table[known])
    np.testing.assert_allclose(filled[2000:].mean(0), table[:2000].mean(0), atol=0.15)
    np.testing.assert_allclose(filled[2000:].std(0), table[:2000].std(0), rtol=0.06)
    assert np.array_equal(fill_missing(table, known, seed=1), filled)
    assert not np.array_equal(fill_missing(table, known, seed=2), filled)


def test_rare_ids_are_left_untrained_by_request(tiny_corpus, tmp_path):
    options = SkipGramOptions(dim=8, epochs=1, min_count=5)
    report = train_vectors(tiny_corpus.path, tmp_path / "v", [], options)
    counts = read_vectors(tmp_path / "v").counts
    assert report["trained_ids"] == (counts >= 5).sum() < (counts > 0).sum()
    options = SkipGramOptions(dim=8, min_count=9999)
    with pytest.raises(UserError, match=r"^no subword occurs at least 9999 times \(`--min-cou"):
        train_vectors(tiny_corpus.path, tmp_path / "w", [], options)


def test_a_run_that_was_killed_between_epochs_ends_the_same(tiny_corpus, tmp_path, monkeypatch):
    options = SkipGramOptions(dim=8, epochs=4)
    train_vectors(tiny_corpus.path, tmp_path / "whole", [], options)
    epochs, train_epoch = [], SkipGram.train_epoch

    def until_third(self, epoch, progress):
        epochs.append(epoch)
        if epochs == [0, 1, 2]:
            raise KeyboardInterrupt
        train_epoch(self, epoch, progress)

    monkeypatch.setattr(SkipGram, "train_epoch", until_third)
    with pytest.raises(KeyboardInterrupt):
        train_vectors(tiny_corpus.path, tmp_path / "v", [], options)
    assert not (tmp_path / "v").exists()
    report = train_vectors(tiny_corpus.path, tmp_path / "v", [], options)
    assert epochs == [0, 1, 2, 2, 3]
    assert report["resumed_after_epochs"] == 2
    assert (tmp_path / "v").read_bytes() == (tmp_path / "whole").read_bytes()


def test_every_option_that_matters_changes_the_vectors(tiny_corpus, tmp_path):
    results = set()
    for changed in ({}, {"seed": 2}, {"window": 1}, {"negative": 3}, {"lr": 0.05}):
        options = SkipGramOptions(**{"dim": 8, "epochs": 1, **changed})
        train_vectors(tiny_corpus.path, tmp_path / "v", [], options)
        results.add(read_vectors(tmp_path / "v").vectors.tobytes())
    assert len(results) == 5


def test_memory_does_not_grow_with_the_text(tmp_path):
    rng, peaks = np.random.default_rng(0), []
    for name, sentences in (("small", 500), ("large", 10_000)):
        text = [rng.integers(6, 40, 20).tolist() for _ in range(sentences)]
        file = file_of(tmp_path / name, text)
        del text
        tracemalloc.start()
        model = SkipGram([file], count_ids([file], 40), SkipGramOptions(dim=4, negative=1))
        model.train_epoch(0, lambda ids: None)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # gensim holds a few batches of 10,000 words in its queue; the large text has 20 of them.
    assert peaks[1] < peaks[0] + 4_000_000


def test_separate_vocabularies_take_one_language(make_corpus, tmp_path):
    corpus = make_corpus(mode="separate")
    for languages in ([], ["en", "de"]):
        with pytest.raises(UserError, match="its own vocabulary, so `--languages` must name one"):
            train_vectors(corpus.path, tmp_path / "v", languages, SMALL)
    train_vectors(corpus.path, tmp_path / "v", ["de"], SMALL)
    found = read_vectors(tmp_path / "v")
    assert len(found.vectors) == 46
    assert found.dictionaries == {"de": DataFolder(corpus.path).dictionary_digest("de")}


def test_vectors_of_a_text_file_replace_training(tiny_corpus, tmp_path):
    lines = [f"▁en{k} {k} {k + 1}.5" for k in range(0, 40, 2)] + ["other 1 2"]
    (tmp_path / "x.vec").write_text("21 2\n" + "\n".join(lines) + "\n", encoding="utf-8")
    report = import_vectors(tiny_corpus.path, tmp_path / "v", ["en"], tmp_path / "x.vec")
    found = read_vectors(tmp_path / "v")
    ids = tiny_corpus.ids["en"]
    assert found.vectors[ids[::2]].tolist() == [[k, k + 1.5] for k in range(0, 40, 2)]
    assert (report["found_ids"], report["missing_ids"]) == (20, 60)
    text = [token for s in tiny_corpus.mono["train"]["en"] for token in s]
    missing = sum(token in ids[1::2] for token in text) / len(text)
    assert report["missing_share_of_text"] == pytest.approx(missing)
    assert report["most_frequent_missing"][0] == "▁en1"
    assert found.counts[ids].sum() == len(text)
    assert np.isfinite(found.vectors).all()
    assert set(report["provenance"]["inputs"]) == {"data", "text"}


@pytest.fixture(scope="module", params=[True, False], ids=["mono", "pairs alone"])
def aligned_folder(request, tmp_path_factory):
    """English ``a b`` with German ``B A``, and ``c`` with ``C``; every link is given."""
    folder = tmp_path_factory.mktemp("aligned")
    lines = {"en": ["a b", "c", "b b a"], "de": ["B A", "C", "A B"]}
    for lang, text in lines.items():
        (folder / lang).write_text("".join(line + "\n" for line in text), encoding="utf-8")
    (folder / "links").write_text("0-1 1-0\n0-0\n2-0 0-1\n", encoding="utf-8")
    sources = parse_sources(
        ("en", "de"),
        mono=[f"train.{lang}={folder / lang}" for lang in lines if request.param],
        parallel=[f"train.en-de={folder / 'en'},{folder / 'de'}"],
        alignment=[f"train.en-de={folder / 'links'}"],
    )
    segment = {"en": "space", "de": "space"}
    options = PrepareOptions(("en", "de"), vocab_type="word", vocab_size=100, segment=segment)
    prepare(folder / "data", sources, options)
    return folder / "data"


def slow_counts(folder, source, target):
    """Link by link."""
    counts = np.zeros((folder.vocab_sizes[target], folder.vocab_sizes[source]), dtype=int)
    sides, order = folder.parallel("train", source, target), folder.order("train", source, target)
    for n in range(len(order)):
        for place, stored in enumerate(order[n]):
            if stored:
                t, s = sides[1][n][place], sides[0][n][stored - 1]
                if t >= SPECIALS and s >= SPECIALS:
                    counts[t, s] += 1
    return counts


def test_links_are_counted_as_one_by_one(aligned_folder):
    folder = DataFolder(aligned_folder)
    for pair in (("en", "de"), ("de", "en")):
        expected = slow_counts(folder, *pair)
        assert expected.sum() > 0
        assert np.array_equal(count_links(folder, *pair).toarray(), expected)


def test_means_weigh_both_probabilities():
    rng = np.random.default_rng(1)
    links = rng.integers(0, 4, (5, 6)) * (rng.random((5, 6)) < 0.6)
    links[2] = 0
    rows, known = rng.standard_normal((6, 3)), np.array([1, 1, 0, 1, 1, 0]) > 0
    means, found = mean_of_linked(sparse.csr_array(links), rows, known)
    for t in range(5):
        weights = np.zeros(6)
        for s in np.flatnonzero(links[t] * known):
            weights[s] = links[t, s] ** 2 / (links[t].sum() * links[:, s].sum())
        assert found[t] == (weights.sum() > 0)
        expected = weights @ rows / weights.sum() if found[t] else np.zeros(3)
        np.testing.assert_allclose(means[t], expected, atol=1e-12)


@pytest.fixture
def theirs(tmp_path):
    """A source that knows ``▁a`` and ``▁b``, and holds a special symbol and a stray word."""
    symbols = ["<s>", "▁a", "▁b", "▁stray"]
    rows = np.array([[9, 9], [1, 0], [0, 2], [7, 7]], dtype=np.float32)
    path = tmp_path / "source.safetensors"
    write_vectors(path, Vectors(rows, np.array([0, 5, 4, 3]), symbols))
    return path


def test_a_word_takes_the_embedding_of_its_translation(aligned_folder, theirs, tmp_path, capsys):
    output = tmp_path / "linked.safetensors"
    main(["embed", "link", str(aligned_folder), "--output", str(output), "--pair", "en-de",
          "--source-vectors", str(theirs)])  # fmt: skip
    text = capsys.readouterr().out
    found = read_vectors(output)
    rows = dict(zip(found.symbols, found.vectors.tolist(), strict=True))
    assert rows["▁A"] == [1, 0]  # always linked with ▁a
    assert rows["▁B"] == [0, 2]
    assert rows["▁a"] == [1, 0]  # spelt alike
    assert rows["▁c"] == rows["▁C"] == [0, 0]  # only linked with each other: drawn later
    assert f"{output}: 4 of 6 subwords found" in text
    assert found.counts[found.symbols.index("▁A")] > 0


def renamed(path, symbols):
    """The same vectors of other symbols."""
    vectors = read_vectors(path)
    write_vectors(path, Vectors(vectors.vectors, vectors.counts, symbols))


def test_an_unknown_source_word_means_what_its_translation_does(aligned_folder, theirs, tmp_path):
    renamed(theirs, ["<s>", "▁A", "▁b", "▁stray"])
    output = tmp_path / "linked.safetensors"
    link_vectors(aligned_folder, output, ("de", "en"), "en", theirs)
    found = read_vectors(output)
    assert found.vectors[found.symbols.index("▁a")].tolist() == [1, 0]


def test_what_cannot_be_linked_is_refused(aligned_folder, theirs, tmp_path):
    output = tmp_path / "linked.safetensors"
    with pytest.raises(UserError, match="`--language` must be one of en, de, got 'fr'"):
        link_vectors(aligned_folder, output, ("en", "de"), "fr", theirs)
    strange = [f"▁x{n}" for n in range(4)]
    for symbols, message in ((None, "has no symbols"), (strange, "no word of 'en' is in")):
        renamed(theirs, symbols)
        with pytest.raises(UserError, match=message):
            link_vectors(aligned_folder, output, ("en", "de"), "de", theirs)
    assert not output.exists()
