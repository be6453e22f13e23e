"""A hundred kill -9 at random moments: what was killed and started again ends as if nothing had
happened, bit for bit but for what `tests.kill.disturb.VARYING` lists."""

import shlex

import pytest

from fairseq_xling import USER_DIR
from tests.kill.disturb import assert_kills_change_nothing

_PLUGIN = f"--user-dir {USER_DIR} --cpu"
_TRAIN = (
    "fairseq-train {w}/data --task bilingual_mlm --arch separable_transformer_tiny --criterion "
    "unified_lm --encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32 "
    "--max-positions 48 --max-tokens 256 --sample-break-mode sentence --optimizer adam --lr 1e-3 "
    f"--max-update 24 --epoch-updates 6 --save-interval-updates 4 --keep-interval-updates 2 "
    f"--no-progress-bar {_PLUGIN} --save-dir out"
)
_TAGS = "{w}/text/gold/tags"

# Program: the command, and how many kills. A hundred in all.
PROGRAMS = {
    "prepare": (
        "fairseq-xling prepare out --languages en,de --from {w}/text --vocab-type bpe "
        "--vocab-size 200",
        14,
    ),
    "train": (f"{_TRAIN} --num-workers 0", 14),
    "train with workers": (f"{_TRAIN} --num-workers 2", 12),
    "generate": (
        "fairseq-generate {w}/data --path {w}/translator.pt --task cdlm --source-lang en "
        f"--target-lang de --gen-subset test --max-tokens 256 {_PLUGIN} --num-workers 0 "
        "--results-path out",
        10,
    ),
    "trelm run": (
        "fairseq-xling trelm run --source {w}/lm.pt --source-data {w}/data --text {w}/text "
        "--languages en,de --vocab-type word --vocab-size 300 --embed-epochs 1 --map-seeds 1 "
        "--map-refine 1 --map-keep-failed yes --commonality-steps 4 --transfer-steps 4 "
        "--language-steps 4 --warmup 1 --every 2 --batch-size 16 --output out "
        "--map-args='--epochs 1 --epoch-size 64 --hidden 8'",
        12,
    ),
    "clcr run": (
        "fairseq-xling clcr run --data {w}/data --encoder en={w}/lm.pt --encoder de={w}/lm.pt "
        "--transform-steps 4 --lm-steps 2 --extract-steps 0 --order-steps 0 --rows T --every 2 "
        "--warmup 1 --max-tokens 300 --encode-text test.en={w}/text/parallel/test.en-de.en.txt "
        "--output out",
        12,
    ),
    "eval transfer": (
        "fairseq-xling eval transfer --encoder {w}/lm.pt --data {w}/data --head pos --columns "
        f"token=0,tag=1 --epochs 2 --lrs 1e-3,2e-3 --train en={_TAGS}.train.en.tsv --valid "
        f"en={_TAGS}.valid.en.tsv --test en={_TAGS}.test.en.tsv --test de={_TAGS}.test.de.tsv "
        "--output out",
        12,
    ),
    "map": (
        "fairseq-xling map procrustes {w}/sentences-de {w}/sentences-en --pairs rows "
        "--output out.safetensors",
        7,
    ),
    "extract": (
        "fairseq-xling extract {w}/lm.pt --data {w}/data --lang en --unit tokens --text "
        "{w}/text/mono/train.en.txt --output out",
        7,
    ),
}


def test_there_are_a_hundred_kills():
    assert sum(kills for _, kills in PROGRAMS.values()) == 100


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", PROGRAMS)
def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(name, tiny_world, tmp_path):
    text, kills = PROGRAMS[name]
    words = shlex.split(text.replace("{w}", str(tiny_world)))
    seed = list(PROGRAMS).index(name)
    assert_kills_change_nothing(words, tmp_path, kills, seed)
