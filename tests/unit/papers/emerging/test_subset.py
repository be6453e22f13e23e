import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.emerging.sharing import write_subset


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "like").write_text("x" * 30 + "\n" + "y" * 50 + "\n")
    lines = [f"{n:03d}" + "z" * (n % 7) for n in range(100)]
    (tmp_path / "source").write_text("\n".join(lines) + "\n")
    return tmp_path, lines


def test_the_subset_is_as_large_as_the_other_text_within_half_a_line(texts):
    folder, lines = texts
    for seed in range(20):
        write_subset(folder / "source", folder / "like", folder / "out", seed)
        chosen = (folder / "out").read_text().splitlines()
        assert abs(sum(map(len, chosen)) - 80) <= max(map(len, lines)) / 2
        assert chosen == sorted(set(chosen))  # distinct lines in the order of the source
        assert set(chosen) <= set(lines)


def test_the_subset_is_random_and_repeatable(texts):
    folder, _ = texts
    results = []
    for seed in (1, 1, 2):
        write_subset(folder / "source", folder / "like", folder / "out", seed)
        results.append((folder / "out").read_text())
    assert results[0] == results[1] != results[2]


def test_a_text_of_the_same_size_is_taken_whole(texts):
    folder, _ = texts
    write_subset(folder / "source", folder / "source", folder / "out", 1)
    assert (folder / "out").read_text() == (folder / "source").read_text()


def test_a_smaller_text_is_refused_with_both_sizes(texts):
    folder, _ = texts
    with pytest.raises(UserError, match=r"must be at least as large as .*source, got 80 and 5"):
        write_subset(folder / "like", folder / "source", folder / "out", 1)
