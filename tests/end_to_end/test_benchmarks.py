"""The benchmarks run, at sizes that say nothing about speed or memory."""

import gzip
import json
import random
import sys
from pathlib import Path

import pytest

from tests.end_to_end.engine import checked, launch, table_of
from tests.tiny_sources import WORDS, write_folder

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
FAST = "--seconds 0.01 --rounds 1"


def command(script, options, *more):
    return [sys.executable, ROOT / "benchmarks" / f"{script}.py", *options.split(), *more]


def printed(script, options, *more):
    """What a benchmark that ends well writes."""
    return checked(command(script, options, *more), cwd=ROOT).stdout


def by_name(lines):
    """The rows of a table by what their first cell names, as cells by column."""
    header, _, *rows = lines
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


def number(cell):
    return float(cell.replace(",", "").rstrip("%"))


def test_a_missing_text_is_named_in_one_line(tmp_path):
    done = launch(command("mlm_throughput", "--text en=nowhere.txt --work", tmp_path), cwd=ROOT)
    assert done.returncode == 1
    assert "nowhere.txt: no such file" in done.stderr.splitlines()[-1]


# ---- training

LM = (
    "--generated --lines 300 --vocab 200 --layers 1 --dim 16 --heads 2 --max-tokens 512 "
    "--seconds 0.05 --rounds 1 --threads 1 --num-workers 0 --work"
)


def test_the_training_benchmark_prints_every_system_beside_the_limit(tmp_path):
    rows = by_name(table_of(printed("mlm_throughput", LM, tmp_path)))
    assert set(rows) == {
        *("ours fp32", "ours --cpu-bf16", "stock fairseq fp32"),
        *("Hugging Face fp32", "Hugging Face bf16 autocast"),
        *("GEMM limit fp32", "GEMM limit bf16", "our batches alone"),
    }
    assert all(number(row["tokens/s"]) > 0 for row in rows.values())
    assert all(number(rows[name]["padding"]) < 5 for name in rows if "our" in name)
    # The same size everywhere but for a few vectors: position offset, segment table, biases.
    sizes = {row["params"] for row in rows.values()} - {""}
    assert len(sizes) <= 2, sizes


CDLM = (
    "--vocab 120 --layers 2 --dim 8 --heads 2 --pairs 4 --micro 2 --seconds 0.05 --rounds 1 "
    "--threads 1 --num-workers 0"
)


@pytest.fixture
def bitext(tmp_path):
    rng = random.Random(1)
    for lang in ("en", "de"):
        words = [lang + "".join(rng.choices("abcde", k=3)) for _ in range(30)]
        lines = (" ".join(rng.choices(words, k=rng.randint(2, 9))) for _ in range(60))
        (tmp_path / f"train.{lang}").write_text("\n".join(lines) + "\n")
    return ("--text", tmp_path / "train.en", tmp_path / "train.de", "--work", tmp_path / "work")


def test_the_cdlm_benchmark_feeds_one_model_in_two_ways(bitext):
    rows = by_name(table_of(printed("cdlm_training", f"{CDLM} --count 0", *bitext)))
    assert set(rows) == {
        f"{fed} {precision}"
        for fed in ("ours", "padded to 512")
        for precision in ("fp32", "--cpu-bf16")
    }
    ours, padded = rows["ours fp32"], rows["padded to 512 fp32"]
    assert float(ours["times"]) > 1 == float(padded["times"])
    # 512 places for each of eight int64 and two boolean tensors
    assert number(padded["bytes/pair"]) >= 512 * (8 * 8 + 2)
    assert number(ours["bytes/pair"]) < 512 * 66 / 10


def test_the_cdlm_benchmark_shows_memory_for_ten_times_as_many_pairs(bitext):
    lines = table_of(printed("cdlm_training", f"{CDLM} --count 40000 --batches 20", *bitext))
    small, large, lists, _ = lines[-4:]
    assert (small[1], large[1]) == ("40,000", "400,000")
    assert float(large[2]) < float(small[2]) + 3  # megabytes
    assert float(lists[2]) > 512 * 8 * 3 * 2000 / 1e6 * 0.8


def test_the_rates_of_layers_and_of_their_products_are_printed():
    sizes = "--layers 1 --dim 16 --heads 2 --tokens 128 --vocab 100 --square 64 --rounds 1"
    names = [row[0] for row in table_of(printed("layers", f"{sizes} --lengths 8,16"))[2:]]
    assert names[0] == "best product" and names[-2:] == ["layers, length 8", "layers, length 16"]
    assert sum("gradient of the weight" in name for name in names) == 5


