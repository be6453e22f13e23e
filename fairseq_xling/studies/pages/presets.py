"""What a user can run for a row: verbs, studies, named settings and recipes that declare it.

A verb's module names its rows in ``SPEC_ROWS``, a module of named settings in a ``SPEC_ROWS`` by
name, a study or an objective in ``spec_rows``, a recipe (YAML) in a line: ``# Rows: T9, P9``.
"""

import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_lines
from fairseq_xling.runs.command_line import typed_as, verbs
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.pages.rows import check_codes, parse_codes

# modules with SPEC_ROWS by name, and how a user asks for one of these names
_NAMED = {
    "fairseq_xling.papers.transfer.config": "fairseq-xling eval transfer --preset {}",
    "fairseq_xling.papers.emerging.config": "fairseq-xling ablate emerging-structure --preset {}",
    "fairseq_xling.papers.clcr.config": "fairseq-xling clcr run --preset {}",
    "fairseq_xling.papers.trelm.config": "fairseq-xling trelm run --preset {}",
    "fairseq_xling.models.separable_transformer": "fairseq-train --arch {}",
    "fairseq_xling.models.tri_encoder": "fairseq-train --arch {}",
    "fairseq_xling.training.bilingual_mlm": "fairseq-train --task {}",
    "fairseq_xling.training.cross_lingual_transfer": "fairseq-train --task {}",
    "fairseq_xling.papers.clcr.task": "fairseq-train --task {}",
    "fairseq_xling.training.bilstm_baseline": "fairseq-train --task {}",
    "fairseq_xling.generation.orderings": "fairseq-generate --ordering {}",
}
_LINE = re.compile(r"#\s*Rows:\s*(.+)")


@dataclass(frozen=True)
class Preset:
    """Something to run.

    Attributes:
        name: what a user types, or a recipe's path relative to the given folder.
        rows: its rows.
    """

    name: str
    rows: tuple[str, ...]


def find_presets(recipes: Iterable[Path] = ()) -> list[Preset]:
    """All presets that name a row; ``recipes`` are YAML files, or folders of them."""
    found = [*_verbs(), *_studies(), *_objectives(), *_named(), *_recipes(recipes)]
    return [preset for preset in found if check_codes(preset.rows)]


def _verbs() -> Iterator[Preset]:
    for name, verb in verbs().items():
        yield Preset(f"fairseq-xling {typed_as(name)}", verb.rows)


def _studies() -> Iterator[Preset]:
    for name in STUDIES:
        rows = tuple(getattr(STUDIES[name], "spec_rows", ()))
        yield Preset(f"fairseq-xling ablate {name}", rows)


def _objectives() -> Iterator[Preset]:
    from fairseq_xling.objectives import objectives

    for name in objectives:
        rows = tuple(getattr(objectives[name], "spec_rows", ()))
        yield Preset(f"fairseq-train --objectives {name}", rows)


def _named() -> Iterator[Preset]:
    from fairseq_xling.engine.prepare import prepare_engine

    prepare_engine()
    for module, words in _NAMED.items():
        rows = getattr(importlib.import_module(module), "SPEC_ROWS", {})
        for name, codes in rows.items():
            yield Preset(words.format(name), tuple(codes))


def _recipes(paths: Iterable[Path]) -> Iterator[Preset]:
    for path in paths:
        if not path.exists():
            raise UserError(f"{path}: no such file or folder of recipes")
        found = 0
        for file in sorted(path.rglob("*.yaml")) if path.is_dir() else [path]:
            for number, line in enumerate(read_lines(file), start=1):
                if match := _LINE.fullmatch(line.strip()):
                    found += 1
                    try:
                        yield Preset(str(file.relative_to(path.parent)), parse_codes(match[1]))
                    except UserError as error:
                        raise UserError(f"{file}:{number}: {error}") from None
        if not found:
            raise UserError(f"{path}: names no rows; a recipe has a line like `# Rows: S8, S9`")
