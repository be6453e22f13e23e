"""Every figure of finished runs becomes a file of its own, for a paper."""

import re

import pytest
from PIL import Image

from fairseq_xling.cli import main
from fairseq_xling.core.files import write_json
from fairseq_xling.results.page import Page, Result
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import make_page
from fairseq_xling.studies.verbs.report import named_figures
from tests.unit.studies.pages.records import RECORDS


@pytest.fixture
def runs(tmp_path):
    """A run and a measure: two figures."""
    write_json(tmp_path / "ablation" / "results.json", RECORDS["ablation"])
    write_json(tmp_path / "cka.json", RECORDS["comparison"])
    return [str(tmp_path / "ablation"), str(tmp_path / "cka.json")]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_figures_are_named_by_run_and_section(runs, tmp_path, capsys):
    figures = tmp_path / "for" / "paper"
    assert main(["report", *runs, "--figures", str(figures), "--figure-width", "3.3"]) == 0
    assert names(figures) == ["ablation-plot.pdf", "cka-by-layer.pdf"]
    assert capsys.readouterr().out == f"figures: {figures}, 2 as PDF\n"
    for path in figures.iterdir():
        data = path.read_bytes()
        assert re.search(rb"/MediaBox \[ 0 0 237\.6 [\d.]+ \]", data)
        assert b"/FontFile2" in data and b"/Type3" not in data  # TrueType, the file within


def test_png_has_the_dots_of_its_width(runs, tmp_path):
    options = ["--figure-format", "png", "--figure-width", "6.9"]
    assert main(["report", runs[1], "--figures", str(tmp_path / "out"), *options]) == 0
    with Image.open(tmp_path / "out" / "cka-by-layer.png") as image:
        assert image.width == 2070
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)


def test_without_a_width_svg_is_the_figure_of_the_page(runs, tmp_path):
    figures, pages = tmp_path / "figures", tmp_path / "pages"
    options = ["--figures", str(figures), "--figure-format", "svg", "--output", str(pages)]
    assert main(["report", runs[1], *options]) == 0
    svg = (figures / "cka-by-layer.svg").read_text(encoding="utf-8")
    html = (pages / "cka.html").read_text(encoding="utf-8")
    assert svg[svg.index("<svg") :] in html
    assert (
        svg[svg.index("<svg") :] == make_page(Result(pages, RECORDS["comparison"])).sections[0].svg
    )


def test_figures_of_one_title_have_names_of_their_own():
    def page(*titles):
        return Page("", "", [], [Section(title, figure=print) for title in titles], {})

    found = named_figures([("a", page("B: C", "B c", "./")), ("a-b", page("c")), ("d", page())])
    assert list(found) == ["a-b-c", "a-b-c-2", "a-figure", "a-b-c-3"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--figures", "OUT", "--figure-format", "eps"],
            "`--figure-format`: unknown format 'eps'; known: svg, png, pdf",
        ),
        (
            ["--figures", "OUT", "--figure-width", "1"],
            "`--figure-width` must lie in [2, 20], got 1.0",
        ),
        (["--figure-format", "png"], "`--figure-format` and `--figure-width` require `--figures`"),
        (["--figures", "FILE"], "FILE is a file, not a folder"),
        (["--figures", "TAKEN"], "with cka-by-layer.pdf"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    runs, tmp_path, monkeypatch, capsys, options, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "TAKEN").mkdir()
    (tmp_path / "TAKEN" / "cka-by-layer.pdf").write_text("mine")
    (tmp_path / "FILE").write_text("")
    assert main(["report", *runs, "--output", "pages", *options]) != 0
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "pages").exists() and not (tmp_path / "OUT").exists()
    assert names(tmp_path / "TAKEN") == ["cka-by-layer.pdf"]
    assert (tmp_path / "TAKEN" / "cka-by-layer.pdf").read_text() == "mine"


def test_results_without_a_figure_are_one_line(tmp_path, capsys):
    assert main(["report", "--index", "--output", "o", "--figures", str(tmp_path / "f")]) == 1
    assert "`--figures` requires a RUN with figures, got none" in capsys.readouterr().err
    assert not (tmp_path / "f").exists()
