"""The demonstration at its tiny scale, through the real command."""

import csv
import json
import re
import subprocess
import time

import psutil
import pytest

from fairseq_xling.precision import cpu_has_bf16
from tests.end_to_end.engine import BIN, environment, run

# The whole demonstration is one fixture, which counts for the first test that asks for it.
pytestmark = pytest.mark.timeout(1500)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder of a run and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "runs" / "demo"
    done = run("fairseq-xling", "demo", "--scale", "tiny", "--output", str(folder))
    return folder, done.stdout


def table_of(printed):
    return [line for line in printed.splitlines() if " retrieval, " in line]


def test_the_table_stands_beside_chance(demo):
    _, printed = demo
    assert len(table_of(printed)) == 3
    line = table_of(printed)[0]
    shared, separate, chance, times = line.split("best layer")[1].split()[:4]
    assert float(chance) == 0.01
    assert float(shared) > 2 * float(separate)  # even 40 steps show the way
    assert float(times) >= 2


def test_every_step_is_reported_and_training_shows_its_loss(demo):
    folder, printed = demo
    for step in ("synthesize", "prepare-union", "train-default", "eval-separate", "report"):
        assert f"] {step}: done in" in printed
    assert "report: " in printed
    assert str(folder / "report.html") in printed


def test_the_report_and_its_numbers_are_there(demo):
    folder, _ = demo
    html = (folder / "report.html").read_text(encoding="utf-8")
    for title in ("Loss per language", "Retrieval over training", "Nearest words", "commands"):
        assert title in html
    assert html.count("<svg") == 3
    assert "fairseq-train" in html
    results = json.loads((folder / "results.json").read_text())
    assert len(results["models"]["default"]["layers"]) == 5
    assert len(results["models"]["default"]["over_training"]) == 2
    assert results["models"]["separate"]["parameters"] > results["models"]["default"]["parameters"]
    with open(folder / "curves.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    curves = {(row["model"], row["split"], row["curve"]) for row in rows}
    assert ("default", "valid", "mlm_en_ppl") in curves
    assert ("separate", "train", "mlm_de_loss") in curves


def test_the_results_name_the_precision_that_every_training_had(demo):
    folder, printed = demo
    chosen = "bf16" if cpu_has_bf16() else "fp32"
    assert printed.startswith(f"precision: {chosen}, chosen for this machine\n")
    results = json.loads((folder / "results.json").read_text())
    assert results["settings"]["precision"] == chosen
    for run_folder in (folder, folder / "migration", folder / "transfer" / "pos"):
        kept = json.loads((run_folder / "precision.json").read_text())
        assert kept == {"device": "cpu", "precision": chosen}
    commands = (folder / "migration" / "commands.sh").read_text()
    assert ("--cpu-bf16" in commands) == (chosen == "bf16")


def test_the_english_half_migrates_and_translates_in_every_order(demo):
    folder, printed = demo
    assert "] migrate: done in" in printed
    for title in ("the paper's", "predicted", "of the reference", "autoregressive, beam 5"):
        assert title in printed
    migration = json.loads((folder / "results.json").read_text())["migration"]
    phases = [entry["phase"] for entry in migration["phases"]]
    assert phases == ["init", "commonality", "forward", "backward", "combined", "language"]
    first, *_, last = (entry["bpw"]["de"] for entry in migration["phases"])
    assert last < first  # even some 50 steps teach some German
    assert {found["sentences"] for found in migration["translation"].values()} == {100}
    assert len(migration["samples"]) == 10
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "Ten translations" in html
    assert "nan" not in re.findall(r"[a-z]+", html.partition("Results at the chosen")[0])
    assert migration["samples"][3]["reference"].split()[0] in html


def test_heads_trained_on_english_read_german(demo):
    folder, printed = demo
    found = json.loads((folder / "results.json").read_text())["transfer"]
    assert set(found) == {"pos", "ner", "parsing"}
    for models in found.values():
        assert set(models) == {"default", "separate"}
        assert all(0 <= value <= 100 for one in models.values() for value in one.values())
    assert found["pos"]["default"]["en"] > 30  # even 40 steps know some words
    assert f"{found['pos']['default']['de']:.1f}" in printed
    assert "Zero-shot transfer" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_chosen_checkpoint_has_the_lowest_english_perplexity(demo):
    folder, _ = demo
    model = json.loads((folder / "results.json").read_text())["models"]["default"]
    best = min(model["valid"]["mlm_en_ppl"], key=lambda point: point[1])
    assert model["chosen_update"] == best[0]
    number = model["chosen_update"] // 20
    epoch = (folder / "model-default" / f"checkpoint{number}.pt").read_bytes()
    assert (folder / "model-default" / "checkpoint_best.pt").read_bytes() == epoch


def test_a_second_call_does_nothing_and_prints_the_same_table(demo):
    folder, printed = demo
    before = (folder / "report.html").stat().st_mtime_ns
    again = run("fairseq-xling", "demo", "--scale", "tiny", "--output", str(folder)).stdout
    assert again.count("skipped") == 13
    assert table_of(again) == table_of(printed)
    assert (folder / "report.html").stat().st_mtime_ns == before


def test_commands_sh_holds_the_commands_that_made_the_run(demo):
    folder, _ = demo
    text = (folder / "commands.sh").read_text()
    assert subprocess.run(["bash", "-n", folder / "commands.sh"]).returncode == 0
    for program in ("fairseq-xling synthesize", "fairseq-xling prepare", "fairseq-train"):
        assert program in text
    line = next(line for line in text.splitlines() if "default.chosen.json" in line)
    result = folder / "results" / "default.chosen.json"
    before = json.loads(result.read_text())["results"]
    result.unlink()
    env = {**environment(), "PATH": f"{BIN}:{environment()['PATH']}"}
    subprocess.run(["bash", "-c", line], check=True, env=env, capture_output=True)
    assert json.loads(result.read_text())["results"] == before


def test_a_dry_run_only_prints(tmp_path):
    done = run("fairseq-xling", "demo", "--output", str(tmp_path / "run"), "--dry-run")
    assert "[3/13] train-default: run" in done.stdout
    assert "--max-update 1600" in done.stdout
    assert not (tmp_path / "run").exists()


def test_asked_to_end_it_takes_its_trainings_with_it(tmp_path):
    folder = tmp_path / "run"
    command = [BIN / "fairseq-xling", "demo", "--scale", "tiny", "--output", folder]
    running = subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    for line in running.stdout:
        if "train-" in line:
            break
    # The line is printed just before the training's process begins.
    while not (trainings := psutil.Process(running.pid).children(recursive=True)):
        time.sleep(0.01)
    running.terminate()
    assert "stopped; run the same command again to go on" in running.communicate(timeout=60)[0]
    assert running.returncode == 130
    assert not psutil.wait_procs(trainings, timeout=30)[1]


def test_bad_values_are_one_line(tmp_path):
    done = run("fairseq-xling", "demo", "--seed", "-1", "--output", str(tmp_path), check=False)
    assert done.returncode == 1
    assert done.stdout == "fairseq-xling: error: `--seed` must not be negative, got -1\n"


@pytest.mark.row("A12")
@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_small_demo_aligns_and_its_control_stays_at_chance(tmp_path, seed, record_property):
    run_dir = tmp_path / "demo"
    command = [BIN / "fairseq-xling", "demo", "--output", run_dir, "--seed", str(seed)]
    subprocess.run(command, check=True, env=environment(), capture_output=True)
    models = json.loads((run_dir / "results.json").read_text())["models"]
    shared, control = models["default"], models["separate"]
    for name, model in (("shared", shared), ("nothing shared", control)):
        times = model["scores"]["retrieval"] / model["chance"]["retrieval"]
        record_property(f"sentence P@1, times chance, {name}", round(times, 1))
    assert shared["scores"]["retrieval"] >= 30 * shared["chance"]["retrieval"]
    assert shared["scores"]["word_mrr"] >= 10 * shared["chance"]["word_mrr"]
    assert control["scores"]["retrieval"] <= 5 * control["chance"]["retrieval"]
    assert control["scores"]["word_mrr"] <= 3 * control["chance"]["word_mrr"]
    record = json.loads((run_dir / "results.json").read_text())
    for found in record["transfer"].values():
        assert found["default"]["de"] >= found["separate"]["de"] + 10
    translation = record["migration"]["translation"]
    bleu = {name: found["bleu"] for name, found in translation.items()}
    gap = bleu["oracle"] - bleu["identity"]
    assert bleu["predicted"] - bleu["identity"] >= 0.8 * gap > 0
