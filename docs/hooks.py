"""Events of MkDocs: pages that are generated or included, and where a page's commands begin."""

import re
from pathlib import Path
from typing import Any

from architecture_page import architecture_pages
from claims_page import claims_pages
from fairseq_pages import fairseq_pages
from included_pages import PROJECT, RESULTS, TITLES, included_pages, sources
from mkdocs.structure.files import File, Files
from registry_pages import registry_pages
from verb_pages import verb_list, verb_navigation, verb_pages

DOCS = Path(__file__).parent
_MARK = "GENERATED"


def on_config(config: Any) -> Any:
    """Fill in the parts of the navigation that hang on what there is."""
    project = [page for source, page in sources().items() if source in PROJECT]
    own = ("contributing/verb.md", "contributing/style.md")
    project += [page for page in own if (DOCS / page).is_file()]
    generated = {
        "Verbs": verb_navigation(),
        "Pages": [{TITLES[page]: page} for page in RESULTS.values()],
        "Project": project,
    }
    config.nav = _filled(config.nav, generated)
    return config


def _filled(nav: list, generated: dict[str, list]) -> list:
    found = []
    for entry in nav:
        if isinstance(entry, dict):
            ((title, value),) = entry.items()
            if isinstance(value, list):
                entry = {title: _filled(value, generated)}
            elif value == _MARK:
                if title == "Pages":
                    found += generated[title]
                    continue
                if not generated[title]:
                    continue
                entry = {title: generated[title]}
        found.append(entry)
    return found


def on_files(files: Files, config: Any) -> Files:
    """Add every generated or included page, and the figures of the latter."""
    included, figures = included_pages()
    texts = {**verb_pages(), **fairseq_pages(), **registry_pages(), **architecture_pages()}
    texts |= claims_pages()
    texts |= included
    for path, text in texts.items():
        files.append(File.generated(config, path, content=text))
    for path, source in figures.items():
        files.append(File.generated(config, path, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Say where the commands of a page begin, and put the list of verbs into its place."""
    markdown = markdown.replace("<!-- list of verbs -->", verb_list())
    # The text around a block that the tests skip already says what it needs.
    markdown = re.sub(r"<!-- not run: .+? -->\n", "", markdown)
    if before := page.meta.get("starts_with"):
        note = (
            f'!!! note "Where to start"\n\n    The commands below run in the folder that '
            f"[{_title(before)}]({_relative(before, page.file.src_uri)}) leaves behind.\n\n"
        )
        head, newline, rest = markdown.lstrip().partition("\n")
        markdown = f"{head}{newline}\n{note}{rest}"
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Keep a figure and its spread on one line, and a pair of languages in a cell; let long names
    break between their words."""
    html = re.sub(r"(?<=\d) ± (?=\d)", "&nbsp;±&nbsp;", html)
    html = re.sub(
        r"(<td[^>]*>)(\w{2}-\w{2,4})(?=</td>)", r'\1<span class="one-line">\2</span>', html
    )
    return re.sub(r"<code>([^<\s]{24,})</code>", _breaking, html)


def _breaking(match: re.Match) -> str:
    return "<code>" + re.sub(r"(::|[/_=,])(?=[^/_=,:])", r"\1<wbr>", match[1]) + "</code>"


def _title(page: str) -> str:
    return re.search(r"^# (.+)$", (DOCS / page).read_text(encoding="utf-8"), re.M)[1]


def _relative(target: str, page: str) -> str:
    return "../" * page.count("/") + target
