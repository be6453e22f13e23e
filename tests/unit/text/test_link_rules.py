"""Combined directions against a plain reading of the rule, and which of several links counts."""

from collections import defaultdict

import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.sources import Pairs
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.link_rules import many_to_one, symmetrizations
from fairseq_xling.text.links import format_pharaoh, parse_pharaoh


def test_without_a_rule_each_direction_keeps_its_links():
    forward, reverse = (parse_pharaoh(x, "") for x in (b"0-0 1-1 2-2", b"0-0 0-1 2-2"))
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
        both = symmetrizations[rule](block(0), block(1))
        found = format_pharaoh(both[0]).decode().split("\n")
        assert both[0] == both[1]
        for line, case in zip(found, cases, strict=False):
            expected = " ".join(f"{i}-{j}" for i, j in sorted(oracle(*case)))
            assert line == expected, (rule, case)


# Target word 1 has three links, target word 0 one, target word 2 none.
LINE = "3-1:0.25 2-1:0.5 5-1:0.1 0-0:1"


@pytest.mark.parametrize(
    ("rule", "layers"),
    [
        ("lowest", [[1, 3, 0]]),
        ("highest", [[1, 3, 0]]),
        ("last", [[1, 6, 0]]),
        ("mean", [[1, 3, 0], [0, 4, 0], [0, 6, 0]]),
    ],
)
def test_one_target_word_with_three_links_under_each_rule(rule, layers):
    links = parse_pharaoh(LINE.encode(), "x")
    assert many_to_one[rule].layers(links, np.array([3])).tolist() == layers


def test_random_links_agree_with_a_loop_over_them():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, 40)
    lines = [
        [(int(rng.integers(7)), int(rng.integers(size)), round(rng.random(), 3)) for _ in range(n)]
        for size, n in zip(sizes, rng.integers(0, 9, 40), strict=True)
    ]
    text = "\n".join(" ".join(f"{i}-{j}:{p:.3f}" for i, j, p in line) for line in lines) + "\n"
    links = parse_pharaoh(text.encode(), "x")
    starts = np.cumsum(sizes) - sizes
    expected = {rule: defaultdict(list) for rule in many_to_one}
    for start, line in zip(starts.tolist(), lines, strict=True):
        for j in {j for _, j, _ in line}:
            own = [(i, p) for i, target, p in line if target == j]
            expected["lowest"][start + j] = [min(i for i, _ in own)]
            expected["last"][start + j] = [own[-1][0]]
            expected["highest"][start + j] = [max(own, key=lambda one: (one[1], -one[0]))[0]]
            expected["mean"][start + j] = sorted({i for i, _ in own})
    for rule, oracle in expected.items():
        layers = many_to_one[rule].layers(links, sizes)
        found = [[x - 1 for x in column if x] for column in layers.T.tolist()]
        assert found == [oracle[item] for item in range(int(sizes.sum()))], rule


def test_a_combined_link_has_the_mean_of_both_directions_probabilities():
    forward = parse_pharaoh(b"0-0:0.5 1-1:0.25\n2-2:1\n", "f")
    reverse = parse_pharaoh(b"0-0:1 2-1:0.5\n\n", "r")
    every = {(0, 0, 0): 0.75, (0, 1, 1): 0.125, (0, 2, 1): 0.25, (1, 2, 2): 0.5}
    for rule, expected in (
        *(("union", every), ("gdfa", every)),
        ("intersection", {(0, 0, 0): 0.75}),
    ):
        both, _ = symmetrizations[rule](forward, reverse)
        found = zip(both.row, both.source, both.target, both.probability, strict=True)
        assert {(int(a), int(i), int(j)): p for a, i, j, p in found} == expected, rule


@pytest.fixture
def folder(tmp_path, helpers):
    """``folder(rule)``: four words a side; ``B`` has three source words in the first pair."""

    def make(rule, line="0-0:0.5 1-1:0.2 2-1:0.6 3-1:0.2", **changes):
        other = "0-1:1 1-0:1" if ":" in line else "0-1 1-0"
        text = ["a b c d", "a b"], ["A B C D", "B A"]
        changes = {"vocab_type": "word", **changes}
        return linked(tmp_path, helpers, *text, [line, other], many_to_one=rule, **changes)

    return make


def linked(tmp_path, helpers, left, right, links, **changes):
    """A data folder of these sides, named by its rule."""
    files = [helpers.write_lines(tmp_path / f"text.{k}", x) for k, x in enumerate((left, right))]
    sources = {
        "mono": [f"train.en={files[0]}", f"train.de={files[1]}"],
        "parallel": [f"train.en-de={files[0]},{files[1]}"],
        "alignment": [f"train.en-de={helpers.write_lines(tmp_path / 'links', links)}"],
    }
    return helpers.prepare_folder(tmp_path / changes["many_to_one"], sources, **changes)


