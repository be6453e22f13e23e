"""Trainings that leave padding out: the losses of those that have it, and resumed as the other."""

import pytest
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.engine import compat
from fairseq_xling.models import unpadded
from tests.end_to_end.engine import in_process, load, logged
from tests.end_to_end.test_synchronisation import rehearsals

COMMON = (
    "--criterion unified_lm --optimizer adam --lr 1e-3 --cpu --num-workers 0 --log-format json "
    "--log-interval 1 --no-progress-bar --encoder-layers 2 --encoder-embed-dim 16 "
    "--encoder-ffn-embed-dim 32 --max-positions 48 --max-tokens 200 --dropout 0 "
    "--attention-dropout 0 --sample-break-mode sentence"
)
MODELS = {
    "mlm": "--task bilingual_mlm --arch separable_transformer_tiny --separate emb,1",
    "mixed": "--task cdlm --arch tri_bert_tiny --objectives cdlm,mlm,tlm,brlm-mask,brlm-attn "
    "--mix-in-batch --directions en-de,de-en --auxiliary order",
}


def train(corpus, folder, model, *options):
    words = [*MODELS[model].split(), *COMMON.split(), *options, "--save-dir", folder]
    return in_process("train", corpus.path, "--user-dir", USER_DIR, *words)


def losses(output):
    return [row["loss"] for row in logged(output, "train_inner")]


@pytest.mark.parametrize("model", ["mlm", pytest.param("mixed", marks=pytest.mark.slow)])
def test_a_training_goes_on_without_padding_as_with_it(model, tiny_corpus, tmp_path):
    updates = "--max-update {} --epoch-updates 3 --validate-interval-updates 3"
    found = {}
    for first, then in (("off", "off"), ("on", "on"), ("on", "off"), ("off", "on")):
        folder = tmp_path / f"{first}-{then}"
        outputs = [
            train(tiny_corpus, folder, model, *updates.format(n).split(), "--unpadded", kind)
            for n, kind in ((3, first), (6, then))
        ]
        valid = [row["valid_loss"] for row in logged(outputs[1], "valid")]
        last = load(folder / "checkpoint_last.pt")["model"]
        found[first, then] = [x for output in outputs for x in losses(output)] + valid, last
    expected, weights = found["off", "off"]
    assert len(expected) >= 7
    for other, theirs in found.values():
        assert other == pytest.approx(expected, rel=1e-4)
        for name, tensor in weights.items():
            if tensor.is_floating_point():
                torch.testing.assert_close(theirs[name], tensor, rtol=1e-3, atol=1e-4)


def test_no_size_is_asked_of_a_device(tiny_corpus, tmp_path, monkeypatch):
    # In place of flash attention, which a device that is not there does not have.
    monkeypatch.setattr(unpadded, "_by_padding", lambda parts, segments, rate: parts[:, 2])
    with rehearsals() as steps:
        train(tiny_corpus, tmp_path, "mlm", *"--max-update 2 --unpadded on --no-save".split())
    assert len(steps) == 2
    for device in steps:
        assert not device.waits and not device.host


def test_another_way_to_leave_padding_out_is_refused(tiny_corpus, tmp_path):
    with pytest.raises(SystemExit, match="`--unpadded` must be auto or on or off, got 'some'"):
        train(tiny_corpus, tmp_path, "mixed", *"--unpadded some --max-update 1".split())


@pytest.mark.parametrize("kind", [pytest.param("on", marks=pytest.mark.slow), "off"])
def test_a_compiled_training_has_the_same_losses(kind, tiny_corpus, tmp_path, monkeypatch):
    graphs = []

    def compiler(graph, inputs):
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(compat, "COMPILER", compiler)
    torch._dynamo.reset()
    options = f"--max-update 5 --disable-validation --unpadded {kind} --lm-head bert".split()
    expected = train(tiny_corpus, tmp_path / "plain", "mixed", *options)
    found = train(tiny_corpus, tmp_path / "compiled", "mixed", *options, "--compile")
    assert losses(found) == pytest.approx(losses(expected), rel=1e-5)
    # What is compiled to try the compiler, layers, output layer and loss.
    assert len(graphs) == 4
    resumed = train(tiny_corpus, tmp_path / "compiled", "mixed", *options[2:], "--max-update", "6")
    assert len(losses(resumed)) == 1
    torch._dynamo.reset()


def test_a_compiler_that_is_missing_is_said_before_training(tiny_corpus, tmp_path, monkeypatch):
    def compiler(graph, inputs):
        raise RuntimeError("no g++ here")

    monkeypatch.setattr(compat, "COMPILER", compiler)
    with pytest.raises(SystemExit, match=r"`--compile` needs a C\+\+ compiler"):
        train(tiny_corpus, tmp_path, "mlm", "--compile", "--max-update", "1")
