"""fairseq-train and -validate on `--task cdlm` and the TRI models: mixtures, phases, mistakes."""

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
from fairseq_xling.core.errors import OWN
from fairseq_xling.data.mmap import TokenFile, write_items
from fairseq_xling.models.auxiliary import auxiliary_heads
from fairseq_xling.models.phases import fingerprint
from tests.end_to_end import engine
from tests.end_to_end.engine import (
    assert_same_training,
    load,
    logged,
    run,
    run_until,
    training_options,
)

CDLM = "--task cdlm --arch tri_bert_tiny".split()
BOTH_WAYS = "--mix-in-batch --directions en-de,de-en".split()
# Those that learn from CdLM's rows, by whatever names.
_LEARN = [n for n in auxiliary_heads if auxiliary_heads[n].needs_middle]
HEADS = ["--auxiliary", ",".join(_LEARN)]
LAST = "checkpoint_last.pt"


@pytest.fixture
def cdlm(in_process, tiny_corpus):
    """``cdlm(folder, "--max-update 3 ...", *more)``: fairseq-train's output on `--task cdlm`."""

    def call(folder, text="", *more, data=None) -> str:
        options = [*CDLM, "--disable-validation", *text.split(), *more]
        return in_process("train", data or tiny_corpus.path, folder, *options)

    return call


@pytest.fixture(scope="module")
def trained(tiny_corpus, tmp_path_factory):
    """A training of CdLM both ways and MLM in the same batches, with its output."""
    folder = tmp_path_factory.mktemp("trained")
    extra = "--max-update 6 --epoch-updates 6 --dropout 0 --update-freq 2".split()
    options = training_options(tiny_corpus.path, folder, *CDLM, *BOTH_WAYS, *HEADS, *extra)
    return folder / LAST, engine.in_process("train", *options)


# ---- mixtures


def test_every_objective_language_and_head_is_logged_in_training_and_validation(trained):
    heads = HEADS[1].split(",")
    for kind in ("train", "valid"):
        (row,) = logged(trained[1], kind)
        for key in [f"{o}_{lang}" for o in ("cdlm", "mlm") for lang in ("en", "de")] + heads:
            assert row[f"{kind}_{key}_ppl"] == pytest.approx(2 ** row[f"{kind}_{key}_loss"], 0.01)
    mixed = [row for row in logged(trained[1], "train_inner") if "cdlm_de_loss" in row]
    assert any("mlm_en_loss" in row for row in mixed)


def test_validate_gives_the_losses_that_training_logged(trained, tiny_corpus, monkeypatch):
    from fairseq_cli import validate

    options = [str(tiny_corpus.path), "--user-dir", str(USER_DIR), "--path", str(trained[0])]
    options += "--task cdlm --directions en-de,de-en --max-tokens 300 --cpu".split()
    monkeypatch.setattr(sys, "argv", ["fairseq-validate", *options, "--log-format", "json"])
    output, root = io.StringIO(), logging.getLogger()
    # fairseq-validate puts its own in their place.
    handlers, level = list(root.handlers), root.level
    try:
        with contextlib.redirect_stdout(output):
            validate.cli_main()
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    (expected,), found = logged(trained[1], "valid"), logged(output.getvalue(), "valid")[-1]
    keys = [key for key in expected if key.endswith("_loss")]
    assert len(keys) == 5 + len(HEADS[1].split(","))
    for key in keys:
        assert found[key] == pytest.approx(expected[key], abs=3e-3), key


@pytest.mark.parametrize(
    "extra",
    [
        "--mix-in-batch --objectives cdlm,tlm,brlm-mask,brlm-attn --cpu-bf16",
        "--objectives cdlm,mlm --separate emb,1 --alternate",
        *(
            pytest.param(extra, marks=pytest.mark.slow)
            for extra in (
                "--mix-in-batch --auxiliary order,nsp --objective-weights mlm=0.5",
                "--objectives nsp,mlm --auxiliary nsp --auxiliary-weights nsp=2",
                "--objectives mlm,tlm,brlm-attn --no-trilayer --encoder-layers 3",
                "--arch tri_roberta_tiny --mono-text parallel --directions de-en "
                "--mono-languages de",
            )
        ),
    ],
)
def test_every_kind_of_training_lowers_its_loss(extra, cdlm, tmp_path):
    output = cdlm(tmp_path, "--max-update 30 --lr 1e-2 --no-save", *extra.split())
    losses = [row["loss"] for row in logged(output, "train_inner")]
    assert len(losses) == 30 and np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.3


