"""Where the lines of a shard are, compared with plain slices of the list of lines."""

import gzip

import pytest

from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.text import blocks, shards
from fairseq_xling.text.blocks import lines_of, mono_blocks, parallel_blocks
from fairseq_xling.text.inputs import scan_text
from fairseq_xling.text.shards import check_lines, cut_text, line_offsets, section_sources
from fairseq_xling.text.sources import Sources

PAIR = ("en", "de")


def lines(count: int, word: str) -> list[bytes]:
    return [f"{word} {k}\n".encode() * (k % 4 > 0) or b"\n" for k in range(count)]


@pytest.fixture
def sources(tmp_path, monkeypatch) -> Sources:
    """Texts of two files, one of them packed, and parallel text without a last newline."""
    for module in (blocks, shards):
        monkeypatch.setattr(module, "BLOCK_BYTES", 16)
    (tmp_path / "a").write_bytes(b"".join(lines(7, "one")))
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"".join(lines(10, "zwei"))))
    (tmp_path / "x").write_bytes(b"".join(lines(11, "source")).rstrip(b"\n"))
    (tmp_path / "y").write_bytes(b"".join(lines(11, "das Ziel")))
    (tmp_path / "links").write_bytes(b"0-0\n" * 11)
    (tmp_path / "v").write_bytes(b"valid\n")
    return Sources(
        mono={
            ("train", "en"): (tmp_path / "a", tmp_path / "b.gz"),
            ("valid", "en"): (tmp_path / "v",),
        },
        parallel={("train", PAIR): (tmp_path / "x", tmp_path / "y")},
        alignments={("train", PAIR): tmp_path / "links"},
    )


def facts_of(sources):
    files = [f for files in sources.by_role().values() for f in files if f.name != "links"]
    return {file: scan_text(file) for file in files}


@pytest.mark.parametrize("shards", [1, 2, 3, 5, 11])
def test_sections_are_equal_parts_of_the_text_in_its_order(sources, shards):
    cuts = cut_text(sources, facts_of(sources), shards)
    text = lines(7, "one") + lines(10, "zwei")
    sides = lines(11, "source"), lines(11, "das Ziel")
    sides[0][-1] = sides[0][-1].rstrip(b"\n")
    for number, cut in enumerate(cuts):
        mine, facts = section_sources(sources, cut, with_rest=number == 0)
        assert (("valid", "en") in mine.mono) == (number == 0)
        found = list(mono_blocks(mine.mono["train", "en"], None))
        begin, end = (17 * k // shards for k in (number, number + 1))
        assert b"".join(b.sides[0] for b in found) == b"".join(text[begin:end])
        assert sum(facts[s].lines for s in mine.mono["train", "en"]) == end - begin
        for place, block in enumerate(found):
            rest = mono_blocks(mine.mono["train", "en"], block.position)
            assert [b.sides for b in rest] == [b.sides for b in found[place + 1 :]]
        both = [*mine.parallel["train", PAIR], mine.alignments["train", PAIR]]
        found = list(parallel_blocks(both, None))
        begin, end = (11 * k // shards for k in (number, number + 1))
        for side in (0, 1):
            assert b"".join(b.sides[side] for b in found) == b"".join(sides[side][begin:end])
        assert found[0].first_line == begin + 1
        for place, block in enumerate(found):
            rest = parallel_blocks(both, block.position)
            assert [b.sides for b in rest] == [b.sides for b in found[place + 1 :]]


def test_more_shards_than_lines_are_refused_before_anything_is_cut(sources, tmp_path):
    check_lines(sources, 11)
    rule = "must be at most the number of lines of each training text, 11 in .*/x, got 12$"
    with pytest.raises(UserError, match=f"^`--shards` {rule}"):
        check_lines(sources, 12)
    with pytest.raises(UserError, match=f"^`--shards` {rule}"):
        cut_text(sources, facts_of(sources), 12)
    file = tmp_path / "no-line-end"
    file.write_bytes(b"a\nb")
    check_lines(Sources(mono={("train", "en"): [file]}), 2)
    with pytest.raises(UserError, match=r"2 in .*no-line-end, got 3"):
        check_lines(Sources(mono={("train", "en"): [file]}), 3)


def test_a_text_that_became_shorter_is_noticed(sources, tmp_path):
    with pytest.raises(UserError, match="has only 7 whole lines; it changed meanwhile"):
        line_offsets(tmp_path / "a", [3, 8])


def arguments(folder):
    command = ["prepare", str(folder / "out"), "--languages", "en", "--vocab-type", "word"]
    return [*command, "--mono", f"train.en={folder / 'en.txt'}"]


def test_a_part_is_made_again_of_text_that_has_changed(tmp_path, capsys):
    command = [*arguments(tmp_path), "--shards", "2", "--part"]
    for text, more in (("one dog\n" * 4, []), ("a cat\n" * 6, ["--overwrite"])):
        (tmp_path / "en.txt").write_text(text, encoding="utf-8")
        for part in ("models", "shard1"):
            assert main([*command, part, *more]) == 0, capsys.readouterr().err
    assert len(DataFolder(tmp_path / "out" / "shard1").mono("train", "en")) == 3


@pytest.mark.parametrize("option", ["--jobs", "--align-sample"])
def test_options_of_shards_alone_are_refused_without_shards(tmp_path, capsys, option):
    (tmp_path / "en.txt").write_text("one dog\n", encoding="utf-8")
    assert main([*arguments(tmp_path), option, "2"]) == 1
    assert f"`{option}` needs `--shards`" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_byte_order_marks_are_not_part_of_words():
    assert lines_of("\ufeffa b\n\n\ufeffc\n".encode()) == ["a b", "", "c"]
