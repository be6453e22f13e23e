"""Trainings, translation, states and searches on a GPU in every precision, next to the CPU's.

Skipped where there is no GPU. `FAIRSEQ_XLING_ACCELERATOR=cpu` tries the checks themselves.
"""

import functools
import math
import os
import sys

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.precision import device_options
from fairseq_xling.generation.translator import Translator
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.mapping.csls import csls_neighbours
from fairseq_xling.models.emissions.ctc import ctc_loss
from fairseq_xling.models.lattice_paths import NEVER, best_path, lattice_loss
from fairseq_xling.models.ordering.search import arrange, assign
from fairseq_xling.tasks.arcs import best_trees
from tests.end_to_end import training_steps
from tests.end_to_end.engine import checked, in_process, logged
from tests.end_to_end.test_emissions import train

DEVICE = os.environ.get("FAIRSEQ_XLING_ACCELERATOR", "cuda")
PRECISIONS = ("fp32", "bf16") if DEVICE == "cpu" else ("fp32", "bf16", "fp16")
CASES = training_steps.cases()
# How far a loss may be from the CPU's in fp32, as a part of it.
NEAR = {"fp32": 1e-3, "bf16": 0.03, "fp16": 0.03}

if DEVICE == "cuda" and not torch.cuda.is_available():
    pytest.skip("torch finds no GPU here", allow_module_level=True)


# ---- training


def losses(world, name, device):
    """Of each update; of language models without dropout, whose draws depend on the device."""
    still = "--dropout 0 --attention-dropout 0" if name.startswith("unified_lm") else ""
    output = training_steps.train(world, f"{CASES[name]} {still}", device)
    return [row["loss"] for row in logged(output, "train_inner")]


