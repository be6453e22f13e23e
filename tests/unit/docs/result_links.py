"""Links from pages about results to the parts of other pages that show these."""

import re
from collections.abc import Iterator, Mapping

LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
FIGURE = re.compile(r"(?<![\d.])[-+]?\d+\.\d+")


def sections(text: str) -> dict[str, str]:
    """The parts of a page by the anchors of their headings, as Python-Markdown makes these."""
    found: dict[str, str] = {}
    for part in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
        letters = re.sub(r"[^\w\s-]", "", part.partition("\n")[0]).strip().lower()
        anchor = name = re.sub(r"[-\s]+", "-", letters)
        number = 0
        while anchor in found:
            number += 1
            anchor = f"{name}_{number}"
        found[anchor] = part
    return found


def linked(text: str, pages: Mapping[str, str]) -> list[str]:
    """The parts of pages of results that a line leads to."""
    links = (link.partition("#") for link in LINK.findall(text))
    return [sections(pages[name])[anchor] for name, _, anchor in links if name in pages]


def absent_figures(text: str, pages: Mapping[str, str]) -> Iterator[str]:
    """The decimals of a line, with their signs, that none of the parts shows that it leads to."""
    shown = linked(text, pages)
    for figure in FIGURE.findall(LINK.sub("", text)) if shown else ():
        sign = r"(?<![\d.])" if figure[0].isdigit() else ""
        if not any(re.search(rf"{sign}{re.escape(figure)}(?!\d)", part) for part in shown):
            yield figure
