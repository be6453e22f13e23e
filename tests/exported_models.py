"""Untrained models with weights in which nothing can hide, on a small data folder, to export."""

import random
from pathlib import Path

import torch

from fairseq_xling.cli import main
from fairseq_xling.engine.prepare import prepare_engine

WORDS = "dog cat runs don't house-boat 3.14 zebra Katze Straße läuft 我在 «quoted» end… (a)".split()
LINES = ["The dog runs, don't it?", "eine Katze läuft!! 3.14", "我在 (Straße) zebra…", "☃ x"]
LINES += ["人々は𠀀x", ""]
# White space that is no blank: next to words, alone, and at both ends.
LINES += [
    "dog\u00a0cat runs\u2003 ",
    "dog\x85cat \x85 \x1c runs\x0bend",
    "\u3000 dog \u2028 cat\xa0",
]
ODD = (
    "--arch separable_transformer_tiny --encoder-layers 5 --encoder-embed-dim 24 "
    "--encoder-ffn-embed-dim 20 --encoder-attention-heads 3 --max-positions 77"
)


def make_data(folder: Path, mode: str = "joint", kind: str = "unigram", how: str = "space") -> Path:
    """A data folder of English and German with a few words."""
    draw = random.Random(1)
    for lang in ("en", "de"):
        for split, count in (("train", 200), ("valid", 20)):
            lines = (
                " ".join(draw.choice(WORDS) + draw.choice(["", ",", ".", "s"]) for _ in range(9))
                for _ in range(count)
            )
            file = folder / "text" / "mono" / f"{split}.{lang}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    settings = f"--vocab {mode} --vocab-type {kind} --vocab-size 60 --aligner none"
    segments = f"--languages en,de --segment en={how} --segment de={how}"
    line = [str(folder / "data"), "--from", str(folder / "text"), *settings.split()]
    assert main(["prepare", *line, *segments.split()]) == 0
    return folder / "data"


def make_checkpoint(
    file: Path,
    data: Path,
    options: str,
    task: str = "bilingual_mlm",
    criterion: str = "unified_lm",
) -> Path:
    """A checkpoint of the model that fairseq-train would start with ``options``."""
    prepare_engine()
    import fairseq_xling.plugin  # noqa: F401
    from fairseq_xling.papers.trelm.start import Start, build_model, write_checkpoint

    line = f"--task {task} --criterion {criterion} --optimizer adam {options}"
    cfg, built, model = build_model(data, line.split())
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            # The scales of norms are about 1, as in every trained model.
            parameter.copy_(1 + 0.3 * drawn if name.endswith("norm.weight") else 0.3 * drawn)
    write_checkpoint(file, Start(cfg, built, model, []), {})
    state = torch.load(file, weights_only=False)
    torch.save({**state, "task_state": built.state_dict()}, file)
    return file
