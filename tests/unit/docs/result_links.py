"""Links from pages about results to the parts of other pages that show these."""

import re
from collections.abc import Iterator, Mapping

LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def sections(text):
    """The parts of a page by the anchors of their headings, as Python-Markdown makes these."""
    found = {}
    for part in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
        letters = re.sub(r"[^\w\s-]", "", part.partition("\n")[0]).strip().lower()
        anchor = name = re.sub(r"[-\s]+", "-", letters)
        number = 0
        while anchor in found:
            number += 1
            anchor = f"{name}_{number}"
        found[anchor] = part
    return found


def absent_figures(text: str, pages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each link of a line to a part of a page, with each decimal of the line that it does not
    show."""
    for link in LINK.findall(text):
        name, _, anchor = link.partition("#")
        if name in pages:
            shown = sections(pages[name])[anchor]
            for figure in re.findall(r"(?<![\d.])\d+\.\d+", LINK.sub("", text)):
                if not re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", shown):
                    yield link, figure
