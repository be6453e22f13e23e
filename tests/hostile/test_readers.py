"""Readers of annotated files, on whatever hypothesis can think of: items, or a line that says where
the file is wrong."""

import contextlib
import json

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairseq_xling.core.errors import UserError, one_line
from fairseq_xling.tasks.formats import formats
from tests.hostile.machine import LONGEST


def arrow(**texts):
    """An Arrow stream of one row, its bytes as letters."""
    table = pyarrow.table({name: [text] for name, text in texts.items()})
    with pyarrow.ipc.new_stream(sink := pyarrow.BufferOutputStream(), table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes().decode("latin-1")


# A file of each format, to be damaged.
VALID = {
    "tsv": "a text\tlabel\nanother\tother\n",
    "json_lines": '{"text": "a", "label": "x"}\n',
    "xnli": "language\tgold_label\tsentence1\tsentence2\nen\tneutral\ta\tb\n",
    "table": arrow(text="a", label="x"),
    "conll": "EU B-ORG\nrejects O\n\nPeter B-PER\n",
    "tagged_rows": '{"tokens": ["EU", "rejects"], "ner_tags": ["B-ORG", "O"]}\n',
    "conllu": "1\ta\ta\tDET\t_\t_\t2\tdet\t_\t_\n2\tb\tb\tNOUN\t_\t_\t0\troot\t_\t_\n\n",
    "conll09": "1\ta\ta\ta\tN\tN\t_\t_\t0\t0\tr\tr\tY\ta.01\tA0\n\n",
    "conll09_trees": "1\ta\ta\ta\tN\tN\t_\t_\t0\t0\tr\tr\tY\ta.01\tA0\n\n",
    "squad": json.dumps(
        {
            "data": [
                {
                    "paragraphs": [
                        {
                            "context": "a b c",
                            "qas": [
                                {
                                    "id": "1",
                                    "question": "b?",
                                    "answers": [{"text": "b", "answer_start": 2}],
                                }
                            ],
                        }
                    ]
                }
            ]
        }
    ),
    "question_rows": '{"id": "1", "context": "a b c", "question": "b?", '
    '"answers": {"text": ["b"], "answer_start": [2]}}\n',
    "choices": '{"context": "a", "question": "b", "choices": ["c", "d"], "label": 0}\n',
    "c3": '[[["a"], [{"question": "q", "choice": ["x", "y"], "answer": "x"}], "1"]]',
    "chid": '{"content": ["a #idiom1# b"], "candidates": ["x", "y"]}\n',
    "clue_wsc": '{"target": {"span1_text": "a", "span1_index": 0, "span2_text": "b", '
    '"span2_index": 2}, "idx": 0, "label": "true", "text": "a b"}\n',
}
HOSTILE = [
    *("", "\t", "\n", "\n\n", "\r", "\0", "-1", "0", "9" * 5000, "nan", "{", "}", "[", "]", '"'),
    *("null", "[[]]", "{}", "\u2028", "\ufeff", "\ud7ff", "#", "_", "1-2", "1.1", ",", ":", "true"),
    *("[" * 5000, '{"a":' * 2000, "1e999", "\\ud800", " "),
]


@st.composite
def damaged(draw, text):
    """``text`` with pieces taken out, put in and repeated."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 12)))
        piece = draw(st.sampled_from([*HOSTILE, text[start:stop] * 3]) | st.text(max_size=4))
        text = text[:start] + piece + text[stop:]
    return text


def check(name, text, path):
    if name == "table":
        path.write_bytes(text.encode("latin-1", "replace"))
    else:
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    with contextlib.suppress(UserError):
        try:
            for item in formats[name].read(path, {}):
                assert item.path == str(path)
        except UserError as error:
            assert path.name in str(error), str(error)
            line = one_line(error)
            assert "\n" not in line and len(line) < LONGEST
            raise


def test_every_format_has_a_file_to_be_damaged():
    assert set(VALID) == set(formats), "add a valid file of the format to VALID"


@pytest.mark.parametrize("name", VALID)
@settings(
    max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_by_name(name, data, tmp_path):
    check(name, data.draw(damaged(VALID[name])), tmp_path / "gold.txt")


@pytest.mark.slow
@pytest.mark.parametrize("name", VALID)
@settings(
    max_examples=3000, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_thousands_of_damaged_files_are_read_or_refused_by_name(name, data, tmp_path):
    check(name, data.draw(damaged(VALID[name])), tmp_path / "gold.txt")
