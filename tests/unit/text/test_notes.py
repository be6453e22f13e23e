"""What `prepare` says of text that it reads as it was told to, which may not be what was meant."""

from pathlib import Path

import pytest

from fairseq_xling.cli import main
from fairseq_xling.text.prepare import swapped_sides
from fairseq_xling.text.sources import parse_sources

WORDS = "dog cat house sees runs big small tree road man".split()


def sentences(start, end, stop):
    words = (WORDS[n % 7] + WORDS[n % 10] for n in range(200))
    lines = [f"{word} {WORDS[n % 9]} {WORDS[n % 8]}{stop}\n" for n, word in enumerate(words)]
    return "".join(lines[start:end])


def noted(tmp_path, capsys, *options, stop="."):
    """The notes of a data folder of two languages, 40 sentences each and 60 pairs."""
    files = {}
    for name, (start, end) in {"mono": (0, 40), "side": (60, 120)}.items():
        for lang in ("de", "en"):
            files[f"{name}_{lang}"] = tmp_path / f"{name}.{lang}"
            files[f"{name}_{lang}"].write_text(sentences(start, end, stop))
    words = " ".join(options).format(**files).split()
    call = ["prepare", str(tmp_path / "data"), "--languages", "de,en", "--aligner", "none"]
    assert main([*call, "--vocab-size", "60", *words]) == 0
    out = capsys.readouterr().out.splitlines()
    return [line.strip() for line in out if line.startswith("  note: ")]


PARALLEL = "--parallel train.de-en={side_de},{side_en}"


@pytest.mark.parametrize(
    "mono, dropped",
    [
        ("", []),  # their sides are the monolingual text, or there is none
        ("--mono train.de={mono_de}", ["de"]),
        ("--mono train.de={mono_de} --mono train.en={mono_en},{side_en}", ["de"]),
        ("--mono train.de={mono_de} --mono train.en={mono_en}", ["de", "en"]),
        ("--mono train.de={mono_de},{side_de}", []),
    ],
)
def test_sides_that_no_masked_language_model_reads_are_named(mono, dropped, tmp_path, capsys):
    notes = noted(tmp_path, capsys, PARALLEL, mono)
    named = [f"{lang} of parallel/train.de-en (60 sentences)" for lang in dropped]
    assert len(notes) == bool(dropped)
    assert not dropped or f"read it: {', '.join(named)}; `--mono train.LANG=" in notes[0]


@pytest.mark.parametrize(
    "options, stop, said",
    [
        ("--vocab-type word", ".", True),
        ("--vocab-type word", "!", True),
        ("--vocab-type word", " .", False),
        ("--vocab-type word --segment de=space --segment en=space", ".", False),
        ("--vocab-type bpe", ".", False),
    ],
)
def test_whole_words_that_end_in_a_mark_are_counted(options, stop, said, tmp_path, capsys):
    mono = "--mono train.de={mono_de} --mono train.en={mono_en}"
    notes = noted(tmp_path, capsys, mono, options, stop=stop)
    assert len(notes) == said
    assert not said or "words of dict.txt end in a punctuation mark, such as " in notes[0]


GERMAN, ENGLISH = "der Hund läuft\ndie Katze schläft\n", "the dog runs\nthe cat sleeps\n"


@pytest.mark.parametrize(
    ("files", "noticed"),
    [
        ("--parallel en-de=en,de --mono en=en2 --mono de=de2", False),
        ("--parallel en-de=de,en --mono en=en2 --mono de=de2", True),
        ("--parallel de-en=en,de --mono en=en2 --mono de=de2", True),
        ("--parallel test.en-de=de,en --mono en=en2 --mono de=de2", True),
        ("--parallel en-de=de,en --mono en=en2", True),  # by one language alone
        ("--parallel en-de=de,en --dictionary en-de=words", True),
        ("--parallel en-de=de,en --dictionary de-en=words", False),  # likewise the wrong way
        ("--parallel en-de=en,de --dictionary en-de=words", False),
        ("--parallel en-de=de,en --mono en=en --mono de=de", True),  # by the same files
        ("--parallel en-de=en,de --mono en=en --mono de=de", False),
        ("--parallel en-de=de,en", False),  # nothing tells
        ("--parallel en-de=de,en --mono en=other --mono de=other", False),
        ("--parallel en-de=en,en2 --mono en=en2 --mono de=en", False),  # alike
    ],
)
def test_swapped_sides_are_noticed(tmp_path, monkeypatch, files, noticed):
    monkeypatch.chdir(tmp_path)
    texts = {"en": ENGLISH, "de": GERMAN, "en2": ENGLISH * 2, "de2": GERMAN, "other": "x y\n"}
    texts["words"] = "dog\tHund\ncat\tKatze\nthe\tder\n"
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    given = {name: [] for name in ("--mono", "--parallel", "--dictionary")}
    for option, value in zip(files.split()[::2], files.split()[1::2], strict=True):
        given[option].append(value)
    sources = parse_sources(
        ["en", "de"], given["--mono"], given["--parallel"], (), given["--dictionary"]
    )
    notes = list(swapped_sides(sources))
    assert len(notes) == noticed
    if noticed:
        assert "has the words of" in notes[0] and "languages swapped?" in notes[0]
