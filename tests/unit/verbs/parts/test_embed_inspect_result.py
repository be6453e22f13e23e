import csv
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.mapping.neighbourhood import BINS, cosines, neighbourhood, principal_plane
from fairseq_xling.mapping.vectors_file import Vectors, write_vectors
from fairseq_xling.verbs.parts.embed_inspect_result import (
    draw_neighbourhoods,
    from_record,
    inspect_vectors,
)

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


@pytest.mark.row("T16")
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


@pytest.mark.row("T16")
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


def test_all_files_are_written_and_agree(vectors, file, tmp_path):
    text = inspect_vectors([file, file], "dog", 20, tmp_path / "out")
    found = neighbourhood(vectors, file, "dog", 20)
    assert text.splitlines()[0] == f"{file}: ▁dog ~ {' '.join(found.neighbours[:10])}"
    with open(tmp_path / "out" / "histogram.csv", encoding="utf-8", newline="") as table:
        bins = list(csv.DictReader(table))
    assert len(bins) == 2 * BINS
    assert sum(int(row["words"]) for row in bins) == 200
    assert (bins[0]["from"], bins[-1]["to"]) == ("-1.0", "1.0")
    with open(tmp_path / "out" / "neighbours.csv", encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["symbol"] for row in rows] == 2 * found.neighbours
    points = np.array([[float(row["x"]), float(row["y"])] for row in rows[:20]])
    np.testing.assert_allclose(points, found.points, atol=1e-6)
    report = read_json(tmp_path / "out" / "inspect.json")
    assert [about["words"] for about in report["files"]] == [100, 100]
    assert report["files"][0]["neighbours"] == found.neighbours
    again = from_record(report["files"][0])
    assert (again.word, again.counts.tolist()) == (found.word, found.counts.tolist())
    for name in ("similarities", "points", "own", "shares"):
        np.testing.assert_allclose(getattr(again, name), getattr(found, name), atol=1e-6)
    assert ElementTree.parse(tmp_path / "out" / "inspect.svg").getroot().tag.endswith("svg")
    with Image.open(tmp_path / "out" / "inspect.png") as image:
        assert image.format == "PNG"
        assert min(image.size) > 500
        assert len(image.convert("RGB").getcolors(1 << 20)) > 10  # something is drawn


def test_labels_do_not_overlap(vectors):
    figure = draw_neighbourhoods([neighbourhood(vectors, "v", "dog", 50)])
    axis = figure.axes[1]
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axis.texts]
    assert len(boxes) > 10
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize(
    ("word", "top", "message"),
    [
        ("dogs", 50, "{file}: has no word 'dogs'; did you mean 'dog'?"),
        ("xyz", 50, "{file}: has no word 'xyz'"),
        ("dog", 1, "`--top` must be at least 2, got 1"),
    ],
)
def test_what_cannot_be_shown_is_refused(file, tmp_path, word, top, message):
    with pytest.raises(UserError) as error:
        inspect_vectors([file], word, top, tmp_path / "out")
    assert str(error.value) == message.format(file=file)
    assert not (tmp_path / "out").exists()


def test_vectors_without_symbols_have_no_words(vectors, tmp_path):
    write_vectors(tmp_path / "v", Vectors(vectors.vectors, vectors.counts))
    with pytest.raises(UserError, match=r"/v: has no symbols, so no word can be found in it$"):
        inspect_vectors([tmp_path / "v"], "dog", 5, tmp_path / "out")
