import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import CLS, SEP, DataFolder
from fairseq_xling.data.mmap import TokenFile, write_items
from fairseq_xling.data.sources import SegmentPairs


@pytest.fixture
def make_source(tmp_path):
    """A text whose sentence k is ``lengths[k]`` words, all of them 6 + k."""

    def make(lengths, max_positions=100) -> SegmentPairs:
        sentences = [[6 + k] * length + [SEP] for k, length in enumerate(lengths)]
        write_items(tmp_path / "text", sentences, "<u2")
        return SegmentPairs(TokenFile(tmp_path / "text"), "en", max_positions)

    return make


def all_rows(source):
    return [source[i] for i in range(len(source))]


def sentence_of(side):
    """Which sentence a segment holds, from its words."""
    found = set(side.tokens.tolist()) - {CLS, SEP}
    assert len(found) == 1
    return found.pop() - 6


def test_what_does_not_follow_comes_from_the_whole_text(make_source):
    count = 400
    drawn = [sentence_of(row.target) for row in all_rows(make_source([1] * count))[1::2]]
    assert len(set(drawn)) > 0.95 * count
    distance = np.array(drawn) - np.arange(count - 1)
    assert abs(np.mean(distance > 0) - 0.5) < 0.1 and np.median(abs(distance)) > count / 8


@pytest.mark.parametrize("count", [3, 4, 5, 17, 200])
def test_each_pass_draws_other_sentences_that_do_not_follow(make_source, count):
    source = make_source([k % 5 + 1 for k in range(count)])
    size = len(source)
    assert size == 2 * (count - 1)
    passes = [[source[p * size + i] for i in range(size)] for p in range(3)]
    for rows in passes:
        for number, row in enumerate(rows):
            first, second = sentence_of(row.source), sentence_of(row.target)
            assert first == number // 2 and second != first
            assert (second == first + 1) == row.follows == (number % 2 == 0)
    drawn = [[sentence_of(row.target) for row in rows[1::2]] for rows in passes]
    for one, other in ((0, 1), (1, 2), (0, 2)):
        same = sum(a == b for a, b in zip(drawn[one], drawn[other], strict=True))
        assert same < 0.05 * count or count < 20
    indices = np.arange(3 * size)
    real = [len(row.source.tokens) + len(row.target.tokens) for rows in passes for row in rows]
    assert source.lengths(indices).tolist() == real


@pytest.mark.parametrize("most", [3, 4, 7, 8, 100])
def test_segments_share_the_places_and_those_cut_are_counted(make_source, most):
    lengths = [1, 9, 2, 30, 3, 3, 0]
    source = make_source(lengths, most)
    real = [len(row.source.tokens) + len(row.target.tokens) for row in all_rows(source)]
    assert source.lengths(np.arange(len(source))).tolist() == real and max(real) <= most
    assert source.num_truncated() == sum(n + 1 > (most - 1) // 2 for n in lengths)
    assert (source.name, source.languages, source.num_sentences) == ("en", ("en",), 7)


def test_its_tokens_are_counted_as_if_every_sentence_were_in_four_rows(tiny_corpus):
    source = SegmentPairs(DataFolder(tiny_corpus.path).mono("train", "en"), "en", 64)
    real = sum(len(row.source.tokens) + len(row.target.tokens) for row in all_rows(source))
    assert source.num_tokens == pytest.approx(real, rel=0.05)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_short_a_text_is_refused(make_source, tmp_path, count):
    line = f"^{tmp_path}/text: next sentence prediction needs at least 3 sentences, got {count}$"
    with pytest.raises(UserError, match=line):
        make_source([1] * count)
