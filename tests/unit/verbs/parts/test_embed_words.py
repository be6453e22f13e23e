"""`fairseq-xling embed words` through the command."""

import numpy as np
import pytest

from fairseq_xling.analysis.extracted import Extracted
from fairseq_xling.analysis.fasttext import WordVectors
from fairseq_xling.cli import main
from fairseq_xling.core.files import read_json
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.sources import parse_sources

LINES = ["The dog sees a cat.", "A dog sees the rain", "the cat", "the red house, the dog"] * 4
SMALL = "--dim 8 --epochs 2 --min-count 1 --buckets 100".split()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("words")
    (root / "text").write_text("".join(f"{line}\n" for line in LINES))
    sources = parse_sources(("en",), mono=[f"train.en={root / 'text'}"])
    prepare(
        root / "data",
        sources,
        PrepareOptions(("en",), vocab_size=60, segment={"en": "space"}, aligner="none"),
    )
    return root


def call(data, output, *options):
    given = ["embed", "words", str(data / "data"), "--lang", "en", "--text", str(data / "text")]
    return main([*given, "--output", str(output), *SMALL, *map(str, options)])


def fails(capsys, status):
    assert status == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("fairseq-xling: error: ")
    return lines[-1]


def test_the_vocabulary_is_exactly_that_of_the_words_given(data, tmp_path, capsys):
    (tmp_path / "words").write_text("rain Regen\nunseen\ndog\nThe\n,\nrain\n")
    assert call(data, tmp_path / "out", "--words", tmp_path / "words") == 0
    assert capsys.readouterr().out.endswith("out: 4 words, 8 wide (1 left out)\n")
    found = Extracted(tmp_path / "out")
    assert (found.unit, found.lang, found.layers) == ("static", "en", (0,))
    assert found.words == ["rain", "dog", "The", ","]  # as segmented: marks stand alone
    assert np.load(tmp_path / "out" / "counts.npy").tolist() == [4, 12, 4, 4]
    meta = read_json(tmp_path / "out" / "meta.json")
    assert set(meta["provenance"]["inputs"]) == {"text", "data", "words"}
    assert {path.name for path in tmp_path.iterdir()} == {"words", "out"}


def test_without_a_list_the_most_frequent_are_written_and_bli_reads_them(data, tmp_path, capsys):
    for name in ("x", "y"):
        assert call(data, tmp_path / name, "--most", "3") == 0
    assert Extracted(tmp_path / "x").words == ["the", "dog", "cat"]
    (tmp_path / "d").write_text("dog dog\ncat cat\n")
    folders = [str(tmp_path / name) for name in ("x", "y")]
    assert main(["eval", "bli", *folders, "--dictionary", str(tmp_path / "d")]) == 0
    assert "2 source words among 3 candidates" in capsys.readouterr().out


def test_ready_vectors_are_taken_from_a_file(data, tmp_path):
    (tmp_path / "en.vec").write_text("4 2\nthe 1 0\ndog 0.5 2\nwolf 3 3\nrain -1 4\n")
    assert call(data, tmp_path / "out", "--vec", tmp_path / "en.vec") == 0
    found = Extracted(tmp_path / "out")
    assert found.words == ["the", "dog", "rain"] and found.width == 2
    assert found.whole(0).tolist() == [[1, 0], [0.5, 2], [-1, 4]]


def test_a_killed_training_goes_on_and_another_is_not_mixed_with_it(data, tmp_path, monkeypatch):
    assert call(data, tmp_path / "whole") == 0
    train_epoch = WordVectors.train_epoch

    def dies(self, epoch, sentences):
        if epoch == 1:
            raise KeyboardInterrupt
        train_epoch(self, epoch, sentences)

    monkeypatch.setattr(WordVectors, "train_epoch", dies)
    for name in ("out", "other"):
        assert call(data, tmp_path / name) == 130
    epochs = []

    def counts(self, epoch, sentences):
        epochs.append(epoch)
        train_epoch(self, epoch, sentences)

    monkeypatch.setattr(WordVectors, "train_epoch", counts)
    assert call(data, tmp_path / "out") == 0
    assert epochs == [1]
    for name in ("layer00.npy", "words.txt", "counts.npy"):
        whole = (tmp_path / "whole" / name).read_bytes()
        assert (tmp_path / "out" / name).read_bytes() == whole
    assert call(data, tmp_path / "other", "--lr", "0.1") == 0
    assert epochs == [1, 0, 1]
    assert {path.name for path in tmp_path.iterdir()} == {"whole", "out", "other"}


def test_mistakes_are_one_line_and_nothing_is_written(data, tmp_path, capsys):
    (tmp_path / "words").write_text("unseen\n")
    (tmp_path / "empty").write_text("")
    before = set(tmp_path.iterdir())
    for options, message in (
        (["--words", tmp_path / "words"], "words: none of its words has a vector"),
        (["--words", tmp_path / "empty"], "empty: contains no words"),
        (["--text", tmp_path / "empty"], "empty: contains no lines"),
        (["--min-count", "99"], "no word occurs at least 99 times"),
        (["--buckets", "2147483647"], "not enough memory (Unable to allocate"),
    ):
        assert message in fails(capsys, call(data, tmp_path / "out", *options))
        assert set(tmp_path.iterdir()) == before
