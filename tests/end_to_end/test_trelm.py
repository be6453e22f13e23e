"""`fairseq-xling trelm run` and TreLM's studies on a little text, through the real commands."""

import json
import re
import shutil

import pytest
import torch
from fairseq.data import Dictionary

from fairseq_xling.cli import main
from fairseq_xling.data.folder import SEP, DataFolder
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.models.phases import LOWER, REST, UPPER, part_of
from fairseq_xling.papers.trelm.results import costs_of, part, totals
from fairseq_xling.reports.record import read_record
from fairseq_xling.reports.rows import distinct, select
from fairseq_xling.studies.gold_tasks import transfer_mean
from fairseq_xling.text.encoder import TextEncoder
from tests.end_to_end.engine import load, run
from tests.tiny_sources import write_folder

LAYERS = 4
PHASES = ("init", "commonality", "forward", "backward", "combine", "language")
CONFIG = """\
source: source/checkpoint_last.pt
text: text
languages: [en, de]
vocab_type: word
vocab_size: 300
embed_epochs: 1
map_seeds: [1, 2]
map_refine: 1
map_keep_failed: yes
map_args: --epochs 1 --epoch-size 64 --hidden 8
commonality_steps: 6
transfer_steps: 6
language_steps: 6
translator_steps: 6
warmup: 1
every: 2
batch_size: 16
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with text, an English encoder trained on some of it, and a configuration."""
    root = tmp_path_factory.mktemp("trelm")
    in_root(
        root,
        *("fairseq-xling", "synthesize", "text", "--sentences", "120", "--held-out", "20"),
        *("--parallel-sentences", "100", "--annotated", "10"),
    )
    in_root(
        root,
        *("fairseq-xling", "prepare", "english", "--languages", "en", "--vocab-type", "word"),
        *("--mono", "train.en=text/mono/train.en.txt", "--vocab-size", "200"),
    )
    train_encoder(root, "english", "source")
    (root / "run.yaml").write_text(CONFIG)
    return root


def train_encoder(root, data, output):
    in_root(
        root,
        *("fairseq-train", data, "--user-dir", user_dir(), "--task", "bilingual_mlm"),
        *("--criterion", "unified_lm", "--arch", "separable_transformer_tiny"),
        *("--encoder-layers", str(LAYERS), "--encoder-embed-dim", "16"),
        *("--encoder-ffn-embed-dim", "32", "--encoder-attention-heads", "2"),
        *("--max-positions", "48", "--lm-head", "bert", "--sample-break-mode", "sentence"),
        *("--optimizer", "adam", "--lr", "1e-3", "--max-tokens", "400", "--max-update", "5"),
        *("--disable-validation", "--cpu", "--num-workers", "0", "--save-dir", output),
    )


def user_dir():
    from fairseq_xling import USER_DIR

    return str(USER_DIR)


def in_root(root, program, *arguments, check=True):
    return run(program, *map(str, arguments), check=check, cwd=root)


def trelm(root, *options, check=True, config="run.yaml"):
    return in_root(root, "fairseq-xling", "trelm", "run", config, *options, check=check)


@pytest.fixture(scope="module")
def migrated(world):
    """The folder of a finished run, and what it printed."""
    done = trelm(world, "--output", "out", "--jobs", "2")
    return world / "out", done.stdout


PRESET = """\
preset: trelm-id
source: source/checkpoint_last.pt
text: text
languages: [en, de]
vocab_size: 300
prepare_args: --alphabet 60
commonality_limit: 60
parallel_limit: 50
language_limit: 70
embed_epochs: 1
embed_args: --buckets 1000
map_seeds: [1]
map_keep_failed: yes
map_args: --epochs 1 --epoch-size 64 --hidden 8
commonality_steps: 3
transfer_steps: 3
language_steps: 3
max_positions: 48
warmup: 1
every: 3
batch_size: 16
device: cpu
precision: fp32
"""