def test_every_way_to_keep_memory_has_a_curve_over_the_same_updates(tmp_path):
    ways = "as it is,trimmed every 20 updates"
    sizes = "--layers 1 --dim 16 --heads 2 --vocab 200 --max-tokens 256 --lines 200"
    places = ("--ways", ways, "--work", tmp_path, "--figure", tmp_path / "curves.png")
    lines = table_of(printed("cpu_memory", f"{sizes} --updates 6 --points 2", *places))
    header, _, *rows = lines
    assert header == ["way", "1", "3", "6", "updates/s"]
    assert [row[0] for row in rows] == ways.split(",")
    assert all(50 < number(cell) < 5000 for row in rows for cell in row[1:4])
    assert (tmp_path / "curves.png").stat().st_size > 1000


@pytest.mark.parametrize("more", ["", " --unpadded"])
def test_sentences_blocks_and_pairs_are_counted(more):
    sizes = f"--sentences 60 --vocab 100 --max-tokens 600 {FAST}"
    rows = by_name(table_of(printed("feed", sizes + more)))
    pairs = {f"{name}, pairs" for name in ("tlm", "cdlm", "translation")}
    assert set(rows) == pairs | {"mlm, sentences", "mlm, blocks"}
    assert 8 < float(rows["mlm, sentences"]["tokens a row"]) < 16
    assert 100 < float(rows["mlm, blocks"]["tokens a row"]) <= 256
    for row in rows.values():
        assert number(row["tokens/s"]) * float(row["us a row"]) == pytest.approx(
            1e6 * float(row["tokens a row"]), rel=0.05
        )


GPU = "--device cpu --scale tiny --num-workers 0 --work"


def test_the_benchmark_of_a_gpu_runs_on_a_cpu(tmp_path):
    output = printed("gpu", GPU, tmp_path / "work", "--output", tmp_path / "found")
    rows = by_name([row for row in table_of(output) if len(row) == 9])
    assert set(rows) == {
        *("ours, sentences", "ours, sentences, --unpadded off", "ours, blocks"),
        *("ours, sentences, forward and backward alone", "a plain loop, blocks"),
        *("stock fairseq, sentences", "stock fairseq, blocks", "Hugging Face (sdpa), sentences"),
    }
    for name in ("first 3", "steady", "shapes"):
        assert all(number(row[name]) > 0 for row in rows.values())
    profile = [row for row in table_of(output) if len(row) == 4][2:]
    assert profile[0][0] == "all" and len(profile) > 10
    kept = json.loads((tmp_path / "found" / "gpu.json").read_text())["rows"]
    assert [row["system"] for row in kept] == list(rows)
    assert all(row["steps"] > 3 and not row["failed"] for row in kept)
    assert (tmp_path / "found" / "gpu.md").read_text() == output

    done = launch(command("gpu", GPU, tmp_path / "work", "--limit", "0"), cwd=ROOT)
    assert done.stdout.count("not begun: the time was over") == len(rows)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")
def test_what_else_runs_on_a_gpu_runs_on_a_cpu(tmp_path):
    tiny = ("--work", tmp_path / "work")
    printed("gpu_tasks", "--prepare --scale tiny", *tiny)
    places = (*tiny, "--output", tmp_path / "found")
    printed("gpu_tasks", "--scale tiny --device cpu --seconds 0.1", *places)
    rows = json.loads((tmp_path / "found" / "gpu_tasks.json").read_text())["rows"]
    assert len(rows) == 16
    assert all(row["flops"] > 0 and row["steps"] > 0 and not row["failed"] for row in rows), rows


# ---- translation and searches

TRANSLATION = (
    "--sentences 16 --batch-size 8 --layers 2 --dim 16 --heads 2 --vocab 300 --threads 1 "
    "--rounds 1 --held-out 40 --work"
)
OURS = ("identity", "predicted x1", "predicted x2", "predicted x3", "ctc x2", "ctc x2 top")


