"""A translator that drops and reorders: trained with `--auxiliary relative`, as a user does it.

The other language is English relabelled, read backwards, without its articles.
"""

import random
import re

import pytest

from fairseq_xling import USER_DIR
from fairseq_xling.cli import main
from tests.end_to_end.engine import in_process

WORDS = "sun moon dog cat bird fish tree leaf".split()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Data folder and checkpoint."""
    root = tmp_path_factory.mktemp("relative")
    rng = random.Random(1)
    text = {"en": [], "xx": [], "links": []}
    for _ in range(120):
        english = []
        for word in rng.sample(WORDS, rng.randint(1, 5)):
            english += ["the", word] if rng.random() < 0.4 else [word]
        kept = [i for i, word in enumerate(english) if word != "the"][::-1]
        text["en"].append(" ".join(english))
        text["xx"].append(" ".join(f"x{english[i]}" for i in kept))
        text["links"].append(" ".join(f"{i}-{j}" for j, i in enumerate(kept)))
    for name, lines in text.items():
        (root / name).write_text("\n".join(lines) + "\n")
    arguments = ["--languages", "en,xx", "--vocab-type", "word", "--vocab-size", "200"]
    for split in ("train", "valid", "test"):
        arguments += ["--parallel", f"{split}.en-xx={root / 'en'},{root / 'xx'}"]
        arguments += ["--alignment", f"{split}.en-xx={root / 'links'}"]
    assert main(["prepare", str(root / "data"), *arguments]) == 0
    in_process(
        "train",
        *(root / "data", "--user-dir", USER_DIR, "--save-dir", root / "model"),
        *"--task cdlm --arch tri_bert_tiny --criterion unified_lm --objectives cdlm".split(),
        *"--auxiliary relative --optimizer adam --lr 3e-3 --max-tokens 1024".split(),
        *"--cpu --num-workers 0 --max-update 120 --dropout 0 --log-format simple".split(),
        *"--encoder-layers 2 --encoder-embed-dim 32 --encoder-ffn-embed-dim 64".split(),
        *"--max-positions 20 --no-epoch-checkpoints --disable-validation".split(),
    )
    return root


def generate(study, *flags):
    text = in_process(
        "generate",
        *(study / "data", "--user-dir", USER_DIR, "--task", "cdlm", "--cpu", "--num-workers", "0"),
        *("--path", study / "model" / "checkpoint_last.pt", "--gen-subset", "test"),
        *("--scoring", "sacrebleu", "--print-alignment", *flags),
    )
    alignments = dict(re.findall(r"^A-(\d+)\t(.*)$", text, re.MULTILINE))
    return float(re.search(r"BLEU = (\S+)", text)[1]), {int(i): a for i, a in alignments.items()}


@pytest.mark.slow
def test_what_is_dropped_and_turned_round_in_training_is_so_in_translation(study):
    links = (study / "links").read_text().splitlines()
    bleu, found = generate(study, "--ordering", "relative", "--length-candidates", "1")
    right = sum(sorted(found[i].split()) == sorted(links[i].split()) for i in range(len(links)))
    assert right / len(links) > 0.95
    identity, _ = generate(study, "--ordering", "identity")
    assert bleu > identity + 20
