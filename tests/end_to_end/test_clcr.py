"""CLCR through the CLIs: phases, labels, modules, sequences, and mistakes."""

import json
import re

import numpy as np
import pytest
import torch

from fairseq_xling.papers.clcr.labels import Labels
from fairseq_xling.papers.clcr.modules import Loss, Module
from fairseq_xling.papers.clcr.modules import modules as own_modules
from fairseq_xling.papers.clcr.sequences import Sequences
from fairseq_xling.reports.rows import distinct
from tests.end_to_end.clcr_world import WIDTHS, encoders, fails, last, train, xling
from tests.end_to_end.engine import assert_same_training, load, logged
from tests.once import linked
from tests.records import rows, values


@pytest.fixture(scope="module")
def world(clcr_world, tmp_path_factory):
    return linked(clcr_world, tmp_path_factory.mktemp("clcr"))


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
    steps += [("back", "abs", ["--clcr-module", "order", "--order-side", "second"])]
    logs = {}
    for folder, start, chosen in steps:
        logs[folder] = train(world, folder, "--clcr-start", last(world, start), *more, *chosen)
    return last(world, "back"), logs


def changed(root, before, after):
    one, two = (load(last(root, folder))["model"] for folder in (before, after))
    differ = {n for n in one if n != "_extra_state" and not torch.equal(one[n], two[n])}
    return {".".join(name.split(".")[:2]) for name in differ}


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


def test_distances_fall_and_no_encoder_collapses(phases):
    curve = [step["loss"] for step in logged(phases["transform"], "train_inner")]
    assert np.mean(curve[-3:]) < np.mean(curve[:3])
    for log in phases.values():
        for epoch in logged(log, "valid"):
            assert epoch["valid_spread_en"] > 1 and epoch["valid_spread_de"] > 1
            assert 0 < epoch["valid_relative_en_de"] < 2


def test_resumed_it_ends_with_the_same_parameters_and_temperature(world, phases):
    start = ["--encoder", encoders(world)]
    train(world, "halves", *start, "--max-update", 4)
    train(world, "halves", *start)
    assert_same_training(last(world, "transform"), last(world, "halves"))
    saved = [load(last(world, phase))["model"] for phase in ("halves", "lm1")]
    assert [int(s["parts.transform.updates"]) for s in saved] == [7, 7]  # the last of steps 0 to 7
    assert [int(s["parts.transform.before"]) for s in saved] == [0, 8]


@pytest.mark.slow
def test_a_phase_that_is_left_out_of_annealing_does_not_count(world, phases):
    chosen = ["--encoder", encoders(world), "--anneal-phases", "lm1,lm2"]
    train(world, "late", *chosen)
    start = ["--clcr-start", last(world, "late"), "--clcr-phase", "lm1", *chosen[2:]]
    train(world, "late-lm1", *start)
    saved = [load(last(world, folder))["model"] for folder in ("late", "late-lm1")]
    counts = [
        [int(one[f"parts.transform.{name}"]) for name in ("before", "updates")] for one in saved
    ]
    assert counts == [[0, -1], [0, 7]]
    assert changed(world, "transform", "late") == {"parts.transform"}  # beta is that of the call


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
    assert found.meta["settings"]["tuned"]["split"] == "valid"
    assert "checkpoint" in found.meta["provenance"]["inputs"]


def test_labelling_goes_on_with_the_threshold_that_it_was_begun_with(world, labels, monkeypatch):
    before = {path: path.read_bytes() for path in labels.rglob("*") if path.is_file()}
    monkeypatch.setattr("fairseq_xling.papers.clcr.labels.tune", None)  # cannot be called
    xling("clcr", "label", last(world, "lm2"), "--max-tokens", "64", "--output", labels)
    assert before == {path: path.read_bytes() for path in labels.rglob("*") if path.is_file()}
    xling("clcr", "label", last(world, "lm2"), "--splits", "valid,test", "--output", labels)
    assert Labels(labels / "test").threshold == Labels(labels / "valid").threshold


