import numpy as np
import pytest
from scipy import sparse

from fairseq_xling.cli import main
from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors
from fairseq_xling.papers.trelm.linked import count_links, link_vectors, mean_of_linked
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.sources import parse_sources


@pytest.fixture(scope="module")
def aligned_folder(tmp_path_factory):
    """English ``a b`` with German ``B A``, and ``c`` with ``C``; every link is given."""
    folder = tmp_path_factory.mktemp("aligned")
    lines = {"en": ["a b", "c", "b b a"], "de": ["B A", "C", "A B"]}
    for lang, text in lines.items():
        (folder / lang).write_text("".join(line + "\n" for line in text), encoding="utf-8")
    (folder / "links").write_text("0-1 1-0\n0-0\n2-0 0-1\n", encoding="utf-8")
    sources = parse_sources(
        ("en", "de"),
        mono=[f"train.{lang}={folder / lang}" for lang in lines],
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
        weights = np.array(
            [
                known[s] * links[t, s] ** 2 / (links[t].sum() * links[:, s].sum())
                if links[t, s]
                else 0.0
                for s in range(6)
            ]
        )
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


def test_an_unknown_source_word_means_what_its_translation_does(aligned_folder, theirs, tmp_path):
    known = read_vectors(theirs)
    write_vectors(theirs, Vectors(known.vectors, known.counts, ["<s>", "▁A", "▁b", "▁stray"]))
    output = tmp_path / "linked.safetensors"
    link_vectors(aligned_folder, output, ("de", "en"), "en", theirs)
    found = read_vectors(output)
    assert found.vectors[found.symbols.index("▁a")].tolist() == [1, 0]


def test_what_cannot_be_linked_is_refused(aligned_folder, theirs, tmp_path):
    output = tmp_path / "linked.safetensors"
    with pytest.raises(UserError, match="`--language` must be one of en, de, got 'fr'"):
        link_vectors(aligned_folder, output, ("en", "de"), "fr", theirs)
    vectors = read_vectors(theirs)
    write_vectors(theirs, Vectors(vectors.vectors, vectors.counts, None))
    with pytest.raises(UserError, match="has no symbols"):
        link_vectors(aligned_folder, output, ("en", "de"), "de", theirs)
    strange = [f"▁x{n}" for n in range(4)]
    write_vectors(theirs, Vectors(vectors.vectors, vectors.counts, strange))
    with pytest.raises(UserError, match="no word of 'en' is in"):
        link_vectors(aligned_folder, output, ("en", "de"), "de", theirs)
    assert not output.exists()
