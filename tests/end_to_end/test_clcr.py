"""CLCR through the CLIs: phases, labels, modules, sequences, and mistakes."""

import contextlib
import io
import json
import logging
import re
import sys

import numpy as np
import pytest
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.clcr.labels import Labels
from fairseq_xling.clcr.modules import Loss, Module
from fairseq_xling.clcr.modules import modules as own_modules
from fairseq_xling.clcr.sequences import Sequences
from fairseq_xling.cli.main import main
from fairseq_xling.compat import prepare_engine
from tests.end_to_end.engine import assert_same_training, load, logged, run, run_until

WIDTHS = {"en": 16, "de": 24}


def fairseq_train(*arguments):
    """fairseq-train in this process: its log."""
    prepare_engine()
    from fairseq_cli import train

    for name in ("best", "num_runs"):  # fairseq keeps these on functions
        for function in (train.should_stop_early, train.checkpoint_utils.save_checkpoint):
            if hasattr(function, name):
                delattr(function, name)
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    handler.setFormatter(logging.Formatter("| %(levelname)s | %(name)s | %(message)s"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.setattr(sys, "argv", ["fairseq-train", *map(str, arguments)])
        try:
            train.cli_main()
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
    return output.getvalue()


def xling(*arguments):
    assert main([*map(str, arguments)]) == 0


def fails(capsys, *arguments):
    """The single line that the command prints for bad input."""
    assert main([*map(str, arguments)]) == 1
    return capsys.readouterr().err.strip().splitlines()[-1]


def options(root, folder, *extra):
    """Of a training of two epochs of four updates."""
    return [
        *(root / "data", "--user-dir", USER_DIR, "--task", "clcr", "--arch", "clcr"),
        *"--criterion clcr --optimizer adam --lr 3e-3 --max-tokens 300 --cpu".split(),
        *"--num-workers 0 --log-format json --log-interval 1 --no-progress-bar".split(),
        *"--epoch-updates 4 --max-update 8 --no-epoch-checkpoints --save-dir".split(),
        *(root / folder, *extra),
    ]


def train(root, folder, *extra):
    return fairseq_train(*options(root, folder, *extra))


def encoders(root):
    return ",".join(f"{lang}={root / lang / 'checkpoint_last.pt'}" for lang in WIDTHS)


def last(root, folder):
    return root / folder / "checkpoint_last.pt"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Parallel text, separate vocabularies, and an encoder of each language, of two widths."""
    root = tmp_path_factory.mktemp("clcr")
    text = root / "text"
    xling(
        *("synthesize", text, "--languages", "en,de", "--sentences", "60", "--held-out", "12"),
        *("--parallel-sentences", "80", "--annotated", "5"),
    )
    xling(
        *("prepare", root / "data", "--languages", "en,de", "--from", text, "--vocab", "separate"),
        *("--vocab-type", "word", "--vocab-size", "300"),
    )
    for lang, width in WIDTHS.items():
        fairseq_train(
            *(root / "data", "--user-dir", USER_DIR, "--task", "bilingual_mlm"),
            *("--languages", lang, "--separate", "emb", "--criterion", "unified_lm"),
            *"--arch separable_transformer_tiny --encoder-layers 4 --max-positions 24".split(),
            *("--encoder-embed-dim", width, "--encoder-ffn-embed-dim", 2 * width),
            *"--optimizer adam --lr 1e-3 --sample-break-mode sentence --max-tokens 500".split(),
            *"--disable-validation --cpu --num-workers 0 --max-update 2 --save-dir".split(),
            root / lang,
        )
    return root


@pytest.fixture(scope="module")
def phases(world):
    """Checkpoints of the three phases, and their logs."""
    logs = {"transform": train(world, "transform", "--encoder", encoders(world))}
    start = "transform"
    for phase in ("lm1", "lm2"):
        logs[phase] = train(world, phase, "--clcr-start", last(world, start), "--clcr-phase", phase)
        start = phase
    return logs


@pytest.fixture(scope="module")
def labels(world, phases):
    xling("clcr", "label", last(world, "lm2"), "--output", world / "labels")
    return world / "labels"


@pytest.fixture(scope="module")
def modules(world, labels):
    """The checkpoint that has them all."""
    more = ["--clcr-labels", labels]
    steps = [("extract", "lm2", ["--clcr-module", "extract", "--confident"])]
    steps += [("rel", "extract", ["--clcr-module", "order", "--order", "rel"])]
    steps += [("abs", "rel", ["--clcr-module", "order", "--order", "abs"])]
    logs = {}
    for folder, start, chosen in steps:
        logs[folder] = train(world, folder, "--clcr-start", last(world, start), *more, *chosen)
    return last(world, "abs"), logs


def changed(root, before, after):
    one, two = (load(last(root, folder))["model"] for folder in (before, after))
    differ = {n for n in one if n != "_extra_state" and not torch.equal(one[n], two[n])}
    return {".".join(name.split(".")[:2]) for name in differ}


@pytest.mark.row("C5")
def test_each_phase_changes_its_parts_and_the_other_side_stays_bit_for_bit(world, phases):
    assert changed(world, "transform", "lm1") == {"parts.transform", "encoders.0"}
    assert changed(world, "lm1", "lm2") == {"parts.transform", "encoders.1"}
    sources = {lang: load(world / lang / "checkpoint_last.pt")["model"] for lang in WIDTHS}
    trained = load(last(world, "transform"))["model"]
    for number, (lang, source) in enumerate(sources.items()):
        for layer in (0, 2):
            name = f"layers.{layer}.shared.fc1.weight"
            ours = trained[f"encoders.{number}.encoder.{name}"]
            assert torch.equal(ours, source[f"encoder.{name}"]), lang
        assert not any(f"encoders.{number}.encoder.layers.3" in name for name in trained)
    means = {name: mean for name, mean in trained.items() if name.endswith("source_mean")}
    assert len(means) == 2 and all(mean.abs().sum() > 0 for mean in means.values())
    later = load(last(world, "lm2"))["model"]
    assert all(torch.equal(later[name], mean) for name, mean in means.items())


@pytest.mark.row("C5", "C3")
def test_distances_fall_and_no_encoder_collapses(phases):
    curve = [step["loss"] for step in logged(phases["transform"], "train_inner")]
    assert np.mean(curve[-3:]) < np.mean(curve[:3])
    for log in phases.values():
        for epoch in logged(log, "valid"):
            assert epoch["valid_spread_en"] > 1 and epoch["valid_spread_de"] > 1
            assert 0 < epoch["valid_relative_en_de"] < 2


@pytest.mark.row("C4")
def test_resumed_it_ends_with_the_same_parameters_and_temperature(world, phases):
    start = ["--encoder", encoders(world)]
    train(world, "halves", *start, "--max-update", 4)
    train(world, "halves", *start)
    assert_same_training(last(world, "transform"), last(world, "halves"))
    saved = [load(last(world, phase))["model"] for phase in ("halves", "lm1")]
    assert [int(s["parts.transform.updates"]) for s in saved] == [7, 7]  # the last of steps 0 to 7
    assert [int(s["parts.transform.before"]) for s in saved] == [0, 8]


@pytest.mark.row("C6", "G12")
def test_labels_are_one_to_one_and_under_the_tuned_threshold(world, labels):
    for split in ("train", "valid"):
        found = Labels(labels / split)
        lines = (labels / split / "pivots.pharaoh").read_text().splitlines()
        distances = np.load(labels / split / "distances.npy")
        assert sum(len(line.split()) for line in lines) == len(distances) == found.pivots
        assert found.pivots and (distances < found.threshold).all()
        for line in lines:
            sides = list(zip(*(link.split("-") for link in line.split()), strict=True))
            assert all(len(set(side)) == len(side) for side in sides)
    assert found.meta["tuned"]["split"] == "valid"
    assert "checkpoint" in found.meta["provenance"]["inputs"]


@pytest.mark.row("C8", "C10")
def test_modules_are_trained_one_by_one_and_measured_in_a_table(world, labels, modules, capsys):
    model, logs = modules
    assert changed_parts(world) == {"extract", "order_rel", "order_abs"}
    assert "valid_recall_de" in logged(logs["extract"], "valid")[-1]
    assert "valid_order_accuracy" in logged(logs["abs"], "valid")[-1]
    xling("clcr", "keypoints", model, "--labels", labels, "--output", world / "keypoints.json")
    printed = capsys.readouterr().out
    assert re.search(r"^en\s+0\.500\s+", printed, re.MULTILINE)
    last_epoch = logged(logs["extract"], "valid")[-1]
    row = next(line.split() for line in printed.splitlines() if line.startswith("de     "))
    assert float(row[2]) == pytest.approx(last_epoch["valid_accuracy_de"], abs=6e-4)


def changed_parts(world):
    before, after = (load(last(world, folder))["model"] for folder in ("lm2", "abs"))
    shared = [n for n in before if n != "_extra_state"]
    assert all(torch.equal(before[n], after[n]) for n in shared)  # all else stood still
    return {n.split(".")[1] for n in after if n not in before}


@pytest.mark.row("C14")
def test_every_row_is_written_for_both_languages(world, modules, capsys):
    model, _ = modules
    files = {lang: world / "text" / "parallel" / f"test.en-de.{lang}.txt" for lang in WIDTHS}
    found = {}
    rows = ("T", "T+E", "T+E+R", "T+pGA")
    for lang, other in (("en", "de"), ("de", "en")):
        xling(
            *("clcr", "encode", model, "--lang", lang, "--text", files[lang], "--order", "abs"),
            *("--row", ",".join(rows), "--translation", files[other], "--threshold", "9"),
            *("--output", world / "seq" / "{row}" / lang),
        )
        found |= {(row, lang): Sequences(world / "seq" / row / lang) for row in rows}
    capsys.readouterr()
    for lang in WIDTHS:
        words = [len(line.split()) for line in files[lang].read_text().splitlines()]
        assert found["T", lang].counts.tolist() == words == found["T", lang].lengths.tolist()
        kept = found["T+E", lang].counts
        assert (kept <= words).all() and np.array_equal(found["T+E+R", lang].counts, kept)
        assert found["T", lang].width == WIDTHS["de"]
    assert np.array_equal(found["T+pGA", "en"].counts, found["T+pGA", "de"].counts)


def test_modules_that_learnt_from_states_that_change_are_left_out(world, modules):
    model, _ = modules
    log = train(world, "again", "--clcr-start", model, "--clcr-phase", "lm1", "--max-update", "2")
    assert "order_rel is left out: it was trained on what transform is trained to change" in log
    state = load(last(world, "again"))["model"]
    assert {name.split(".")[1] for name in state if name.startswith("parts.")} == {"transform"}


def test_a_module_of_one_s_own_is_trained_with_settings_of_its_own(world, phases, monkeypatch):
    class Drift(Module):
        after = ("transform",)

        def __init__(self, settings, sizes):
            super().__init__()
            self.rate = settings["rate"]
            self.drift = torch.nn.Parameter(torch.ones(sizes.widths[1]))

        @classmethod
        def settings(cls, cfg):
            return {"rate": float(cfg.module_options)}

        def forward(self, batch):
            far = (self.drift * self.rate).square().sum()
            return Loss(far, batch.masks[0].any(1).sum(), {"far": far.detach()})

        @classmethod
        def scores(cls, sums, pair):
            return {"far": sums["far"]}

    monkeypatch.setitem(own_modules._entries, "drift", Drift)
    log = train(
        *(world, "drift", "--clcr-start", last(world, "lm2"), "--clcr-module", "drift"),
        *("--module-options", "0.5", "--max-update", "3"),
    )
    assert logged(log, "valid")[-1]["valid_far"] < 24 * 0.25
    config = json.loads(load(last(world, "drift"))["cfg"]["model"]["clcr_config"])
    assert config["modules"]["drift"] == {"kind": "drift", "settings": {"rate": 0.5}}


def test_mistakes_are_one_line(world, labels, modules, capsys):
    both = ["--encoder", encoders(world)]
    for extra, message in (
        ([*both, "--attention-score", "raw"], "encoders of one width, got states of 16 and 24"),
        ([*both, "--clcr-layer", "en=9"], r"`--clcr-layer` of en must lie in \[0, 4\]"),
        (["--encoder", f"en={world}/en/checkpoint_last.pt"], "must name one for 'de', too"),
        ([], "`--clcr-start` the checkpoint of an earlier one, got neither"),
        (["--clcr-start", last(world, "en")], "holds no model of `--task clcr`"),
        (
            ["--clcr-start", last(world, "lm2"), "--clcr-pair", "de,en"],
            "is of the pair en,de, got `--clcr-pair` de,en",
        ),
        ([*both, "--clcr-module", "extract"], "needs `--clcr-labels`"),
        ([*both, "--clcr-module", "extract", "--clcr-labels", labels], "comes after 'transform'"),
        ([*both, "--clcr-module", "transfrom"], "did you mean 'transform'"),
        ([*both, "--clcr-phase", "lm3"], "unknown `--clcr-phase` 'lm3'"),
        ([*both, "--anneal-beta", "-1"], "`--anneal-beta` must be at least 0"),
        ([*both, "--encoder", f"en={last(world, 'de')},de={last(world, 'de')}"], "'en'"),
    ):
        with pytest.raises(SystemExit, match=message):
            train(world, "mistake", *extra)
    model, _ = modules
    line = fails(capsys, "clcr", "label", last(world, "en"), "--output", world / "no")
    assert "holds no model of `--task clcr`" in line
    text = world / "text" / "parallel" / "test.en-de.en.txt"
    line = fails(
        *(capsys, "clcr", "encode", last(world, "lm2"), "--lang", "en", "--text", text),
        *("--output", world / "no"),
    )
    assert "has no trained module 'extract', only transform" in line
    line = fails(
        *(capsys, "clcr", "encode", model, "--lang", "en", "--text", text, "--row", "T+pGA"),
        *("--output", world / "no"),
    )
    assert "`--translation` is needed by row T+pGA" in line
    line = fails(
        *(capsys, "clcr", "encode", model, "--lang", "en", "--text", text, "--row", "T,T+E"),
        *("--output", world / "no"),
    )
    assert "`--output` must hold {row}" in line
    for more, message in (
        (["--order", "abc"], "unknown `--order` 'abc'; did you mean 'abs'?"),
        (["--search", "bema"], "unknown `--search` 'bema'; did you mean 'beam'?"),
        (["--weigh", "sing"], "unknown `--weigh` 'sing'; did you mean 'sign'?"),
        (["--beam", "10001"], "`--beam` must lie in [1, 10000], got 10001"),
        (["--threshold", "3"], "`--threshold` is read by row T+pGA alone, got row T+E+R with it"),
    ):
        encode = ["clcr", "encode", model, "--lang", "en", "--text", text, *more]
        assert message in fails(capsys, *encode, "--output", world / "no")
    (world / "a_file").write_text("")
    for output, message in (
        ("", "`--output` must name a folder, got none"),
        (world / "data", "is the data folder; name one of its own"),
        (world / "a_file", "a_file is a file, not a folder"),
    ):
        line = fails(capsys, "clcr", "label", model, "--threshold", "9", "--output", output)
        assert message in line
    line = fails(capsys, "clcr", "label", model, "--splits", ",", "--output", world / "no")
    assert "`--splits` must name one or several different ones, got ','" in line
    line = fails(capsys, "clcr", "keypoints", model, "--labels", labels, "--delta", "0.2,0.2")
    assert "`--delta` must be different numbers" in line
    assert not (world / "no").exists()
    assert "known: " in fails(capsys, "clcr", "trian")


def test_a_model_that_diverged_is_refused_and_text_of_another_language_is_noticed(
    world, phases, tmp_path, capsys
):
    state = load(last(world, "lm2"))
    text = world / "text" / "parallel" / "test.en-de.en.txt"
    command = ["clcr", "encode", last(world, "lm2"), "--lang", "de", "--text", text, "--row", "T"]
    xling(*command, "--output", tmp_path / "seq")
    assert "unknown to the vocabulary of de; is `--lang` right?" in capsys.readouterr().err
    name = "parts.transform.forth.transform.A.weight"
    state["model"][name][0, 0] = float("nan")
    torch.save(state, tmp_path / "nan.pt")
    line = f"nan.pt: weight '{name}' must be finite, got NaN or infinity"
    command = ["clcr", "label", tmp_path / "nan.pt", "--output", tmp_path / "labels"]
    assert line in fails(capsys, *command)
    with pytest.raises(SystemExit, match=re.escape(line)):
        train(world, "mistake", "--clcr-start", tmp_path / "nan.pt")
    assert not (tmp_path / "labels").exists()


def test_a_training_that_diverges_ends_in_one_line_and_leaves_no_checkpoint(world, labels):
    given = ["--clcr-start", last(world, "lm2"), "--clcr-module", "order", "--clcr-labels", labels]
    with pytest.raises(SystemExit, match=r"the training diverged at update \d+ \(gradients are"):
        train(world, "diverged", *given, "--lr", "1e30", "--warmup-updates", "0")
    given = ["--encoder", encoders(world), "--lr", "1e30"]
    with pytest.raises(SystemExit, match="must be finite, got inf: the training diverged"):
        train(world, "diverged", *given)
    assert not list((world / "diverged").glob("*.pt"))


def test_half_precision_on_a_cpu_passes_over_steps_whose_gradients_overflow(world, labels):
    half = ["--fp16", "--fp16-no-flatten-grads", "--fp16-init-scale", "1000000"]
    log = train(
        *(world, "half", "--clcr-start", last(world, "lm2"), "--clcr-module", "extract", *half),
        *("--clcr-labels", labels, "--max-update", "2"),
    )
    assert "gradient overflow detected" in log
    assert load(last(world, "half"))["optimizer_history"][-1]["num_updates"] == 2


def test_blank_lines_and_sentences_beyond_the_position_table_are_encoded_and_said(
    world, phases, tmp_path, capsys
):
    text = tmp_path / "text"
    text.write_text("the dog sees the cat\n\n" + "the dog " * 20 + "\n")
    command = ["clcr", "encode", last(world, "lm2"), "--lang", "en", "--text", text]
    xling(*command, "--row", "T", "--output", tmp_path / "seq")
    found = Sequences(tmp_path / "seq")
    assert found.counts.tolist() == [5, 0, 22] and found.lengths.tolist() == [5, 0, 40]
    assert "1 sentences of" in (said := capsys.readouterr().err) and "after 22 tokens" in said


@pytest.mark.row("C6")
def test_no_pair_under_the_threshold_is_said_and_cannot_be_trained_on(world, phases, capsys):
    command = ["clcr", "label", last(world, "lm2"), "--threshold", "1e-9"]
    xling(*command, "--output", world / "none")
    assert "no pair of tokens lies under the threshold 1e-09" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="holds no pivots to learn from"):
        train(
            *(world, "mistake", "--clcr-start", last(world, "lm2"), "--clcr-module", "extract"),
            *("--clcr-labels", world / "none"),
        )


CONFIG = """\
transform_steps: 8
transform_lr: 0.02
lm_steps: 4
extract_steps: 4
order_steps: 4
every: 2
warmup: 1
max_tokens: 300
rows: T,T+E+R,T+pGA
"""


def config(world):
    files = ",".join(f"{world}/text/parallel/test.en-de.{lang}.txt" for lang in WIDTHS)
    lines = [f"data: {world / 'data'}", f"encoder: [{encoders(world)}]"]
    lines += [f'encode_pairs: ["test={files}"]']
    path = world / "run.yaml"
    path.write_text(CONFIG + "\n".join(lines) + "\n")
    return path


@pytest.mark.row("C14")
def test_the_plan_of_a_run_is_shown_without_running_it(world, capsys):
    xling("clcr", "run", config(world), "--output", world / "planned", "--dry-run")
    steps = re.findall(r"^\[\d+/\d+\] (\S+): run$", capsys.readouterr().out, re.MULTILINE)
    assert steps[:7] == [
        *("transform-1", "lm1-1-1", "lm2-1-1", "label-1", "extract-1", "order-rel-1", "order-abs-1")
    ]
    assert steps[7:9] == ["keypoints-table-1", "order-table-1"]
    assert steps[9:] == ["encode-test.en-1", "encode-test.de-1", "summary"]
    xling("clcr", "train", config(world), "--output", world / "planned", "--dry-run")
    steps = re.findall(r"^\[\d+/\d+\] (\S+): run$", capsys.readouterr().out, re.MULTILINE)
    assert steps == ["transform-1", "lm1-1-1", "lm2-1-1"]
    best = ["--checkpoint", "best", "--output", world / "planned", "--dry-run"]
    xling("clcr", "run", config(world), *best)
    plan = capsys.readouterr().out
    assert plan.count("--best-checkpoint-metric hard") == 3
    assert "extract-1/checkpoint_best.pt" in plan
    refused = {
        "--extract-steps 0": "`--rows` T+E+R needs `--extract-steps` above 0; ",
        "--order-steps 0": "`--rows` T+E+R needs `--order-steps` above 0; ",
        "--delta 3": "`--delta` must lie in [0, 1], got 3.0",
        "--tune-on test2 --threshold 0": "'test2'",
        "--encoder en= --encoder de=x": "`--encoder` must be like en=..., got 'en='",
        "--encoder-data de=nowhere": "`--encoder-data` de=nowhere: no such file or folder",
        "--layer nine": "`--layer` must be a layer, or like en=9, got 'nine'",
        "--layer fr=1": "`--layer` must be of en or de, got 'fr'",
        "--transform residul": "did you mean 'residual'?",
        "--schedule polynomal": "`--schedule`: unknown scheduler 'polynomal'",
        "--adam-betas 0.9,2": "`--adam-betas` must be two numbers in [0, 1), e.g. 0.9,0.999, got",
        "--flip-rates 0.9,0": "`--flip-rates` must be two numbers in [0, 0.45]",
        "--orders=": "`--rows` T+E+R needs one of `--orders`; name it or leave the row out",
        "--schedule tri_stage": "must be one with `--warmup-updates` (cosine, fixed, inverse_sqrt",
        "--orders abc": "unknown name in `--orders` 'abc'; did you mean 'abs'?",
        "--rows T+F": "unknown name in `--rows` 'T+F'",
        "--rows=": "`--rows` must name what to write of the texts to encode, got none",
        f"--encode-text ../x.en={__file__}": "must be one that a folder can have, got '../x'",
        "--orders rel,rel": "`--orders` must be different, got 'rel,rel'",
        "--rows T,T": "`--rows` must be different, got 'T,T'",
        "--beam 10001": "`--beam` must be at most 10000, got 10001",
    }
    for options, line in refused.items():
        planned = [config(world), "--output", world / "planned", "--dry-run", *options.split()]
        assert line in fails(capsys, "clcr", "run", *planned)
    if not torch.cuda.is_available():
        command = ["clcr", "run", config(world), "--output", world / "planned", "--device", "cuda"]
        assert "`--device` cuda: cannot be used here" in fails(capsys, *command)
    assert not (world / "planned").exists()


@pytest.mark.slow
@pytest.mark.row("C14")
def test_a_run_that_was_killed_goes_on_and_ends_with_the_same_sequences(world, tmp_path):
    path = config(world)
    whole = run("fairseq-xling", "clcr", "run", path, "--output", world / "whole").stdout
    assert "Key-points, en-de" in whole and "Order BLEU, en-de" in whole
    log = tmp_path / "killed.log"
    command = ["fairseq-xling", "clcr", "run", str(path), "--output", str(world / "killed")]
    assert run_until(r"lm2-1-1: done", *command, log=log)
    again = run(*command).stdout
    assert "transform-1: done before" in again
    for folder in (world / "whole" / "sequences").rglob("vectors.npy"):
        other = world / "killed" / folder.relative_to(world / "whole")
        assert folder.read_bytes() == other.read_bytes()
    assert "summary: done before" in run(*command).stdout
