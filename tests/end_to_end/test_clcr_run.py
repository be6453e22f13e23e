"""`clcr run`: its plan, what it refuses, and that it goes on after a kill; and the study of how
much parallel text it needs."""

import csv
import re

import pytest
import torch

from fairseq_xling.data.folder import DataFolder
from tests.end_to_end.clcr_world import WIDTHS, encoders, fails, xling
from tests.end_to_end.engine import run, run_until
from tests.once import linked

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


@pytest.fixture(scope="module")
def world(clcr_world, tmp_path_factory):
    return linked(clcr_world, tmp_path_factory.mktemp("clcr"))


def config(world):
    files = ",".join(f"{world}/text/parallel/test.en-de.{lang}.txt" for lang in WIDTHS)
    lines = [f"data: {world / 'data'}", f"encoder: [{encoders(world)}]"]
    lines += [f'encode_pairs: ["test={files}"]']
    path = world / "run.yaml"
    path.write_text(CONFIG + "\n".join(lines) + "\n")
    return path


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
    xling("clcr", "run", config(world), "--order-sides", "second,first", *best[2:])
    plan = capsys.readouterr().out
    assert re.findall(r"^\[\d+/\d+\] (order-[ar]\S+): run$", plan, re.MULTILINE) == [
        *("order-rel-second-1", "order-abs-second-1", "order-rel-1", "order-abs-1")
    ]
    assert plan.count("--order-side second") == 2 and plan.count("--reorder second") == 2
    refused = {
        "--extract-steps 0": "`--rows` T+E+R needs `--extract-steps` above 0; ",
        "--order-steps 0": "`--rows` T+E+R needs `--order-steps` above 0; ",
        "--tune-on test2 --threshold 0": "'test2'",
        "--encoder en= --encoder de=x": "`--encoder` must be like en=..., got 'en='",
        "--encoder-data de=nowhere": "nowhere: no such file or folder",
        "--flip-rates 0.9,0": "`--flip-rates` must be two numbers in [0, 0.45]",
        "--orders=": "`--rows` T+E+R needs one of `--orders`; name it or leave the row out",
        "--order-sides=": "`--order-sides` must name first, second or both, got none",
        "--orders abs,rel --weigh sign": "unknown `--weigh` 'sign'; known: probability, likelihood",
        "--rows T+F": "unknown name in `--rows` 'T+F'",
        f"--rows T+pGA --encode-text x.en={__file__}": (
            "`--rows` T+pGA needs the translation of a text: give x.en with `--encode-pairs`"
        ),
        f"--encode-text ../x.en={__file__}": "must be one that a folder can have, got '../x'",
        "--orders rel,rel": "`--orders` must be different, got 'rel,rel'",
    }
    for options, line in refused.items():
        planned = [config(world), "--output", world / "planned", "--dry-run", *options.split()]
        assert line in fails(capsys, "clcr", "run", *planned)
    if not torch.cuda.is_available():
        command = ["clcr", "run", config(world), "--output", world / "planned", "--device", "cuda"]
        assert "`--device` cuda: cannot be used here" in fails(capsys, *command)
    assert not (world / "planned").exists()


@pytest.mark.slow
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


def labelled(world):
    """English pairs to train and select by, German ones to test on, as options."""
    given = []
    for option, split, lang in (
        ("train", "train", "en"), ("valid", "valid", "en"), ("test", "test", "de"),
    ):  # fmt: skip
        text = (world / "text" / "parallel" / f"{split}.en-de.{lang}.txt").read_text().splitlines()
        rows = [f"{a}\t{b}\t{'same' if a == b else 'other'}" for a, b in pairwise(text, split)]
        path = world / f"nli.{split}.{lang}.tsv"
        path.write_text("".join(row + "\n" for row in rows))
        given += [f"--{option}", f"{lang}={path}"]
    return given


def pairwise(text, split):
    some = text[: 20 if split == "train" else 8]
    return [(line, some[n if n % 2 else n - 1]) for n, line in enumerate(some)]


def ablation(world, name, *more):
    small = (
        "--transform-steps 16 --transform-lr 0.02 --rounds 0 --extract-steps 2 --order-steps 2 "
        "--orders rel --every 2 --warmup 1 --max-tokens 300 --rows T,T+E"
    )
    return [
        *("ablate", name, "--data", world / "data"),
        *(word for path in encoders(world).split(",") for word in ("--encoder", path)),
        *(*small.split(), "--output", world / "sizes", *more),
    ]


def study(world, *more):
    return ablation(world, "clcr-pairs", "--sizes", "60,15,30", *more)


def pairs_of(path):
    sides = DataFolder(path).parallel("train", "en", "de")
    return [tuple(tuple(side[n].tolist()) for side in sides) for n in range(len(sides[0]))]