@pytest.mark.slow
def test_the_papers_settings_made_small(world):
    (world / "preset.yaml").write_text(PRESET)
    trelm(world, "--output", "preset", config="preset.yaml")
    folder = world / "preset"
    meta = {name: json.loads((folder / "data" / name / "meta.json").read_text()) for name in (
        "prepare-de", "commonality-text-de", "subset-de", "language-text-de"
    )}  # fmt: skip
    assert meta["prepare-de"]["vocab"]["type"] == "wordpiece"
    mono = {name: found["mono"]["train"] for name, found in meta.items()}
    assert [mono["commonality-text-de"][lang]["sentences"] for lang in ("en", "de")] == [60, 60]
    assert mono["language-text-de"]["de"]["sentences"] == 70
    assert meta["subset-de"]["parallel"]["train"]["en-de"]["pairs"] == 50
    report = json.loads((folder / "vectors" / "embed-de.safetensors.json").read_text())
    assert report["settings"]["method"] == "fasttext" and report["settings"]["buckets"] == 1000
    # No word has the source's embedding: not even those that both spell alike.
    source = load(world / "source" / "checkpoint_last.pt")["model"]["encoder.tokens.shared.weight"]
    first = load(folder / "models" / "init-de-1.pt")["model"]["encoder.tokens.shared.weight"]
    alike = {tuple(row) for row in source[6:].tolist()} & {tuple(row) for row in first[6:].tolist()}
    assert not alike
    names = weights(folder, "forward").keys()
    assert not [name for name in names if "auxiliary" in name]
    assert sorted(path.name for path in (folder / "translations").iterdir()) == [
        *("translate-identity-de-1", "translate-oracle-de-1"),
    ]


def weights(folder, phase):
    file = folder / "models" / f"{phase}-de-1.pt"
    file = file if file.is_file() else folder / "models" / f"{phase}-de-1" / "checkpoint_last.pt"
    return load(file)["model"]


def changed_parts(before, after):
    """For each part of the model, whether all, some or none of its tensors differ."""
    found = {LOWER: [], UPPER: [], REST: []}
    for name in before.keys() & after.keys():
        if name != "_extra_state" and ".segment_table" not in name:
            found[part_of(name, LAYERS)].append(not torch.equal(before[name], after[name]))
    return {part: "all" if all(d) else "some" if any(d) else "none" for part, d in found.items()}


@pytest.mark.slow
def test_each_phase_changes_what_it_may_and_nothing_else(migrated):
    folder, _ = migrated
    found = {phase: weights(folder, phase) for phase in PHASES}
    none, all_ = "none", "all"
    assert changed_parts(found["init"], found["commonality"]) == (
        {LOWER: none, UPPER: none, REST: all_}
    )
    assert changed_parts(found["commonality"], found["forward"]) == (
        {LOWER: none, UPPER: all_, REST: all_}
    )
    assert changed_parts(found["commonality"], found["backward"]) == (
        {LOWER: all_, UPPER: none, REST: all_}
    )
    assert changed_parts(found["combine"], found["forward"])[UPPER] == none
    assert changed_parts(found["combine"], found["backward"])[LOWER] == none
    for name in ("encoder.tokens.shared.weight", "encoder.trilayer.fc1.weight"):
        mean = (found["forward"][name].double() + found["backward"][name].double()) / 2
        assert torch.equal(found["combine"][name], mean.float())
    assert changed_parts(found["combine"], found["language"]) == (
        {LOWER: all_, UPPER: all_, REST: all_}
    )


@pytest.mark.slow
def test_bits_per_word_and_translations_are_printed(migrated):
    _, printed = migrated
    for phase in ("init", "commonality", "forward", "backward", "combined", "language"):
        assert re.search(rf"^de +1 +{phase} +\d+ +\d", printed, re.M), phase
    for ordering in ("identity", "predicted", "oracle"):
        assert re.search(rf"^de +1 +{ordering} ", printed, re.M), ordering


@pytest.mark.slow
def test_the_numbers_lie_beside_the_report(migrated):
    folder, _ = migrated
    rows = read_record(folder).rows
    bits = select(part(rows, "bits"), {"side": "target"})
    assert [row["steps"] for row in bits] == [0, 6, 6, 6, 0, 6]
    assert bits[-1]["value"] < bits[-1]["chance"] + 1
    costs = costs_of(rows)
    assert totals(costs)["steps"] == 30 and set(distinct(rows, "updates")) == {30, None}
    assert totals(costs)["steps_as_the_paper_counts"] == 18
    (pairs,) = select(rows, {"measure": "training pairs"})
    assert (pairs["language"], pairs["value"]) == ("en-de", 100)
    (best,) = select(part(rows, "map"), {"measure": "best seed"})
    assert best["value"] in (1, 2)
    orderings = {*distinct(part(rows, "translation"), "ordering")}
    assert orderings == {"identity", "predicted", "oracle", "lattice"}
    assert len(distinct(part(rows, "sample"), "number")) == 10
    assert costs["commonality"]["trained"] < costs["forward"]["trained"]
    assert costs["language"]["trained"] == costs["language"]["parameters"]
    html = (folder / "report.html").read_text(encoding="utf-8")
    for title in ("after each phase", "forward model", "Map of the", "Cost of de", "commands"):
        assert title in html
    assert "<svg" in html


