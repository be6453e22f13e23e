import pytest

from fairseq_xling.data.digests import check_file, describe_files, sample_digest
from fairseq_xling.errors import UserError

SIZE = 1_000_000


@pytest.fixture
def text(tmp_path):
    """A file that is too large to be read in full whenever it is opened."""
    path = tmp_path / "train.en.bin"
    path.write_bytes(bytes(k % 251 for k in range(SIZE)))
    return path


def changed(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_an_unchanged_file_passes(text):
    (recorded,) = describe_files(text.parent, [text.name]).values()
    assert recorded["bytes"] == SIZE and set(recorded) == {"bytes", "sha256", "sample"}
    check_file(text, recorded)
    check_file(text, recorded, fully=True)


@pytest.mark.parametrize("place", [0, SIZE - 1])
def test_a_change_at_either_end_is_seen_when_it_is_opened(text, place):
    (recorded,) = describe_files(text.parent, [text.name]).values()
    changed(text, place)
    with pytest.raises(UserError, match=r"train\.en\.bin: changed since the folder was prepared"):
        check_file(text, recorded)


def test_a_change_between_the_blocks_of_the_sample_is_seen_by_the_full_check(text):
    (recorded,) = describe_files(text.parent, [text.name]).values()
    changed(text, 30_000)
    check_file(text, recorded)
    with pytest.raises(UserError, match="changed since the folder was prepared"):
        check_file(text, recorded, fully=True)


def test_a_small_file_is_sampled_as_a_whole(tmp_path):
    path = tmp_path / "x.idx"
    path.write_bytes(bytes(5000))
    before = sample_digest(path)
    changed(path, 4500)
    assert sample_digest(path) != before


def test_files_that_are_not_text_are_always_read_in_full(tmp_path):
    path = tmp_path / "sentencepiece.model"
    path.write_bytes(bytes(SIZE))
    (recorded,) = describe_files(tmp_path, [path.name]).values()
    changed(path, 30_000)
    with pytest.raises(UserError, match="changed since"):
        check_file(path, recorded)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"gone\.bin: no such file, though meta\.json lists it"):
        check_file(tmp_path / "gone.bin", {})