def test_a_study_of_sizes_trains_on_nested_subsets_of_the_pairs(world, capsys):
    xling(*study(world, *labelled(world), "--dry-run"))
    plan = capsys.readouterr().out
    steps = re.findall(r"^\[\d+/\d+\] (\S+): run$", plan, re.MULTILINE)
    assert steps[:4] == [
        *("texts-train", "texts-valid", "texts-de.nli.test.de.tsv", "subset-15"),
    ]
    own = ["transform-1", "label-1", "extract-1", "order-rel-1"]
    own += [f"encode-nli.train.{side}.en-1" for side in ("premise", "hypothesis")]
    assert steps[4:10] == [f"pairs-15-{name}" for name in own]
    assert [name for name in steps if "classify" in name] == [
        f"pairs-{size}-classify" for size in (15, 30, 60)
    ]
    found = []
    for size in (60, 15, 30):
        xling(*study(world, "--only-step", f"subset-{size}"))
        found.append(pairs_of(world / "sizes" / "data" / f"pairs-{size}"))
    capsys.readouterr()
    most, least, middle = map(set, found)
    assert [len(one) for one in found] == [60, 15, 30]
    assert least < middle < most < set(pairs_of(world / "data"))
    fails(capsys, *study(world, "--sizes", "81", "--only-step", "subset-81"))
    log = (world / "sizes" / "logs" / "subset-81.log").read_text()
    assert "`--sizes` must be at most the 80 pairs of" in log
    for options, line in {
        f"--test fr={__file__}": "must be in en or de, got 'fr'",
        "--rows T+pGA": "`--rows` T+pGA reads translations, which labelled files do not have",
        f"--test de={world}/nli.test.de.tsv": "there are two files of that name and language",
    }.items():
        more = [*labelled(world), *options.split(), "--dry-run"]
        assert line in fails(capsys, *study(world, *more))


@pytest.mark.slow
def test_a_study_of_sizes_gives_a_table_and_a_figure_by_size(world, capsys):
    xling(*study(world, *labelled(world), "--sizes", "60,15", "--classify-args", "--epochs 1"))
    assert "| pairs" in capsys.readouterr().out
    with open(world / "sizes" / "table.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    figures = {row["measure"] for row in rows}
    assert {row["row"] for row in rows} == {"15", "60"}
    assert {"hard", "relative", "f1", "seconds of T", "seconds of E", "seconds of R"} <= figures
    assert {f"accuracy, {row}, de.nli.test.de.tsv" for row in ("T", "T+E")} <= figures
    assert len({row["value"] for row in rows if row["measure"] == "hard"}) == 2  # other text
    assert (world / "sizes" / "plot.svg").is_file()


def test_readings_share_what_is_trained_before_they_differ(world, capsys):
    more = [*labelled(world), "--attention-score", "exclusive", "--dry-run"]
    xling(*ablation(world, "clcr-readings", *more))
    plan = capsys.readouterr().out
    steps = re.findall(r"^\[\d+/\d+\] (\S+): run$", plan, re.MULTILINE)
    trained = ("transform-1", "label-1", "extract-1", "order-rel-1")
    own = {
        name: [step.removeprefix(f"{name}-") for step in steps if step.startswith(f"{name}-")]
        for name in ("defaults", "transformed", "lm-phases", "finetune", "second")
    }
    for name, first in {"defaults": 0, "transformed": 0, "lm-phases": 0, "finetune": 2}.items():
        assert [step for step in own[name] if step in trained] == [*trained[first:]]
    assert "order-rel-second-1" in own["second"] and not set(trained) & set(own["second"])
    commands = [one for one in map(str.split, plan.splitlines()) if one[:1] == ["fairseq-train"]]
    starts = {
        one[one.index("--save-dir") + 1].rpartition("/")[2]: one[one.index("--clcr-start") + 1]
        for one in commands
        if "--clcr-start" in one
    }
    assert "/defaults-transform-1/" in starts["finetune-extract-1"]
    assert "/finetune-extract-1/" in starts["finetune-order-rel-1"]
    assert "/defaults-extract-1/" in starts["second-order-rel-second-1"]
    assert [name for name in steps if "classify" in name] == [f"{name}-classify" for name in own]
    xling(*ablation(world, "clcr-readings", "--dry-run"))
    assert " transformed-" not in capsys.readouterr().out  # are the settings already


def test_readings_that_cannot_be_compared_are_rejected(world, capsys):
    for options, line in {
        "--readings finetune,wide": "unknown reading 'wide'; known: transformed, lm-phases,",
        "--readings second,second": "`--readings` must name 'second' once",
        "--readings transformed": "`--readings` 'transformed' changes nothing that is trained here",
        "--readings lm-phases --anneal-beta 0": "`--readings` 'lm-phases' changes nothing that is",
        "--readings second --extract-steps 0 --rows T": "'second' changes nothing that is",
    }.items():
        more = [*options.split(), "--dry-run"]
        assert line in fails(capsys, *ablation(world, "clcr-readings", *more))


@pytest.mark.slow
def test_readings_give_a_table_with_what_they_change(world, capsys):
    more = ["--readings", "finetune,second", "--classify-args", "--epochs 1"]
    xling(*ablation(world, "clcr-readings", *labelled(world), *more))
    assert "| reading" in capsys.readouterr().out
    with open(world / "sizes" / "table.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    values = {(row["row"], row["measure"]): float(row["value"]) for row in rows}
    assert {name for name, _ in values} == {"defaults", "finetune", "second"}
    for name in ("hard", "f1"):  # T is shared
        assert len({values[row, name] for row in ("defaults", "finetune", "second")}) == 1
    ambiguity = "entropy of E, de (bits)"
    assert values["defaults", ambiguity] == values["second", ambiguity]
    assert values["defaults", ambiguity] != values["finetune", ambiguity]
    assert (world / "sizes" / "plot.svg").is_file()
