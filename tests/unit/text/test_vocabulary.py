"""The sample that a vocabulary is learnt from."""

import gzip

import pytest

from fairseq_xling.text.inputs import TextFacts
from fairseq_xling.text.vocabulary import draw_lines, sample_quotas


def test_shares_are_smoothed_by_sentences():
    facts = {"en": TextFacts(9000, 9000, 10**6), "sw": TextFacts(1000, 1000, 10**5)}
    quotas = sample_quotas(facts, 0.7, 1e12)
    assert quotas["en"][0] == pytest.approx(0.823, abs=5e-4)
    assert quotas["sw"][0] == pytest.approx(0.177, abs=5e-4)
    assert quotas["sw"][1] == pytest.approx(1770, abs=10)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("budget", [1e3, 1e5, 1e9])
def test_the_sample_keeps_to_its_bytes(alpha, budget):
    facts = {"en": TextFacts(9000, 9000, 900_000), "sw": TextFacts(1000, 1000, 50_000)}
    quotas = sample_quotas(facts, alpha, budget)
    size = sum(n * facts[lang].bytes / facts[lang].sentences for lang, (_, n) in quotas.items())
    assert size <= budget + 200
    if budget == 1e3:
        assert size >= 0.8 * budget


def test_lines_are_drawn_evenly_and_repeatably(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{k}\n" for k in range(1000)))
    drawn = [int(x) for x in draw_lines([path], 1000, 100, seed=3)]
    assert drawn == sorted(drawn)
    assert [k // 10 for k in drawn] == list(range(100))
    assert drawn == [int(x) for x in draw_lines([path], 1000, 100, seed=3)]
    assert drawn != [int(x) for x in draw_lines([path], 1000, 100, seed=4)]


def test_more_lines_than_there_are_means_all_of_them_again(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\nb\nc\nd\n")
    drawn = list(draw_lines([path], 4, 10, seed=1))
    assert len(drawn) == 10
    assert sorted(drawn.count(x) for x in "abcd") == [2, 2, 3, 3]
    assert list(draw_lines([path], 4, 4, seed=1)) == ["a", "b", "c", "d"]


def test_files_are_read_as_one_without_byte_order_marks(tmp_path):
    files, read = [tmp_path / "a.txt", tmp_path / "b.txt.gz"], []
    files[0].write_text("\ufeffa\nb", encoding="utf-8")
    files[1].write_bytes(gzip.compress(b"c\nd\n"))
    assert list(draw_lines(files, 4, 4, 1, read.append)) == ["a", "b", "c", "d"]
    assert sum(read) == 10
