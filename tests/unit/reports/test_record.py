"""Records: what returns from a file, and what is refused in one line."""

import copy
import json
import random

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.page import every_number, parts, scores, write_page, write_run
from fairseq_xling.reports.pivot import Contrast, Table
from fairseq_xling.reports.record import (
    Chart,
    Record,
    Section,
    find_records,
    joined,
    made,
    read_record,
    to_record,
    write_record,
)

ROWS = [
    {"study": "toy", "row": row, "target": "de", "seed": seed, "measure": "LAS", "value": n + seed}
    for n, row in enumerate("ab")
    for seed in (0.5, 1)
]
RECORD = Record(
    "Toys <b>",
    ROWS,
    (
        Section(
            "Table",
            Table({"setting": "row"}, digits={"LAS": 1}, contrast=Contrast("a")),
            Chart("dots", xlabel="{measure}"),
            ["a tie counts as wrong"],
            name="table",
        ),
    ),
    source="Toy (2020), 1",
    facts={"words": {"used": 1200}},
)


def test_a_record_returns_from_its_file_as_it_was(tmp_path):
    write_record(tmp_path / "a.json", made(RECORD, {}))
    found = read_record(tmp_path / "a.json")
    assert found.rows == ROWS and found.sections[0].table.contrast.to == "a"
    assert list(found.sections[0].table.rows) == ["setting"]
    assert {**to_record(found), "provenance": {}} == {**to_record(RECORD), "provenance": {}}
    assert found.provenance["command"] and found.seeds == [0.5, 1]


def test_a_run_leaves_its_page_tables_figures_and_numbers(tmp_path):
    write_run(tmp_path, made(RECORD, {}))
    assert {path.name for path in tmp_path.iterdir()} == {
        *("results.json", "report.html", "table.md", "table.svg", "table.csv")
    }
    table = (tmp_path / "table.md").read_text().splitlines()
    assert table[:4:3] == ["| setting | LAS | Δ LAS |", "| b | 1.8 ± 0.4 | +1.0 |"]
    page = (tmp_path / "report.html").read_text()
    assert "Toys &lt;b&gt;" in page and "used: 1,200" in page and page.count("<svg") == 1
    assert "From Toy (2020), 1. Seeds 0.5, 1; a dot each.</p>" in page
    assert '<p class="note">A tie counts as wrong.</p>' in page
    assert (tmp_path / "table.csv").read_text().splitlines()[1] == "a,de,0.5,LAS,0.5"


def test_csv_is_the_table_where_nothing_is_averaged_else_every_row():
    one = [{**row, "seed": None} for row in ROWS[::2]]
    alone = Record("x", one, (Section("", Table({"row": "row"})),))
    assert every_number(alone) == (["row", "LAS"], [["a", 0.5], ["b", 1.5]])
    assert len(every_number(RECORD)[1]) == 4


def test_every_value_is_an_object_with_the_same_keys():
    first, *others = scores(RECORD)
    assert (first["model"], first["language"], first["metric"]) == ("a", "de", "LAS")
    assert len(others) == 3 and all(one.keys() == first.keys() for one in others)


def test_records_of_one_measure_share_a_page_and_studies_do_not():
    shown = joined({"x": RECORD, "y": RECORD})
    assert list(shown) == ["toy-together"]
    header, lines = parts(shown["toy-together"])[0].shown
    assert header[:2] == ["results", "setting"] and len(lines) == 4
    study = Record("x", ROWS, RECORD.sections, config={"seeds": "1"})
    assert list(joined({"x": study, "y": study})) == ["x", "y"]


def test_a_record_without_sections_has_a_table_and_a_figure_of_its_rows():
    (part,) = parts(Record("x", ROWS))
    assert part.shown[0] == ["row", "LAS"]
    assert part.svg


def test_a_folder_has_one_record_or_several(tmp_path):
    with pytest.raises(UserError, match="contains no record"):
        find_records(tmp_path)
    for name in ("a", "b"):
        write_record(tmp_path / f"{name}.json", RECORD)
    (tmp_path / "other.json").write_text("[1]")
    assert [one.path.name for one in find_records(tmp_path)] == ["a.json", "b.json"]
    write_record(tmp_path / "results.json", RECORD)
    assert [one.name for one in find_records(tmp_path)] == [tmp_path.name]


