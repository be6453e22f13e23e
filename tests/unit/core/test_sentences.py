"""What is refused instead of sentences, a line each, and what is not."""

import gzip

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.sentences import read_sentences
from fairseq_xling.text.inputs import scan_text

TATOEBA = [f"{n}\teng\tThis is sentence {n}, tabs aside." for n in range(1, 130)]


def message(path, read):
    with pytest.raises(UserError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(path))


def listed(path):
    return list(read_sentences(path))


@pytest.fixture
def written(tmp_path):
    def write(lines, name="text.en", ends="\n"):
        path = tmp_path / name
        data = (ends.join(lines) + ends).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.mark.parametrize("read", [scan_text, listed])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("eng_sentences.tsv", "such as {}:3"),
        ("sentences.csv", "such as {}:3"),
        ("eng.txt.gz", "such as {}:3"),
        ("corpus.en", "with `cut -f 3`"),
    ],
)
def test_a_table_is_refused_with_the_way_to_name_a_column(written, name, hint, read):
    path = written([TATOEBA[0], "", *TATOEBA[1:]], name)
    assert message(path, read) == (
        ": must have a sentence per line, got a table: 99 of its first 99 lines have 3 columns "
        f"between tabs; choose one, {hint.format(path)}"
    )
    if hint.startswith("such"):
        texts = [line.split("\t")[2] for line in TATOEBA]
        assert listed(f"{path}:3") == [texts[0], "", *texts[1:]]
        assert scan_text(f"{path}:3").sentences == len(TATOEBA)


@pytest.mark.parametrize("read", [scan_text, listed])
def test_annotated_words_are_no_sentences(written, read):
    words = ["# sent_id = 1", "1\tDogs\tdog\tNOUN", "2\trun\trun\tVERB", "3\t.\t.\tPUNCT", ""]
    assert "4 columns between tabs" in message(written(words * 3, "train.txt"), read)


@pytest.mark.parametrize("read", [scan_text, listed])
@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (['<?xml version="1.0" encoding="UTF-8"?>', "<tmx>"], "got XML that begins with <?xml;"),
        (["", "  <tmx version='1.4'>"], "got XML that begins with <tmx;"),
        (["<CHAPTER ID=1>", "Agenda"], "got XML that begins with <CHAPTER;"),
        (["<doc id='12' url='x' title='A'>", "A", "</doc>"], "got XML that begins with <doc;"),
        (["\ufeff<!DOCTYPE html>"], "got XML that begins with <!DOCTYPE;"),
        (['{"text": "a dog"}', '{"text": "a cat"}'], "got JSON; name what to read"),
        (["a\0 \0d\0o\0g\0", "c"], "has NUL in its first line, as archives and text in UTF-16 do"),
    ],
)
def test_markup_and_json_are_refused(written, lines, what, read):
    assert what in message(written(lines), read)


@pytest.mark.parametrize("read", [scan_text, listed])
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("0-0 1-2 12-3", "word alignment links"),
        ("a dog ||| ein Hund", "two sentences per line, as fast_align reads them; write a file"),
        ("the 0.418 -0.24968 4.1e-05", "vectors of words"),
        ("EU NNP B-NP B-ORG", "a word and its tag per line; write a sentence per line"),
    ],
)
def test_lines_of_another_form_are_refused(written, line, what, read):
    path = written([line, "", line, "Dogs bark.", line])
    assert f": must be plain text, a sentence per line, got {what}" in message(path, read)
    assert read(written([line, "Dogs bark.", line]))


def test_a_table_with_commas_is_refused_by_its_name(written):
    assert "got a table by its name" in message(written(["id,text", "1,a dog"], "a.csv"), listed)


@pytest.mark.parametrize("read", [scan_text, listed])
@pytest.mark.parametrize(
    "lines",
    [
        ["one\ttab"],
        ["\tindented", "\tindented", "\tindented"],
        ["a\tb", "c", "d e", "f\tg\th"],
        ["<SPEAKER ID=1> Europarl", "a < b"],
        ["<3 you >"],
        ["12-1"],
        ["{a set}", "{another one}"],
        ["&apos;s", "x \u2028 y", "\x85"],
    ],
)
def test_plain_text_with_odd_characters_is_read(written, lines, read):
    assert read(written(lines))


@pytest.mark.parametrize(
    ("start", "rule"),
    [
        (gzip.compress(b"a dog", mtime=0), "is packed by gzip; its name must end in .gz"),
        (b"PK\3\4\x14\0", "is a ZIP archive, not text; unpack it"),
        ("\ufeffein Hund".encode("utf-16-le"), "is UTF-16, not UTF-8; convert it, as with `iconv"),
    ],
)
@pytest.mark.parametrize("read", [scan_text, listed])
def test_files_of_another_kind_are_named_as_what_they_are(tmp_path, start, rule, read):
    path = tmp_path / "corpus.txt"
    path.write_bytes(start)
    assert message(path, read).startswith(f": {rule}")
