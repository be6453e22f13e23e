"""Pages of results as the project's own writers leave them, so that neither changes alone."""

import argparse
import re

import numpy as np
import pytest

from fairseq_xling.cli import main
from fairseq_xling.core.files import write_json
from fairseq_xling.results.frame import frame_from_json
from fairseq_xling.results.result import find_results, kind_of, make_page
from fairseq_xling.runs.step import Step, stamp_path
from tests.extracted_folder import write_extracted
from tests.unit.studies.pages.records import RECORDS


def page_of(path):
    (found,) = find_results(path)
    return kind_of(found.record), make_page(found)


@pytest.mark.parametrize("languages", ["en", "en,de"])
def test_transfer_from_one_language_and_a_matrix(tmp_path, languages):
    from fairseq_xling.papers.transfer.config import TransferConfig
    from fairseq_xling.papers.transfer.plan import Encoder, Test, TrainSet
    from fairseq_xling.papers.transfer.steps import TestedModel
    from fairseq_xling.papers.transfer.transfer_result import write_transfer

    config = TransferConfig(head="ner", seeds="1,2")
    tests = tuple(Test(lang, lang, tmp_path / f"{lang}.test") for lang in ("en", "de"))
    rows = []
    for lang in languages.split(","):
        trained = TrainSet(f"train-{lang}", ((lang, tmp_path / lang),), (), tests, row=f"on {lang}")
        found = [
            {
                "setting": "lr",
                "seed": seed,
                "scores": {x.lang: {"f1": 90.0 if x.lang == lang else 60.0 + seed} for x in tests},
            }
            for seed in (1, 2)
        ]
        dev = [{"setting": "lr", "seed": 1, "value": 91.0}]
        result = {"encoder": "ours", "trained": trained.name, "sources": trained.sources}
        result |= {"how": "", "metric": "f1", "dev": dev, "chosen": {"lr": 91.0}, "tests": found}
        write_json(tmp_path / f"{lang}.json", result)
        encoder = Encoder("ours", tmp_path / "m.pt", tmp_path)
        rows.append(TestedModel(encoder, trained, tmp_path / f"{lang}.json"))
    write_transfer(tmp_path / "run", config, "Transfer", rows, [])
    kind, page = page_of(tmp_path / "run")
    assert kind == "transfer"
    assert {one.row for one in page.measured} == ({"E7"} if "," in languages else {"E3"})
    assert page.measured[0].value == 61.5
    assert len(page.tables["table"][1]) == 4 * len(rows)


@pytest.mark.parametrize("layers", [[0], [0, 1]])
def test_probes_of_one_layer_and_of_several(tmp_path, capsys, layers):
    from fairseq_xling.verbs.parts.probe_result import write_table

    def scores(f1):
        counts = {"right": 6, "predicted": 10, "gold": 10}
        return {"precision": f1, "recall": f1, "f1": f1, **counts}

    results = [
        {
            "variant": f"layer0{layer}",
            "layers": [layer],
            "options": {"seed": seed},
            "scores": {name: scores(0.5 + 0.1 * layer) for name in ("valid", "de")},
            "without_vectors": {"de": 0},
            "mix": None,
        }
        for layer in layers
        for seed in (1, 2)
    ]
    baseline = {name: {"label": "NOUN", "f1": 0.25} for name in ("valid", "de")}
    write_table(tmp_path, {"de": "de"}, baseline, results, {})
    kind, page = page_of(tmp_path)
    assert kind == "probing"
    assert page.measured[0].value == pytest.approx(50 + 10 * layers[-1])
    drawn = "layer (0 = embedding output)" if len(layers) > 1 else "<!-- de F1 (%) -->"
    assert drawn in page.sections[0].svg


def test_a_study_with_an_axis(tmp_path, monkeypatch):
    from fairseq_xling.papers.trelm import results, study_result
    from fairseq_xling.papers.trelm.config import TrelmConfig
    from fairseq_xling.studies.ablations import STUDIES

    study, config = STUDIES["trelm-parallel"](), TrelmConfig(languages="en,de")
    frame = frame_from_json(RECORDS["trelm-run"]["frame"])
    monkeypatch.setattr(
        *(results, "read_artifacts"),
        lambda config, outcome, row: (frame.assign(row=row).to_dict("records"), {}),
    )
    rows = study.rows(config, argparse.Namespace(sizes="50,100"))
    steps = [Step(name, call=lambda: None) for name in ("one", "two")]
    for step, seconds in zip(steps, (100.0, 80.5), strict=True):
        write_json(stamp_path(tmp_path, step), {"seconds": seconds})
    study_result.write_study(study, tmp_path, config, [(row, [None]) for row in rows], steps)
    assert "its steps took</td><td>3 min 00 s" in re.sub(
        r"\s*(<[^>]*)\sclass=[^>]*>", r"\1>", (tmp_path / "report.html").read_text()
    )
    kind, page = page_of(tmp_path)
    assert kind == "trelm-study"
    assert page.source == "TreLM (Li et al., 2021), Figure 2"
    table, claims, plot = page.sections[:3]
    assert (table.name, claims.title, plot.name) == ("table", "What the paper says", "plot")
    assert "sentence pairs" in plot.svg
    assert all((tmp_path / name).is_file() for name in study_result.FILES)
    assert [one.row for one in page.measured] == ["T22"]


def test_measures_of_two_folders_and_a_map_between_them(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = {layer: rng.normal(size=(40, 6)) for layer in range(3)}
    y = {layer: rows + (2 - layer) * rng.normal(size=(40, 6)) for layer, rows in x.items()}
    names = [f"word{n}" for n in range(40)]
    folders = [
        str(write_extracted(tmp_path / lang, vectors, lang=lang))
        for lang, vectors in (("en", x), ("de", y))
    ]
    typed = [
        str(write_extracted(tmp_path / f"{lang}-types", vectors, lang=lang, words=names))
        for lang, vectors in (("en", x), ("de", y))
    ]
    (tmp_path / "d.tsv").write_text("".join(f"{name}\t{name}\n" for name in names))
    for name, arguments in {
        "tatoeba": ["tatoeba", *folders],
        "cka": ["cka", *folders],
        "all": ["cka", *folders, "--all-layers"],
        "meanshift": ["meanshift", *folders],
        "bli": ["bli", *typed, "--dictionary", str(tmp_path / "d.tsv")],
    }.items():
        assert main(["eval", *arguments, "--output", str(tmp_path / f"{name}.json")]) == 0
    twos = [str(tmp_path / f"{name}.json") for name in ("cka", "tatoeba")]
    assert main(["eval", "correlate", *twos, "--output", str(tmp_path / "corr.json")]) == 0
    mapped = ["map", "procrustes", *folders, "--pairs", "rows", "--output", str(tmp_path / "map")]
    assert main(mapped) == 0
    found = {result.name: page_of(result.path) for result in find_results(tmp_path)}
    assert {name: kind for name, (kind, _) in found.items()} == {
        **dict.fromkeys(("all", "bli", "cka", "meanshift", "tatoeba"), "comparison"),
        "corr": "correlation",
        "map": "map-states",
    }
    rows = {name: {one.row for one in page.measured} for name, (_, page) in found.items()}
    assert rows == {
        **{"all": {"S8"}, "bli": {"S5"}, "cka": {"S8"}, "meanshift": {"S15"}},
        **{"tatoeba": {"S7"}, "corr": {"S9"}, "map": {"S1"}},
    }
    last = next(one for one in found["tatoeba"][1].measured)
    assert last.value == 1.0 and last.what.endswith("best layer 2")
    assert found["all"][1].sections[-2].title == "Every layer with every layer"