def test_every_system_is_printed_beside_the_bare_encoder_and_beam_search(tmp_path):
    pytest.importorskip("ctranslate2")
    output = printed("generation", TRANSLATION, tmp_path)
    cells = table_of(output)
    rows = by_name(cells)
    assert cells[0][1] == "sentences/s"
    assert set(rows) == {
        *(f"bare encoder {kind}" for kind in ("fp32", "bf16")),
        *(f"ours {name} {kind}" for name in OURS for kind in ("fp32", "bf16", "int8")),
        *(f"stock {search} fp32" for search in ("greedy", "beam 5")),
        *(f"CTranslate2 {s} {kind}" for s in ("greedy", "beam 5") for kind in ("fp32", "int8")),
    }
    for name, row in rows.items():
        speed = number(row["sentences/s"])
        assert speed > 0
        for base, column in (
            (f"bare encoder {'bf16' if 'bf16' in name else 'fp32'}", "x bare"),
            ("stock beam 5 fp32", "x beam 5"),
        ):
            expected = speed / number(rows[base]["sentences/s"])
            assert float(row[column]) == pytest.approx(expected, rel=0.01, abs=0.006)
    assert "16 sentences in batches of 8" in output


def test_trees_are_decoded_beside_plain_python_for_random_and_peaked_scores():
    output = printed("mst", f"--sentences 24 --batch-size 8 --threads 1 {FAST}")
    rows = {row[0]: row[1:] for row in table_of(output)[2:]}
    systems = ("ours", "ours, never greedy", "plain Python")
    assert set(rows) == {f"{kind}: {name}" for kind in ("random", "peaked") for name in systems}
    for name, (milliseconds, _, times) in rows.items():
        peer = float(rows[f"{name.split(':')[0]}: plain Python"][0])
        assert float(times) == pytest.approx(peer / float(milliseconds), rel=0.05, abs=0.06)
    assert "24 sentences of" in output


def test_our_beam_is_printed_beside_the_same_beam_in_plain_python_for_both_orders():
    sizes = "--sentences 10 --key-points 9 --beam 3 --batch-size 4 --threads 1"
    output = printed("order_search", f"{sizes} {FAST}")  # it checks that both find the same orders
    rows = {row[0]: row[1:] for row in table_of(output)[2:]}
    for kind, other in (("absolute", "hungarian"), ("relative", "local")):
        names = ("beam 3", "beam 3, plain Python", "greedy", other)
        assert set(rows) >= {f"{kind}: {name}" for name in names}
        plain = rows[f"{kind}: beam 3, plain Python"]
        assert plain[2] == "1.0"
        assert plain[3] == rows[f"{kind}: beam 3"][3]  # the same bigrams are kept
        for name in names:
            rate, _, times, kept = rows[f"{kind}: {name}"]
            ratio = number(rate) / number(plain[0])
            assert float(times) == pytest.approx(ratio, rel=0.05, abs=0.06)
            assert 0 < float(kept) <= 1
    assert "10 sentences of 9 key-points" in output


def test_every_kind_of_products_is_near_those_of_torch():
    sizes = "--layers 2 --dim 32 --heads 2 --sentences 4 --length 5"
    rows = table_of(printed("reading_layers", f"{sizes} {FAST}"))[2:]
    kinds = ["torch fp32", "oneDNN fp32", "torch bf16", "oneDNN bf16"]
    assert [row[0] for row in rows] == [*kinds, "8 bits, scales by row", "8 bits, known ranges"]
    errors = [float(row[4]) for row in rows]
    assert errors[0] == 0
    assert errors[1] < 1e-5
    assert all(0 < error < 0.03 for error in errors[2:])


def test_every_system_finds_the_best_that_brute_force_finds(tmp_path):
    sizes = "--size 400 --width 12 --k 5 --chunk 64 --clusters 30 --noise 0.5 --threads 1"
    output = printed("retrieval", f"{sizes} --sample 40 --systems ours,sorting --work", tmp_path)
    rows = by_name(table_of(output))
    assert set(rows) == {"ours", "torch, topk of each block"}
    for row in rows.values():
        assert row["exact"] == "40 of 40" and row["as ours"] == "100.000%"
        assert 0.2 < float(row["P@1"]) <= 1
        assert 50 < number(row["peak MiB"]) < 2000
    assert 1 <= float(rows["ours"]["passes"]) < 2
    assert "GEMM limit" in output


# ---- text, states and heads


