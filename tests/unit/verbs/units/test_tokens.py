"""Which word each subword of a line belongs to, in a folder of states."""

import numpy as np
import torch

from fairseq_xling.cli import main
from fairseq_xling.core.texts import read_sentences
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.verbs.units import Work
from fairseq_xling.verbs.units.tokens import Options, Tokens


def test_words_are_those_between_blanks(tmp_path, caplog):
    """As links count them, whatever the vocabulary does inside of a word."""
    text, mono, data = (tmp_path / name for name in ("text", "mono", "data"))
    text.write_text("aa\u00a0bb cc dd\n\ncc \xa0 aa¨bb dd\ndd \u200b aa\n", encoding="utf-8")
    mono.write_text("aa bb cc dd\n" * 20)
    words = ["prepare", str(data), "--languages", "en", "--mono", f"train.en={mono}"]
    assert main([*words, "--vocab-size", "20"]) == 0
    encode = TextEncoder.load(data, "en")
    out = tmp_path / "states"
    out.mkdir()
    work = Work(out, text, "en", DataFolder(data), encode, (0,), 2, np.dtype("f4"), lambda: None)
    unit, lines = Tokens(work, Options()), list(read_sentences(text))
    sentences = encode.encode(lines)
    block = unit.block(lines, sentences)
    for number, ids in enumerate(sentences):
        size = len(ids) - 1
        inside = torch.tensor([[False, *[True] * size, False]])  # between <s> and </s>
        block.add(np.array([number]), torch.zeros(1, 1, size + 2, 2), inside)
    block.close()
    unit.finish()
    alone = [[len(encode.encode([word])[0]) - 1 for word in line.split(" ")] for line in lines]
    expected = [np.repeat(np.arange(len(sizes)), sizes) for sizes in alone]
    assert np.load(out / "words.npy").tolist() == np.concatenate(expected).tolist()
    lengths = [[sum(sizes), len(sizes)] for sizes in alone]
    lengths[1] = [0, 0]
    assert np.load(out / "lengths.npy").tolist() == lengths
    assert "text:1: has U+00A0, as 2 line(s) have" in caplog.text
