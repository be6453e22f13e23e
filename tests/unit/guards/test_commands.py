import pytest

from fairseq_xling.guards import commands


def test_sentences_of_a_file_are_read_in_blocks_and_a_missing_one_is_named(tmp_path):
    stands_for = commands._read_input(lambda input, size: iter([[input, size]]))
    path = tmp_path / "a.txt"
    path.write_text(" a b \nc\n\nd")
    assert list(stands_for(str(path), 2)) == [["a b", "c"], ["", "d"]]
    assert list(stands_for("-", 2)) == [["-", 2]]
    with pytest.raises(SystemExit, match=r"error: none\.txt: no such file"):
        next(stands_for("none.txt", 2))
    path.write_bytes(b"\xff")
    with pytest.raises(SystemExit, match=r"a\.txt:1: not UTF-8"):
        next(stands_for(str(path), 2))
