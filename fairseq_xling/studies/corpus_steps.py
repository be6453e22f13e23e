"""Steps that make text and data folders with our own commands."""

from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.workflow.step import Step


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
        pairs: number of sentence pairs of parallel training text.
        annotated: number of training sentences with gold annotation, if not the default.
    """
    command = [
        *("fairseq-xling", "synthesize", str(text), "--languages", ",".join(languages)),
        *("--sentences", str(sentences), "--held-out", str(held_out), "--seed", str(seed)),
        *(("--parallel-sentences", str(pairs)) if pairs else ()),
        *(("--annotated", str(annotated)) if annotated is not None else ()),
    ]
    return Step(name, commands=[command], outputs=[text])


def text_files(folder: Path, languages: Sequence[str]) -> list[Path]:
    """Exactly the files that `fairseq-xling prepare --from FOLDER` reads for ``languages``.

    Raises:
        UserError: if a language has no training text.
    """
    from fairseq_xling.text.sources import find_sources

    found = find_sources(folder, languages)
    for lang in languages:
        if not found.text_of(lang):
            raise UserError(f"{folder}: has no training text of {lang!r}, mono/train.{lang}.txt")
    return [path for files in found.by_role().values() for path in files]


def text_file(folder: str | Path, name: str) -> Path:
    """A file of a folder of text, plain or gzipped, such as ``mono/train.en``."""
    plain = Path(folder) / f"{name}.txt"
    for path in (plain, plain.with_name(f"{plain.name}.gz")):
        if path.is_file():
            return path
    raise UserError(f"{plain}: no such file")


def check_vocabulary(vocab_type: str, segment: str, languages: Sequence[str]) -> None:
    """Reject what `fairseq-xling prepare` would, before anything runs."""
    from fairseq_xling.text.vocabulary_types import vocabulary_types

    if vocab_type not in vocabulary_types:
        known = list(vocabulary_types)
        raise UserError(f"`--vocab-type`: {unknown_name('value', vocab_type, known)}")
    vocabulary_types[vocab_type].check()
    segment_parts(segment, languages)


def segment_parts(segment: str, languages: Sequence[str]) -> list[str]:
    """The parts of ``LANG=HOW,...`` for ``languages``.

    Other languages are allowed: one file of options can cover more than are used.

    >>> segment_parts("zh=char, en=space", ["en", "de"])
    ['en=space']

    Raises:
        UserError: for a malformed part, of any language.
    """
    from fairseq_xling.text.options import parse_segmentation

    parts = ["=".join(x.strip() for x in part.split("=", 1)) for part in segment.split(",")]
    parts = [part for part in parts if part]
    named = [part.partition("=")[0] for part in parts if "=" in part]
    for lang in named:
        parse_languages(lang, "--segment")
    parse_segmentation(parts, [*languages, *named])
    return [part for part in parts if part.partition("=")[0] in languages]


def segment_options(segment: str, languages: Sequence[str]) -> list[str]:
    """The same as options of `fairseq-xling prepare`; errors as above."""
    return [x for part in segment_parts(segment, languages) for x in ("--segment", part)]


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
    """A data folder; an interrupted call resumes.

    Args:
        source: options that name the text (``--from``, ``--mono``, ...).
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
