"""The texts of the package and its pages avoid the phrases that the style page lists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STYLE = ROOT / "docs" / "contributing" / "style.md"
_CODE = re.compile(r"``.*?``|`[^`]*`|<!--.*?-->|\]\([^)]*\)")  # names, commands and links


def phrases(page: str) -> list[str]:
    """The phrases in the right column of the table with the heading ``Not``."""
    rows = [
        line.strip().strip("|").split("|") for line in page.splitlines() if line.startswith("|")
    ]
    start = next(i for i, row in enumerate(rows) if row[-1].strip() == "Not")
    return [phrase.strip() for row in rows[start + 2 :] for phrase in row[-1].split(", ")]


def pattern(listed: list[str]) -> re.Pattern:
    """One pattern of all phrases, at the borders of words and across line ends."""
    words = []
    for phrase in listed:
        text = re.escape(phrase).replace(r"\*", r"\w*")
        text = re.sub(r"(\\ | )", r"\\s+", text)
        before, after = (r"\b" if edge.isalnum() else "" for edge in (phrase[0], phrase[-1]))
        words.append(f"{before}{text}{after}")
    return re.compile("|".join(words))


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each string literal of a module, docstrings included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def prose(page: str) -> str:
    """A Markdown page without code, its lines kept."""
    fences = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    return fences.sub(lambda found: "\n" * found[0].count("\n"), page)


def hits(path: Path, banned: re.Pattern) -> list[str]:
    """``path:line: phrase`` of each phrase in a file."""
    content = path.read_text(encoding="utf-8")
    found = texts(content) if path.suffix == ".py" else [(1, prose(content))]
    return [
        f"{path.relative_to(ROOT)}:{line + text[: match.start()].count(chr(10))}: {match[0]!r}"
        for line, text in ((at, _blank(text)) for at, text in found)
        for match in banned.finditer(text)
    ]


def _blank(text: str) -> str:
    return _CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def files() -> list[Path]:
    package = ROOT / "fairseq_xling"
    docs = [path for path in (ROOT / "docs").rglob("*.md") if path != STYLE]
    found = sorted([*package.rglob("*.py"), *docs, ROOT / "README.md"])
    return found


@pytest.fixture(scope="module")
def banned():
    return pattern(phrases(STYLE.read_text(encoding="utf-8")))


def test_no_text_has_a_phrase_of_the_word_list(banned):
    found = [hit for path in files() for hit in hits(path, banned)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    ["it goes\n    on", "is told to", "beside it", "of no map", "(None: as is)", "see SPEC C16"],
)
def test_a_phrase_is_found_across_lines_and_with_marks(banned, text):
    assert banned.search(text)


@pytest.mark.parametrize(
    "text", ["besides", "besiden", "go one", "it holds nothing back`s", "SPEC_ROWS", "(none)"]
)
def test_other_words_are_no_hits(banned, text):
    assert not banned.search(text.replace("holds nothing back`s", "held"))


def test_code_and_links_are_no_hits(banned):
    assert not banned.search(_blank("`--beside RUN` and ``holds no`` and [a](beside.md)"))


def test_a_hit_names_the_line(tmp_path, monkeypatch, banned):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "a.py").write_text('X = 1\nY = """One line.\n\nIt stands beside it."""\n')
    assert hits(tmp_path / "a.py", banned) == ["a.py:4: 'beside'"]
