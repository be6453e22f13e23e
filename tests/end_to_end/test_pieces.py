"""`fairseq-xling pieces`: text as other programs count it."""

import gzip
import io
import sys

import pytest

from fairseq_xling.cli import main
from fairseq_xling.data.dictionary import read_dictionary
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.text.encoder import TextEncoder
from tests.end_to_end.test_translate import Study


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with sentence pairs alone."""
    return Study(tmp_path_factory.mktemp("pieces"), backwards=False).data


def pieces(capsys, *words):
    assert main(["pieces", *map(str, words)]) in (0, None)
    return capsys.readouterr().out.splitlines()


def test_the_text_of_a_folder_is_what_its_vocabulary_makes_of_it(data, tmp_path, capsys):
    written = pieces(capsys, data, "--language", "xx", "--split", "test")
    folder, encoder = DataFolder(data), TextEncoder.load(data, "xx")
    _, tokens = folder.parallel("test", "en", "xx")
    texts = [encoder.decode(tokens[index]) for index in range(len(tokens))]
    assert len(written) == len(texts) > 1
    assert ["".join(line.split(" ")).replace("▁", " ").strip() for line in written] == texts
    symbols = read_dictionary(folder.dictionary_path("xx"))
    for index, line in enumerate(written):
        assert line.split(" ") == [symbols[number] for number in tokens[index][:-1]]
    # The same text from a file, packed, has the same pieces.
    with gzip.open(tmp_path / "text.gz", "wt", encoding="utf-8") as file:
        file.writelines(text + "\n" for text in texts)
    given = ("--input", tmp_path / "text.gz", "--output", tmp_path / "out")
    assert pieces(capsys, data, "--language", "xx", *given) == []
    assert (tmp_path / "out").read_text(encoding="utf-8").splitlines() == written


def test_a_line_stays_a_line_and_what_is_unknown_is_said(data, tmp_path, capsys):
    (tmp_path / "text").write_text("\n\u0436\n", encoding="utf-8")
    written = pieces(capsys, data, "--language", "xx", "--input", tmp_path / "text")
    assert written[0] == "" and "<unk>" in written[1].split(" ")


def test_standard_output_is_utf_8_whatever_the_terminal_is(data, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
    assert main(["pieces", str(data), "--language", "xx", "--split", "test"]) in (0, None)
    sys.stdout.flush()
    assert written.getvalue().decode("utf-8").count("▁") > 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--language", "zz"), "'zz'; known: "),
        (
            ("--language", "xx", "--split", "tset"),
            "has no monolingual 'tset' text of language 'xx'",
        ),
        (("--language", "xx", "--input", "none"), "none: no such file"),
        (("--language", "xx", "--input", "DATA", "--output", "DATA"), "must be another file"),
    ],
)
def test_text_that_is_not_there_is_one_line(words, line, data, tmp_path, capsys):
    (tmp_path / "text").write_text("a\n", encoding="utf-8")
    words = [str(tmp_path / "text") if word == "DATA" else word for word in words]
    assert main(["pieces", str(data), *words])
    assert line in capsys.readouterr().err
    assert (tmp_path / "text").read_text(encoding="utf-8") == "a\n"
