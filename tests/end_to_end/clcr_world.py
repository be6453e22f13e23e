"""What tests of CLCR through its CLIs begin with: tiny text, its encoders, short trainings."""

from fairseq_xling import USER_DIR
from fairseq_xling.cli import main
from tests.end_to_end.engine import in_process

WIDTHS = {"en": 16, "de": 24}


def xling(*arguments):
    assert main([*map(str, arguments)]) == 0


def fails(capsys, *arguments):
    """The single line that the command prints for bad input."""
    assert main([*map(str, arguments)]) == 1
    return capsys.readouterr().err.strip().splitlines()[-1]


def options(root, folder, *extra, data="data"):
    """Of a training of two epochs of four updates."""
    return [
        *(root / data, "--user-dir", USER_DIR, "--task", "clcr", "--arch", "clcr"),
        *"--criterion clcr --optimizer adam --lr 3e-3 --max-tokens 300 --cpu".split(),
        *"--num-workers 0 --log-format json --log-interval 1 --no-progress-bar".split(),
        *"--epoch-updates 4 --max-update 8 --no-epoch-checkpoints --save-dir".split(),
        *(root / folder, *extra),
    ]


def train(root, folder, *extra, **changes):
    return in_process("train", *options(root, folder, *extra, **changes))


def encoders(root):
    return ",".join(f"{lang}={root / lang / 'checkpoint_last.pt'}" for lang in WIDTHS)


def last(root, folder):
    return root / folder / "checkpoint_last.pt"


def make_world(root):
    """Parallel text, separate vocabularies, and an encoder of each language, of two widths."""
    text = root / "text"
    xling(
        *("synthesize", text, "--languages", "en,de", "--sentences", "60", "--held-out", "12"),
        *("--parallel-sentences", "80", "--annotated", "5"),
    )
    xling(
        *("prepare", root / "data", "--languages", "en,de", "--from", text, "--vocab", "separate"),
        *("--vocab-type", "word", "--vocab-size", "300"),
    )
    for lang, width in WIDTHS.items():
        in_process(
            "train",
            *(root / "data", "--user-dir", USER_DIR, "--task", "bilingual_mlm"),
            *("--languages", lang, "--separate", "emb", "--criterion", "unified_lm"),
            *"--arch separable_transformer_tiny --encoder-layers 4 --max-positions 24".split(),
            *("--encoder-embed-dim", width, "--encoder-ffn-embed-dim", 2 * width),
            *"--optimizer adam --lr 1e-3 --sample-break-mode sentence --max-tokens 500".split(),
            *"--disable-validation --cpu --num-workers 0 --max-update 2 --save-dir".split(),
            root / lang,
        )
    return root