def test_links_of_words_are_scored_against_planted_ones(tmp_path):
    rng, words = random.Random(3), WORDS[:8]
    signs = dict(zip(words, "一二三四五六七八", strict=True))
    texts = [rng.choices(words, k=rng.randint(3, 8)) for _ in range(420)]
    lines = [f"{' '.join(text)}\t{''.join(map(signs.get, text))}" for text in texts]
    asked = [f"{' '.join(map(signs.get, text))} ||| {' '.join(text)}" for text in texts[:20]]
    links = [" ".join(f"{i}-{i}" for i, _ in enumerate(text, 1)) for text in texts[:20]]
    for name, made in (("pairs.tsv", lines), ("text", asked), ("links", links)):
        with gzip.open(tmp_path / f"{name}.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(made) + "\n")
    files = [*("--gold", tmp_path / "text.gz", tmp_path / "links.gz", "--vocab-size", "40")]
    files += ["--pairs", f"{tmp_path / 'pairs.tsv.gz'}:1,0", "--work", tmp_path / "work"]
    write_folder(tmp_path / "tiny", "bert", max_position_embeddings=300)
    files += ["--source", tmp_path / "tiny", "--source-layer", "1"]
    rows = by_name(table_of(printed("word_alignment", "--updates 2 --seeds 1", *files)))
    scores = {name: float(row["AER, %"].split()[0]) for name, row in rows.items()}
    assert scores["chance: the same place"] == 0  # as planted
    assert scores["fast_align, intersection"] < 5 < 40 < scores["chance: random words"]
    assert scores["tiny, Chinese linked, intersection"] < 40
    assert 0 <= scores["encoder, MLM and TLM, itermax"] < 100


def test_chunks_give_the_cka_of_all_rows_in_memory_that_does_not_grow(tmp_path):
    sizes = "--rows 1000,40000 --width 24 --chunk 256 --threads 1 --work"
    header, _, *lines = table_of(printed("cka", sizes, tmp_path))
    rows = {tuple(line[:2]): dict(zip(header, line, strict=True)) for line in lines}
    chunks, whole = (
        [rows[system, size] for size in ("1,000", "40,000")]
        for system in ("ours, in chunks", "numpy, all rows at once")
    )
    for one, other in zip(chunks, whole, strict=True):
        assert 0.1 < float(one["CKA"]) < 0.9
        assert abs(float(one["CKA"]) - float(other["CKA"])) < 1e-11
    # 7 MiB of files, 15 in double precision
    assert float(chunks[1]["memory, MiB"]) < float(whole[1]["memory, MiB"]) - 8
    assert not list((tmp_path / "cka").iterdir())


def test_every_part_of_shards_has_a_rate_and_the_bill_is_in_proportion(tmp_path):
    sizes = "--megabytes 0.4 --shards 2 --vocab-size 400 --align-sample 0.02 --terabytes 2"
    options = f"{sizes} --languages 3 --shard-gigabytes 10 --work"
    output = printed("prepare_shards", options, tmp_path)
    rows = by_name(table_of(output))
    assert list(rows) == ["models", "shard0", "shard1", "reading (of models)"]
    for part in ("models", "shard0", "shard1"):
        assert float(rows[part]["MB/s"]) > 0 and float(rows[part]["peak MB"]) > 20
    shards = [rows[part] for part in ("shard0", "shard1")]
    text = sum(float(row["MB of text"]) for row in shards)
    disk = sum(float(row["disk MB"]) for row in shards)
    said = dict(line.split(": ", 1) for line in output.splitlines()[-5:])
    assert float(said["disk"].split()[0]) == pytest.approx(2 * disk / text, rel=0.3)
    each = 2 * 3 + 8 * 2 + 3  # text of three languages, two pairs with links, three files more
    assert said["files"] == f"{200 * each:,} ({each} of a shard)"
    assert int(rows["shard1"]["files"]) == 2 * 2 + 8 + 3  # of two languages
    assert not list(tmp_path.iterdir())


def test_graph_convolution_is_printed_beside_a_loop_over_sentences():
    sizes = "--sentences 6 --batch-size 3 --vectors 4 --width 6 --threads 1"
    output = printed("structures", f"{sizes} {FAST}")
    rows = {row[0]: row[1:] for row in table_of(output)[2:]}
    assert len(rows) == 5 and rows["collation, ours"][2] == ""
    for part in ("training", "prediction"):
        rate, _, times = rows[f"{part}, ours"]
        peer = float(rows[f"{part}, a loop over sentences"][0])
        assert float(times) == pytest.approx(float(rate) / peer, rel=0.05, abs=0.1)
    assert "6 sentences of" in output


def test_taggers_and_a_loop_find_the_same_tags_and_are_timed():
    output = printed("tagging", f"--sentences 8 --batch-size 4 --hidden 8 --threads 1 {FAST}")
    parts = ("prediction", "training")
    wanted = {f"{part}: {s}" for part in parts for s in ("ours", "a sentence at a time")}
    assert wanted <= {row[0] for row in table_of(output)}
