"""fairseq-train, -validate and -hydra-train on `--task bilingual_mlm`, as subprocesses."""

import os
import re
import time

import numpy as np
import psutil
import pytest
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.cli import main
from fairseq_xling.engine import precision
from tests.end_to_end.engine import (
    assert_same_training,
    command,
    in_process,
    kill,
    load,
    logged,
    run,
    run_until,
    start,
    training_options,
)
from tests.end_to_end.pages import Page, folder_of


@pytest.fixture(scope="module")
def trained(tiny_corpus, tmp_path_factory):
    """One training with its output: two epochs, workers on, tensorboard on."""
    folder = tmp_path_factory.mktemp("trained")
    options = training_options(
        tiny_corpus.path,
        folder / "checkpoints",
        *"--max-epoch 2 --num-workers 1 --best-checkpoint-metric mlm_en_ppl".split(),
        *("--tensorboard-logdir", str(folder / "tensorboard")),
        "--print-params",
    )
    return folder, run("fairseq-train", *options).stdout


def test_training_logs_loss_and_perplexity_of_each_language(trained):
    for kind in ("train", "valid"):
        for row in logged(trained[1], kind):
            for lang in ("en", "de"):
                loss = row[f"{kind}_mlm_{lang}_loss"]
                assert row[f"{kind}_mlm_{lang}_ppl"] == pytest.approx(2**loss, rel=0.01)


def test_the_best_checkpoint_is_chosen_by_english_perplexity(trained):
    folder, output = trained
    best = min(row["valid_mlm_en_ppl"] for row in logged(output, "valid"))
    assert load(folder / "checkpoints/checkpoint_best.pt")["extra_state"]["best"] == pytest.approx(
        best, abs=0.01
    )


def test_training_writes_tensorboard_curves_for_each_language(trained):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(trained[0] / "tensorboard" / "valid"))
    events.Reload()
    assert {"mlm_en_loss", "mlm_de_loss"} <= set(events.Tags()["scalars"])


