"""Pages whose one source is outside `docs/`: READMEs of recipes and benchmarks, the change log."""

import os
import re
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]

RESULTS = {
    "examples/emerging_structure/README.md": "results/emerging_structure/index.md",
    "examples/analysis/README.md": "results/analysis/index.md",
    "examples/trelm/README.md": "results/trelm/index.md",
    "examples/transfer/README.md": "results/transfer/index.md",
    "examples/clcr/README.md": "results/clcr/index.md",
    "benchmarks/README.md": "results/benchmarks/index.md",
}
TITLES = {  # in the navigation; those of the files are long
    "results/emerging_structure/index.md": "Emerging structure",
    "results/analysis/index.md": "Joint and independent training",
    "results/trelm/index.md": "TreLM",
    "results/transfer/index.md": "Transfer",
    "results/clcr/index.md": "CLCR",
    "results/benchmarks/index.md": "Benchmarks",
}
PROJECT = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
# By file, the heading at which its page ends; the rest is for those who have the repository.
_BRIEF = {"CHANGELOG.md": "## [0.3.0]", "benchmarks/README.md": "## `"}
_LINK = re.compile(r"(?<!`)(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def sources() -> dict[str, str]:
    """By path in the repository, the page that each file becomes; those that exist."""
    known = {**RESULTS, **PROJECT}
    return {source: page for source, page in known.items() if (ROOT / source).is_file()}


def included_pages() -> tuple[dict[str, str], dict[str, Path]]:
    """By path, the pages' text and the files (figures) that they show."""
    pages: dict[str, str] = {}
    files: dict[str, Path] = {}
    for source, page in sources().items():
        text = (ROOT / source).read_text(encoding="utf-8")
        if source in _BRIEF:
            text = text.partition(_BRIEF[source])[0] + f"\nThe rest is in `{source}`.\n"
        pages[page] = relink(text, source, page, files)
    return pages, files


def relink(text: str, source: str, page: str, files: dict[str, Path]) -> str:
    """``text`` of the file ``source`` with its links as they must be on ``page``.

    Figures are added to ``files``; a link to what is no page of the site becomes its text.
    """
    return _LINK.sub(partial(_relink, source=source, page=page, files=files), text)


def _relink(match: re.Match, source: str, page: str, files: dict[str, Path]) -> str:
    image, text, link = match.groups()
    if re.match(r"[a-z]+:|#", link):
        return match[0]
    path, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(source), path))
    if image:
        place = f"{os.path.dirname(page)}/{os.path.basename(target)}"
        files[place] = ROOT / target
        return f"![{text}]({os.path.basename(target)})"
    place = sources().get(target)
    if target.startswith("docs/"):
        place = target.removeprefix("docs/")
    if place is None:
        return text
    link = os.path.relpath(place, os.path.dirname(page)) + ("#" + anchor if anchor else "")
    return f"[{text}]({link})"