def test_modules_are_trained_one_by_one_and_measured_in_a_table(world, labels, modules, capsys):
    model, logs = modules
    assert changed_parts(world) == {"extract", "order_rel", "order_abs", "order_rel_second"}
    assert "valid_recall_de" in logged(logs["extract"], "valid")[-1]
    assert "valid_order_accuracy" in logged(logs["abs"], "valid")[-1]
    measure = ["clcr", "measure", "keypoints", model, "--labels", labels]
    xling(*measure, "--output", world / "keypoints.json")
    printed = capsys.readouterr().out
    assert re.search(r"^en\s+0\.500\s+", printed, re.MULTILINE)
    last_epoch = logged(logs["extract"], "valid")[-1]
    row = next(line.split() for line in printed.splitlines() if line.startswith("de     "))
    assert float(row[2]) == pytest.approx(last_epoch["valid_accuracy_de"], abs=6e-4)
    bits = values(world / "keypoints.json", target="de", measure="entropy")
    assert 0 < bits[0] <= 1 and bits == [bits[0]] * 2  # at any delta
    assert all(0 <= one <= 1 for one in values(world / "keypoints.json", measure="ambiguous"))


def changed_parts(world):
    before, after = (load(last(world, folder))["model"] for folder in ("lm2", "back"))
    shared = [n for n in before if n != "_extra_state"]
    assert all(torch.equal(before[n], after[n]) for n in shared)  # all else stood still
    return {n.split(".")[1] for n in after if n not in before}


@pytest.mark.slow
def test_an_extractor_that_trains_its_own_encoders_leaves_what_r_reads_to_the_last_bit(
    world, labels, modules, capsys
):
    chosen = ["--clcr-labels", labels, "--clcr-module"]
    fine = [*chosen, "extract", "--confident", "--extract-encoder", "finetune", "--lr", "1e-2"]
    log = train(world, "fine", "--clcr-start", last(world, "lm2"), *fine)
    states = {name: load(last(world, name))["model"] for name in ("lm2", "fine")}
    for name, weight in states["lm2"].items():
        if name != "_extra_state":
            assert torch.equal(weight, states["fine"][name]), name
            if name.startswith("encoders.") and not name.endswith("ids"):
                assert not torch.equal(weight, states["fine"][f"parts.extract.{name}"]), name
    text = world / "text" / "parallel" / "test.en-de.en.txt"
    delta = ["--delta", "0.46"]  # between what so short a training gives
    for model in ("extract", "fine"):
        encode = ["clcr", "encode", last(world, model), "--lang", "en", "--text", text, *delta]
        xling(*encode, "--row", "T,T+E", "--output", world / model / "seq" / "{row}")
    rows, others = (
        [Sequences(world / model / "seq" / row) for row in ("T", "T+E")]
        for model in ("extract", "fine")
    )
    assert np.array_equal(rows[0].array, others[0].array)
    assert not np.array_equal(rows[1].counts, others[1].counts)  # E itself is another
    assert 0 < others[1].rows < others[0].rows
    for number, own in enumerate(others[1].counts):
        kept = others[1].spans[others[1].offsets[number] :][:own, 0].tolist()
        assert torch.equal(others[1].vectors(number)[:own], others[0].vectors(number)[kept])
    capsys.readouterr()
    xling("clcr", "measure", "keypoints", last(world, "fine"), "--labels", labels)
    row = next(x.split() for x in capsys.readouterr().out.splitlines() if x.startswith("de     "))
    valid = logged(log, "valid")[-1]
    assert float(row[2]) == pytest.approx(valid["valid_accuracy_de"], abs=6e-4)
    xling("clcr", "measure", "show", last(world, "fine"), "--labels", labels, "--sentence", "2")
    capsys.readouterr()


