"""The corpus folder."""

import dataclasses
import json
import re

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import exclusive
from fairseq_xling.corpus.write import Settings, write_corpus

LANGUAGES = ("en", "de", "zh")


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


SETTINGS = Settings(
    LANGUAGES, sentences=1500, parallel_sentences=200, held_out=150, nli=60, annotated=20
)
FEW = Settings(("en",), 5, held_out=5)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(SETTINGS, tmp_path_factory.mktemp("synthetic") / "corpus", progress=False)


def snapshot(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_promised_file_is_there_with_the_promised_number_of_lines(corpus):
    counts = {name: content.count(b"\n") for name, content in snapshot(corpus).items()}
    for code in LANGUAGES:
        for split, count in (("train", 1500), ("valid", 150), ("test", 150)):
            assert counts[f"mono/{split}.{code}.txt"] == count
        for split, count in (("train", 60), ("valid", 150), ("test", 150)):
            assert counts[f"gold/nli.{split}.{code}.tsv"] == count
    for other in ("de", "zh"):
        for split, count in (("train", 200), ("valid", 150), ("test", 150)):
            for name in ("en.txt", f"{other}.txt", "pharaoh"):
                assert counts[f"parallel/{split}.en-{other}.{name}"] == count
        assert counts[f"dictionary/en-{other}.tsv"] > 500


def test_dictionaries_are_split_by_source_word(corpus):
    for other in ("de", "zh"):
        every, train, test = (
            lines(corpus / f"dictionary/en-{other}{part}.tsv") for part in ("", ".train", ".test")
        )
        assert sorted(train + test) == sorted(every)
        words = [{line.split("\t")[0] for line in part} for part in (train, test)]
        assert not words[0] & words[1]
        assert 0.28 < len(words[1]) / len(words[0] | words[1]) < 0.38


def test_held_out_sentences_differ_and_never_occur_in_training_text(corpus):
    for code in LANGUAGES:
        valid, test = (lines(corpus / f"mono/{split}.{code}.txt") for split in ("valid", "test"))
        assert len({*valid, *test}) == 300
        train = set(lines(corpus / f"mono/train.{code}.txt"))
        for other in ("de", "zh"):
            side = corpus / f"parallel/train.en-{other}.{code}.txt"
            train |= set(lines(side)) if side.exists() else set()
        assert not train & {*valid, *test}


def test_monolingual_training_text_is_not_parallel(tmp_path):
    # en and xx say the same in the same number of words, so equal lengths would give it away.
    corpus = write_corpus(Settings(("en", "xx"), 300, held_out=10), tmp_path / "c", progress=False)
    pairs = zip(*(lines(corpus / f"mono/train.{code}.txt") for code in ("en", "xx")), strict=True)
    assert sum(len(a.split()) == len(b.split()) for a, b in pairs) < 0.3 * 300


def test_alignments_stay_inside_the_sentences_and_count_characters_in_chinese(corpus):
    for split in ("train", "test"):
        for kind, target in (("", "zh.txt"), ("words.", "zh.words.txt")):
            stem = f"parallel/{split}.en-zh."
            triples = zip(
                lines(corpus / f"{stem}en.txt"),
                lines(corpus / (stem + target)),
                lines(corpus / f"{stem}{kind}pharaoh"),
                strict=True,
            )
            for english, chinese, links in triples:
                pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
                length = len(chinese.split()) if kind else len(chinese)
                assert max(i for i, _ in pairs) == len(english.split()) - 1
                assert max(j for _, j in pairs) <= length - 1


def test_nli_labels_are_parallel_and_balanced(corpus):
    for split in ("train", "valid", "test"):
        labels = [
            [row.split("\t")[2] for row in lines(corpus / f"gold/nli.{split}.{code}.tsv")]
            for code in LANGUAGES
        ]
        assert labels[0] == labels[1] == labels[2]
        assert len({labels[0].count(label) for label in set(labels[0])}) == 1


def test_annotated_sentences_are_the_first_of_the_training_text(corpus):
    for code in LANGUAGES:
        trees = (corpus / f"gold/train.{code}.conllu").read_text()
        assert re.findall("# text = (.*)", trees) == lines(corpus / f"mono/train.{code}.txt")[:20]


def test_the_provenance_tells_settings_and_counts(corpus):
    there = json.loads((corpus / "provenance.json").read_text())
    assert there["settings"]["languages"] == list(LANGUAGES)
    assert there["settings"]["seed"] == 1
    assert there["counts"]["mono/train.de"] == 1500


def test_writing_twice_gives_the_same_bytes_and_a_longer_corpus_begins_alike(tmp_path):
    short = Settings(("en", "id"), 60, held_out=20, nli=6)
    folders = [write_corpus(short, tmp_path / name, progress=False) for name in "ab"]
    assert snapshot(folders[0]) == snapshot(folders[1])
    longer = write_corpus(Settings(("en", "id"), 90, held_out=20), tmp_path / "c", progress=False)
    name = "mono/train.id.txt"
    assert lines(longer / name)[:60] == lines(folders[0] / name)


def test_spaced_text_has_the_words_of_chinese(tmp_path):
    settings = Settings(("en", "zh"), 5, held_out=5, spaced=True)
    corpus = write_corpus(settings, tmp_path / "c", progress=False)
    stem = corpus / "parallel"
    assert lines(stem / "test.en-zh.zh.txt") == lines(stem / "test.en-zh.zh.words.txt")
    assert lines(stem / "test.en-zh.pharaoh") == lines(stem / "test.en-zh.words.pharaoh")


def test_the_same_corpus_is_left_alone_and_another_is_refused(corpus):
    before = snapshot(corpus)
    assert write_corpus(SETTINGS, corpus, progress=False) == corpus
    with pytest.raises(UserError, match="contains a corpus with other settings"):
        write_corpus(Settings(LANGUAGES), corpus, progress=False)
    assert snapshot(corpus) == before


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="`OUT` must be a new or empty folder"):
        write_corpus(FEW, tmp_path, progress=False)