def changed(*path, to):
    """The JSON of a record with another value at a place."""
    record = json.loads(json.dumps(to_record(made(RECORD, {}))))
    place = record
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return record


def without(*path):
    record = copy.deepcopy(changed("title", to="x"))
    place = record
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return record


SECTION = ("sections", 0)
DAMAGED = [
    (changed("format", to=1), "`format` must be 2, got 1"),
    (changed("title", to=7), "`title` must be a text, got 7"),
    (changed("rows", to=None), "`rows` are damaged"),
    (changed("rows", "count", to=10**12), "`rows` are damaged"),
    (changed("rows", "columns", "value", to=[1]), "column 'value' has 1 values of 4 rows"),
    (changed("rows", "columns", "row", to=[None, {}, 1, 2]), "column 'row' must hold texts"),
    (changed("rows", "columns", "seed", to=float("nan")), "must be a finite number|NaN"),
    (changed("rows", "columns", "row", to="\ud800"), "`rows.columns.row` contains half"),
    (changed("sections", to={}), "`sections` must be a list"),
    (changed(*SECTION, to=None), r"`sections\[0\]` must be an object"),
    (changed(*SECTION, "notes", to="x"), r"`sections\[0\].notes` must be a list of texts"),
    (changed(*SECTION, "table", "rows", to=["a"]), "table.rows` must be an object of texts"),
    (changed(*SECTION, "table", "digits", to=10**9), "table.digits` must be a number of digits"),
    (changed(*SECTION, "chart", "kind", to="pie"), "chart.kind` must be one of curve"),
    (changed(*SECTION, "chart", "scale", to="ab"), "chart.scale` must be a list"),
    (without(*SECTION, "title"), r"`sections\[0\]` has no `title`"),
    (changed("provenance", "versions", to=[1]), "`provenance.versions` must be an object"),
    (changed("provenance", "inputs", to={"x": {}}), "`provenance.inputs.x.path` must be a text"),
    ([1], "is no record"),
    ({"provenance": {}}, "results of an older version"),
]


@pytest.mark.parametrize(("value", "message"), DAMAGED, ids=[message for _, message in DAMAGED])
def test_damage_is_one_line_with_file_and_key(tmp_path, value, message):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    with pytest.raises(UserError, match=message) as caught:
        record = read_record(path)
        write_page(tmp_path / "page.html", record)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)
    assert not (tmp_path / "page.html").exists()


HOSTILE = [
    *(None, True, -1, 1e308, 10**400, [], {}, [[]], "", "x" * 10_000),
    *("<script>alert(1)</script>", "\x1b[31m", "=1+1", "{__class__}", "{value}", "../../x"),
]


def places(value, path=()):
    """The path of every value in JSON."""
    yield path
    lists = enumerate(value) if isinstance(value, list) else ()
    for key, one in value.items() if isinstance(value, dict) else lists:
        yield from places(one, (*path, key))


@pytest.mark.parametrize("seed", range(60))
def test_any_damage_is_one_line_or_harmless(tmp_path, seed):
    """A value anywhere in a record is another, or is not there."""
    rng = random.Random(seed)
    record = json.loads(json.dumps(to_record(made(RECORD, {}))))
    path = rng.choice([one for one in places(record) if one])
    place = record
    for key in path[:-1]:
        place = place[key]
    if rng.random() < 0.2:
        del place[path[-1]]
    else:
        place[path[-1]] = rng.choice(HOSTILE)
    (tmp_path / "a.json").write_text(json.dumps(record))
    try:
        write_page(tmp_path / "page.html", read_record(tmp_path / "a.json"))
    except UserError as error:
        assert str(tmp_path / "a.json") in str(error) and "\n" not in str(error)
        assert not (tmp_path / "page.html").exists()
    else:
        assert "<script" not in (tmp_path / "page.html").read_text()
