"""The benchmarks run, at a size that says nothing about speed."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TINY = (
    *("--generated", "--lines", "300", "--vocab", "200", "--layers", "1", "--dim", "16"),
    *("--heads", "2", "--max-tokens", "512", "--seconds", "0.05", "--rounds", "1"),
    *("--threads", "1", "--num-workers", "0"),
)


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "ignore", ROOT / "benchmarks" / "mlm_throughput.py", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


def test_the_training_benchmark_prints_every_system_beside_the_limit(tmp_path):
    done = run(*TINY, "--work", tmp_path)
    assert done.returncode == 0, done.stderr
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in done.stdout.splitlines()
        if line.startswith("|")
    ]
    header, rows = cells[0], {row[0]: row for row in cells[2:]}
    assert set(rows) == {
        *("ours fp32", "ours --cpu-bf16", "stock fairseq fp32"),
        *("Hugging Face fp32", "Hugging Face bf16 autocast"),
        *("GEMM limit fp32", "GEMM limit bf16"),
    }
    speed, padding = header.index("tokens/s"), header.index("padding")
    assert all(float(row[speed].replace(",", "")) > 0 for row in rows.values())
    assert all(float(rows[name][padding].rstrip("%")) < 5 for name in rows if "ours" in name)
    # The same size everywhere but for a few vectors: position offset, segment table, biases.
    sizes = {row[header.index("params")] for row in rows.values()} - {""}
    assert len(sizes) <= 2, sizes


def test_a_missing_text_is_named_in_one_line(tmp_path):
    done = run("--text", "en=nowhere.txt", "--work", tmp_path)
    assert done.returncode == 1
    assert "nowhere.txt: no such file" in done.stderr.splitlines()[-1]
