import gzip

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.text import align_files as module
from fairseq_xling.text.align_files import align_files


@pytest.fixture
def texts(tmp_path, helpers):
    """A text and its translation word by word; some lines have an empty side."""
    left = helpers.sentences(2, 200, words=30)
    right = [line.upper() for line in left]
    left[3], right[7], left[9], right[9] = "", " ", "", ""
    files = tmp_path / "a.txt", tmp_path / "b.txt"
    for path, lines in zip(files, (left, right), strict=True):
        helpers.write_lines(path, lines)
    return left, right, files


def test_links_are_written_line_by_line_with_gaps_left_empty(tmp_path, texts, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 16)
    left, right, files = texts
    written = {}
    for kind in ("fwd", "rev", "intersection", "union", "gdfa"):
        align_files(files, tmp_path / "out" / kind, kind)
        written[kind] = (tmp_path / "out" / kind).read_text().split("\n")
        assert len(written[kind]) == 201
        assert [k for k, line in enumerate(written[kind][:-1]) if not line] == [3, 7, 9]
    rows = {kind: [set(line.split()) for line in lines] for kind, lines in written.items()}
    for f, r, i, u, g in zip(*rows.values(), strict=True):
        assert i == f & r and u == f | r and i <= g <= u
    right_ones = [
        found == {f"{k}-{k}" for k in range(len(a.split()))}
        for found, a, b in zip(rows["fwd"], left, right, strict=False)
        if a and b.strip()
    ]
    assert sum(right_ones) > 0.9 * len(right_ones)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(written)


def test_words_are_counted_after_segmentation(tmp_path):
    lines = [("dog, cat", "我你，他"), ("cat", "他"), ("dog", "我")] * 40
    files = tmp_path / "a.txt.gz", tmp_path / "b.txt.gz"
    for k, path in enumerate(files):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write("".join(pair[k] + "\n" for pair in lines))
    counts = align_files(files, tmp_path / "o", "union", segmentation=("space", "char"))
    links = (tmp_path / "o").read_text().split("\n")
    assert counts == {"lines": 120, "links": sum(len(line.split()) for line in links)}
    assert {"2-3"} <= set(links[0].split())
    assert links[1] == "0-0"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": "forward"}, "unknown `--links` 'forward'"),
        ({"aligner": "none"}, "`--aligner` must be one that aligns, got 'none'"),
        ({"aligner": "giza"}, "unknown aligner 'giza'"),
        ({"segmentation": ("pre", "chars")}, "unknown segmentation 'chars'"),
    ],
)
def test_unknown_names_are_refused(tmp_path, texts, changes, message):
    with pytest.raises(UserError, match=message):
        align_files(texts[2], tmp_path / "o", **changes)
    assert not (tmp_path / "o").exists()


def test_files_of_different_length_are_refused_with_both_counts(tmp_path, texts):
    short = tmp_path / "c.txt"
    short.write_text("x\ny\n")
    with pytest.raises(UserError, match=r"got 200 in .*a\.txt and 2 in .*c\.txt"):
        align_files((texts[2][0], short), tmp_path / "o")


def test_a_folder_as_output_is_refused(tmp_path, texts):
    with pytest.raises(UserError, match="`--output` must be a file, got the folder"):
        align_files(texts[2], tmp_path)


def test_text_without_a_whole_pair_is_refused(tmp_path):
    (tmp_path / "a").write_text("x\n\n")
    (tmp_path / "b").write_text("\ny\n")
    with pytest.raises(UserError, match="no line has text on both sides"):
        align_files((tmp_path / "a", tmp_path / "b"), tmp_path / "o")
