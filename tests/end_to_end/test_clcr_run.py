"""`clcr run`: its plan, what it refuses, and that it goes on after a kill."""

import re

import pytest
import torch

from tests.end_to_end.clcr_world import WIDTHS, encoders, fails, make_world, xling
from tests.end_to_end.engine import run, run_until

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
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("clcr"))


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
    xling("clcr", "run", config(world), "--order-sides", "second,first", *best[2:])
    plan = capsys.readouterr().out
    assert re.findall(r"^\[\d+/\d+\] (order-[ar]\S+): run$", plan, re.MULTILINE) == [
        *("order-rel-second-1", "order-abs-second-1", "order-rel-1", "order-abs-1")
    ]
    assert plan.count("--order-side second") == 2 and plan.count("--reorder second") == 2
    refused = {
        "--extract-steps 0": "`--rows` T+E+R needs `--extract-steps` above 0; ",
        "--order-steps 0": "`--rows` T+E+R needs `--order-steps` above 0; ",
        "--delta 3": "`--delta` must lie in [0, 1], got 3.0",
        "--tune-on test2 --threshold 0": "'test2'",
        "--encoder en= --encoder de=x": "`--encoder` must be like en=..., got 'en='",
        "--encoder-data de=nowhere": "`--encoder-data` de=nowhere: no such file or folder",
        "--layer nine": "`--layer` must be a layer, or like en=9, got 'nine'",
        "--layer fr=1": "`--layer` must be of en or de, got 'fr'",
        "--anneal-phases lm3": "`--anneal-phases` must name different ones of lm1, lm2, tr",
        "--transform residul": "did you mean 'residual'?",
        "--schedule polynomal": "`--schedule`: unknown scheduler 'polynomal'",
        "--adam-betas 0.9,2": "`--adam-betas` must be two numbers in [0, 1), e.g. 0.9,0.999, got",
        "--flip-rates 0.9,0": "`--flip-rates` must be two numbers in [0, 0.45]",
        "--orders=": "`--rows` T+E+R needs one of `--orders`; name it or leave the row out",
        "--schedule tri_stage": "must be one with `--warmup-updates` (cosine, fixed, inverse_sqrt",
        "--order-sides de": "unknown name in `--order-sides` 'de'; known: first, second",
        "--order-sides=": "`--order-sides` must name first, second or both, got none",
        "--weigh sing": "unknown `--weigh` 'sing'; did you mean 'sign'?",
        "--orders abs,rel --weigh sign": "unknown `--weigh` 'sign'; known: probability, likelihood",
        "--preset papre": "unknown `--preset` 'papre'; did you mean 'paper'?",
        "--orders abc": "unknown name in `--orders` 'abc'; did you mean 'abs'?",
        "--rows T+F": "unknown name in `--rows` 'T+F'",
        "--rows=": "`--rows` must name what to write for the texts to encode, got none",
        f"--rows T+pGA --encode-text x.en={__file__}": (
            "`--rows` T+pGA needs the translation of a text: give x.en with `--encode-pairs`"
        ),
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