@pytest.mark.slow
def test_training_writes_weights_and_biases_for_each_language(tiny_corpus, tmp_path):
    pytest.importorskip("wandb", reason="wandb is not installed (it is in no extra)")
    options = training_options(
        tiny_corpus.path,
        tmp_path / "checkpoints",
        *"--max-epoch 1 --wandb-project xling --log-interval 1".split(),
    )
    offline = {"WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path), "WANDB_SILENT": "true"}
    run("fairseq-train", *options, env={**os.environ, **offline})
    (written,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    content = written.read_bytes()
    for lang in ("en", "de"):
        for kind in ("train_inner", "valid"):
            assert f"{kind}/mlm_{lang}_loss".encode() in content


def test_the_parameter_table_adds_up_to_the_model(trained):
    folder, output = trained
    table = output[: output.index("| INFO | fairseq_cli.train | SeparableTransformer")]
    total = int(table.split("\ntotal")[1].split()[0].replace(",", ""))
    model = load(folder / "checkpoints/checkpoint_last.pt")["model"]
    parameters = [tensor for name, tensor in model.items() if name != "_extra_state"]
    assert total == sum(tensor.numel() for tensor in parameters)


def test_validate_gives_the_perplexity_that_training_logged(trained, tiny_corpus):
    folder, output = trained
    checkpoint = folder / "checkpoints/checkpoint_last.pt"
    done = run(
        "fairseq-validate",
        str(tiny_corpus.path),
        *("--user-dir", str(USER_DIR), "--path", str(checkpoint)),
        *"--task bilingual_mlm --max-tokens 256 --cpu --log-format json".split(),
        *["--tokens-per-sample", "16"],
    )
    found = logged(done.stdout, "valid")[-1]
    for lang in ("en", "de"):
        expected = logged(output, "valid")[-1][f"valid_mlm_{lang}_loss"]
        assert found[f"valid_mlm_{lang}_loss"] == pytest.approx(expected, abs=2e-3)


@pytest.mark.slow
def test_hydra_train_runs_the_task(pages_root):
    """The page that shows it has run it."""
    folder = folder_of(Page("how-to/fairseq-programs.md"), pages_root)
    saved = load(folder / "hydra-checkpoints/checkpoint_last.pt")
    assert saved["extra_state"]["val_loss"] > 0
    assert saved["cfg"]["task"]["_name"] == "bilingual_mlm"
    assert any(".private.de." in name for name in saved["model"])


@pytest.mark.parametrize(
    "task, arch",
    [
        ("bilingual_mlm", "separable_transformer_tiny"),
        ("bilingual_mlm", "tri_bert_tiny"),
        ("cdlm", "tri_bert_tiny"),
        ("cdlm --sample-break-mode none", "tri_bert_tiny"),
    ],
)
def test_an_architecture_trains_with_the_defaults_of_a_task(task, arch, tiny_corpus, tmp_path):
    sizes = "--encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32"
    words = f"--task {task} --arch {arch} {sizes} --criterion unified_lm --optimizer adam --lr 1e-3"
    output = in_process(
        *("train", tiny_corpus.path, "--user-dir", USER_DIR, *words.split(), "--cpu"),
        *"--max-tokens 512 --max-update 1 --num-workers 0 --log-format json --no-save".split(),
        *("--save-dir", tmp_path),
    )
    assert logged(output, "train")[-1]["train_num_updates"] == 1


KILLED = (
    "--max-update 40 --epoch-updates 16 --save-interval-updates 5 --keep-interval-updates 1 "
    "--separate emb,1 --num-workers 1 --lr-scheduler inverse_sqrt --warmup-updates 10"
).split()


def _kill_and_resume(corpus, folder, updates, processes):
    undisturbed = training_options(corpus.path, folder / "undisturbed", *KILLED)
    run("fairseq-train", *undisturbed, processes=processes)
    options = training_options(corpus.path, folder / "killed", *KILLED)
    for number, update in enumerate(updates):
        killed = run_until(
            rf'"num_updates": "{update}"',
            "fairseq-train",
            *options,
            log=folder / f"killed{number}.log",
            processes=processes,
        )
        assert killed, f"training ended before update {update}"
    output = run("fairseq-train", *options, processes=processes).stdout
    assert "Loaded checkpoint" in output
    last = "checkpoint_last.pt"
    assert_same_training(folder / "undisturbed" / last, folder / "killed" / last)


def test_a_killed_training_resumes_to_the_same_bits(tiny_corpus, tmp_path):
    _kill_and_resume(tiny_corpus, tmp_path, [13], processes=1)


def test_a_second_training_in_the_same_folder_is_refused(tiny_corpus, tmp_path):
    options = training_options(
        tiny_corpus.path, tmp_path / "saved", *"--max-epoch 90000 --epoch-updates 4".split()
    )
    with open(tmp_path / "log", "w") as output:
        first = start(command("fairseq-train", *options), output, output)
        try:
            deadline = time.monotonic() + 300
            while "Saved checkpoint" not in (tmp_path / "log").read_text():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            first_process = psutil.Process(first.pid)
            first_process.suspend()  # the second has the processor to itself
            refused = run("fairseq-train", *options, check=False)
            first_process.resume()
        finally:
            kill(first)
    line = f"error: `--save-dir` {tmp_path}/saved: another training is writing it"
    assert refused.returncode == 1 and refused.stdout.strip().endswith(line)
    assert "Traceback" not in refused.stdout


@pytest.mark.slow
def test_two_processes_killed_three_times_at_random_resume_to_the_same_bits(tiny_corpus, tmp_path):
    updates = np.sort(np.random.default_rng().choice(np.arange(6, 39), 3, replace=False))
    print("killed at updates", updates)
    _kill_and_resume(tiny_corpus, tmp_path, updates.tolist(), processes=2)


OUTSIDE = '''
"""A user's own objective: predict the first word from the rest."""

import numpy as np

import fairseq_xling.plugin  # noqa: F401
from fairseq_xling.data.folder import MASK
from fairseq_xling.objectives import objectives
from fairseq_xling.data.example import Example, Objective, constant


@objectives.register("first_word")
class FirstWord(Objective):
    name = "first_word"
    reads = "mono"

    def __call__(self, row, rng):
        tokens = row.source.tokens
        chosen = np.arange(len(tokens)) == 1
        langs = constant(self.vocabulary.lang_ids[row.source.lang], len(tokens))
        side = {"langs": langs, "positions": np.arange(len(tokens))}
        return Example(
            src={"tokens": np.where(chosen, MASK, tokens), **side},
            tgt={"tokens": tokens, "predict": chosen, **side},
        )
'''


def test_a_checkpoint_of_own_components_names_the_option_that_brings_them(
    tiny_corpus, tmp_path, monkeypatch, capsys
):
    mine = tmp_path / "my_plugin"
    mine.mkdir()
    (mine / "__init__.py").write_text(OUTSIDE)
    monkeypatch.setenv("FAIRSEQ_XLING_USER_DIR", str(mine))
    options = training_options(
        tiny_corpus.path,
        tmp_path / "checkpoints",
        *"--max-update 2 --objectives mlm,first_word --sample-break-mode sentence".split(),
    )
    last = logged(run("fairseq-train", *options).stdout, "valid")[-1]
    assert last["valid_first_word_de_loss"] > 0
    monkeypatch.delenv("FAIRSEQ_XLING_USER_DIR")
    checkpoint = tmp_path / "checkpoints" / "checkpoint_last.pt"
    assert main(["eval", str(checkpoint), "--data", str(tiny_corpus.path)]) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert f"{checkpoint}: `--objectives`: unknown objective 'first_word'; " in line
    assert line.endswith("; if it is your own, name its folder with `--user-dir`")


@pytest.mark.parametrize(
    "extra",
    [
        "--objectives mlm,tlm --language-embeddings --mix-in-batch --objective-weights tlm=0.5",
        "--sample-break-mode sentence --random-within-language --separate emb,1-2 --cpu-bf16",
        "--extra-anchors --lm-head bert",
    ],
)
def test_every_kind_of_training_lowers_its_loss(extra, tiny_corpus, tmp_path, in_process):
    options = "--max-update 30 --lr 1e-2 --disable-validation --no-save".split()
    output = in_process("train", tiny_corpus.path, tmp_path, *options, *extra.split())
    losses = [row["loss"] for row in logged(output, "train_inner")]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.3


def test_bf16_on_a_processor_without_it_is_trained_as_asked_and_warned_of_once(
    tiny_corpus, tmp_path, in_process, monkeypatch
):
    monkeypatch.setattr(precision, "cpu_has_bf16", lambda: False)
    options = "--max-update 3 --epoch-updates 2 --no-save --cpu-bf16".split()
    output = in_process("train", tiny_corpus.path, tmp_path, *options)
    assert len(logged(output, "train_inner")) == 3
    line = r"no native bf16: a matrix product takes [0-9.]+ times as long as in fp32; leave out --c"
    assert len(re.findall(line, output)) == 1


@pytest.mark.parametrize(("native", "chosen"), [(True, "bf16"), (False, "fp32")])
def test_the_choice_of_a_precision_is_as_good_as_naming_it(
    native, chosen, tiny_corpus, tmp_path, in_process, monkeypatch
):
    monkeypatch.setattr(precision, "cpu_has_bf16", lambda: native)
    losses = []
    for name in ("auto", chosen):
        options = f"--max-update 3 --no-save --disable-validation --cpu-precision {name}".split()
        output = in_process("train", tiny_corpus.path, tmp_path, *options)
        assert (f"--cpu-precision auto is {chosen} on this processor" in output) == (name == "auto")
        losses.append([row["loss"] for row in logged(output, "train_inner")])
    assert losses[0] == losses[1]


def test_batches_do_not_depend_on_the_required_batch_size_multiple(
    tiny_corpus, tmp_path, in_process
):
    runs = []
    for multiple in (1, 8):
        folder = tmp_path / str(multiple)
        options = f"--max-update 3 --required-batch-size-multiple {multiple}".split()
        output = in_process("train", tiny_corpus.path, folder, *options)
        runs.append((logged(output, "train_inner"), folder))
    losses = [[row["loss"] for row in rows] for rows, _ in runs]
    assert losses[0] == losses[1]
    assert_same_training(*(folder / "checkpoint_last.pt" for _, folder in runs))


def test_a_finished_training_is_left_as_it_is(tiny_corpus, tmp_path, in_process):
    options = "--max-update 3 --disable-validation --epoch-updates 2".split()
    in_process("train", tiny_corpus.path, tmp_path, *options)
    before = (tmp_path / "checkpoint_last.pt").read_bytes()
    output = in_process("train", tiny_corpus.path, tmp_path, *options)
    assert "--max-update 3 is reached already" in output
    assert (tmp_path / "checkpoint_last.pt").read_bytes() == before
    in_process("train", tiny_corpus.path, tmp_path, *options, "--max-update", "4")
    assert load(tmp_path / "checkpoint_last.pt")["optimizer_history"][-1]["num_updates"] == 4


def test_the_number_of_loader_workers_changes_nothing(tiny_corpus, tmp_path, in_process):
    for workers in (0, 2):
        folder = tmp_path / str(workers)
        in_process(
            "train", tiny_corpus.path, folder, *f"--max-update 6 --num-workers {workers}".split()
        )
    last = "checkpoint_last.pt"
    assert_same_training(tmp_path / "0" / last, tmp_path / "2" / last)


def test_private_parameters_stand_still_while_their_language_is_absent(
    tiny_corpus, tmp_path, in_process
):
    """German moves first; then only English is trained, with momentum and weight decay on."""
    common = ["--separate", "emb,1", "--disable-validation"]
    first, then = tmp_path / "first", tmp_path / "then"
    in_process("train", tiny_corpus.path, first, "--max-update", "6", *common)
    before = load(first / "checkpoint_last.pt")
    # a single lane of English: German's share of the batches underflows to nothing
    options = ["--max-update", "12", "--restore-file", str(first / "checkpoint_last.pt")]
    in_process("train", tiny_corpus.path, then, *options, *common, "--only", "en")
    after = load(then / "checkpoint_last.pt")
    german = [name for name in before["model"] if ".private.de." in name]
    english = [name for name in before["model"] if ".private.en." in name]
    assert german and all(torch.equal(before["model"][n], after["model"][n]) for n in german)
    assert any(not torch.equal(before["model"][n], after["model"][n]) for n in english)
