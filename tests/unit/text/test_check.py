"""`fairseq-xling check` on folders that `prepare` wrote, whole and damaged."""

import shutil

import pytest

from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.text.encoder import TextEncoder


@pytest.fixture
def own(make_folder, tmp_path):
    """A copy of a folder with a model for each language, to change."""
    return shutil.copytree(make_folder(vocab="separate", aligner="fast_align"), tmp_path / "data")


def without_digests(folder):
    """``folder`` as earlier versions wrote it."""
    meta = read_json(folder / "meta.json")
    del meta["files"]
    write_json(folder / "meta.json", meta)


def test_a_whole_folder_passes_and_every_file_is_checked(own, capsys):
    meta = read_json(own / "meta.json")
    there = {p.relative_to(own).as_posix() for p in own.rglob("*") if p.is_file()}
    assert set(meta["files"]) == there - {"meta.json"}
    assert main(["check", str(own)]) == 0
    assert capsys.readouterr().out.endswith("checks, all passed\n")


@pytest.mark.parametrize("digests", [True, False])
def test_every_file_that_changed_is_named(own, capsys, digests):
    if not digests:
        without_digests(own)
    names = ["mono/train.en.idx", "parallel/train.en-de.order.bin", "sentencepiece.de.model"]
    for name in names:
        data = (own / name).read_bytes()
        (own / name).write_bytes(data[:-4] + b"\xff\xff\xff\xff")
    assert main(["check", str(own)]) == 1
    found = capsys.readouterr()
    assert [line for line in found.out.splitlines() if not line.startswith(f"{own}/")] == []
    assert [name for name in names if f"{own / name}" not in found.out] == []
    assert found.err.startswith(f"fairseq-xling: error: {own}: there are 3 problems")


def test_a_folder_of_an_earlier_version_opens_and_is_said_to_have_no_digests(own, capsys):
    without_digests(own)
    TextEncoder.load(own, "de")
    assert main(["check", str(own)]) == 0
    assert "no digests of its text, as of earlier versions" in capsys.readouterr().out


@pytest.mark.parametrize("digests", [True, False])
@pytest.mark.parametrize("other", [True, False])
def test_a_model_that_is_empty_or_of_another_language_is_refused(own, other, digests):
    if not digests:
        without_digests(own)
    content = (own / "sentencepiece.en.model").read_bytes() if other else b""
    (own / "sentencepiece.de.model").write_bytes(content)
    with pytest.raises(UserError, match=rf"^{own}/sentencepiece\.de\.model: [^\n]*$"):
        TextEncoder.load(own, "de")
    TextEncoder.load(own, "en")


def test_a_tokenizer_added_to_a_folder_is_refused(own):
    (own / "tokenizer.de.json").write_text("{}")
    with pytest.raises(UserError, match=r"tokenizer\.de\.json: was not written by `prepare`"):
        TextEncoder.load(own, "de")


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("mono/train.en.bin", lambda folder: folder.mono("train", "en")),
        ("parallel/train.en-de.de.idx", lambda folder: folder.parallel("train", "en", "de")),
        ("parallel/train.de-en.order.bin", lambda folder: folder.order("train", "de", "en")),
        ("parallel/train.en-de.en.bin", lambda folder: folder.order("train", "de", "en")),
    ],
)
def test_a_file_of_another_version_of_the_folder_is_refused_when_it_is_opened(own, name, ask):
    data = (own / name).read_bytes()
    ask(DataFolder(own))
    (own / name).write_bytes(data[:2] + bytes([data[2] ^ 1]) + data[3:])
    with pytest.raises(UserError, match="changed since the folder was prepared; prepare it again"):
        ask(DataFolder(own))


def test_anchors_that_were_removed_are_missed(own):
    write_json(own / "anchors.en.json", {"entries": []})
    with pytest.raises(UserError, match=r"anchors\.en\.json: was not written by `prepare`"):
        DataFolder(own).anchors("en")
    meta = read_json(own / "meta.json")
    meta["files"]["anchors.de.json"] = {"bytes": 1, "sha256": "0"}
    write_json(own / "meta.json", meta)
    with pytest.raises(UserError, match=r"anchors\.de\.json: no such file, though meta"):
        DataFolder(own).anchors("de")
