"""`fairseq-xling prepare` and `align` as a user calls them."""

import shutil
import subprocess
import time
import unicodedata
from pathlib import Path

import psutil
import pytest

from fairseq_xling.cli import main
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.text.encoder import TextEncoder
from tests.end_to_end.engine import BIN, launch

REAL = Path(__file__).parents[3] / "shared" / "data"
COMMAND = [BIN / "fairseq-xling"]


def call(*arguments, timeout=300):
    return launch([*COMMAND, *map(str, arguments)], timeout=timeout)


def content(folder: Path) -> dict[str, bytes]:
    """Every file, hidden ones too."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    """English, German and Chinese as `synthesize` writes them."""
    folder = tmp_path_factory.mktemp("text") / "corpus"
    done = call(
        *["synthesize", folder, "--languages", "en,de,zh", "--sentences", 600, "--held-out", 60],
        *["--parallel-sentences", 300],
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_a_synthetic_corpus_becomes_a_data_folder_with_its_gold_alignment(text, tmp_path):
    out = tmp_path / "bin"
    command = ["prepare", out, "--languages", "en,de,zh", "--from", text, "--vocab", "union"]
    command += ["--vocab-size", 900, "--segment", "zh=char"]
    done = call(*command)
    assert done.returncode == 0, done.stderr
    assert "parallel/train.en-zh: 300 pairs" in done.stdout
    assert "100%" in done.stderr
    folder = DataFolder(out)
    assert folder.languages == ["en", "de", "zh"]
    assert folder.anchors("en") and folder.anchors("zh")
    for other in ("de", "zh"):
        source, target = folder.parallel("train", "en", other)
        for order, x, y in (
            (folder.order("train", "en", other), source, target),
            (folder.order("train", other, "en"), target, source),
        ):
            assert len(order) == len(x) == len(y) == 300
            for k in range(300):
                assert len(order[k]) == len(y[k])
                assert order[k][-1] == len(x[k]) and order[k].max() <= len(x[k])
    encoder = TextEncoder.load(out, "zh")
    for line in (text / "mono" / "train.zh.txt").read_text(encoding="utf-8").split("\n")[:20]:
        expected = unicodedata.normalize("NFKC", line)
        assert encoder.decode(encoder.encode([line])[0]) == expected

    before = content(out)
    start = time.perf_counter()
    again = call(*command)
    assert again.returncode == 0 and again.stdout == done.stdout
    assert again.stderr == "" and time.perf_counter() - start < 10
    other = call(*command, "--seed", 2)
    assert other.returncode == 1
    assert other.stderr.strip().splitlines() == [
        f"fairseq-xling: error: {out}: was prepared with `--seed` 1, not 2; choose another folder, "
        "or add --overwrite to start anew"
    ]
    assert content(out) == before


@pytest.mark.parametrize("kind", ["fwd", "gdfa"])
def test_align_writes_links_that_prepare_reads(text, tmp_path, kind):
    sides = [text / "parallel" / f"train.en-de.{lang}.txt" for lang in ("en", "de")]
    links = tmp_path / "links.pharaoh"
    done = call("align", kind, *sides, "--output", links)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{links}: ") and "of 300 sentence pairs" in done.stdout
    done = call(
        *["prepare", tmp_path / "bin", "--languages", "en,de", "--vocab-size", 300],
        *["--parallel", f"train.en-de={sides[0]},{sides[1]}"],
        *["--alignment", f"train.en-de={links}"],
    )
    assert done.returncode == 0, done.stderr
    assert len(DataFolder(tmp_path / "bin").order("train", "en", "de")) == 300


@pytest.fixture
def files(tmp_path):
    """Two small texts and options that prepare them."""
    folder = tmp_path / "in"
    folder.mkdir()
    for lang, words in (("en", "the dog sees a cat"), ("de", "der hund sieht eine katze")):
        (folder / f"{lang}.txt").write_text(f"{words}\n" * 40, encoding="utf-8")
    (folder / "latin1.txt").write_bytes("gut\nsch\xf6n\n".encode("latin-1"))
    (folder / "empty.txt").write_bytes(b"")
    (folder / "short.txt").write_text("eins\nzwei\n")
    (folder / "bad.pharaoh").write_text("0-0\n" * 38 + "0-1 0-9\n0-0\n")
    (folder / "odd.pharaoh").write_text("0-0\n" * 38 + "0-0\n0_0\n")
    (folder / "few.pharaoh").write_text("0-0\n")
    (folder / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00broken")
    (folder / "bad.tsv").write_text("dog\thund\ncat\n")
    return folder


MONO = ["--mono", "train.en={0}/en.txt", "--mono", "train.de={0}/de.txt"]
BOTH = ["--parallel", "train.en-de={0}/en.txt,{0}/de.txt"]


@pytest.mark.parametrize(
    ("languages", "options", "message"),
    [
        ("en,de", ["--mono", "train.en={0}/no.txt", *BOTH], "/no.txt: no such file"),
        ("en,de", ["--mono", "train.en={0}/empty.txt", *BOTH], "/empty.txt: is empty"),
        ("en,de", ["--mono", "train.en={0}/latin1.txt", *BOTH], "/latin1.txt:2: not UTF-8"),
        ("en,de", ["--mono", "train.en={0}/cut.gz", *BOTH], "/cut.gz: damaged gzip file"),
        (
            "en,de",
            ["--parallel", "train.en-de={0}/en.txt,{0}/short.txt"],
            "parallel files must have equally many lines, got 40 in {0}/en.txt and 2 in {0}/short",
        ),
        ("en,d-e", MONO, "language code 'd-e' in 'en,d-e' must be letters"),
        ("en,de", MONO[:2], "no training text of language 'de'"),
        (
            "en,de",
            [*BOTH, "--alignment", "train.en-de={0}/bad.pharaoh"],
            "/bad.pharaoh:39: link 0-9 points past the 5 word(s) of the target sentence, with "
            "words counted after `--segment en=pre,de=pre`",
        ),
        (
            "en,de",
            [*BOTH, "--alignment", "train.en-de={0}/odd.pharaoh"],
            "/odd.pharaoh:40: links must look like 0-0, got '0_0'",
        ),
        (
            "en,de",
            [*BOTH, "--alignment", "train.en-de={0}/few.pharaoh"],
            "/few.pharaoh: needs a line for each of 40 sentence pairs, got 1",
        ),
        (
            "en,de",
            [*BOTH, "--aligner", "fast_align_binary"],
            "needs the program 'fast_align' on PATH",
        ),
        ("en,de", [*MONO, "--dictionary", "en-de={0}/bad.tsv"], "/bad.tsv:2: must be source TAB"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    files, tmp_path, monkeypatch, capsys, languages, options, message
):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    options = [option.format(files) for option in options]
    assert main(["prepare", str(tmp_path / "out"), "--languages", languages, *options]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("fairseq-xling: error: ") and message.format(files) in line
    assert not (tmp_path / "out").exists()


def test_a_vocabulary_too_small_for_its_alphabet_leaves_nothing(files, tmp_path):
    options = [option.format(files) for option in MONO]
    options += ["--vocab-size", "9", "--alphabet", "30"]
    done = call("prepare", tmp_path / "out", "--languages", "en,de", *options)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == (
        "fairseq-xling: error: `--vocab-size` must be at least the alphabet of en+de "
        "(16 characters), got 9; raise it, or lower `--alphabet`"
    )
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_one_line_and_the_next_run_goes_on(text, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=420k", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small file system to fill needs the right to mount one")
    try:
        options = ["--languages", "en,de", "--vocab", "union", "--vocab-size", 500]
        options += [f"--mono=train.{x}={text}/mono/train.{x}.txt" for x in ("en", "de")]
        options += [f"--mono=valid.{x}={text}/mono/train.{x}.txt" for x in ("en", "de")]
        options += [f"--mono=test.{x}={text}/mono/train.{x}.txt" for x in ("en", "de")]
        assert call("prepare", tmp_path / "whole", *options).returncode == 0
        done = call("prepare", disk / "bin", *options)
        assert done.returncode == 1
        last = done.stderr.strip().splitlines()[-1]
        assert "no space left on device while writing" in last and "Traceback" not in done.stderr
        assert (disk / "bin" / "sentencepiece.en.model").exists()
        assert not (disk / "bin" / "meta.json").exists()
        subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
        assert call("prepare", disk / "bin", *options).returncode == 0
        assert content(disk / "bin") == content(tmp_path / "whole")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def peak_memory(command) -> float:
    """Largest resident size in MB of a command and its children together."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    root, peak = psutil.Process(process.pid), 0
    while process.poll() is None:
        try:
            each = [root, *root.children(recursive=True)]
            peak = max(peak, sum(p.memory_info().rss for p in each))
        except psutil.NoSuchProcess:
            continue
        time.sleep(0.02)
    assert process.returncode == 0
    return peak / 1e6


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(tmp_path):
    """Peak within 10 % between 10 MB and 200 MB of sentences of made-up words."""
    from benchmarks.prepare_throughput import write_corpus

    peaks = []
    for megabytes in (10, 200):
        for k, lang in enumerate(("en", "de")):
            write_corpus(tmp_path / f"{lang}.txt", megabytes / 2, None, k)
        mono = [f"--mono=train.{x}={tmp_path}/{x}.txt" for x in ("en", "de")]
        out = tmp_path / f"bin{megabytes}"
        peaks.append(peak_memory([*COMMAND, "prepare", str(out), "--languages", "en,de", *mono]))
    assert peaks[1] < 1.1 * peaks[0], peaks


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real text at {REAL}")
def test_real_german_and_english_captions_align_well_enough(tmp_path):
    """multi30k: the alphabet keeps to its limit, little is unknown, few words stay unaligned."""
    data = REAL / "multi30k"
    done = call(
        *["prepare", tmp_path / "bin", "--languages", "en,de", "--vocab-size", 8000],
        *["--parallel", f"train.en-de={data}/train.en.gz,{data}/train.de.gz"],
        *["--parallel", f"valid.en-de={data}/val.en.gz,{data}/val.de.gz"],
        *["--segment", "en=space,de=space", "--alphabet", "100", "--align-unit", "word"],
    )
    assert done.returncode == 0, done.stderr
    folder = DataFolder(tmp_path / "bin")
    symbols = (tmp_path / "bin" / "dict.txt").read_text(encoding="utf-8").split("\n")[2:-1]
    assert len(set("".join(line.rpartition(" ")[0] for line in symbols))) <= 100
    counts = folder.meta["parallel"]["valid"]["en-de"]
    assert sum(counts["unknown"].values()) < 0.001 * sum(counts["tokens"].values())
    order = folder.order("valid", "en", "de")
    assert (order.tokens == 0).mean() < 0.15
