import math
from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.results.result import check_recorded, find_results
from tests.unit.studies.pages.records import ORIGIN, RECORDS


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"provenance": ["x"]}, "`provenance` must be an object, got ['x']"),
        ({"provenance": {"date": 3}}, "`provenance.date` must be a text, got 3"),
        ({"provenance": {"versions": []}}, "`provenance.versions` must be an object, got []"),
        (
            {"provenance": {"versions": {"torch": 2.1}}},
            "`provenance.versions.torch` must be a text, got 2.1",
        ),
        (
            {"provenance": {"inputs": {"a": "b"}}},
            "`provenance.inputs.a` must be an object, got 'b'",
        ),
        (
            {"provenance": {"inputs": {"a": {"path": "b"}}}},
            "`provenance.inputs.a.sha256` must be a text, got None",
        ),
        ({"config": "x"}, "`config` must be an object, got 'x'"),
        ({"commands": [["ls"]]}, "`commands[0]` must be a text, got ['ls']"),
        ({"seconds_of_steps": math.nan}, "`seconds_of_steps` must be a number, got nan"),
        ({"machine": 7}, "`machine` must be a text, got 7"),
    ],
)
def test_a_field_of_another_type_is_named(record, message):
    with pytest.raises(UserError) as error:
        check_recorded(Path("r.json"), record)
    assert str(error.value) == f"r.json: {message}"


def test_fields_may_be_missing_or_null():
    nothing = dict.fromkeys(("command", "date", "machine", "versions", "inputs"))
    for record in ({}, {"provenance": None}, {"provenance": nothing}, {"provenance": ORIGIN}):
        check_recorded(Path("r.json"), record)


def test_results_are_checked_where_they_are_found(tmp_path):
    record = {**RECORDS["evaluation"], "provenance": {"inputs": 1}}
    write_json(tmp_path / "r.json", record)
    for place in (tmp_path, tmp_path / "r.json"):
        with pytest.raises(UserError, match=r"`provenance.inputs` must be an object, got 1"):
            find_results(place)
    write_json(tmp_path / "r.json", {"kind": ["x"]})
    with pytest.raises(UserError, match="no results to make a page from"):
        find_results(tmp_path / "r.json")