def test_objectives_alternate_and_tables_of_separate_vocabularies_are_disjoint(
    make_corpus, cdlm, tmp_path
):
    """CdLM* of TreLM (SPEC T20): no language embeddings, a table of tokens for each language."""
    corpus = make_corpus(mode="separate")
    text = "--separate tokens,softmax --no-language-embeddings --alternate --max-update 8 "
    text += "--save-interval-updates 1 --epoch-updates 20"
    output = cdlm(tmp_path / "checkpoints", text, data=corpus.path)
    steps = logged(output, "train_inner")
    trained = [next(key for key in row if re.match(r"(cd|m)lm_.._loss", key)) for row in steps]
    assert [key.startswith("cdlm") for key in trained] == [True, False] * 4
    assert {"mlm_en_loss", "mlm_de_loss"} <= set(trained)
    path = tmp_path / "checkpoints" / "checkpoint_1_{}.pt"
    states = [load(str(path).format(number))["model"] for number in range(1, 9)]
    assert not any("language_table" in name for name in states[0])
    assert not any(".shared." in name for name in states[0] if "tokens" in name)
    for key, before, after in zip(trained[1:], states, states[1:], strict=False):
        moved = {
            lang
            for lang in ("en", "de")
            for part in ("tokens", "softmax")
            for name in before
            if name.startswith(f"encoder.{part}.private.{lang}.")
            and not torch.equal(before[name], after[name])
        }
        # CdLM reads English and writes German; MLM is of one language alone.
        assert moved == ({"en", "de"} if key.startswith("cdlm") else {key[4:6]}), key


# ---- phases

PHASES = {
    "commonality": "--objectives mlm",
    "forward": "--mix-in-batch --directions en-de --mono-languages de --mono-text parallel",
    "backward": "--mix-in-batch --directions de-en --mono-languages de --mono-text parallel",
    "language": "--objectives nsp,mlm --auxiliary nsp --mono-languages de",
}
FROZEN_LAYERS = {"commonality": {0, 1}, "forward": {0}, "backward": {1}, "language": set()}


def relabelled(checkpoint, target, phase):
    """``checkpoint`` as if it were of ``phase``."""
    state = load(checkpoint)
    identity = json.loads(bytes(map(round, state["model"]["_extra_state"].tolist())))
    text = json.dumps(identity | {"phase": phase})
    state["model"]["_extra_state"] = torch.tensor(list(text.encode()), dtype=torch.float32)
    torch.save(state, target)
    return target


@pytest.fixture(scope="module")
def start(trained, tmp_path_factory):
    """A checkpoint to begin a migration with; it has heads that the phases have not."""
    return relabelled(trained[0], tmp_path_factory.mktemp("start") / "init.pt", "init")


@pytest.mark.parametrize("phase", PHASES)
def test_a_phase_changes_exactly_what_it_declares(phase, start, cdlm, tmp_path):
    options = f"--max-update 2 --trelm-phase {phase} {PHASES[phase]}".split()
    cdlm(tmp_path, "--finetune-from-model", str(start), *options)
    before, saved = load(start)["model"], load(tmp_path / LAST)
    after = saved["model"]
    encoder = [name for name in after if name.startswith("encoder.")]
    changed = {name for name in encoder if not torch.equal(before[name], after[name])}
    frozen = {
        name
        for name in encoder
        if any(name.startswith(f"encoder.layers.{number}.") for number in FROZEN_LAYERS[phase])
    }
    assert changed == set(encoder) - frozen
    assert bool(frozen) == (phase != "language")

    # The optimiser has nothing of them: no state, not even a place in its list.
    trainable = [name for name in after if name != "_extra_state" and name not in frozen]
    state = saved["last_optimizer_state"]
    assert len(state["param_groups"][0]["params"]) == len(state["state"]) == len(trainable)
    shapes = sorted(tuple(entry["exp_avg"].shape) for entry in state["state"].values())
    assert shapes == sorted(tuple(after[name].shape) for name in trainable)

    heads = {name.split(".")[1] for name in after if name.startswith("auxiliary.")}
    assert heads == ({"nsp"} if phase == "language" else set())
    identity = json.loads(bytes(map(round, after["_extra_state"].tolist())))
    assert (identity["phase"], identity["parent"]) == (phase, fingerprint(before))


def test_a_phase_refuses_the_wrong_phases_checkpoint(start, cdlm, tmp_path):
    wrong = relabelled(start, tmp_path / "wrong.pt", "forward")
    with pytest.raises(SystemExit) as stopped:
        cdlm(tmp_path / "new", "--trelm-phase language --finetune-from-model", str(wrong))
    assert str(stopped.value) == (
        "fairseq-xling: error: `--trelm-phase language` must start from a checkpoint of "
        "'combined', 'commonality', 'init', got one of phase 'forward'"
    )
    assert not list((tmp_path / "new").glob("*.pt"))


