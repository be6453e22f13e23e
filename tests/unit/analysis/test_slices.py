import numpy as np
import pytest

from fairseq_xling.analysis import slices as module
from fairseq_xling.analysis.slices import segments, write_slices
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SEP, DataFolder
from fairseq_xling.data.mmap import write_items


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 7)  # sentences: segments cross the blocks


@pytest.fixture
def folder(tiny_corpus):
    return DataFolder(tiny_corpus.path)


@pytest.mark.parametrize("window", [1, 2, 5, 8, 64, 10_000])
@pytest.mark.parametrize("sentences", [1, 7, 50, 90])
def test_cutting_loses_nothing_and_adds_nothing(folder, tiny_corpus, window, sentences):
    text = [token for ids in tiny_corpus.mono["train"]["en"][:sentences] for token in ids]
    found = [row for x in segments(folder.mono("train", "en"), window, sentences) for row in x]
    assert np.concatenate(found).tolist() == text
    assert {len(row) for row in found[:-1]} <= {window} and 0 < len(found[-1]) <= window


def test_texts_of_every_window_have_the_same_tokens(folder, tiny_corpus, tmp_path):
    totals = []
    for window in (3, 11):
        write_slices(folder, tmp_path / str(window), 30, window)
        made = DataFolder(tmp_path / str(window))
        for lang in ("en", "de"):
            for split, number in (("train", 30), ("valid", 20)):
                file = made.mono(split, lang)
                rows = [file[i] for i in range(len(file))]
                assert all(row[-1] == SEP and SEP not in row[:-1] for row in rows)
                text = [t for ids in tiny_corpus.mono[split][lang][:number] for t in ids]
                assert np.concatenate([row[:-1] for row in rows]).tolist() == text
                counts = made.meta["mono"][split][lang]
                assert counts == {"sentences": len(rows), "tokens": len(text)}
                totals.append((window, split, lang, len(text)))
        assert made.vocab_sizes == folder.vocab_sizes and made.pairs("train") == []
        assert made.meta["slices"] == {"window": window, "sentences": 30}
    assert [x[1:] for x in totals[:4]] == [x[1:] for x in totals[4:]]


def test_a_folder_with_digests_gives_one_with_digests_of_what_it_has(make_corpus, tmp_path):
    source = DataFolder(make_corpus(digests=True).path)
    (source.path / "sentencepiece.model").write_text("model")
    write_slices(source, tmp_path / "cut", 30, 3)
    made = DataFolder(tmp_path / "cut")
    assert len(made.mono("train", "en")) > 0 and made.anchors("en") == []
    there = {p.relative_to(made.path).as_posix() for p in made.path.rglob("*") if p.is_file()}
    assert set(made.meta["files"]) == there - {"meta.json", "sentencepiece.model"}
    write_items(made.path / "mono" / "train.en", [[6, 2]], "<u2")
    with pytest.raises(UserError, match="changed since the folder was prepared"):
        made.mono("train", "en")


def test_a_text_that_is_too_short_or_a_window_of_nothing_is_refused(folder, tmp_path):
    with pytest.raises(UserError, match="has 30 training sentences of 'de', not 31"):
        write_slices(folder, tmp_path / "out", 31, 3)
    with pytest.raises(UserError, match="a window must be at least 1 token, got 0"):
        write_slices(folder, tmp_path / "out", 3, 0)
    assert not (tmp_path / "out").exists()