@pytest.fixture(scope="module")
def on_cpu(labelled_world):
    """By name; a CPU trains once for all precisions."""
    return functools.cache(lambda name: losses(labelled_world, name, ("--cpu",)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_losses_of_training_are_finite_and_those_of_language_models_a_cpus(
    name, precision, labelled_world, on_cpu
):
    found = losses(labelled_world, name, device_options(precision, DEVICE))
    assert len(found) == training_steps.UPDATES and all(map(math.isfinite, found))
    if name.startswith("unified_lm"):
        # A part of the words is shown at random to one that is glanced at.
        near = 0.3 if "--glancing" in CASES[name] else NEAR[precision]
        assert found == pytest.approx(on_cpu(name), rel=near)


# ---- translation


@pytest.fixture(scope="module")
def study(backwards):
    return backwards


@pytest.fixture(scope="module")
def trained(study, tmp_path_factory):
    """By emission, a checkpoint that translates well, trained on the CPU."""
    root, found = tmp_path_factory.mktemp("emissions"), {}
    for name, options in {
        "aligned": "--max-update 100",
        "ctc": "--emission ctc --upsample 2 --max-update 100",
        "lattice": "--emission lattice --upsample 4 --max-update 120",
    }.items():
        train(study, root / name, options, start=found.get("aligned"))
        found[name] = root / name / "checkpoint_last.pt"
    return found


SEARCHES = {
    "aligned": {"ordering": "identity"},
    "ctc": {},
    "ctc beam": {"slot_beam": 4},
    "lattice": {},
    "lattice beam": {"slot_beam": 4},
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", SEARCHES)
def test_translations_are_those_of_a_cpu(study, trained, name, precision):
    options = SEARCHES[name]
    path, lines = trained[name.split()[0]], ["", *study.lines["en"], "zebra"]
    expected = Translator.load(path, precision="fp32", **options).translate(lines)
    given = {"device": DEVICE, "precision": precision, **options}
    found = Translator.load(path, **given).translate(lines)
    same = sum(one == other for one, other in zip(found, expected, strict=True)) / len(lines)
    assert found[0] == "" and same >= (1 if precision == "fp32" else 0.9)
    assert Translator.load(path, **given).translate(lines, batch_tokens=16) == found


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("emission", ("aligned", "ctc", "lattice"))
def test_fairseqs_own_program_translates_as_on_a_cpu(study, trained, emission, precision):
    def bleu(*device):
        kept = [word for word in study.options("--path", trained[emission]) if word != "--cpu"]
        output = in_process("generate", *kept, *device, "--scoring", "sacrebleu")
        return float(output.rsplit("BLEU = ", 1)[1].split()[0])

    assert bleu(*device_options(precision, DEVICE)) == pytest.approx(bleu("--cpu"), abs=5)


@pytest.mark.skipif(DEVICE == "cpu", reason="a CPU has products in 8 bits")
def test_8_bits_are_refused(trained):
    with pytest.raises(UserError, match="`--int8`"):
        Translator.load(trained["ctc"], device=DEVICE, int8=True).translate(["dog"])


# ---- states, losses and searches


def test_states_are_those_of_a_cpu(world):
    path, sentences = world / "lm" / "checkpoint_last.pt", [np.arange(6, 14), np.arange(9, 12)]
    here, there = (
        list(Encoder.load(path, device=device).states(sentences, "en"))
        for device in ("cpu", DEVICE)
    )
    for (_, one, _), (_, other, _) in zip(here, there, strict=True):
        torch.testing.assert_close(one, other.cpu(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_losses_over_alignments_and_paths_and_their_gradients_are_those_of_a_cpu(dtype):
    generator = torch.Generator().manual_seed(5)
    lengths, sizes = torch.tensor([9, 5, 2]), torch.tensor([4, 2, 2])  # slots and words
    words = torch.randint(1, 7, (3, 4), generator=generator)
    scores = torch.randn(3, 9, 5, dtype=dtype, generator=generator).log_softmax(-1)
    emitted = torch.randn(3, 4, 9, dtype=dtype, generator=generator).log_softmax(-1)
    steps = torch.randn(3, 9, 9, dtype=dtype, generator=generator)
    steps = steps.masked_fill(torch.ones(9, 9).tril().bool(), NEVER).log_softmax(-1)
    found = []
    for device in ("cpu", DEVICE):
        ctc, lattice, links = (
            x.detach().to(device).requires_grad_() for x in (scores, emitted, steps)
        )
        labels, slots, count = (x.to(device) for x in (words, lengths, sizes))
        over_alignments = ctc_loss(ctc, labels, slots, count)
        over_paths = lattice_loss(links, lattice, slots, count)
        (over_alignments + over_paths).sum().backward()
        path = best_path(links.detach(), lattice.detach(), slots, count)
        inside = torch.arange(4) < sizes[:, None]
        found.append([over_alignments, over_paths, ctc.grad, lattice.grad, links.grad,
                      path.cpu()[inside]])  # fmt: skip
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(here, there.cpu(), rtol=1e-4, atol=1e-5)


def test_trees_orders_and_neighbours_are_those_of_a_cpu():
    generator = torch.Generator().manual_seed(6)
    scores = torch.randn(5, 9, 9, generator=generator)
    lengths = torch.tensor([8, 3, 8, 1, 6])
    assert torch.equal(best_trees(scores.to(DEVICE), lengths.to(DEVICE)).cpu(),
                       best_trees(scores, lengths))  # fmt: skip
    costs = torch.rand(4, 7, 7, generator=generator)
    sizes = torch.tensor([7, 1, 4, 5])
    for search in (assign, arrange):
        there, here = search(costs.to(DEVICE), sizes.to(DEVICE)), search(costs, sizes)
        assert torch.equal(there.ranks.cpu(), here.ranks)
    x, y = torch.randn(2, 300, 16, generator=generator)
    here, there = csls_neighbours(x, y), csls_neighbours(x.to(DEVICE), y.to(DEVICE))
    assert torch.equal(here[1], there[1].cpu())
    torch.testing.assert_close(here[0], there[0].cpu(), rtol=1e-4, atol=1e-5)


# ---- processes


def test_a_program_that_is_forked_can_use_it(tmp_path):
    """CUDA cannot be initialised in a fork of a process that has initialised it."""
    script = tmp_path / "adds.py"
    script.write_text(f"import torch\nprint(torch.ones(2, device={DEVICE!r}).sum().item())\n")
    assert checked([sys.executable, script]).stdout.split() == ["2.0"]