def test_every_row_is_written_for_both_languages(world, modules, capsys):
    model, _ = modules
    files = {lang: world / "text" / "parallel" / f"test.en-de.{lang}.txt" for lang in WIDTHS}
    found = {}
    rows = ("states", "T", "T+E", "T+E+R", "T+pGA", "T+pGA-target")
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
        before = found["states", lang]
        assert before.counts.tolist() == words and before.width == WIDTHS[lang]
    own = [(world / "seq" / row / "de/vectors.npy").read_bytes() for row in ("states", "T")]
    assert own[0] == own[1]  # the second language is not transformed
    target = [world / "seq" / row / "de/vectors.npy" for row in ("T+pGA-target", "T")]
    assert target[0].read_bytes() == target[1].read_bytes()  # so a model scores the same on both
    assert np.array_equal(found["T+pGA", "en"].counts, found["T+pGA", "de"].counts)


@pytest.mark.slow
def test_a_sentence_is_shown_with_its_words_and_heat_maps_of_both_directions(
    world, labels, modules, capsys
):
    output, figure = world / "show.json", world / "show.png"
    show = ["clcr", "measure", "show", modules[0], "--labels", labels, "--sentence", "2"]
    xling(*show, "--output", output, "--figure", figure)
    for lang in WIDTHS:
        text = world / "text" / "parallel" / f"valid.en-de.{lang}.txt"
        known = text.read_text().splitlines()[1].split()
        for kind in ("plain", "confident"):
            found = rows(output, task="words", target=lang, measure=f"p {kind}")
            pairs = list(zip((row["word"] for row in found), known, strict=True))
            assert all(ours in (word, "<unk>") for ours, word in pairs)
            assert any(ours == word for ours, word in pairs)
            assert all(0 < row["value"] < 1 for row in found)
    assert distinct(rows(output, task="order"), "{source} {head}") == ["en rel", "en abs", "de rel"]
    assert figure.read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()


