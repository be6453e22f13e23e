"""An encoder fine-tuned until aligned words have the same states, through fairseq-train (T23)."""

import json
import re

import pytest

from fairseq_xling.cli import main
from tests.end_to_end.engine import training_options


@pytest.mark.slow
def test_alignment_loss_falls_and_the_anchored_language_stays(tmp_path, fairseq_train):
    text, data, first = tmp_path / "text", tmp_path / "data", tmp_path / "first"
    sizes = "--sentences 60 --parallel-sentences 60 --held-out 20".split()
    assert main(["synthesize", str(text), *sizes]) == 0  # with gold alignments
    prepare = ["prepare", str(data), "--from", str(text), "--languages", "en,de"]
    assert main([*prepare, *"--vocab-type word --vocab-size 600 --aligner none".split()]) == 0
    fairseq_train(*training_options(data, first, "--max-update", "2", "--max-tokens", "256"))
    checkpoint = str(first / "checkpoint_last.pt")
    align = [
        *"--task cdlm --objectives word-alignment --directions en-de".split(),
        *"--criterion word_alignment --drift-weight 10 --lr 1e-2 --max-tokens 512".split(),
        *("--dropout", "0", "--best-checkpoint-metric", "align", "--initial-encoder", checkpoint),
    ]
    start = ["--finetune-from-model", checkpoint]
    options = [*align, *start, "--max-update", "20", "--epoch-updates", "5"]
    printed = fairseq_train(*training_options(data, tmp_path / "second", *options))
    found = [json.loads(line) for line in re.findall(r"\| valid \| (\{.*\})", printed)]
    aligned = [float(one["valid_align"]) for one in found]
    assert len(aligned) == 4 and aligned[-1] < aligned[0]
    assert float(found[-1]["valid_drift"]) < 0.1 * aligned[0]
    with pytest.raises(SystemExit, match="'word-alignment' needs `--criterion word_alignment`"):
        fairseq_train(
            *training_options(data, tmp_path / "third", *align[:6], "--max-tokens", "512")
        )
