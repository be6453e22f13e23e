"""Folders of sequences: what was written is read, kills leave no trace, damage is named."""

import json

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.sequences import (
    Sequences,
    check_same_sentences,
    check_same_width,
    write_sequences,
)

SETTINGS = {"lang": "en", "dtype": "float32", "delta": 0.2}
MORE = {"provenance": "here"}
COUNTS = [3, 0, 1, 2, 0, 4]
LENGTHS = [5, 2, 1, 4, 0, 4]
WIDTH = 3


def content(seed=0, width=WIDTH):
    """Sentences as (vectors, spans) with spans in any order."""
    generator = np.random.default_rng(seed)
    vectors = [generator.normal(size=(count, width)).astype("float32") for count in COUNTS]
    spans = [
        np.array([(p, p + 1) for p in generator.permutation(length)[:count]]).reshape(-1, 2)
        for count, length in zip(COUNTS, LENGTHS, strict=True)
    ]
    return vectors, spans


def append(writer, start, end, vectors, spans):
    part = slice(start, end)
    writer.append(
        np.concatenate(vectors[part]), COUNTS[part], np.concatenate(spans[part]), LENGTHS[part]
    )


def write(path, settings=SETTINGS, blocks=(2, 4, 6), width=WIDTH, stop=None):
    vectors, spans = content(width=width)
    with write_sequences(path, settings, width, MORE) as writer:
        for end in blocks:
            if writer.done < end:
                append(writer, writer.done, end, vectors, spans)
            if end == stop:
                raise KeyboardInterrupt
    return Sequences(path)


def test_what_was_written_is_read(tmp_path):
    found = write(tmp_path / "x")
    vectors, spans = content()
    assert (found.sentences, found.rows, found.width, found.lang) == (6, 10, 3, "en")
    assert found.counts.tolist() == COUNTS and found.lengths.tolist() == LENGTHS
    assert np.array_equal(found.spans, np.concatenate(spans))
    assert found.settings == SETTINGS
    assert json.loads((tmp_path / "x" / "meta.json").read_text())["provenance"] == "here"
    for index in (0, 2, 3, 5):
        assert np.array_equal(found.vectors(index).numpy(), vectors[index])


def test_a_batch_is_padded_behind_and_an_empty_sequence_is_one_zero_vector(tmp_path):
    found = write(tmp_path / "x")
    vectors, _ = content()
    batch, mask = found.batch([3, 1, 0, 3])
    assert batch.shape == (4, 3, 3) and batch.dtype == torch.float32
    assert mask.sum(1).tolist() == [1, 2, 0, 1] and not mask[:, 0].any() and mask[1, 1]
    assert np.array_equal(batch[0, :2].numpy(), vectors[3]) and not batch[0, 2].any()
    assert not batch[1].any()
    empty, mask = found.batch([1, 4])
    assert empty.shape == (2, 1, 3) and not empty.any() and not mask.any()


def test_half_precision_is_kept_on_disk_and_read_as_single(tmp_path):
    found = write(tmp_path / "x", {**SETTINGS, "dtype": "float16"})
    assert found.array.dtype == np.float16
    assert np.allclose(found.vectors(0), content()[0][0], atol=2e-3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1e6, "`--dtype` float16 must represent every vector, up to 65,504, got 1e.06; use float"),
        (np.nan, "the model's vectors are NaN or infinite"),
    ],
)
def test_vectors_that_no_file_should_hold_are_refused_and_nothing_is_left(tmp_path, value, message):
    vectors, spans = content()
    vectors[0][1, 2] = value
    with (
        pytest.raises(UserError, match=message),
        write_sequences(tmp_path / "x", {**SETTINGS, "dtype": "float16"}, WIDTH, {}) as writer,
    ):
        append(writer, 0, 6, vectors, spans)
    assert not any(tmp_path.iterdir())


def test_a_folder_without_any_vector_can_be_read(tmp_path):
    with write_sequences(tmp_path / "x", SETTINGS, WIDTH, {}) as writer:
        writer.append(np.zeros((0, WIDTH)), [0, 0], [], [3, 4])
    found = Sequences(tmp_path / "x")
    batch, mask = found.batch([0, 1])
    assert batch.shape == (2, 1, WIDTH) and not mask.any()


@pytest.mark.parametrize("stop", [2, 4, 6])
def test_after_a_kill_the_same_call_ends_with_the_same_bytes(tmp_path, stop):
    write(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "x", stop=stop)
    assert not (tmp_path / "x").exists()
    with pytest.raises(UserError, match="not finished; run the command that writes it again"):
        Sequences(tmp_path / "x")
    # What a kill in the middle of a block leaves behind the last whole one.
    with open(tmp_path / ".x.partial" / "vectors.npy", "ab") as file:
        file.write(b"half a row")
    with write_sequences(tmp_path / "x", SETTINGS, WIDTH, MORE) as writer:
        assert writer.done == stop
        if stop < 6:
            append(writer, stop, 6, *content())
    for name in ("vectors.npy", "offsets.npy", "spans.npy", "lengths.npy", "meta.json"):
        assert (tmp_path / "x" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (tmp_path / ".x.partial").exists()


def test_damaged_folders_are_named(tmp_path):
    with pytest.raises(UserError, match="no such folder; `fairseq-xling clcr encode` writes one"):
        Sequences(tmp_path / "none")
    with pytest.raises(UserError, match="not a folder of sequences"):
        Sequences(tmp_path)
    path = tmp_path / "x"
    write(path)

    def damage(name, array, message):
        before = (path / name).read_bytes()
        np.save(path / name, array)
        with pytest.raises(UserError, match=message):
            found = Sequences(path)
            _ = found.spans, found.lengths, found.batch(range(6))
        (path / name).write_bytes(before)

    offsets = np.load(path / "offsets.npy")
    damage("vectors.npy", np.zeros((9, 3)), r"vectors.npy: must be floats of shape \(10, 3\)")
    damage("offsets.npy", offsets[::-1].copy(), r"offsets.npy: must increase from 0 to 10")
    damage("spans.npy", np.zeros((10, 2)), r"spans.npy: must be whole numbers of shape \(10, 2\)")
    spans = np.load(path / "spans.npy")
    damage("spans.npy", spans + 99, r"spans.npy: must lie in sentences, got .* in row 0 for")
    damage("spans.npy", spans - 99, r"spans.npy: must lie in sentences, got .* in row 0 for")
    damage("lengths.npy", np.zeros(7, int), r"lengths.npy: must be whole numbers of shape \(6,\)")
    broken = np.zeros((10, 3), dtype="float32")
    broken[7, 1] = np.nan
    damage("vectors.npy", broken, "vectors.npy: must be finite, got NaN or infinity in row 7")
    (path / "offsets.npy").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"offsets.npy: damaged or not a numpy array"):
        Sequences(path)
    (path / "offsets.npy").unlink()
    with pytest.raises(UserError, match=r"offsets.npy: no such file; the folder is damaged"):
        Sequences(path)


def test_folders_that_do_not_pair_up_are_refused(tmp_path):
    x, wide = write(tmp_path / "x"), write(tmp_path / "wide", width=4)
    with write_sequences(tmp_path / "short", SETTINGS, WIDTH, {}) as writer:
        append(writer, 0, 2, *content())
    with pytest.raises(UserError, match="must have equally many sentences, got 6 and 2"):
        check_same_sentences(x, Sequences(tmp_path / "short"))
    with pytest.raises(UserError, match="must have vectors of one width, got 3 and 4"):
        check_same_width(x, wide)
    check_same_sentences(x, x)
