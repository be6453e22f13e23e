"""The whole of `prepare` inside one process: what may change the result and what may not."""

import dataclasses
import gc
import json
from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import kept
from fairseq_xling.core.locks import hold
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.text import blocks, state, vocabulary
from fairseq_xling.text import prepare as prepare_module
from fairseq_xling.text import writer as writer_module


def content(folder: Path) -> dict[str, bytes]:
    """Every file, hidden ones too."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture
def own(tmp_path, helpers):
    """A corpus that may be changed, and ``make(name, **changes)`` to prepare it."""
    text = helpers.write_corpus(tmp_path / "text")

    def make(name="bin", **changes):
        return helpers.prepare_folder(tmp_path / name, {"folder": text}, **changes)

    return text, make


def test_a_finished_folder_opens_and_counts_right(make_folder, corpus):
    folder = DataFolder(make_folder(vocab="union"))
    assert folder.languages == ["en", "de"]
    lines = (corpus / "mono" / "train.en.txt").read_text().splitlines()
    counts = folder.meta["mono"]["train"]["en"]
    stored = folder.mono("train", "en")
    assert counts["sentences"] == len(stored) == len(lines)
    assert counts["tokens"] == len(stored.tokens)
    assert folder.pairs("train") == [("en", "de")]
    pairs = folder.meta["parallel"]["train"]["en-de"]
    assert (pairs["pairs"], pairs["orders"]) == (80, [])
    assert folder.vocab_sizes["en"] == folder.meta["vocab"]["sizes"]["dict"]
    inputs = folder.meta["inputs"]["mono/train.en"]
    assert [entry["file"] for entry in inputs] == ["train.en.txt"]
    assert not any(path.name.startswith(".") for path in folder.path.rglob("*"))  # no work is left


def test_text_to_compare_with_is_kept_as_it_is(own):
    text, make = own
    odd = {
        "en": ["caf\u00e9  \uff21 \U0001f415", "gone", "\tmno pq"],
        "de": ["\u00d8 MNO!", " ", "ONM"],
    }
    for lang, lines in odd.items():
        path = text / "parallel" / f"test.en-de.{lang}.txt"
        path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8", newline="")
    folder = DataFolder(make())
    for lang, other in (("en", "de"), ("de", "en")):
        raw = folder.raw_text("test", other, lang)
        assert [raw[i] for i in range(len(raw))] == [" ".join(odd[lang][i].split()) for i in (0, 2)]
        assert len(folder.raw_text("valid", other, lang)) == 10
    assert folder.raw_text("train", "en", "de") is None


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_neither_threads_nor_repetition_change_a_byte(own, monkeypatch, kind):
    _, make = own
    first = content(make("a", vocab_type=kind, workers=1, aligner="fast_align"))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 300)
    assert content(make("b", vocab_type=kind, workers=4, aligner="fast_align")) == first
    assert "parallel/train.de-en.order.bin" in first


def test_a_second_call_does_nothing(own, monkeypatch):
    _, make = own
    folder = make()
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    monkeypatch.setattr(prepare_module, "check_inputs", None)
    make()
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times


def test_another_setting_or_text_is_refused_unless_told_to_overwrite(own):
    text, make = own
    folder = make()
    before = content(folder)
    message = "was prepared with `--vocab-size` 60, not 61; choose another folder, or add --overw"
    with pytest.raises(UserError, match=message):
        make(vocab_size=61)
    with (text / "mono" / "valid.de.txt").open("a") as file:
        file.write("klij\n")
    with pytest.raises(UserError, match=r"was prepared with another input for mono/valid\.de"):
        make()
    assert content(folder) == before
    make(vocab_size=61, overwrite=True)
    assert len(TokenFile(folder / "mono" / "valid.de")) == 21
    assert json.loads((folder / "meta.json").read_text())["settings"]["vocab_size"] == 61


def test_overwriting_leaves_nothing_of_the_old_and_everything_of_others(own):
    _, make = own
    folder = make(vocab="separate")
    (folder / "notes.txt").write_text("mine")
    (folder / "mono" / "notes.txt").write_text("mine")
    make(vocab="joint", overwrite=True)
    names = set(content(folder))
    assert {"notes.txt", "mono/notes.txt", "dict.txt", "sentencepiece.model"} <= names
    assert not any(name.startswith(("dict.en", "sentencepiece.en")) for name in names)


def test_links_to_folders_are_replaced_and_what_they_lead_to_kept(own, tmp_path):
    _, make = own
    other, home = make("other"), tmp_path / "home"
    home.mkdir()
    (home / "thesis").write_text("precious")
    before = content(other)
    (tmp_path / "bin").mkdir()
    for name, target in ((".work", home), ("mono", other / "mono"), ("parallel", other / "mono")):
        (tmp_path / "bin" / name).symlink_to(target)
    folder = make(overwrite=True, vocab_size=61)
    assert content(home) == {"thesis": b"precious"} and content(other) == before
    assert not any((folder / name).is_symlink() for name in ("mono", "parallel"))


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_read_may_not_be_a_file_of_the_folder(own, tmp_path, overwrite):
    (tmp_path / "bin").mkdir()
    text = (own[0] / "mono" / "train.en.txt").rename(tmp_path / "bin" / "dict.en.txt")
    with kept([text]), pytest.raises(UserError, match="`OUT` must not have as its own a file"):
        own[1](overwrite=overwrite)
    assert content(tmp_path / "bin") == {"dict.en.txt": text.read_bytes()}


class Killed(BaseException):
    """Stands for a signal that no code sees."""


@pytest.mark.parametrize(
    ("module", "name", "calls"),
    [
        (vocabulary, "write_json", 1),
        (vocabulary, "write_dictionary", 1),
        (prepare_module, "binarize_mono", 2),
        (prepare_module, "binarize_parallel", 1),
        (prepare_module, "write_json", 1),
        (writer_module, "write_index", 3),
        (writer_module, "write_index", 7),
        (writer_module.os, "replace", 2),
        (state, "write_json", 1),
    ],
)
def test_a_run_that_was_cut_off_goes_on_to_the_same_bytes(
    own, monkeypatch, tmp_path, module, name, calls
):
    _, make = own
    expected = content(make("undisturbed", vocab="union"))
    real, left = getattr(module, name), [calls]

    def cut(*args, **kwargs):
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, cut)
    with pytest.raises(Killed):
        make(vocab="union")
    monkeypatch.setattr(module, name, real)
    assert not (tmp_path / "bin" / "meta.json").exists()
    # What a kill in the middle of an atomic write leaves:
    (tmp_path / "bin" / ".dict.txt.abcdefgh.tmp").write_text("half")
    make(vocab="union")
    assert content(tmp_path / "bin") == expected


def test_a_run_that_was_cut_off_goes_on_with_the_same_settings_and_files_by_other_paths(
    own, helpers, monkeypatch, tmp_path
):
    text, make = own
    expected = content(make("undisturbed"))
    with monkeypatch.context() as patch:
        patch.setattr(prepare_module, "binarize_mono", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make()
    with pytest.raises(UserError, match="was begun with `--seed` 1, not 2"):
        make(seed=2)
    monkeypatch.chdir(tmp_path)
    helpers.prepare_folder(tmp_path / "bin", {"folder": text.relative_to(tmp_path)})
    assert content(tmp_path / "bin") == expected


def test_overwriting_touches_nothing_while_another_run_is_at_work(own):
    _, make = own
    folder = make()
    before = content(folder)
    message = "another `prepare` is at work in this folder"
    with state.locked(folder), pytest.raises(UserError, match=message):
        make(vocab_size=61, overwrite=True)
    assert {name: data for name, data in content(folder).items() if ".work" not in name} == before
    make(vocab_size=61, overwrite=True)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mono/valid.en.txt", "", r"valid\.en\.txt: is empty"),
        ("mono/valid.en.txt", "\n\n", r"valid\.en\.txt: contains no text"),
        ("mono/valid.en.txt", "\u3000 \n" * 10, "no line has text$"),
        (
            "parallel/valid.en-de.de.txt",
            "\u3000 \n" * 10,
            r"en\.txt and .*de\.txt: no line has text",
        ),
        ("parallel/train.en-de.de.txt", "XYZ\n", r"got 80 in .*en\.txt and 1 in .*de\.txt"),
        ("../bin", "x", "bin: is a file, not a folder"),
    ],
)
def test_files_that_do_not_fit_are_refused(own, tmp_path, name, content, message):
    text, make = own
    (text / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        make()
    assert not (tmp_path / "bin").is_dir()


def test_the_vocabulary_does_not_see_more_text_than_asked(own, monkeypatch):
    seen, bpe = [], vocabulary.vocabulary_types["bpe"]

    def learn(lines, *rest):
        seen.append(lines)
        return bpe.learn(lines, *rest)

    changed = dataclasses.replace(bpe, learn=learn)
    monkeypatch.setattr(vocabulary, "vocabulary_types", {"bpe": changed})
    own[1](vocab_sample=0.005)
    assert 4000 < sum(len(line.encode()) + 1 for line in seen[0]) < 5600


def test_a_folder_that_a_training_reads_is_not_replaced(own):
    class Training:
        """What holds the lock."""

    _, make = own
    folder, training = make(), Training()
    before = content(folder)
    hold(folder / "meta.json", "taken", training, shared=True)
    with pytest.raises(UserError, match="bin: a training reads this folder; wait for its end, or"):
        make(overwrite=True)
    assert content(folder) == before
    make()  # what is finished is only looked at
    del training
    gc.collect()
    make(overwrite=True)


@pytest.mark.parametrize("content", ["[]", '{"settings": 1}', '{"settings": {}, "inputs": []}'])
@pytest.mark.parametrize("name", ["meta.json", ".work/started.json"])
def test_a_description_of_another_form_is_refused(own, tmp_path, name, content):
    _, make = own
    (tmp_path / "bin" / ".work").mkdir(parents=True)
    (tmp_path / "bin" / name).write_text(content)
    with pytest.raises(UserError, match=r"description is damaged|was (prepared|begun) with"):
        make()
