"""The benchmarks run, at a size that says nothing about speed."""

import json
import random
import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import launch, table_of

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
TINY = (
    *("--generated", "--lines", "300", "--vocab", "200", "--layers", "1", "--dim", "16"),
    *("--heads", "2", "--max-tokens", "512", "--seconds", "0.05", "--rounds", "1"),
    *("--threads", "1", "--num-workers", "0"),
)


def run(*arguments, script="mlm_throughput.py"):
    return launch(
        [sys.executable, ROOT / "benchmarks" / script, *arguments],
        cwd=ROOT,
    )


@pytest.mark.slow
def test_the_training_benchmark_prints_every_system_beside_the_limit(tmp_path):
    done = run(*TINY, "--work", tmp_path)
    assert done.returncode == 0, done.stderr
    cells = table_of(done.stdout)
    header, rows = cells[0], {row[0]: row for row in cells[2:]}
    assert set(rows) == {
        *("ours fp32", "ours --cpu-bf16", "stock fairseq fp32"),
        *("Hugging Face fp32", "Hugging Face bf16 autocast"),
        *("GEMM limit fp32", "GEMM limit bf16", "our batches alone"),
    }
    speed, padding = header.index("tokens/s"), header.index("padding")
    assert all(float(row[speed].replace(",", "")) > 0 for row in rows.values())
    assert all(float(rows[name][padding].rstrip("%")) < 5 for name in rows if "our" in name)
    # The same size everywhere but for a few vectors: position offset, segment table, biases.
    sizes = {row[header.index("params")] for row in rows.values()} - {""}
    assert len(sizes) <= 2, sizes


def test_a_missing_text_is_named_in_one_line(tmp_path):
    done = run("--text", "en=nowhere.txt", "--work", tmp_path)
    assert done.returncode == 1
    assert "nowhere.txt: no such file" in done.stderr.splitlines()[-1]


CDLM = (
    *("--vocab", "120", "--layers", "2", "--dim", "8", "--heads", "2", "--pairs", "4"),
    *("--micro", "2", "--seconds", "0.05", "--rounds", "1", "--threads", "1"),
    *("--num-workers", "0"),
)


@pytest.fixture
def bitext(tmp_path):
    rng = random.Random(1)
    for lang in ("en", "de"):
        words = [lang + "".join(rng.choices("abcde", k=3)) for _ in range(30)]
        lines = (" ".join(rng.choices(words, k=rng.randint(2, 9))) for _ in range(60))
        (tmp_path / f"train.{lang}").write_text("\n".join(lines) + "\n")
    return ("--text", tmp_path / "train.en", tmp_path / "train.de", "--work", tmp_path / "work")


@pytest.mark.slow
def test_the_cdlm_benchmark_feeds_one_model_in_two_ways(bitext):
    done = run(*CDLM, *bitext, "--count", "0", script="cdlm_training.py")
    assert done.returncode == 0, done.stderr
    header, _, *lines = table_of(done.stdout)
    rows = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    assert set(rows) == {
        f"{fed} {precision}"
        for fed in ("ours", "padded to 512")
        for precision in ("fp32", "--cpu-bf16")
    }
    ours, padded = rows["ours fp32"], rows["padded to 512 fp32"]
    assert float(ours["times"]) > 1 == float(padded["times"])
    # 512 places for each of eight int64 and two boolean tensors
    assert int(padded["bytes/pair"].replace(",", "")) >= 512 * (8 * 8 + 2)
    assert int(ours["bytes/pair"].replace(",", "")) < 512 * 66 / 10


@pytest.mark.slow
def test_the_cdlm_benchmark_shows_memory_for_ten_times_as_many_pairs(bitext):
    options = ("--count", "40000", "--batches", "20")
    done = run(*CDLM, *bitext, *options, script="cdlm_training.py")
    assert done.returncode == 0, done.stderr
    small, large, lists, _ = table_of(done.stdout)[-4:]
    assert (small[1], large[1]) == ("40,000", "400,000")
    assert float(large[2]) < float(small[2]) + 3  # megabytes
    assert float(lists[2]) > 512 * 8 * 3 * 2000 / 1e6 * 0.8


def test_the_rates_of_layers_and_of_their_products_are_printed():
    sizes = "--layers 1 --dim 16 --heads 2 --tokens 128 --vocab 100 --square 64 --rounds 1"
    done = run(*sizes.split(), "--lengths", "8,16", script="layers.py")
    assert done.returncode == 0, done.stderr
    names = [row[0] for row in table_of(done.stdout)[2:]]
    assert names[0] == "best product" and names[-2:] == ["layers, length 8", "layers, length 16"]
    assert sum("gradient of the weight" in name for name in names) == 5


GPU = ("--device", "cpu", "--scale", "tiny", "--num-workers", "0")


@pytest.mark.slow
def test_the_benchmark_of_a_gpu_runs_on_a_cpu(tmp_path):
    places = ("--work", tmp_path / "work", "--output", tmp_path / "found")
    done = run(*GPU, *places, script="gpu.py")
    assert done.returncode == 0, done.stderr
    cells = [row for row in table_of(done.stdout) if len(row) == 9]
    header, rows = cells[0], {row[0]: row for row in cells[2:]}
    assert set(rows) == {
        *("ours, sentences", "ours, sentences, --unpadded off", "ours, blocks"),
        *("ours, sentences, forward and backward alone", "a plain loop, blocks"),
        *("stock fairseq, sentences", "stock fairseq, blocks", "Hugging Face (sdpa), sentences"),
    }
    for name in ("first 3", "steady", "shapes"):
        assert all(float(row[header.index(name)].replace(",", "")) > 0 for row in rows.values())
    profile = [row for row in table_of(done.stdout) if len(row) == 4][2:]
    assert profile[0][0] == "all" and len(profile) > 10
    kept = json.loads((tmp_path / "found" / "gpu.json").read_text())["rows"]
    assert [row["system"] for row in kept] == list(rows)
    assert all(row["steps"] > 3 and not row["failed"] for row in kept)
    assert (tmp_path / "found" / "gpu.md").read_text() == done.stdout

    done = run(*GPU, *places[:2], "--limit", "0", script="gpu.py")
    assert done.stdout.count("not begun: the time was over") == len(rows)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")
def test_what_else_runs_on_a_gpu_runs_on_a_cpu(tmp_path):
    tiny = ("--scale", "tiny", "--work", tmp_path / "work")
    done = run("--prepare", *tiny, script="gpu_tasks.py")
    assert done.returncode == 0, done.stderr
    places = ("--device", "cpu", "--seconds", "0.1", "--output", tmp_path / "found")
    done = run(*tiny, *places, script="gpu_tasks.py")
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "found" / "gpu_tasks.json").read_text())["rows"]
    assert len(rows) == 16
    assert all(row["flops"] > 0 and row["steps"] > 0 and not row["failed"] for row in rows), rows