def rows_of(path, pair=("en", "de"), most=20):
    data = DataFolder(path)
    sides = data.parallel("train", *pair)
    return Pairs(*sides, pair, most, data.order("train", *pair), data.further("train", *pair))


def test_a_data_folder_keeps_what_the_rule_has_chosen(folder):
    for rule, second in {"lowest": 2, "highest": 3, "last": 4, "mean": 2}.items():
        row = rows_of(folder(rule))[0]
        assert row.order.tolist() == [0, 1, second, -1, -1, 5]  # <s>, A, B, C, D, </s>
        if rule != "mean":
            assert row.further is None
    pairs = rows_of(folder("mean"))
    none = [-1, -1]
    assert pairs[0].further.tolist() == [none, none, [3, 4], none, none, none]
    assert pairs[1].further.shape == (4, 0)
    assert rows_of(folder("mean"), ("de", "en"))[0].further.shape == (6, 0)
    # A cut sentence loses its links to what is cut.
    assert rows_of(folder("mean"), most=5)[0].further.tolist() == [none, none, [3, -1], none, none]


def test_each_source_word_gives_a_subword_of_its_own(tmp_path, helpers):
    """Words of several pieces: the k-th of the target takes the k-th of each of its partners."""
    sides, changes = ("qrs tuv wx", "ijklmn op"), {"vocab_size": 30, "many_to_one": "mean"}
    texts = [[side] * 30 for side in sides]
    path = linked(tmp_path, helpers, *texts, ["0-0 2-0"] * 30, **changes)
    row = rows_of(path)[0]
    (first, second, third), (count, _) = (
        [len(pieces) - 1 for pieces in TextEncoder.load(path, lang).encode(text.split())]
        for lang, text in zip(("en", "de"), sides, strict=True)
    )
    assert count > 1
    start = 1 + first + second
    expected = [[1 + min(k, first - 1), start + min(k, third - 1)] for k in range(count)]
    found = [[row.order[1 + k], row.further[1 + k, 0]] for k in range(count)]
    assert found == expected


def test_fast_align_tells_how_probable_its_links_are(corpus, tmp_path, helpers):
    """Of the links of both directions, the more probable one is chosen."""
    how = {"vocab_type": "word", "vocab_size": 500, "aligner": "fast_align", "symmetrise": "union"}
    orders, parts = {}, {"folder": corpus}
    for rule in ("lowest", "highest", "last", "mean"):
        path = helpers.prepare_folder(tmp_path / rule, parts, many_to_one=rule, **how) / "parallel"
        orders[rule] = np.concatenate(list(TokenFile(path / "train.en-de.order")))
    assert (orders["lowest"] == orders["mean"]).all()
    for rule in ("highest", "last"):
        assert (orders[rule] > orders["lowest"]).any(), rule
    assert (orders["highest"] < orders["last"]).any()
    assert (orders["highest"] <= orders["last"]).all()  # links of a union are sorted by source
    several = TokenFile(path / "train.en-de.further")
    assert len(several) == 80 and (several.sizes > 0).any()


def test_what_a_rule_needs_and_cannot_have_is_refused_before_anything_is_written(
    folder, corpus, tmp_path, helpers
):
    with pytest.raises(UserError, match="unknown rule 'lowst'; did you mean 'lowest'"):
        folder("lowst")
    with pytest.raises(UserError, match=r"links:1: `--many-to-one highest` needs links with prob"):
        folder("highest", line="0-0 1-1")
    with pytest.raises(UserError, match="`--many-to-one highest` needs an aligner that gives prob"):
        helpers.prepare_folder(
            tmp_path / "highest", {"folder": corpus}, aligner="eflomal", many_to_one="highest"
        )
    assert not (tmp_path / "highest").exists()


@pytest.mark.parametrize("bad", ["0-0:1.5", "0-0:", "0-0:-1", "0-0:1e-3", "0-0"])
def test_a_malformed_probability_is_refused_with_file_and_line(bad):
    with pytest.raises(UserError, match=rf"x:3: links must look like 0-0:0\.5, got '{bad}'"):
        parse_pharaoh(f"0-0:1\n\n1-1:0.5 {bad}\n".encode(), "x")


def test_folders_of_older_versions_are_recognised(make_folder):
    settings = DataFolder(make_folder(vocab="union")).meta["settings"]
    assert "many_to_one" not in settings