# ---- kill and resume


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_phase_killed_three_times_at_random_resumes_to_the_same_bits(
    processes, start, tiny_corpus, tmp_path
):
    """A forward phase with heads, next to the same one undisturbed."""
    updates = np.sort(np.random.default_rng().choice(np.arange(2, 15), 3, replace=False))
    print("killed at updates", updates)
    text = "--max-update 16 --epoch-updates 6 --save-interval-updates 4 --trelm-phase forward "
    text += "--keep-interval-updates 1 --lr-scheduler inverse_sqrt --warmup-updates 10"
    more = [*CDLM, "--disable-validation", *text.split(), *BOTH_WAYS, *HEADS]
    more += ["--finetune-from-model", str(start)]
    undisturbed, killed = (
        training_options(tiny_corpus.path, tmp_path / name, *more)
        for name in ("undisturbed", "killed")
    )
    run("fairseq-train", *undisturbed, processes=processes)
    for update in updates.tolist():
        log, pattern = tmp_path / f"{update}.log", rf'"num_updates": "{update}"'
        assert run_until(pattern, "fairseq-train", *killed, log=log, processes=processes)
    assert "Loaded checkpoint" in run("fairseq-train", *killed, processes=processes).stdout
    assert_same_training(tmp_path / "undisturbed" / LAST, tmp_path / "killed" / LAST)


# ---- mistakes

OPTIONS = [
    ("--no-trilayer", "`--objectives` cdlm needs a model with a TRILayer"),
    ("--objectives nsp", "objective 'nsp' needs `--auxiliary nsp`, got ''"),
    (
        "--objectives nsp --auxiliary nsp --arch tri_roberta_tiny",
        "objective 'nsp' needs `--num-segments 2`, got 1",
    ),
    (
        "--trelm-phase foward",
        "unknown `--trelm-phase` 'foward'; did you mean 'forward'? "
        f"known: backward, commonality, forward, language{OWN}",
    ),
    (
        "--trelm-phase forward --arch separable_transformer_tiny --objectives mlm",
        "`--trelm-phase` forward needs an `--arch` that supports phases, such as tri_bert_base, "
        "got "
        "SeparableTransformer",
    ),
    (
        "--extra-anchors",
        "`--extra-anchors` replaces words, which invalidates word alignments; it cannot be used "
        "with objective 'cdlm'",
    ),
    ("--too-long drop", "`--too-long` must be truncate or refuse, got 'drop'"),
    (
        "--mix-in-batch --separate tokens,softmax",
        "`--mix-in-batch` needs a model without private parts, got `--separate` 'tokens,softmax'",
    ),
    (
        "--objectives brlm-attn --separate 1",
        "objective 'brlm-attn' puts two languages into one input, which private parts do "
        "not support; `--separate` must be empty with it, got '1'",
    ),
    (
        "--auxiliary-weights ordr=1",
        "`--auxiliary-weights`: unknown auxiliary head 'ordr'; did you mean",
    ),
]


def _fails(cdlm, folder, *options, data=None) -> str:
    with pytest.raises(SystemExit) as stopped:
        cdlm(folder, "--max-update 1", *options, data=data)
    assert not list(folder.glob("*.pt"))
    return str(stopped.value).removeprefix("fairseq-xling: error: ")


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=[o for o, _ in OPTIONS])
def test_a_mistaken_option_is_named_with_its_value(options, message, cdlm, tmp_path):
    found = _fails(cdlm, tmp_path, *options.split())
    assert "\n" not in found
    assert found.startswith(message) if message.endswith("did you mean") else found == message


def test_cdlm_without_an_alignment_is_refused(make_corpus, cdlm, tmp_path):
    corpus = make_corpus()
    for suffix in ("bin", "idx"):
        (corpus.path / "parallel" / f"train.en-de.order.{suffix}").unlink()
    assert _fails(cdlm, tmp_path, data=corpus.path) == (
        f"{corpus.path}: has no word alignment en-de for 'train'; prepare it with an --aligner or "
        "--alignment"
    )


def test_the_alignment_of_other_files_is_refused(make_corpus, cdlm, tmp_path):
    corpus = make_corpus()
    stem = corpus.path / "parallel" / "train.en-de"
    orders = TokenFile(f"{stem}.order")
    message = (
        f"{stem}.order: the alignment must have one entry per target token; it was made for "
        f"another version of {stem}.de"
    )
    items = [orders[i] for i in range(len(orders))]
    for wrong in (items[:-1], [items[1], items[0], *items[2:-1], items[-1][:-1]]):
        write_items(f"{stem}.order", wrong, np.dtype("<u2"))
        assert _fails(cdlm, tmp_path, data=corpus.path) == message


def test_sentences_over_the_position_table_are_cut_with_a_warning_or_refused(
    tiny_corpus, cdlm, tmp_path
):
    cut = 2 * sum(len(en) > 4 for en, _ in tiny_corpus.pairs["train"])
    options = "--objectives cdlm --max-positions 6".split()
    message = _fails(cdlm, tmp_path, *options, "--too-long", "refuse")
    assert message == (
        f"{tiny_corpus.path}: {cut} sentences of train en-de are longer than `--max-positions` 6, "
        "and `--too-long` is refuse"
    )
    output = cdlm(tmp_path, "--max-update 1 --no-save", *options)
    assert f"train en-de: {cut} sentences are cut at --max-positions 6" in output
