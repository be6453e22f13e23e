import gzip

import pytest

from fairseq_xling.text import blocks
from fairseq_xling.text.blocks import lines_of, mono_blocks, parallel_blocks


@pytest.fixture
def files(tmp_path):
    lines = [f"{'x' * (k % 7)}{k}" for k in range(50)]
    (tmp_path / "a.txt").write_text("\n".join(lines))  # no newline at the end
    with gzip.open(tmp_path / "b.txt.gz", "wt") as file:
        file.write("".join(line.upper() + "\n" for line in lines))
    return lines, [tmp_path / "a.txt", tmp_path / "b.txt.gz"]


@pytest.mark.parametrize("size", [1, 40, 1 << 20])
def test_blocks_are_whole_lines_and_go_on_from_any_position(files, monkeypatch, size):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    lines, paths = files
    found = list(mono_blocks(paths, None))
    expected = lines + [line.upper() for line in lines]
    assert [line for b in found for line in lines_of(b.sides[0])] == expected
    assert len(found) > 10 or size > 40
    for k, block in enumerate(found):
        rest = mono_blocks(paths, block.position)
        assert [b.sides for b in rest] == [b.sides for b in found[k + 1 :]]


@pytest.mark.parametrize("size", [1, 40, 1 << 20])
def test_parallel_blocks_hold_the_same_lines_of_each_file(files, monkeypatch, size):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    lines, paths = files
    found = list(parallel_blocks(paths, None))
    first = 1
    for block in found:
        left, right = map(lines_of, block.sides)
        assert block.first_line == first
        assert (
            right
            == [line.upper() for line in left]
            == [line.upper() for line in lines[first - 1 : first - 1 + len(left)]]
        )
        first += len(left)
    assert first == 51
    for k, block in enumerate(found):
        rest = list(parallel_blocks(paths, block.position))
        assert rest == found[k + 1 :]


def test_byte_order_marks_are_not_part_of_words():
    assert lines_of("\ufeffa b\n\n\ufeffc\n".encode()) == ["a b", "", "c"]
