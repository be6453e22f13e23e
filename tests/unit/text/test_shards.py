"""Parts of a text in shards, one at a time; whole runs are in `tests/end_to_end`."""

import pytest

from fairseq_xling.cli import main
from fairseq_xling.data.folder import DataFolder


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
