import re
from functools import partial
from html.parser import HTMLParser

from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.report import Section, write_report

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Balanced(HTMLParser):
    """Fails unless every element is closed in its place."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def write(path, *sections):
    write_report(path, "A <title>", ["One line."], sections)
    return path.read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_holds_what_it_was_given(tmp_path):
    figure = partial(draw, [Panel([Line("en", [0, 1], [1, 2])], "x", "y")])
    html = write(
        tmp_path / "r.html",
        Section("Figure", text="Says what.", figure=figure),
        Section("Table", header=["word", "n"], rows=[["haus", 1234], ["baum", None]]),
        Section("Commands", code="a | b", notes=["note one"]),
    )
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert parser.tags.count("h2") == 3
    assert "svg" in parser.tags
    for text in ("Says what.", "1,234", "a | b", "note one", "A &lt;title&gt;"):
        assert text in html


def test_the_page_loads_nothing_from_elsewhere(tmp_path):
    figure = partial(draw, [Panel([Line("en", [0, 1], [1, 2])], "x", "y")])
    html = write(tmp_path / "r.html", Section("Figure", figure=figure))
    assert not re.search(r"<(script|link|img|iframe)", html)
    assert not re.search(r"(src|href)=\"https?:", html)


def test_text_from_outside_cannot_become_markup(tmp_path):
    bad = "<script>alert(1)</script>"
    html = write(tmp_path / "r.html", Section(bad, text=bad, header=["w"], rows=[[bad]], code=bad))
    assert "<script>" not in html


def test_words_stand_left_and_numbers_right(tmp_path):
    html = write(tmp_path / "r.html", Section("T", header=["w", "n"], rows=[["haus", 0.5]]))
    assert '<td class="word">haus</td><td>0.500</td>' in html


def test_a_deviation_is_not_broken_into_two_lines():
    section = Section("Table", header=["word", "n"], rows=[["haus", "1.50 ± 0.25"]])
    assert section.cells == [["haus", "1.50 ±\N{NO-BREAK SPACE}0.25"]]
