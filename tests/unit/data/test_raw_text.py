"""Text that is stored next to its tokens."""

import numpy as np
import pytest

from fairseq_xling.data.mmap import write_items
from fairseq_xling.data.raw_text import RAW_DTYPE, RawText, raw_text_block
from fairseq_xling.errors import UserError


def test_sentences_of_any_script_come_back(tmp_path):
    lines = ["  Ωmega\tund\u2028Äpfel ", "狗在跑。", "🐕", "a\r"]
    values, sizes = raw_text_block(lines)
    write_items(tmp_path / "x", np.split(values, np.cumsum(sizes)[:-1]), RAW_DTYPE)
    text = RawText(tmp_path / "x")
    assert [text[i] for i in range(len(text))] == ["Ωmega und Äpfel", *lines[1:3], "a"]


def test_half_a_character_is_named_with_its_sentence(tmp_path):
    write_items(tmp_path / "x", [np.array([97]), np.array([0xC3])], RAW_DTYPE)
    with pytest.raises(UserError, match=r"x\.bin: sentence 2 is not UTF-8; prepare"):
        RawText(tmp_path / "x")[1]
