"""Steps that make text and data folders with our own commands."""

from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.runs.step import Step


def synthesize_step(
    name: str,
    text: Path,
    languages: Sequence[str],
    sentences: int,
    held_out: int,
    seed: int,
    pairs: int = 0,
    annotated: int | None = None,
) -> Step:
    """The embedded corpus in ``text``.

    Args:
        pairs: how many sentence pairs of parallel training text.
        annotated: how many training sentences have gold annotation, if not as many as usual.
    """
    command = [
        *("fairseq-xling", "synthesize", str(text), "--languages", ",".join(languages)),
        *("--sentences", str(sentences), "--held-out", str(held_out), "--seed", str(seed)),
        *(("--parallel-sentences", str(pairs)) if pairs else ()),
        *(("--annotated", str(annotated)) if annotated is not None else ()),
    ]
    return Step(name, commands=[command], outputs=[text])


def prepare_step(
    name: str,
    data: Path,
    languages: Sequence[str],
    source: Sequence[str],
    inputs: Sequence[Path],
    mode: str,
    vocab_type: str,
    vocab_size: int,
    options: Sequence[str] = (),
    aligner: str = "none",
) -> Step:
    """A data folder; an interrupted call goes on.

    Args:
        source: options that say where the text is (``--from``, ``--mono``, ...).
        inputs: the files or folders those options name.
        mode: vocabulary mode.
    """
    command = [
        *("fairseq-xling", "prepare", str(data), "--languages", ",".join(languages), *source),
        *("--vocab", mode, "--vocab-type", vocab_type, "--vocab-size", str(vocab_size)),
        *("--aligner", aligner, *options),
    ]
    return Step(name, commands=[command], inputs=inputs, outputs=[data], resumable=True)


def eval_command(
    saved: Sequence[Path], data: Path, source: str, targets: Sequence[str], *options: str | Path
) -> list[str]:
    """The `fairseq-xling eval` call for the checkpoints ``saved``."""
    return [
        *("fairseq-xling", "eval", *map(str, saved), "--data", str(data)),
        *("--source", source, "--targets", ",".join(targets), *map(str, options)),
    ]
