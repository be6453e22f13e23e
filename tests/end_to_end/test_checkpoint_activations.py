"""`--checkpoint-activations`: layers are computed again, and nothing else changes."""

import pytest

from fairseq_xling import USER_DIR
from fairseq_xling.models.layer import EncoderLayer
from tests.end_to_end import training_steps
from tests.end_to_end.engine import differences, in_process, load

POS = training_steps.HEADS["pos"]
CASES = {
    "separable": f"{{w}}/data {training_steps.LM} --separate emb,1 --activation-fn relu",
    "tri": f"{{w}}/data {training_steps.CDLM} --emission ctc --auxiliary nsp --objectives "
    "translation,mlm,nsp --glancing 0.5",
    "unpadded": f"{{w}}/data {training_steps.CDLM} --unpadded on",
    "transfer": f"{training_steps.TRANSFER} --head pos {POS} --head-layers 1 --freeze-layers 1",
    "clcr": f"{training_steps.CLCR} {training_steps.START} --clcr-phase lm1",
}
TRAINER = (
    "--optimizer adam --lr 1e-3 --max-update 4 --num-workers 0 --no-progress-bar --cpu "
    "--disable-validation --log-format json"
).split()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "tri" else pytest.mark.slow) for name in CASES],
)
def test_weights_after_four_updates_are_the_same(name, world, tmp_path, monkeypatch):
    passes = []
    states = EncoderLayer._states
    monkeypatch.setattr(
        EncoderLayer, "_states", lambda layer, *rest: passes.append(0) or states(layer, *rest)
    )
    counts = []
    for folder, more in (("kept", []), ("again", ["--checkpoint-activations"])):
        passes.clear()
        words = [*CASES[name].format(w=world).split(), *TRAINER, *more, "--user-dir", USER_DIR]
        in_process("train", *words, "--save-dir", tmp_path / folder)
        counts.append(len(passes))
    kept, again = (load(tmp_path / x / "checkpoint_last.pt") for x in ("kept", "again"))
    assert kept["optimizer_history"][-1]["num_updates"] == 4
    assert counts[1] > counts[0]  # in the backward pass
    for part in ("model", "last_optimizer_state"):
        assert not differences(kept[part], again[part])
