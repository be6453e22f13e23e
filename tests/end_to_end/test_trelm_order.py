"""Translation into a language whose order is nothing like the source's (SPEC T18)."""

from pathlib import Path

import pytest

from tests.end_to_end.engine import BIN, environment, run
from tests.records import rows

SOURCE = Path(__file__).parents[2] / "examples" / "trelm" / "source.sh"
MIGRATION = """\
source: source/checkpoints/checkpoint_last.pt
text: text
languages: [en, xp]
arch: tri_bert_tiny
vocab_type: word
vocab_size: 4000
mapping: none
commonality_steps: 200
transfer_steps: 1000
language_steps: 60
translator_steps: 0
commonality_lr: 0.003
transfer_lr: 0.003
language_lr: 0.001
warmup: 50
every: 200
batch_size: 0
max_tokens: 2048
train_args: --attention-dropout 0
"""


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_prediction_wins_most_of_what_a_wholly_other_order_costs(tmp_path, monkeypatch):
    """xp permutes English: predicted order and length win 80 % of the gap up to given ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{BIN}:{environment()['PATH']}")
    sizes = "--sentences 20000 --parallel-sentences 20000 --held-out 1000".split()
    run("fairseq-xling", "synthesize", "text", "--languages", "en,xp", "--seed", "1", *sizes)
    mono = [f"text/mono/{split}.en.txt" for split in ("train", "valid")]
    vocabulary = "--vocab-type word --vocab-size 4000 -- --max-tokens 2048 --lr 3e-3 --seed 1"
    arch = "--arch separable_transformer_tiny --lm-head bert --objectives mlm"
    run(SOURCE, "source", *mono, "800", *vocabulary.split(), *arch.split())
    Path("run.yaml").write_text(MIGRATION)
    run(
        "fairseq-xling", *"trelm run run.yaml --output out --seeds 1 --jobs 2".split(), timeout=2700
    )
    bleu = {row["ordering"]: row["value"] for row in rows(Path("out"), measure="BLEU")}
    identity, predicted, oracle = (bleu[order] for order in ("identity", "predicted", "oracle"))
    assert predicted - identity >= 0.8 * (oracle - identity) > 0
