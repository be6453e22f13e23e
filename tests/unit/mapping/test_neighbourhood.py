import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from fairseq_xling.cli import main
from fairseq_xling.mapping.neighbourhood import BINS, cosines, neighbourhood, principal_plane
from fairseq_xling.mapping.vectors_file import Vectors, write_vectors
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.record import read_record
from tests.records import rows, values

NAMES = ["▁dog", "dog", *(f'▁w"{i},' for i in range(98))]


@pytest.fixture
def vectors():
    table = np.random.default_rng(0).standard_normal((100, 12)).astype(np.float32)
    table[7] = 0
    return Vectors(table, np.zeros(100, np.int64), NAMES)


@pytest.fixture
def file(vectors, tmp_path):
    write_vectors(tmp_path / "v.safetensors", vectors)
    return str(tmp_path / "v.safetensors")


def test_every_word_falls_into_one_bin_of_the_histogram(vectors):
    found = neighbourhood(vectors, "v", "dog", 10)
    x = vectors.vectors.astype(float)
    expected = np.zeros(BINS, int)
    for row in x:
        length = np.linalg.norm(row) * np.linalg.norm(x[0])
        cosine = x[0] @ row / length if length else 0.0
        expected[min(BINS - 1, int((cosine + 1) / 2 * BINS))] += 1
    assert found.counts.tolist() == expected.tolist()
    assert found.counts.sum() == 100
    assert found.counts[-1] >= 1  # the word itself


def test_the_nearest_come_first_and_the_word_itself_is_left_out(vectors):
    found = neighbourhood(vectors, "v", "dog", 20)
    values = cosines(vectors.vectors, 0)
    order = sorted(range(1, 100), key=lambda i: -values[i])[:20]
    assert found.neighbours == [NAMES[i] for i in order]
    assert found.similarities.tolist() == sorted(found.similarities.tolist(), reverse=True)


def test_the_plane_is_that_of_the_singular_value_decomposition(vectors):
    found = neighbourhood(vectors, "v", "dog", 30)
    x = vectors.vectors[[NAMES.index(name) for name in found.neighbours]].astype(float)
    u, s, _ = np.linalg.svd(x - x.mean(0))
    expected = u[:, :2] * s[:2]
    signs = np.sign((expected * found.points).sum(0))
    np.testing.assert_allclose(found.points, expected * signs, atol=1e-9)
    np.testing.assert_allclose(found.shares, s[:2] ** 2 / (s**2).sum())
    # No other plane holds more of the variance.
    variance = (found.points**2).sum()
    for seed in range(50):
        plane, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((12, 2)))
        assert (((x - x.mean(0)) @ plane) ** 2).sum() < variance


def test_the_sign_of_a_component_does_not_depend_on_the_order_of_the_words(vectors):
    x = vectors.vectors[:30]
    first, second = principal_plane(x)[1], principal_plane(x[::-1])[1]
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_equal_words_have_a_plane_too():
    _, components, shares = principal_plane(np.ones((5, 3)))
    assert (shares == 0).all()
    assert np.isfinite(components).all()


def test_a_word_is_found_where_it_begins_a_word_first(vectors):
    assert neighbourhood(vectors, "v", "dog", 5).word == "▁dog"
    plain = Vectors(vectors.vectors, vectors.counts, [n.replace("▁", "") for n in NAMES])
    assert neighbourhood(plain, "v", "dog", 5).word == "dog"


def inspect(*words):
    return main(["embed", "inspect", *map(str, words)])


@pytest.mark.slow
def test_all_that_is_shown_is_in_the_rows(vectors, file, tmp_path, capsys):
    write_vectors(tmp_path / "second", vectors)
    files, out = [file, tmp_path / "second"], tmp_path / "out"
    assert inspect(*files, "--word", "dog", "--top", 20, "--output", out) == 0
    found = neighbourhood(vectors, file, "dog", 20)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"{file}: ▁dog ~ {' '.join(found.neighbours[:10])}"
    bins = rows(out, row=file, measure="words")
    assert [row["value"] for row in bins] == found.counts.tolist()
    assert (bins[0]["from"], bins[-1]["to"]) == (-1.0, 1.0)
    assert values(out, row=file, measure="word") == found.neighbours
    np.testing.assert_allclose(
        values(out, row=file, measure="cosine"), found.similarities, atol=1e-6
    )
    plane = rows(out, row=file, measure="second component")
    assert [row["word"] for row in plane] == ["▁dog", *found.neighbours]
    points = [(row["x"], row["value"]) for row in plane]
    np.testing.assert_allclose(points, [found.own, *found.points], atol=1e-6)
    header, lines = parts(read_record(out))[1].shown
    assert len(header) == 5 and len(lines) == 20
    for name in ("histogram", "plane-1", "plane-2"):
        assert ElementTree.parse(out / f"{name}.svg").getroot().tag.endswith("svg")
    assert len((out / "table.csv").read_text().splitlines()) == 1 + 2 * (BINS + 2 * 20 + 21)


@pytest.mark.parametrize(
    ("word", "top", "message"),
    [
        ("dogs", 50, "{file}: has no word 'dogs'; did you mean 'dog'?"),
        ("xyz", 50, "{file}: has no word 'xyz'"),
    ],
)
def test_what_cannot_be_shown_is_refused(file, tmp_path, capsys, word, top, message):
    assert inspect(file, "--word", word, "--top", top, "--output", tmp_path / "out") == 1
    assert message.format(file=file) in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_vectors_without_symbols_have_no_words(vectors, tmp_path, capsys):
    write_vectors(tmp_path / "v", Vectors(vectors.vectors, vectors.counts))
    assert inspect(tmp_path / "v", "--word", "dog", "--output", tmp_path / "out") == 1
    assert "/v: has no symbols, so no word can be found in it" in capsys.readouterr().err