def test_a_report_says_how_far_vectors_move_with_their_token_and_context(world, phases, capsys):
    model, text = last(world, "transform"), world / "text" / "parallel"
    files = {lang: text / f"test.en-de.{lang}.txt" for lang in WIDTHS}
    for lang, file in files.items():
        encode = ["clcr", "encode", model, "--lang", lang, "--text", file, "--row", "T"]
        xling(*encode, "--output", world / "report" / lang)
    report = ["clcr", "measure", "report", *(world / "report" / lang for lang in WIDTHS)]
    output = world / "report.json"
    chosen = [word for lang in WIDTHS for word in ("--text", f"{lang}={files[lang]}")]
    xling(*report, "--checkpoint", model, *chosen, "--sentences", "10", "--output", output)
    assert "the vector of a word of row T moves by" in capsys.readouterr().out
    for lang in WIDTHS:
        found = rows(output, task="contexts", target=lang)
        one = {row["measure"]: row["value"] for row in found}
        assert one["sentences"] == 10 and one["token"] > 0 and one["context"] > 0
        assert one["neither"] < 1e-4 * one["two words"]
    xling("report", output, "--output", world / "pages")
    assert "A token in its context" in (world / "pages" / "report.html").read_text()
    line = fails(capsys, *report, "--checkpoint", model)
    assert line.endswith("`--checkpoint` and `--text` must be given together")
    line = fails(capsys, *report, "--checkpoint", model, "--text", f"fr={files['en']}")
    assert "`--text` must be of en or de, got 'fr'" in line
    capsys.readouterr()


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
    both, started = ["--encoder", encoders(world)], ["--clcr-start", last(world, "lm2")]
    module = [*started, "--clcr-labels", labels, "--clcr-module"]
    for extra, message in (
        ([*both, "--attention-score", "raw"], "encoders of one width, got states of 16 and 24"),
        ([*both, "--clcr-layer", "en=9"], r"`--clcr-layer` of en must lie in \[0, 4\]"),
        (["--encoder", f"en={world}/en/checkpoint_last.pt"], "must also name one for 'de'"),
        ([], "`--clcr-start` the checkpoint of an earlier one, got neither"),
        (["--clcr-start", last(world, "en")], "contains no model of `--task clcr`"),
        ([*started, "--clcr-pair", "de,en"], "is of the pair en,de, got `--clcr-pair` de,en"),
        ([*started, "--clcr-layer", "2"], "`--clcr-layer` belongs to `--encoder`"),
        ([*both, "--clcr-module", "extract"], "needs `--clcr-labels`"),
        ([*both, "--clcr-module", "extract", "--clcr-labels", labels], "comes after 'transform'"),
        (
            [*module, "order", "--order", "abs", "--order-positions", "2"],
            r"`--order-positions` of `--order abs` must be at least the key-points .*, got 2 and",
        ),
        ([*both, "--clcr-module", "transfrom"], "did you mean 'transform'"),
        ([*both, "--encoder", f"en={last(world, 'de')},de={last(world, 'de')}"], "'en'"),
    ):
        with pytest.raises(SystemExit, match=message):
            train(world, "mistake", *extra)
    model, _ = modules
    text = world / "text" / "parallel" / "test.en-de.en.txt"
    english = ["--lang", "en", "--text", text, "--output", world / "no"]
    for checkpoint, more, message in (
        (last(world, "lm2"), [], "has no trained module 'extract', only transform"),
        (model, ["--row", "T,T+E"], "`--output` must contain {row}"),
        (
            *(model, ["--threshold", "3"]),
            "`--threshold` is only for rows T+pGA and T+pGA-target, got it with row T+E+R",
        ),
    ):
        assert message in fails(capsys, "clcr", "encode", checkpoint, *english, *more)
    xling(
        *("prepare", world / "other", "--languages", "en,de", "--from", world / "text"),
        *("--vocab", "separate", "--vocab-type", "word", "--vocab-size", "50"),
    )
    for checkpoint, more, message in (
        (last(world, "en"), [], "contains no model of `--task clcr`"),
        (
            *(model, ["--threshold", "9", "--output", world / "data"]),
            "is the data folder; name a separate one",
        ),
        (model, ["--splits", ","], "`--splits` must name one or several different ones, got ','"),
        (
            *(model, ["--data", world / "other"]),
            f"was trained with another dictionary of de than that of {world}/other",
        ),
    ):
        label = ["clcr", "label", checkpoint, "--output", world / "no", *more]
        assert message in fails(capsys, *label)
    with pytest.raises(SystemExit, match="was trained with other dictionaries than those of"):
        train(world, "mistake", "--clcr-start", last(world, "lm2"), data="other")
    measure = ["clcr", "measure", "keypoints", model, "--labels", labels]
    line = fails(capsys, *measure, "--delta", "0.2,0.2")
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
    line = f"nan.pt: `model.{name}` must be finite, got NaN or infinity"
    command = ["clcr", "label", tmp_path / "nan.pt", "--output", tmp_path / "labels"]
    assert line in fails(capsys, *command)
    with pytest.raises(SystemExit, match=re.escape(line)):
        train(world, "mistake", "--clcr-start", tmp_path / "nan.pt")
    del state["model"][name]
    torch.save(state, tmp_path / "less.pt")
    with pytest.raises(SystemExit, match=f"less.pt: has no weight {re.escape(repr(name))}"):
        train(world, "mistake", "--clcr-start", tmp_path / "less.pt")
    assert not (tmp_path / "labels").exists()


def test_a_training_that_diverges_ends_in_one_line_and_leaves_no_checkpoint(world, labels):
    given = ["--clcr-start", last(world, "lm2"), "--clcr-module", "order", "--clcr-labels", labels]
    with pytest.raises(SystemExit, match=r"the training diverged at update \d+ \(gradients are"):
        train(world, "diverged", *given, "--lr", "1e30", "--warmup-updates", "0")
    given = ["--encoder", encoders(world), "--lr", "1e30"]
    with pytest.raises(SystemExit, match="must be finite, got inf: the training diverged"):
        train(world, "diverged", *given)
    assert not list((world / "diverged").glob("*.pt"))


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


def test_no_pair_under_the_threshold_is_said_and_cannot_be_trained_on(world, phases, capsys):
    command = ["clcr", "label", last(world, "lm2"), "--threshold", "1e-9"]
    xling(*command, "--output", world / "none")
    assert "no pair of tokens is under the threshold 1e-09" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="contains no pivots to learn from"):
        train(
            *(world, "mistake", "--clcr-start", last(world, "lm2"), "--clcr-module", "extract"),
            *("--clcr-labels", world / "none"),
        )
