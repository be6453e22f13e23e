"""The page of the papers' claims and the front page's table are computed from committed frames."""

import importlib
import json
import re
import shutil

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.rows import from_json, to_json
from tests.unit.docs.conftest import DOCS

ROOT = DOCS.parent
FRAME = "emerging_structure/results/synthetic.json"


@pytest.fixture
def claims_page(docs_module):
    return docs_module("claims_page")


@pytest.fixture(scope="module")
def today():
    """The verdicts on the committed frames, once: they take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        return importlib.import_module("claims_page").verdicts()


def test_the_front_page_has_the_table_of_today(claims_page, today):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert claims_page.with_table(text, today) == text, "run python docs/claims_page.py"


def test_the_page_has_every_claim_with_its_verdict(claims_page, today):
    (page,) = claims_page.claims_pages(today).values()
    for judged in today.values():
        for verdict in judged:
            (line,) = [row for row in page.splitlines() if f"{verdict.claim.text}" in row]
            assert f"| {verdict.state}" in line and len(line.replace("\\|", "").split("|")) == 6


@pytest.fixture
def copied(claims_page, today, tmp_path, monkeypatch):
    """Committed frames in a folder of their own, of which the page is made."""
    for judged in today.values():
        for frame in {x for one in judged if one.decides for x in one.claim.frame.split(" + ")}:
            (tmp_path / "examples" / frame).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "examples" / frame, tmp_path / "examples" / frame)
    monkeypatch.setattr(claims_page, "ROOT", tmp_path)
    return tmp_path / "examples" / FRAME


def _swap_rows(record):
    rows = record["rows"]["columns"]["row"]["of"]
    one, other = rows.index("A1"), rows.index("C")
    rows[one], rows[other] = rows[other], rows[one]


def _flip_a_number(record):
    rows = from_json(record["rows"])
    place = next(row for row in rows if row["row"] == "A1" and row["measure"] == "LAS")
    place["value"] *= -1
    record["rows"] = to_json(rows)


@pytest.mark.parametrize("change", [_swap_rows, _flip_a_number])
def test_another_number_in_a_frame_is_another_page(change, claims_page, copied, today):
    before = claims_page.claims_pages(today), claims_page.with_table("", today)
    record = json.loads(copied.read_text(encoding="utf-8"))
    change(record)
    copied.write_text(json.dumps(record), encoding="utf-8")
    changed = claims_page.verdicts()
    assert claims_page.claims_pages(changed) != before[0]
    if change is _swap_rows:
        assert claims_page.with_table("", changed) != before[1]


def test_a_page_without_one_of_its_frames_is_not_made(claims_page, copied):
    copied.unlink()
    with pytest.raises(UserError, match=r"^ECS-T1-1: .*synthetic\.json: no such file"):
        claims_page.claims_pages()


def test_the_front_page_shows_the_first_claim_of_each_paper(claims_page, today):
    shown = claims_page.figures(today)
    for judged in today.values():
        first = next(one for one in judged if one.claim.central)
        (line,) = [row for row in shown.splitlines() if first.claim.text in row]
        assert re.search(rf"\| \*{first.state}(: \d of \d)?\* \|$", line)
