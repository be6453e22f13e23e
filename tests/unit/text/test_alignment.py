"""Word alignment of token files and of text files."""

import gzip

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.text import alignment
from fairseq_xling.text import writer as writer_module
from fairseq_xling.text.aligners import aligners
from fairseq_xling.text.alignment import PairAligner, align_files
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.link_rules import symmetrizations

PAIR = ("en", "de")


class Backwards:
    """An aligner that knows the planted answer: item j belongs to item n - 1 - j of n, here as
    many on both sides; each direction leaves out another item. Keeps what it was given."""

    aligns = True

    def __init__(self):
        self.seen = []

    def check(self):
        """Always there."""

    def align(self, source, target, forward, reverse, workers, report):
        rows = [x.read_text().splitlines() for x in (source, target)]
        self.seen.append([[line.split() for line in side] for side in rows])
        with open(forward, "w") as f, open(reverse, "w") as r:
            for left, right in zip(*self.seen[-1], strict=True):
                n = min(len(left), len(right))
                links = [f"{n - 1 - j}-{j}" for j in range(n)]
                f.write(" ".join(links[1:]) + "\n")
                r.write(" ".join(links[:-1]) + "\n")


def run(folder, work, unit, rule="none", aligner=None):
    stems = [folder / "parallel" / f"{split}.en-de" for split in ("train", "valid")]
    encoders = tuple(TextEncoder.load(folder, lang) for lang in PAIR)
    job = PairAligner(PAIR, stems, encoders, work, unit)
    aligner = aligner or Backwards()
    links = job.links(aligner, 1, lambda text: None)
    moved = []
    job.write_orders(links, symmetrizations[rule], [], moved.append)
    assert sum(moved) == 90
    return aligner, stems


def read(folder, split, name):
    return [x.tolist() for x in TokenFile(folder / "parallel" / f"{split}.{name}")]


@pytest.fixture
def folder(corpus, tmp_path, helpers):
    """The parallel text as whole words: each side is the other one backwards, in capitals."""
    return helpers.prepare_folder(
        tmp_path / "bin", {"folder": corpus}, vocab_type="word", vocab_size=500
    )


@pytest.mark.parametrize("unit", ["word", "subword"])
def test_each_direction_has_its_own_order(folder, tmp_path, unit):
    run(folder, tmp_path / "work", unit)
    for split in ("train", "valid"):
        sizes = [len(x) for x in read(folder, split, "en-de.de")]
        assert [len(x) for x in read(folder, split, "en-de.en")] == sizes
        expected = [[0, *range(n - 2, 0, -1), n] for n in sizes]
        assert read(folder, split, "en-de.order") == read(folder, split, "de-en.order") == expected


@pytest.mark.parametrize(
    ("rule", "missing"), [("intersection", {0, -2}), ("union", set()), ("gdfa", set())]
)
def test_both_directions_may_be_combined(folder, tmp_path, rule, missing):
    run(folder, tmp_path / "work", "word", rule)
    for order in read(folder, "valid", "en-de.order"):
        n = len(order)
        expected = [*range(n - 1, 0, -1), n]
        for k in missing:
            expected[k] = 0
        assert order == expected


def test_words_of_several_subwords_are_one_item_each(make_folder, tmp_path):
    folder = make_folder(vocab_size=60, seed=7)
    encoders = {lang: TextEncoder.load(folder, lang) for lang in PAIR}
    aligner, _ = run(folder, tmp_path / "work", "word")
    for side, lang in enumerate(PAIR):
        items = [*read(folder, "train", f"en-de.{lang}"), *read(folder, "valid", f"en-de.{lang}")]
        texts = [encoders[lang].decode(x).split() for x in items]
        assert sum(map(len, items)) > 2 * sum(map(len, texts)), "words of one subword prove little"
        seen = aligner.seen[0][side]
        assert [len(x) for x in seen] == [len(x) for x in texts]
        # The same word is the same number, another word another one.
        numbers = {
            (w, x) for ws, xs in zip(texts, seen, strict=True) for w, x in zip(ws, xs, strict=True)
        }
        assert len(numbers) == len({w for w, _ in numbers}) == len({x for _, x in numbers})


def test_subwords_are_items_by_their_ids(make_folder, tmp_path):
    folder = make_folder(vocab_size=60, seed=8)
    aligner, _ = run(folder, tmp_path / "work", "subword")
    items = [*read(folder, "train", "en-de.en"), *read(folder, "valid", "en-de.en")]
    assert aligner.seen[0][0] == [[str(x) for x in item[:-1]] for item in items]


def test_an_aligner_that_has_run_does_not_run_again(folder, tmp_path):
    aligner, _ = run(folder, tmp_path / "work", "word")
    before = read(folder, "train", "en-de.order")
    run(folder, tmp_path / "work", "word", aligner=aligner)
    assert len(aligner.seen) == 1
    assert read(folder, "train", "en-de.order") == before


@pytest.mark.parametrize("stop", [0, 1, 4, 7, 11])
def test_orders_that_were_cut_off_end_the_same(folder, tmp_path, monkeypatch, stop):
    run(folder, tmp_path / "whole", "word")
    whole = {p.name: p.read_bytes() for p in (folder / "parallel").glob("*.order.*")}
    for path in (folder / "parallel").glob("*.order.*"):
        path.unlink()
    monkeypatch.setattr(alignment, "_ROWS", 8)
    monkeypatch.setattr(writer_module, "_SYNC_BYTES", 0)
    append, calls = writer_module.ResumableFiles.append, []

    def cut(self, *args):
        if len(calls) == stop:
            raise KeyboardInterrupt
        calls.append(1)
        append(self, *args)

    monkeypatch.setattr(writer_module.ResumableFiles, "append", cut)
    with pytest.raises(KeyboardInterrupt):
        run(folder, tmp_path / "work", "word")
    monkeypatch.setattr(writer_module.ResumableFiles, "append", append)
    run(folder, tmp_path / "work", "word")
    assert {p.name: p.read_bytes() for p in (folder / "parallel").glob("*.order.*")} == whole


def test_only_what_has_no_ready_alignment_is_aligned(corpus, tmp_path, helpers, monkeypatch):
    monkeypatch.setitem(aligners._entries, "backwards", Backwards)
    lines = (corpus / "parallel" / "valid.en-de.en.txt").read_text().splitlines()
    links = helpers.write_lines(tmp_path / "v.pharaoh", ["0-0" for _ in lines])
    folder = helpers.prepare_folder(
        tmp_path / "bin",
        {"folder": corpus, "alignment": [f"valid.en-de={links}"]},
        vocab_type="word",
        vocab_size=500,
        aligner="backwards",
    )
    assert all(x[0] == 1 and not any(x[1:-1]) for x in read(folder, "valid", "en-de.order"))
    assert all(x[1] == len(x) - 2 for x in read(folder, "train", "en-de.order"))


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
    monkeypatch.setattr(alignment, "_ROWS", 16)
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


def test_files_that_cannot_be_aligned_are_refused(tmp_path, texts, helpers):
    long, output = texts[2][0], tmp_path / "o"
    short = helpers.write_lines(tmp_path / "c.txt", ["x", ""])
    blank = helpers.write_lines(tmp_path / "d.txt", ["", "y"])
    for files, out, message in (
        ((long, short), output, r"got 200 in .*a\.txt and 2 in .*c\.txt"),
        (texts[2], tmp_path, "`--output` must be a file, got the folder"),
        ((short, blank), output, "no line has text on both sides"),
    ):
        with pytest.raises(UserError, match=message):
            align_files(files, out)