@pytest.mark.slow
def test_the_combined_checkpoint_is_one_for_every_program(world, migrated):
    folder, _ = migrated
    file = folder / "models" / "combine-de-1.pt"
    encoder = Encoder.load(file, data=folder / "data" / "prepare-de")
    assert (encoder.num_layers, encoder.languages) == (LAYERS + 1, ["en", "de"])
    done = in_root(
        world,
        *("fairseq-validate", "out/data/prepare-de", "--user-dir", user_dir(), "--task", "cdlm"),
        *("--path", file, "--max-tokens", "400", "--cpu", "--num-workers", "0"),
    )
    assert "valid on 'valid' subset" in done.stdout


@pytest.mark.slow
def test_a_second_call_does_nothing_and_a_change_is_followed_from_where_it_counts(world, migrated):
    folder, printed = migrated
    before = (folder / "report.html").stat().st_mtime_ns
    again = trelm(world, "--output", "out").stdout
    assert again.count("skipped") == printed.count(": done in")
    assert (folder / "report.html").stat().st_mtime_ns == before
    plan = trelm(world, "--output", "out", "--language-lr", "1e-4", "--dry-run").stdout
    states = dict(re.findall(r"^\[\d+/\d+\] (\S+): (.*)$", plan, re.M))
    assert {name for name, state in states.items() if state == "run"} == {
        *("language-de-1", "bpw-de-1", "report"),
    }


def test_a_dry_run_prints_the_plan_and_the_commands(world):
    printed = trelm(world, "--dry-run", "--embeddings", "skip-gram").stdout
    assert "] forward-de-1: run" in printed
    for program in ("fairseq-xling init source", "fairseq-xling map adversarial", "fairseq-train"):
        assert f"      {program}" in printed
    assert "--languages en,de --arch tri_bert_base --encoder-layers 4" in printed
    assert "runs/trelm/run/models" in printed  # named after the configuration
    assert not (world / "runs").exists()


@pytest.mark.slow
def test_one_more_language_is_one_more_word(world):
    in_root(
        world,
        *("fairseq-xling", "synthesize", "three", "--languages", "en,de,id", "--sentences", "60"),
        *("--held-out", "10", "--parallel-sentences", "60", "--annotated", "10"),
    )
    both = ("--text", "three", "--languages", "en,de,id")
    plan = trelm(world, *both, "--dry-run").stdout
    assert "] language-de-1: run" in plan and "] language-id-1: run" in plan
    only = "--embeddings random --mapping none --transfer-steps 0 --language-steps 0".split()
    only += ["--translator-steps", "0"]
    printed = trelm(world, *both, *only, "--output", "three-out", "--jobs", "2").stdout
    for lang in ("de", "id"):
        assert re.search(rf"^{lang} +1 +commonality +6 ", printed, re.M)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--source odd", "`--source` odd: must have an even number of layers, since a migration "),
        ("--source text", "text: no source model (it has no config.json)"),
        ("--languages en,fr", "no training text of language 'fr': give `--mono train.fr=FILE`"),
        ("--warmup 6", "`--warmup` must be less than `--commonality-steps` 6, got 6"),
        ("--emission sideways", "unknown `--emission` 'sideways'; known: aligned, ctc, lattice"),
        ("--emission aligned", "`--emission` of a translator must not be aligned, which the "),
        ("--autoregressive-lenpens 1,0", "`--autoregressive-lenpens` must be different numbers "),
        ("--transfer-steps 0", "run.yaml: `--translator-steps` needs a forward model that "),
        ("--teacher none.txt", "`--teacher` must be autoregressive, or name a checkpoint or a "),
        ("--teacher-original", "`--teacher-original` needs a `--teacher`"),
        (
            "--teacher autoregressive --translator-steps 0",
            "`--teacher` teaches a translator: give `--translator-steps`",
        ),
        (
            "--slot-beam 4 --translator-steps 0",
            "`--slot-beam` is a translator's: give `--translator-steps`",
        ),
    ],
)
def test_bad_settings_are_one_line_before_anything_runs(
    world, options, message, monkeypatch, capsys
):
    monkeypatch.chdir(world)
    if not (world / "odd").exists():
        write_folder(world / "odd", "bert", num_hidden_layers=3)
    capsys.readouterr()  # which transformers' progress wrote into
    assert main(["trelm", "run", "run.yaml", *options.split(), "--output", "bad"]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f"fairseq-xling: error: {message}")
    assert (printed.err.count("\n"), printed.out) == (1, "")
    assert not (world / "bad").exists()


