"""The translations of a migration: which way, by which model, and the calls of fairseq-generate.

TreLM, Table 6: the forward model translates the source language into the target, the backward model
the target into the source, with the words in the order of the sentence that is translated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling import USER_DIR
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.runs.step import Step

if TYPE_CHECKING:
    from fairseq_xling.papers.trelm.steps import Outcome

# fairseq-generate's own default is a single sentence if no limit is given.
_GENERATE_TOKENS = 8192


@dataclass(frozen=True)
class Direction:
    """One way to translate.

    Attributes:
        phase: whose model translates: ``forward`` or ``backward``.
        pair: the language that is read, and the one that is written.
        prefix: of the names of its steps.
        suffix: of its names in tables.
    """

    phase: str
    pair: tuple[str, str]
    prefix: str = ""
    suffix: str = ""


def forward(config: TrelmConfig, target: str) -> Direction:
    """From the source language to ``target``."""
    return Direction("forward", (config.source_lang, target))


def directions(config: TrelmConfig, target: str) -> list[Direction]:
    """Forward, and with `--translate-both` also backward."""
    there = forward(config, target)
    back = Direction("backward", there.pair[::-1], prefix="back-", suffix=", backward")
    return [there, back] if config.translate_both else [there]


def translation_name(config: TrelmConfig, what: str, split: str) -> str:
    """``what`` translates ``split``, in tables: the first split to translate goes unsaid.

    >>> config = TrelmConfig(translate_split="test,test1")
    >>> [translation_name(config, "oracle", split) for split in config.translate_list]
    ['oracle', 'oracle, test1']
    """
    return what if split == config.translate_list[0] else f"{what}, {split}"


def add_translation(
    book: Book,
    config: TrelmConfig,
    outcome: "Outcome",
    direction: Direction,
    what: str,
    split: str,
    build: Callable[[str], Step],
    called: str = "",
) -> None:
    """Add a step that translates ``split``, and what it writes to the translations of ``outcome``.

    Args:
        what: translates, in the step's name; called: the same in tables, if it is another.
        build: the step of a name, which writes into the folder ``translations/name`` of the run.
    """
    which = "" if split == config.translate_list[0] else f"{split}-"
    kind = f"translate-{direction.prefix}{which}{what}-{outcome.target}-{outcome.seed}"
    name = book.add(kind, outcome.label, build)
    title = translation_name(config, f"{called or what}{direction.suffix}", split)
    outcome.translations[title] = book.run / "translations" / name / f"generate-{split}.txt"
    if direction.pair[1] != outcome.target:
        outcome.backward.append(title)


def translate_step(
    name: str,
    run: Path,
    config: TrelmConfig,
    data: Path,
    model: Path,
    pair: tuple[str, str],
    split: str,
    ordering: str,
    options: Sequence[str] = (),
    inputs: Sequence[Path] = (),
    late: Callable[[], Sequence[str]] | None = None,
) -> Step:
    """fairseq-generate with one of our models, into the folder ``translations/name`` of the run.

    Args:
        options: more of fairseq-generate; inputs: files that these name, or ``late`` (as `Step`'s)
            reads.
    """
    folder = run / "translations" / name
    command = [
        *("fairseq-generate", str(data), "--user-dir", str(USER_DIR), "--task", "cdlm"),
        *("--path", str(model), "--gen-subset", split),
        *("-s", pair[0], "-t", pair[1], "--ordering", ordering),
        *("--max-tokens", str(_GENERATE_TOKENS), "--results-path", str(folder)),
        *(("--cpu",) if config.device == "cpu" else ()),
        *options,
        *config.words("generate_args"),
    ]
    read = [data, model, *inputs]
    return Step(name, commands=[command], late=late, inputs=read, outputs=[folder])
