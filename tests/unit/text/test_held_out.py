"""`prepare --held-out`: no sentence is on two sides, whatever its text."""

import unicodedata
from functools import partial

import pytest

from fairseq_xling.cli import main
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.text import prepare as job

HELD_OUT = ("valid", "test")


@pytest.fixture
def texts(tmp_path):
    """Sentences that repeat, in one text, in both, and on either side of several pairs."""
    en = [f"one {n % 40} word" for n in range(90)]
    pairs = [(f"one {n % 25} word", f"ein {n % 30} Wort") for n in range(60)]
    (tmp_path / "en").write_text("\n".join([*en, "", " one 3 word "]) + "\n")
    (tmp_path / "en-de.en").write_text("".join(f"{a}\n" for a, _ in pairs))
    (tmp_path / "en-de.de").write_text("".join(f"{b}\n" for _, b in pairs))
    (tmp_path / "links").write_text("".join(f"0-0 1-1 2-{n % 3}\n" for n in range(60)))
    return tmp_path


def call(folder, out, *options, held_out=5):
    sides = f"en-de={folder / 'en-de.en'},{folder / 'en-de.de'}"
    given = ["--mono", f"en={folder / 'en'}", "--parallel", sides, "--held-out", held_out, *options]
    return main([*map(str, ["prepare", out, "--languages", "en,de", "--vocab-size", 60, *given])])


def french(folder, lines, held_out):
    """A folder of French alone."""
    (folder / "fr").write_text("".join(f"{line}\n" for line in lines))
    words = ["prepare", str(folder / "data"), "--languages", "fr", "--vocab-size", "120"]
    assert main([*words, "--mono", f"fr={folder / 'fr'}", "--held-out", str(held_out)]) == 0
    return folder / "data"


def sentences(data, split, lang):
    """The different sentences of a language in a split, as its ids."""
    folder = DataFolder(data)
    files = [folder.mono(split, lang)] if folder.has_mono(split, lang) else []
    files.append(folder.parallel(split, "en", "de")[lang == "de"])
    return {tuple(file[n].tolist()) for file in files for n in range(len(file))}


def test_no_sentence_is_on_two_sides(texts, capsys):
    links = texts / "links"
    assert call(texts, texts / "data", "--alignment", f"train.en-de={links}") == 0
    for lang in ("en", "de"):
        train, valid, test = (sentences(texts / "data", s, lang) for s in ("train", *HELD_OUT))
        assert train and valid and test
        assert not (train & valid or train & test or valid & test)
    meta = DataFolder(texts / "data").meta
    test = meta["parallel"]["test"]["en-de"]
    assert meta["mono"]["test"]["en"]["sentences"] == 5 == test["pairs"]
    counts = meta["held_out"]["parallel/en-de"]
    assert sum(counts.values()) == 60 and counts["left_out"]
    said = [line for line in capsys.readouterr().out.splitlines() if "held out" in line]
    assert len(said) == 1 and "mono/en, parallel/en-de, as text in held-out/" in said[0]


NFD = partial(unicodedata.normalize, "NFD")


@pytest.mark.parametrize(
    "changed",
    [
        NFD,
        lambda line: line.replace(" ", "  "),
        lambda line: f"{line.replace(' ', chr(0xA0))} ",
        lambda line: line.replace("fi", "\ufb01"),
        lambda line: line.replace("e", "\uff45"),
    ],
)
def test_a_sentence_in_another_form_is_the_same_sentence(changed, tmp_path, capsys):
    lines = [f"Le café finit à {n} h {n % 7}" for n in range(300)]
    folder = DataFolder(french(tmp_path, [form(x) for x in lines for form in (str, changed)], 40))
    assert "NFKC; 80 repetitions left out" in capsys.readouterr().out
    files = [folder.mono(split, "fr") for split in ("train", *HELD_OUT)]
    assert [len(file) for file in files] == [440, 40, 40]
    train, valid, test = ({tuple(file[n].tolist()) for n in range(len(file))} for file in files)
    assert not (train & test or train & valid or valid & test)


