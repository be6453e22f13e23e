"""D7 on hand-computed 3 x 3 cases, and against the textbook's loops."""

import numpy as np
import pytest

from fairseq_xling.text.links import format_pharaoh, parse_pharaoh
from fairseq_xling.text.symmetrize import symmetrizations

# Rows are source words, columns target words. Forward gives each column at most one link, reverse
# each row.
#   forward  reverse    both
#   x . .    x x .     2 . .
#   . x .    . . .     . . .
#   . . x    . . x     . . 2
DIAGONAL = ("0-0 1-1 2-2", "0-0 0-1 2-2")
#   . . .    . . x     . . .      no link in common: nothing to grow from
#   x . .    . x .     . . .
#   . x x    x . .     . . .
APART = ("1-0 2-1 2-2", "0-2 1-1 2-0")
#   x . .    x . .     2 . .
#   . . x    . . .     . . .
#   . . .    . . .     . . .
FAR = ("0-0 1-2", "0-0")


@pytest.mark.row("D7")
@pytest.mark.parametrize(
    ("rule", "case", "expected"),
    [
        ("intersection", DIAGONAL, "0-0 2-2"),
        ("union", DIAGONAL, "0-0 0-1 1-1 2-2"),
        # 0-0: its neighbour 0-1 covers column 1, its diagonal neighbour 1-1 then covers row 1.
        ("gdfa", DIAGONAL, "0-0 0-1 1-1 2-2"),
        ("intersection", APART, ""),
        ("union", APART, "0-2 1-0 1-1 2-0 2-1 2-2"),
        # Only the last step adds: of forward 1-0, 2-1 (2-2 finds row 2 taken), of reverse 0-2.
        ("gdfa", APART, "0-2 1-0 2-1"),
        ("intersection", FAR, "0-0"),
        ("union", FAR, "0-0 1-2"),
        # 1-2 touches nothing, but both its row and its column are free.
        ("gdfa", FAR, "0-0 1-2"),
    ],
)
def test_three_by_three_cases_as_worked_out_by_hand(rule, case, expected):
    forward, reverse = (parse_pharaoh(x.encode() + b"\n", "") for x in case)
    for links in symmetrizations[rule](forward, reverse):
        assert format_pharaoh(links).decode() == expected + "\n"


def test_without_a_rule_each_direction_keeps_its_links():
    forward, reverse = (parse_pharaoh(x.encode(), "") for x in DIAGONAL)
    assert symmetrizations["none"](forward, reverse) == (forward, reverse)


def textbook(forward: set, reverse: set, height: int, width: int) -> set:
    """grow-diag-final-and as Koehn et al. print it, on a full matrix."""
    either, links = forward | reverse, forward & reverse
    neighbours = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]

    def row_free(i):
        return all((i, j) not in links for j in range(width))

    def column_free(j):
        return all((i, j) not in links for i in range(height))

    grown = True
    while grown:
        grown = False
        for i in range(height):
            for j in range(width):
                if (i, j) in links:
                    for di, dj in neighbours:
                        new = (i + di, j + dj)
                        if (row_free(new[0]) or column_free(new[1])) and new in either:
                            links.add(new)
                            grown = True
    for direction in (forward, reverse):
        for i in range(height):
            for j in range(width):
                if (i, j) in direction and row_free(i) and column_free(j):
                    links.add((i, j))
    return links


def test_random_cases_agree_with_set_arithmetic_and_the_textbook():
    rng = np.random.default_rng(0)
    cases = []
    for _ in range(300):
        height, width = rng.integers(1, 7, 2).tolist()
        forward = {(int(rng.integers(height)), j) for j in range(width) if rng.random() < 0.8}
        reverse = {(i, int(rng.integers(width))) for i in range(height) if rng.random() < 0.8}
        cases.append((forward, reverse, height, width))

    def block(k):
        lines = (" ".join(f"{i}-{j}" for i, j in sorted(case[k])) + "\n" for case in cases)
        return parse_pharaoh("".join(lines).encode(), "")

    oracles = {
        "intersection": lambda f, r, *_: f & r,
        "union": lambda f, r, *_: f | r,
        "gdfa": textbook,
    }
    for rule, oracle in oracles.items():
        found = format_pharaoh(symmetrizations[rule](block(0), block(1))[0]).decode().split("\n")
        for line, case in zip(found, cases, strict=False):
            expected = " ".join(f"{i}-{j}" for i, j in sorted(oracle(*case)))
            assert line == expected, (rule, case)