TAUGHT = (
    "--languages en,de --embeddings random --mapping none --commonality-steps 0 --language-steps 0 "
    "--transfer-steps 2 --translator-steps 2 --every 2 --orderings identity"
).split()


@pytest.mark.slow
def test_a_translator_learns_from_a_teacher(world):
    """Trained for it; its checkpoint with the references as well; then a file of text."""
    ends = "--max-epoch 2 --encoder-layers 1 --decoder-layers 1"
    penalties = ("--autoregressive-lenpens", "0.6,1.4")
    call = (*TAUGHT, "--output", "taught", "--autoregressive-patience", "1")
    patient = (*call, "--autoregressive-args", ends, *penalties)
    printed = trelm(world, *patient, "--teacher", "autoregressive", "--slot-beam", "3").stdout
    assert "lattice, beam 3 " in printed
    assert "autoregressive, beam 5" in printed  # it is a translator, too
    folder = world / "taught"
    before = DataFolder(folder / "data" / "prepare-de")
    taught = DataFolder(folder / "data" / "taught-de-1")
    texts = sorted(folder.glob("translations/teacher-de-1-*/generate-train.txt"))
    assert len(texts) == 8
    hypotheses = {}
    for path in texts:
        for line in path.read_text().splitlines():
            if line.startswith("H-"):
                number, _, text = line.split("\t")
                assert int(number[2:]) not in hypotheses  # each in one shard
                hypotheses[int(number[2:])] = text
    words = Dictionary.load(str(before.dictionary_path("de")))
    sources, references = before.parallel("train", "en", "de")
    for side, other in zip(taught.parallel("train", "en", "de"), (sources, None), strict=True):
        assert len(side) == len(hypotheses) == 100
        for i in range(100):
            if other is not None:
                assert side[i].tolist() == other[i].tolist()
            else:
                ids = [words.index(word) for word in hypotheses[i].split()]
                assert side[i].tolist() == ([*ids, SEP] if ids else references[i].tolist())
    assert not taught.is_aligned("train", "en", "de") and before.is_aligned("train", "en", "de")

    model = folder / "models/autoregressive-de-1/checkpoint_best.pt"
    trelm(world, *call, "--teacher", model, "--teacher-original", "yes")
    both = DataFolder(folder / "data" / "taught-de").parallel("train", "en", "de")
    assert [len(side) for side in both] == [200, 200]
    assert all((both[1][100 + i] == references[i]).all() for i in range(100))
    assert all((both[0][100 + i] == sources[i]).all() for i in range(100))

    (world / "lines.de").write_text("".join(f"{n}\n" for n in ["der hund", *["die katze"] * 99]))
    trelm(world, *call, "--teacher", "lines.de")
    found = DataFolder(folder / "data" / "taught-de").parallel("train", "en", "de")[1]
    encoder = TextEncoder.load(before.path, "de")
    assert found[0].tolist() == encoder.encode(["der hund"])[0].tolist()
    assert found[99].tolist() == encoder.encode(["die katze"])[0].tolist()

    (world / "few.de").write_text("der hund\n")
    other = folder / "models/forward-de-1/checkpoint_last.pt"
    shutil.copy(other, world / "other.pt")
    for teacher, message in (
        ("few.de", "must have a line for each of the 100 training pairs of "),
        ("other.pt", "must be a model of `--task translation`, got 'cdlm'"),
        (other, "which step 'forward-de-1' of this run would write over"),
    ):
        done = trelm(world, *call, "--teacher", teacher, check=False)
        assert done.returncode == 1 and message in done.stdout
        assert "Traceback" not in done.stdout