def test_a_sentence_in_capitals_is_not_on_the_other_side(tmp_path):
    lines = [f"le chat numéro {n}" for n in range(60)]
    data = french(tmp_path, [form for one in lines for form in (one, one.upper())], 20)
    files = (data / "held-out" / "mono" / f"{split}.fr.txt" for split in HELD_OUT)
    valid, test = (set(file.read_text().lower().splitlines()) for file in files)
    assert not valid & test
    counts = DataFolder(data).meta["mono"]["train"]["fr"]
    assert counts["sentences"] == 2 * (60 - len(valid | test))


def test_the_choice_depends_on_neither_the_order_nor_the_rest(texts):
    def held():
        folder = texts / "data" / "held-out" / "mono"
        return [sorted((folder / f"{s}.en.txt").read_text().split("\n")) for s in HELD_OUT]

    assert call(texts, texts / "data") == 0
    before = held()
    (texts / "en").write_text("\n".join(reversed((texts / "en").read_text().splitlines())) + "\n")
    assert call(texts, texts / "data", "--overwrite") == 0
    assert held() == before


def test_links_stay_with_their_pairs(texts):
    assert call(texts, texts / "data", "--alignment", f"train.en-de={texts / 'links'}") == 0
    stem = texts / "data" / "held-out" / "parallel" / "test.en-de"
    sides = [(texts / f"en-de.{lang}").read_text().splitlines() for lang in ("en", "de")]
    known = set(zip(*sides, (texts / "links").read_text().splitlines(), strict=True))
    files = [stem.with_name(f"{stem.name}.{end}") for end in ("en.txt", "de.txt", "pharaoh")]
    found = list(zip(*(file.read_text().splitlines() for file in files), strict=True))
    assert found and set(found) <= known


def test_a_language_with_parallel_text_alone_has_its_side_as_monolingual_text(texts):
    assert call(texts, texts / "data") == 0
    folder = DataFolder(texts / "data")
    for split in ("train", *HELD_OUT):
        side = folder.parallel(split, "en", "de")[1]
        assert len(folder.mono(split, "de")) == len(side)
        assert sentences(texts / "data", split, "de") == {tuple(x.tolist()) for x in side}


def test_a_killed_call_resumes_and_ends_the_same(texts, monkeypatch):
    assert call(texts, texts / "whole") == 0

    def killed(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(job, "binarize_parallel", killed)
        assert call(texts, texts / "cut") == 130
    assert call(texts, texts / "cut") == 0
    whole, cut = (
        {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()}
        for out in (texts / "whole", texts / "cut")
    )
    assert whole == cut and not (texts / "cut" / ".work").exists()


def test_folders_without_held_out_text_say_nothing_of_it(texts, capsys):
    assert call(texts, texts / "data", held_out=0) == 0
    meta = DataFolder(texts / "data").meta
    assert "held_out" not in meta and "held_out" not in meta["settings"]
    assert "data: has no text to validate on; train with `--disable-va" in capsys.readouterr().err


def test_a_text_whose_other_lines_repeat_what_is_held_out_is_refused(tmp_path, capsys):
    (tmp_path / "en-de.en").write_text("one\ntwo\n" + "three\n" * 20)
    (tmp_path / "en-de.de").write_text("same\n" * 22)
    (tmp_path / "en").write_text("other\nwords\nhere\n")
    assert call(tmp_path, tmp_path / "data", held_out=1) == 1
    assert "repeats a sentence that is held out" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--held-out", "20"], "must leave something to train on, got 40 different lines in "),
        (["--mono", "valid.en={0}/en"], "makes valid and test of the training text, got valid.en"),
        (["--shards", "2"], "`--held-out` cannot be used with `--shards`"),
    ],
)
def test_what_cannot_be_held_out_is_refused_in_one_line(texts, capsys, options, message):
    assert call(texts, texts / "data", *(word.format(texts) for word in options)) == 1
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("fairseq-xling: error: ") and message in error
    assert not (texts / "data").exists()
