"""Text and vocabularies of a study, and the steps that make and measure its data folders."""

from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.registry import unknown_name


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
    """
    from fairseq_xling.text.options import parse_segmentation

    pieces = [[x.strip() for x in part.split("=", 1)] for part in segment.split(",")]
    named = [lang for lang, *how in pieces if how]
    for lang in named:
        parse_languages(lang, "--segment")
    parts = ["=".join(piece) for piece in pieces if piece != [""]]
    parse_segmentation(parts, [*languages, *named])
    return [part for part in parts if part.partition("=")[0] in languages]


def segment_options(segment: str, languages: Sequence[str]) -> list[str]:
    """The same as options of `fairseq-xling prepare`; errors as above."""
    return [x for part in segment_parts(segment, languages) for x in ("--segment", part)]


def eval_command(
    saved: Sequence[Path], data: Path, source: str, targets: Sequence[str], *options: str | Path
) -> list[str]:
    """The `fairseq-xling eval` call for the checkpoints ``saved``."""
    return [
        *("fairseq-xling", "eval", *map(str, saved), "--data", str(data)),
        *("--source", source, "--targets", ",".join(targets), *map(str, options)),
    ]
