import base64
import csv
import functools
import io
import json
import re
from html.parser import HTMLParser

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.results.page import Result, write_page
from fairseq_xling.results.result import KINDS, find_results, kind_of, make_page
from fairseq_xling.studies.pages.rows import spec_rows
from tests.transfer_record import transfer_record
from tests.unit.studies.pages.records import ORIGIN, RECORDS


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = {}

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.found[dict(attrs)["download"]] = dict(attrs)["href"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """``made(kind)``: the page of the kind's record, and its HTML."""
    folder = tmp_path_factory.mktemp("pages")

    @functools.cache
    def make(kind):
        write_json(folder / f"{kind}.json", RECORDS[kind])
        (found,) = find_results(folder / f"{kind}.json")
        page = make_page(found)
        write_page(folder / f"{kind}.html", found, page)
        return page, (folder / f"{kind}.html").read_text(encoding="utf-8")

    return make


def test_there_is_a_record_for_each_kind():
    assert list(KINDS) == sorted(RECORDS)


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_is_known_by_its_fields_alone(tmp_path, kind):
    write_json(tmp_path / "any name.json", RECORDS[kind])
    (found,) = find_results(tmp_path / "any name.json")
    assert kind_of(found.record) == kind


@pytest.mark.parametrize("kind", RECORDS)
def test_every_figure_says_what_it_redraws_and_which_command_made_it(made, kind):
    page, text = made(kind)
    drawn = [section for section in page.sections if section.svg]
    assert drawn
    for section in drawn:
        assert section.notes[0].startswith("After ")
        assert section.notes[1] == f"Made by: {ORIGIN['command']}"
    assert text.count("<svg") == len(drawn)


@pytest.mark.parametrize("kind", RECORDS)
def test_every_number_is_inside_the_page_as_csv_and_json(made, kind):
    page, text = made(kind)
    links = Links()
    links.feed(text)
    files = {
        name: base64.b64decode(link.partition("base64,")[2]).decode("utf-8")
        for name, link in links.found.items()
    }
    assert json.loads(files.pop(f"{kind}.json")) == RECORDS[kind]
    assert files.keys() == {f"{kind}.{name}.csv" for name in page.tables}
    for name, (header, rows) in page.tables.items():
        read = list(csv.reader(io.StringIO(files[f"{kind}.{name}.csv"])))
        assert read[0] == list(header)
        assert len(read) == len(rows) + 1
        assert read[1:] == [["" if v is None else str(v) for v in row] for row in rows]


@pytest.mark.parametrize("kind", RECORDS)
def test_a_page_loads_nothing_from_elsewhere(made, kind):
    _, text = made(kind)
    assert not re.search(r"<(script|link|img|iframe)", text)
    assert not re.search(r"(src|href)=\"https?:", text)


@pytest.mark.parametrize("kind", RECORDS)
def test_figures_for_the_index_are_of_rows_that_there_are(made, kind):
    page, _ = made(kind)
    assert {one.row for one in page.measured} <= spec_rows().keys()


def test_a_reference_is_drawn_beside_its_own_figure_alone(tmp_path):
    words = {
        "title": "Word retrieval",
        "header": ["pair", "layer", "MRR", "P@1", "chance MRR", "source words"],
        "rows": [["en-de", 0, 0.5, 0.25, 0.125, 10], ["en-de", 1, 0.75, 0.625, 0.125, 10]],
        "scores": {},
        "notes": [],
    }
    one = {"checkpoint": "a/b.pt", "measures": {"words": words}}
    svg = make_page(Result(tmp_path / "r.json", {"results": [one]})).sections[0].svg
    assert svg.count("<!-- chance MRR -->") == 1
    assert (
        svg.count("<!-- word retrieval, MRR -->") == svg.count("<!-- word retrieval, P@1 -->") == 1
    )
    assert "source words" not in svg


def test_shifted_scores_have_a_table_of_their_own(made):
    tables = made("transfer")[0].tables
    rows = {name: [row[3:] for row in tables[name][1]] for name in ("table", "shifted")}
    assert sorted(rows["table"]) == [
        ["lr0.001-b32", 1, "de", "f1", 50.5],
        ["lr0.001-b32", 1, "en", "f1", 90.0],
    ]
    assert rows["shifted"] == [["lr0.001-b32", 1, "de", "f1", 52.5]]


def test_a_matrix_of_languages_is_a_heat_map(tmp_path):
    scores = {"en": {"f1": 90.0}, "de": {"f1": 50.5}}
    results = [{"sources": [lang], "tests": [{"scores": scores}]} for lang in scores]
    record = {**RECORDS["transfer"], **transfer_record(*results, metric="f1")}
    page = make_page(Result(tmp_path / "r.json", record))
    assert "tested on" in page.sections[1].svg
    assert page.measured[0].row == "E7"


def test_all_layers_against_all_are_a_heat_map(tmp_path):
    matrix = {"matrix": [[1.0, 0.5], [0.25, 0.75]], "matrix_layers": [[0, 4], [0, 4]]}
    record = RECORDS["comparison"] | {"curves": {}} | matrix
    page = make_page(Result(tmp_path / "r.json", record))
    assert page.sections[0].title == "Every layer with every layer"
    assert page.tables["matrix"][1] == [[0, 1.0, 0.5], [4, 0.25, 0.75]]


def test_every_panel_of_curves_is_drawn(tmp_path):
    panels = {way: [f"P@1 {way}", f"MRR {way}"] for way in ("cosine", "csls")}
    names = [name for panel in panels.values() for name in panel]
    record = RECORDS["comparison"] | {
        "measure": "bli",
        "curves": {name: [0.1, 0.2] for name in names},
        "means": dict.fromkeys(names, 0.15),
        "headline": "P@1 cosine",
        "panels": panels,
    }
    page = make_page(Result(tmp_path / "r.json", record))
    assert page.measured[0].row == "S5"
    assert page.sections[0].svg.count("layer (0 = embedding output)") == 2


def test_of_distances_the_least_is_the_best(tmp_path):
    curves = {"curves": {"ratio": [0.5, 0.25]}, "means": {"ratio": 0.375}, "headline": "ratio"}
    curves |= {"panels": {"": ["ratio"]}}
    for measure, best in (("cka", 0.5), ("aligned", 0.25)):
        record = RECORDS["comparison"] | curves | {"measure": measure}
        (found,) = make_page(Result(tmp_path / "r.json", record)).measured
        assert found.value == best


def test_a_measure_that_is_new_is_a_page_without_a_row(tmp_path):
    record = RECORDS["comparison"] | {"measure": "unheard"}
    page = make_page(Result(tmp_path / "r.json", record))
    assert page.measured == []
    assert page.source == "the measure unheard"


def test_a_run_is_found_by_its_results_or_by_what_is_recognised(tmp_path):
    write_json(tmp_path / "run" / "results.json", RECORDS["ablation"])
    write_json(tmp_path / "run" / "other.json", RECORDS["demo"])
    (found,) = find_results(tmp_path / "run")
    assert found.name == "run"
    write_json(tmp_path / "loose" / "cka.json", RECORDS["comparison"])
    write_json(tmp_path / "loose" / "settings.json", {"seed": 1})
    write_json(tmp_path / "loose" / "list.json", [1])
    assert [one.name for one in find_results(tmp_path / "loose")] == ["cka"]


def test_what_is_no_result_is_one_line(tmp_path):
    write_json(tmp_path / "meta.json", {"format": 1})
    for path in (tmp_path, tmp_path / "meta.json"):
        with pytest.raises(UserError, match=r"results to make a page from; known kinds: a"):
            find_results(path)
    with pytest.raises(UserError, match=r"none\.json: no such file"):
        find_results(tmp_path / "none.json")


@pytest.mark.parametrize("kind", RECORDS)
def test_a_damaged_record_is_one_line(tmp_path, kind):
    fields = {"results": [{"measures": None}], "rows": None, "models": None, "migrations": [{}]}
    fields |= {"curves": {"x": None}, "points": None, "cells": [{}], "probes": [{}]}
    fields |= {
        "classified": [{}],
        "layers": {"0": None},
        "seeds": None,
        "files": [{}],
        "structures": [{}],
        "frame": {},
    }
    damaged = {**RECORDS[kind], **{k: v for k, v in fields.items() if k in RECORDS[kind]}}
    with pytest.raises(UserError, match=r"r\.json: damaged results of kind"):
        make_page(Result(tmp_path / "r.json", damaged))


@pytest.mark.parametrize(
    "kind", sorted(kind for kind, record in RECORDS.items() if "frame" in record)
)
def test_results_of_an_older_version_say_what_to_do(tmp_path, kind):
    record = {name: value for name, value in RECORDS[kind].items() if name != "frame"}
    with pytest.raises(UserError, match=r"r\.json: results of an older version; remove this file"):
        make_page(Result(tmp_path / "r.json", {**record, "rows": [], "lines": []}))


def test_a_result_without_its_origin_says_so(tmp_path):
    record = {k: v for k, v in RECORDS["demo"].items() if k != "provenance"}
    write_json(tmp_path / "results.json", record)
    (found,) = find_results(tmp_path)
    page = make_page(found)
    drawn = next(section for section in page.sections if section.svg)
    assert drawn.notes[1] == "The command was not recorded."
    assert found.date.startswith("20")


@pytest.mark.row("T16")
def test_the_nearest_words_of_several_files_stand_side_by_side(made):
    page, text = made("neighbourhood")
    assert page.sections[1].header == ["rank", "de.vec", "mapped.vec"]
    assert page.sections[1].rows[0] == [1, "▁cat (0.875)", "▁cat (0.875)"]
    assert page.sections[1].rows[2] == [3, "▁Hund (0.250)", ""]
    assert sum(row[3] for row in page.tables["histogram"][1]) == 200
    assert text.count("first component, 75%") == 2


def test_losses_are_named_in_words(made):
    _, text = made("trelm-run")
    assert "MLM de, training" in text and "all together, training" in text
    drawn = "".join(part.partition("</svg>")[0] for part in text.split("<svg")[1:])
    assert "_loss" not in drawn and "BEST" not in drawn