def ablate(root, study, *options):
    done = in_root(
        root, "fairseq-xling", "ablate", study, "--config", "run.yaml", *options, "--jobs", "2"
    )
    return done.stdout


def by_row(folder):
    """The rows of a study's record by the row of the study."""
    rows = read_record(folder).rows
    return {code: select(rows, {"row": code}) for code in distinct(rows, "row")}


@pytest.mark.slow
def test_a_study_writes_its_table_and_a_row_that_comes_later_runs_alone(world):
    quick = "--embeddings random --mapping none --output init --tasks parsing".split()
    printed = ablate(world, "trelm-init", "--rows", "random", *quick)
    table = (world / "init/table.md").read_text(encoding="utf-8")
    assert "| random | random |" in table and "| 6.990 |" in table
    assert "| random | random |" in printed
    again = ablate(world, "trelm-init", "--rows", "random,random-2x", *quick)
    assert "init-de-1-random: done before" in again
    assert "commonality-de-1-random-2x: done in" in again
    rows = by_row(world / "init")
    assert {code: totals(costs_of(own))["steps"] for code, own in rows.items()} == {
        "random": 6,
        "random-2x": 12,
    }
    for code, own in rows.items():
        (task,) = (world / "init/tasks").glob(f"task-parsing-de-1-{code}")
        scores = [transfer_mean(task, "de", figure=figure) for figure in ("uas", "las")]
        figures = [(row["measure"], row["value"]) for row in part(own, "task")]
        assert figures == list(zip(("UAS", "LAS"), scores, strict=True))
    for name in ("table.csv", "plot.svg", "report.html"):
        assert (world / "init" / name).is_file()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("study", "options", "first", "rows"),
    [
        ("trelm-init", "", "random,random-adv", 8),
        ("trelm-objectives", "", "cdlm,cdlm-star", 6),
        ("trelm-parallel", "--sizes 40,80", "pairs-80", 2),
        ("trelm-compensated", "", "full", 4),
        ("trelm-parts", "--translate-both", "full", 3),
        (
            "trelm-translators",
            "--autoregressive-args=--max-epoch=1 --autoregressive-patience 1",
            "ctc",
            10,
        ),
        ("trelm-baselines", "--small-model=--arch=separable_transformer_tiny", "migrated", 5),
    ],
)
def test_every_study_runs_with_all_its_rows(world, study, options, first, rows):
    words = [*options.split(), "--orderings", "oracle", "--output", study]
    ablate(world, study, *words, "--rows", first)
    printed = ablate(world, study, *words)
    table = (world / study / "table.md").read_text(encoding="utf-8")
    assert sum(line.startswith("| ") for line in table.splitlines()) == rows + 1
    assert table.splitlines()[0] in printed


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_transfers_of_a_multilingual_encoder_run_with_all_their_rows(world):
    in_root(
        world,
        *("fairseq-xling", "prepare", "both", "--languages", "en,de", "--from", "text"),
        *("--vocab-type", "word", "--vocab-size", "300", "--aligner", "none"),
    )
    train_encoder(world, "both", "many")
    many = ("--multilingual", "many/checkpoint_last.pt", "--multilingual-data", "both")
    quick = "--translator-steps 0 --orderings identity --tasks parsing --map-sentences 60".split()
    longer = ("--longer", "2", "--output", "transfers")
    ablate(world, "trelm-transfers", *many, *quick, *longer)
    folder = world / "transfers"
    rows = by_row(folder)
    assert len(rows) == 9
    for code, own in rows.items():
        near, far = (row["value"] for row in part(own, "distance"))
        assert near > 0 and far > 0, code
        assert [row["measure"] for row in part(own, "task")] == ["UAS", "LAS"]
    bits = [[row["value"] for row in part(rows[code], "bits")] for code in ("as-is", "mim")]
    assert bits[0] == bits[1]  # a map below a head leaves the encoder as it is
    table = "encoder.tokens.shared.weight"
    theirs = load(world / "many" / "checkpoint_last.pt")["model"][table]
    for name in ("as-is-de-as-is", "init-de-1-tri-mbert"):
        assert torch.equal(load(folder / "models" / f"{name}.pt")["model"][table], theirs)
    header = (folder / "table.md").read_text(encoding="utf-8").splitlines()[0]
    for name in ("UAS, de", "LAS, de", "distance of aligned words, de"):
        assert f"| {name} |" in header