def test_nothing_is_left_when_writing_fails(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr("fairseq_xling.corpus.write.dictionary", fail)
    with pytest.raises(OSError, match="No space"):
        write_corpus(Settings(("en", "de"), 5, held_out=5), tmp_path / "c", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_second_call_does_not_touch_what_the_first_is_writing(tmp_path):
    partial = tmp_path / ".c.partial"
    partial.mkdir()
    (partial / "half.txt").write_text("half")
    taken = pytest.raises(UserError, match="another `synthesize` is writing it")
    with exclusive(partial, "taken"), taken:
        write_corpus(FEW, tmp_path / "c", progress=False)
    assert (partial / "half.txt").read_text() == "half"
    corpus = write_corpus(FEW, tmp_path / "c", progress=False)  # goes on after a kill
    assert not partial.exists() and not (corpus / "half.txt").exists()


def test_a_link_in_place_of_what_is_begun_is_replaced(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis").write_text("precious")
    (tmp_path / ".c.partial").symlink_to("home")
    corpus = write_corpus(FEW, tmp_path / "c", progress=False)
    assert not corpus.is_symlink() and (tmp_path / "home" / "thesis").read_text() == "precious"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parallel_sentences": -3}, "`--parallel-sentences` must be at least 0, got -3"),
        ({"seed": -3}, r"`--seed` must lie in \[0, 4294967295\], got -3"),
        ({"domain": "othr"}, r"unknown `--domain` 'othr'; did you mean 'other'\?"),
        ({"languages": ("xxs",)}, "unknown synthetic language 'xxs'; did you mean .*'xx'"),
        ({"languages": ("en", "en")}, "`--languages` names 'en' twice in 'en,en'"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        write_corpus(dataclasses.replace(FEW, **changes), tmp_path / "c", progress=False)


def test_the_current_folder_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(UserError, match="`OUT` must not be the current folder"):
        write_corpus(FEW, ".", progress=False)
    assert list(tmp_path.rglob("*")) == [here]
