"""D6 and G10: links, and the order of target tokens that they give."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_xling.core.errors import UserError
from fairseq_xling.text.links import (
    FirstWord,
    Words,
    check_range,
    expand_order,
    format_pharaoh,
    order_of,
    parse_pharaoh,
    with_end,
)


def test_an_empty_line_gives_null_everywhere_but_at_the_end():
    links = parse_pharaoh(b"\n0-0\n \n", "x")
    assert links.rows == 3
    sizes = np.array([3, 1, 2])
    order = with_end(order_of(links, sizes), np.array([2, 1, 4]), sizes)
    assert order.tolist() == [0, 0, 0, 3, 1, 2, 0, 0, 5]


@pytest.mark.parametrize("bad", ["0", "0-", "-1", "a-b", "1-2-3", "0:0", "1-2,3-4", "-1-2", "1p2"])
def test_a_malformed_link_is_refused_with_file_and_line(bad):
    with pytest.raises(UserError, match=rf"x\.pharaoh:12: links must look like 0-0, got '{bad}'"):
        parse_pharaoh(f"0-0\n\n0-0 {bad} 1-1\n".encode(), "x.pharaoh", first_line=10)


@pytest.mark.parametrize(
    ("link", "past"), [("3-1", "3 word(s) of the source"), ("2-2", "2 word(s) of the target")]
)
def test_an_index_out_of_range_is_refused_with_file_and_line(link, past):
    links = parse_pharaoh(f"0-0\n0-0 {link}\n9-9\n".encode(), "y", first_line=5)
    with pytest.raises(UserError, match=re.escape(f"y:6: link {link} points past the {past} sent")):
        check_range(links, np.array([1, 3, 1]), np.array([1, 2, 1]), "y", first_line=5)


def test_links_that_count_from_one_are_read_as_such():
    links = parse_pharaoh(b"1-1 3-2\n\n2-1\n", "y", first=1)
    assert (links.source.tolist(), links.target.tolist()) == ([0, 2, 1], [0, 1, 0])
    with pytest.raises(UserError, match=r"y:6: with `--links-from 1` links must .* a 0, got 2-0"):
        parse_pharaoh(b"1-1\n1-1 2-0 0-1\n", "y", first_line=5, first=1)
    with pytest.raises(UserError, match=r"y:1: link 4-1 points past the 3 word\(s\) of the source"):
        links = parse_pharaoh(b"4-1", "y", first=1)
        check_range(links, np.array([3]), np.array([2]), "y", first=1)


@pytest.mark.parametrize(
    ("data", "hinted"),
    [(b"1-1 2-2 3-2", True), (b"0-0 3-1", False), (b"1-0 3-2", False), (b"1-1 4-2", False)],
)
def test_links_that_would_fit_from_one_are_refused_with_the_option(data, hinted):
    with pytest.raises(UserError, match="points past the") as caught:
        check_range(parse_pharaoh(data, "y"), np.array([3]), np.array([2]), "y")
    assert str(caught.value).endswith("may count from 1: give `--links-from 1`") is hinted


@pytest.mark.parametrize("bad", ["1?3", "1p3", "1P3"])
def test_possible_links_are_refused_with_what_to_do(bad):
    with pytest.raises(UserError, match=r"got '1.3'; leave out possible links, or write them as"):
        parse_pharaoh(f"1-1 {bad}".encode(), "y")


@pytest.mark.parametrize(
    ("data", "first", "warns"),
    [
        (b"1-1 2-3\n" * 10, 0, True),
        (b"1-1 2-3\n" * 9 + b"\n", 0, False),  # too few lines to say so
        (b"1-1 2-3\n" * 20 + b"3-0\n", 0, False),
        (b"1-1 2-3\n" * 10, 1, False),
    ],
)
def test_a_file_without_a_zero_is_doubted(caplog, data, first, warns):
    first_word = FirstWord("y", first)
    for line in data.splitlines():
        first_word.see(parse_pharaoh(line, "y", first=first))
    first_word.end()
    assert bool(caplog.records) is warns
    assert not warns or "y: no link of 10 sentence pairs has a 0; if" in caplog.text


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6), max_size=6)
)
@settings(max_examples=60, deadline=None)
def test_pharaoh_text_comes_back(rows):
    text, swapped = (
        "".join(" ".join(form.format(*link) for link in row) + "\n" for row in rows).encode()
        for form in ("{0}-{1}", "{1}-{0}")
    )
    links = parse_pharaoh(text, "x")
    assert links.rows == len(rows) and format_pharaoh(links) == text
    assert format_pharaoh(links.swapped()) == swapped


def slow_expansion(order: list[int], source: list[int], target: list[int]) -> list[int]:
    """The rule of the k-th subword, a token at a time; words given by their numbers of tokens."""
    result = []
    for link, length in zip(order, target, strict=True):
        for k in range(length):
            if link == 0 or source[link - 1] == 0:
                result.append(0)
            else:
                before = sum(source[: link - 1])
                result.append(before + min(k, source[link - 1] - 1) + 1)
    return result


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_orders_of_words_become_orders_of_tokens_as_a_loop_would_do_it(data):
    lengths = st.lists(st.integers(0, 4), min_size=1, max_size=5)
    rows = data.draw(st.lists(st.tuples(lengths, lengths), min_size=1, max_size=4))
    orders = [
        data.draw(st.lists(st.integers(0, len(s)), min_size=len(t), max_size=len(t)))
        for s, t in rows
    ]
    source, target = (
        Words(np.array([len(r[k]) for r in rows]), np.array([n for r in rows for n in r[k]]))
        for k in (0, 1)
    )
    expected = [x for o, (s, t) in zip(orders, rows, strict=True) for x in slow_expansion(o, s, t)]
    flat = np.array([link for order in orders for link in order])
    assert expand_order(flat, source, target).tolist() == expected


def test_words_are_found_from_their_beginnings():
    words = Words.from_starts(np.array([1, 0, 1, 0, 0, 1]), np.array([3, 0, 2, 1]))
    found = words.sizes.tolist(), words.lengths.tolist(), words.first.tolist()
    assert found == ([2, 0, 1, 1], [2, 1, 2, 1], [0, 2, 0, 0])


def test_a_byte_order_mark_before_the_first_link_is_passed_over():
    assert parse_pharaoh("\ufeff0-1\n".encode(), "a.pharaoh").target.tolist() == [1]
