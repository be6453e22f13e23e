from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.text.sources import parse_sources

MONO = ["train.en=e", "train.de=d"]


def test_files_are_sorted_by_what_they_are_for():
    sources = parse_sources(
        ["en", "de"],
        mono=["train.en=a,b", "valid.de=c"],
        parallel=["train.en-de=x,y"],
        alignment=["train.en-de=z"],
        dictionary=["de-en=w"],
    )
    assert sources.mono == {("train", "en"): (Path("a"), Path("b")), ("valid", "de"): (Path("c"),)}
    assert sources.parallel == {("train", ("en", "de")): (Path("x"), Path("y"))}
    assert sources.alignments == {("train", ("en", "de")): Path("z")}
    assert sources.dictionaries == {("de", "en"): Path("w")}
    assert sources.text_of("en") == [Path("a"), Path("b"), Path("x")]
    assert sources.text_of("de") == [Path("y")]
    roles = (
        "alignment/train.en-de dictionary/de-en mono/train.en mono/valid.de parallel/train.en-de"
    )
    assert list(sources.by_role()) == roles.split()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mono": ["train.en"]}, r"`--mono` must look like train.en=FILE\[,FILE...\], got 'train"),
        ({"mono": ["test01x.en=a"]}, "got 'test01x'; did you mean 'test1' or 'test'"),
        ({"parallel": ["train1.en-de=a,b"]}, "`--parallel` train1.en-de: split must be train, "),
        ({"mono": ["train.en=a", "train.en=b"]}, "`--mono` train.en is given twice"),
        ({"parallel": ["train.en-de=a"]}, "`--parallel` train.en-de needs two files, got 1"),
        ({"parallel": ["train.en-en=a,b"]}, "language pair 'en-en' names one language twice"),
        ({"parallel": ["train.en-de=a,b", "train.de-en=b,a"]}, "twice .the other way round."),
        ({"mono": MONO, "alignment": ["train.en-de=a"]}, "train.en-de has no parallel text"),
        ({"mono": ["train.en=a"]}, "no training text of language 'de': give `--mono train.de="),
        ({"folder": "nowhere"}, "`--from` must be a folder, got nowhere"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(UserError, match=message):
        parse_sources(["en", "de"], **options)


@pytest.fixture
def folder(tmp_path, helpers):
    for name in (
        "mono/train.en.txt",
        "mono/train.de.txt.gz",
        "mono/test.fr.txt",
        "parallel/train.de-en.de.txt",
        "parallel/train.de-en.en.txt",
        "parallel/train.de-en.pharaoh",
        "parallel/valid.de-en.de.txt",
        "dictionary/en-de.tsv",
    ):
        helpers.write_lines(tmp_path / name, ["x"])
    return tmp_path


def test_a_folder_is_searched_for_its_languages(folder):
    sources = parse_sources(["en", "de"], folder=folder)
    assert set(sources.by_role()) == {
        *("mono/train.en", "mono/train.de", "parallel/train.de-en", "alignment/train.de-en"),
        "dictionary/en-de",
    }
    assert sources.mono["train", "de"] == (folder / "mono/train.de.txt.gz",)


def test_numbered_sets_are_found_beside_the_first(folder, helpers):
    numbered = ["mono/valid1.en.txt", "mono/test10.de.txt", "mono/test2.de.txt.gz"]
    numbered += [f"parallel/test1.en-de.{end}" for end in ("en.txt", "de.txt", "pharaoh")]
    others = ["mono/dev.en.txt", "mono/test01x.en.txt", "parallel/test3.en-de.en.txt"]
    for name in (*numbered, *others):
        helpers.write_lines(folder / name, ["x"])
    sources = parse_sources(["en", "de"], folder=folder, mono=["test1.en=mine"])
    assert list(sources.mono)[:5] == [
        *(("train", "en"), ("train", "de"), ("valid1", "en"), ("test2", "de"), ("test10", "de"))
    ]
    assert sources.mono["test1", "en"] == (Path("mine"),)
    assert set(sources.parallel) == {("train", ("de", "en")), ("test1", ("en", "de"))}
    assert sources.alignments["test1", ("en", "de")] == folder / "parallel/test1.en-de.pharaoh"


def test_a_named_file_takes_the_place_of_a_found_one(folder):
    sources = parse_sources(
        ["en", "de"], mono=["train.en=mine"], parallel=["train.en-de=a,b"], folder=folder
    )
    assert sources.mono["train", "en"] == (Path("mine"),)
    assert list(sources.parallel) == [("train", ("en", "de"))]
    assert not sources.alignments

    assert not parse_sources(["en", "de"], folder=folder, shared_ids=False).dictionaries


def test_a_folder_without_text_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"holds neither mono/<split>\.<lang>\.txt nor"):
        parse_sources(["en", "de"], folder=tmp_path)
