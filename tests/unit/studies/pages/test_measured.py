"""Which rows of the specification a result measures, where that depends on what was run."""

import copy

import pandas

from fairseq_xling.core.files import write_json
from fairseq_xling.results.frame import frame_from_json, frame_to_json
from fairseq_xling.results.result import find_results, make_page
from tests.transfer_record import transfer_record
from tests.unit.studies.pages.records import RECORDS


def measured(record, folder):
    write_json(folder / "results.json", record)
    (found,) = find_results(folder / "results.json")
    return [(one.row, one.what, one.value) for one in make_page(found, figures=False).measured]


def transferred(*results, metric="f1", **config):
    """The record of a transfer with other tests."""
    record = {**RECORDS["transfer"], **transfer_record(*results, metric=metric)}
    return {**record, "config": {**record["config"], **config}}


def test_translated_files_are_a_row_of_their_own_and_not_zero_shot(tmp_path):
    scores = {"en": {"f1": 90.0}, "de": {"f1": 50.5}}
    shifted = {"de": {"alpha": 0.5, "scores": {"f1": 52.5}}}
    results = [{"encoder": "model", "tests": [{"scores": scores, "shifted": shifted}]}]
    for how, sources, value in (
        ("translate-train", ["de"], 70.0),
        ("translate-test", ["en"], 60.0),
    ):
        tests = [{"scores": {"de": {"f1": value}}}] * 2
        about = {"name": f"model, {how}", "how": how, "sources": sources, "tests": tests}
        results.append({"encoder": "model", **about})
    zero_shot = "zero-shot f1 (%), mean of the target languages, model"
    assert measured(transferred(*results), tmp_path) == [
        ("E3", zero_shot, 50.5),
        ("E3", f"{zero_shot}, shifted", 52.5),
        ("E14", "f1 (%) of de, model, translate-train", 70.0),
        ("E14", "f1 (%) of de, model, translate-test", 60.0),
        ("S14", "gain in f1 (points) by shifted states, model", 2.0),
    ]


def test_a_head_trained_and_tested_on_chinese_measures_understanding_and_on_english_nothing(
    tmp_path,
):
    found = {}
    for lang in ("zh", "en"):
        tests = [{"scores": {lang: {"accuracy": 60.0 + n}}} for n in (1, 2)]
        one = {"encoder": "model", "sources": [lang], "tests": tests}
        record = transferred(one, metric="accuracy", head="classification")
        found[lang] = measured({**record, "languages": [lang]}, tmp_path)
    what = "accuracy (%) of zh, trained on it, head classification, model"
    assert found == {"zh": [("E6", what, 61.5)], "en": []}
    page = make_page(find_results(tmp_path)[0], figures=False)
    assert page.title == "Head classification, trained and tested on one language"
    assert "gap" not in page.sections[0].header


def test_the_targets_after_the_first_are_further_languages(tmp_path):
    record = copy.deepcopy(RECORDS["trelm-run"])
    one = frame_from_json(record["frame"])
    other = one.replace("de", "id")
    other.loc[(other["phase"] == "language") & (other["language"] == "id"), "value"] = 3.5
    record["frame"] = frame_to_json(pandas.concat([one, one.assign(seed=2), other]))
    found = [value for row, _, value in measured(record, tmp_path) if row == "T26"]
    assert found == [3.5]


def test_the_migration_of_an_xlm_is_a_row_of_its_own(tmp_path):
    record = copy.deepcopy(RECORDS["trelm-run"])
    rows = {}
    for family in ("xlm", "bert"):
        record["source_family"] = family
        found = measured(record, tmp_path)
        (rows[family],) = [
            row for row, what, _ in found if what == "bits per word of de at the end"
        ]
    assert rows == {"xlm": "T24", "bert": "T9"}
