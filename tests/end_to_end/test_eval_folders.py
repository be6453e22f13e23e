"""The verbs that compare two folders of `extract`, on vectors with a planted answer."""

import csv
import dataclasses
import gzip
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch

from fairseq_xling.cli import main
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side, write_map
from fairseq_xling.reports.record import Record, read_record, write_record
from tests.extracted_folder import write_extracted
from tests.records import by_layer, rows, value


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def rotation(width, seed=5):
    return np.linalg.qr(normal(width, width, seed=seed))[0]


def evaluate(*arguments):
    return main(["eval", *map(str, arguments)])


def fails(capsys, *arguments):
    """The single line that the command prints for bad input."""
    assert evaluate(*arguments) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("fairseq-xling: error: ")
    return lines[0]


result = by_layer


@pytest.fixture
def rotated(tmp_path):
    """Sentences whose translations are noise on layer 0 and a rotation on layers 1 and 2."""
    x = {n: normal(60, 8, seed=n) for n in range(3)}
    y = {0: normal(60, 8, seed=9), 1: 3 * x[1] @ rotation(8) + 7, 2: x[2] @ rotation(8)}
    write_map(
        tmp_path / "map",
        FittedMap(
            {n: LayerMap(Side(8, matrix=torch.from_numpy(rotation(8))), Side(8)) for n in range(3)}
        ),
    )
    write_extracted(tmp_path / "en", x)
    write_extracted(tmp_path / "de", y, lang="de")
    return tmp_path


# --- eval tatoeba


def test_a_planted_rotation_is_found_with_its_map_and_not_without(rotated, capsys):
    folders = rotated / "en", rotated / "de"
    assert evaluate("tatoeba", *folders, "--output", rotated / "without.json") == 0
    assert (
        evaluate("tatoeba", *folders, "--map", rotated / "map", "--output", rotated / "with.json")
        == 0
    )
    printed = capsys.readouterr().out
    assert (
        "Sentence retrieval en-de, P@1 of 60 sentences" in printed and "chance: 0.0167" in printed
    )
    without, mapped = (result(rotated / f"{name}.json") for name in ("without", "with"))
    for way in ("cosine", "csls"):
        for direction in ("forward", "backward"):
            curve = mapped["curves"][f"{way} {direction}"]
            assert curve[2] == 1.0 and curve[0] < 0.2
            assert without["curves"][f"{way} {direction}"][2] < 0.2
    assert mapped["layers"] == [0, 1, 2]
    assert mapped["chance"] == pytest.approx(1 / 60)
    assert mapped["means"]["cosine mean"] == pytest.approx(np.mean(mapped["curves"]["cosine mean"]))
    assert set(mapped["provenance"]["inputs"]) == {"X", "Y", "map"}
    with open(rotated / "with.csv") as file:
        rows = list(csv.reader(file))
    assert rows[0][0] == "layer" and [row[0] for row in rows[1:]] == ["0", "1", "2", "mean"]
    assert float(rows[3][rows[0].index("csls forward")]) == 1.0


def test_a_map_of_other_languages_is_warned_of(rotated, capsys):
    sides = {"moving": {"lang": "en"}, "fixed": {"lang": "de"}}
    layers = {n: LayerMap(Side(8), Side(8)) for n in range(3)}
    write_map(rotated / "en-de", FittedMap(layers, "procrustes", sides))
    options = ["--map", rotated / "en-de", "--output", rotated / "r.json"]
    assert evaluate("tatoeba", rotated / "en", rotated / "de", *options) == 0
    assert "WARNING" not in capsys.readouterr().out
    assert evaluate("tatoeba", rotated / "de", rotated / "en", *options) == 0
    wrong = "WARNING: {} is of {!r}, the map's {} side of {!r}"
    expected = [wrong.format(rotated / "de", "de", "moving", "en")]
    expected += [wrong.format(rotated / "en", "en", "fixed", "de")]
    assert result(rotated / "r.json")["notes"][-2:] == expected
    assert all(f"({line})" in capsys.readouterr().out for line in expected[:1])


# --- eval cka


def test_cka_is_1_under_rotation_size_and_offset_and_low_for_independent_vectors(rotated, capsys):
    figure, output = rotated / "cka.svg", rotated / "cka.json"
    folders = rotated / "en", rotated / "de"
    assert evaluate("cka", *folders, "--output", output, "--figure", figure) == 0
    found = result(output)
    assert found["curves"]["CKA"][1:] == [pytest.approx(1, abs=1e-6)] * 2
    assert found["curves"]["CKA"][0] < 0.3
    assert (
        "independent Gaussian vectors of these widths would have CKA 0.118"
        in capsys.readouterr().out
    )
    text = figure.read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg") and "linear CKA" in text


def test_every_layer_is_compared_with_every_layer_of_another_depth_and_width(tmp_path, capsys):
    x = {n: normal(50, 6, seed=n) for n in range(4)}
    y = {1: x[3] @ rotation(6), 5: normal(50, 9, seed=8)}
    y[1] = np.hstack([y[1], np.zeros((50, 3))])
    write_extracted(tmp_path / "x", x)
    write_extracted(tmp_path / "y", y, lang="fr")
    output, figure = tmp_path / "r.json", tmp_path / "r.png"
    options = ["--all-layers", "--output", output, "--figure", figure]
    assert evaluate("cka", tmp_path / "x", tmp_path / "y", *options) == 0
    found = result(output)
    matrix = np.array(found["matrix"])
    assert matrix.shape == (4, 2) and matrix[3, 0] == pytest.approx(1)
    assert matrix[:3].max() < 0.5 and matrix[:, 1].max() < 0.5
    assert figure.read_bytes().startswith(b"\x89PNG")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["layer", "of", "X", "Y", "1", "Y", "5"]
    with open(tmp_path / "r.csv") as file:
        assert float(list(csv.reader(file))[4][1]) == pytest.approx(1)


# --- eval meanshift


def test_a_constant_offset_is_bridged_by_the_mean_difference(tmp_path, capsys):
    x = normal(400, 16)
    offset = 1.5 * normal(16, seed=3)
    write_extracted(tmp_path / "x", {0: x, 1: x})
    write_extracted(tmp_path / "y", {0: x + offset, 1: normal(400, 16, seed=4)}, lang="de")
    options = ["--seed", "3", "--output", tmp_path / "r.json"]
    assert evaluate("meanshift", tmp_path / "x", tmp_path / "y", *options) == 0
    curves = result(tmp_path / "r.json")["curves"]
    assert curves["before"][0] < 1 / 3 and curves["after"][0] == 1.0
    assert curves["after"][1] < 0.05  # unrelated vectors stay so
    assert "accuracy on 200 held-out sentences" in capsys.readouterr().out


# --- eval bli

WORDS = [f"en{n}" for n in range(50)], [f"de{n}" for n in range(60)]


@pytest.fixture
def types(tmp_path):
    """Word k of one language is word k of the other, rotated; ten more have no translation."""
    y = {n: normal(60, 8, seed=n) for n in range(2)}
    x = {0: normal(50, 8, seed=7), 1: y[1][:50] @ rotation(8).T}
    write_extracted(tmp_path / "en", x, words=WORDS[0])
    write_extracted(tmp_path / "de", y, words=WORDS[1], lang="de")
    matrix = torch.from_numpy(rotation(8))
    layers = {n: LayerMap(Side(8, matrix=matrix), Side(8)) for n in range(2)}
    write_map(tmp_path / "map", FittedMap(layers))
    return tmp_path


def bli(folder, dictionary, *options):
    (folder / "dictionary").write_text(dictionary)
    return [
        *("bli", folder / "en", folder / "de", "--dictionary", folder / "dictionary"),
        *("--map", folder / "map", "--output", folder / "r.json", *options),
    ]


def test_a_planted_rotation_translates_every_word(types, capsys):
    lines = "".join(f"en{n} de{n}\n" for n in range(50)) + "en0 nowhere\nnowhere de0\n"
    assert evaluate(*bli(types, lines, "--figure", types / "bli.svg")) == 0
    found = result(types / "r.json")
    for way in ("cosine", "csls"):
        assert found["curves"][f"P@1 {way}"][1] == 1.0 == found["curves"][f"MRR {way}"][1]
        assert found["curves"][f"P@1 {way}"][0] < 0.2 < found["curves"][f"P@10 {way}"][0] + 0.2
    assert found["details"]["candidates"] == 60 and found["details"]["source words"] == 50
    assert found["details"]["entries"] == {"used": 50, "all": 52, "alike": 0}
    printed = capsys.readouterr().out
    assert "50 source words among 60 candidates" in printed
    assert "coverage: 50 of 52 entries have a vector for both words (96.2%)" in printed
    assert set(found["provenance"]["inputs"]) == {"X", "Y", "map", "dictionary"}
    assert ElementTree.fromstring((types / "bli.svg").read_text()).tag.endswith("svg")


def test_a_map_is_not_measured_unnoticed_on_what_it_was_fitted_on(types, capsys):
    lines = [f"en{n}\tde{n}\n" for n in range(50)]
    (types / "train").write_text("".join(lines[:40]))
    fit = ["procrustes", types / "en", types / "de", "--pairs", "dictionary", types / "train"]
    assert main(["map", *map(str, [*fit, "--output", types / "map"])]) == 0
    for entries, seen in (("EN3\tde3\n" + "".join(lines[39:]), "2 of these 12"), (lines[45], "")):
        assert evaluate(*bli(types, entries, "--ignore-case")) == 0
        warnings = [line for line in capsys.readouterr().out.splitlines() if "WARNING" in line]
        assert len(warnings) == bool(seen) and all(seen in line for line in warnings)


def test_a_map_of_rows_is_not_measured_unnoticed_on_its_own_texts(tmp_path, capsys):
    for name in ("en", "de", "en-new", "de-new"):
        write_extracted(tmp_path / name, {0: normal(20, 4, seed=len(name))}, unit="sentences")
        meta = read_json(tmp_path / name / "meta.json")
        meta["settings"]["text"] = f"digest of {name}"
        write_json(tmp_path / name / "meta.json", meta)
    fit = ["procrustes", tmp_path / "en", tmp_path / "de", "--pairs", "rows"]
    assert main(["map", *map(str, [*fit, "--output", tmp_path / "map"])]) == 0
    for ending, warned in (("", True), ("-new", False)):
        sides = tmp_path / f"en{ending}", tmp_path / f"de{ending}"
        capsys.readouterr()
        assert evaluate("tatoeba", *sides, "--map", tmp_path / "map") == 0
        printed = capsys.readouterr().out
        assert ("WARNING: the map was fitted on these sentences" in printed) == warned


def test_candidates_case_and_words_spelt_alike(types, capsys):
    lines = "EN1 de1\nen2 de2\nde5 de5\nen3 DE3\n"
    with gzip.open(types / "d.gz", "wt") as file:
        file.write(lines)
    common = ["bli", types / "en", types / "de", "--dictionary", types / "d.gz", "--map"]
    common += [types / "map", "--output", types / "r.json", "--layers", "1"]
    assert evaluate(*common) == 0
    assert result(types / "r.json")["details"]["entries"] == {"used": 1, "all": 4, "alike": 0}
    options = ["--ignore-case", "--skip-identical", "--candidates", "dictionary"]
    assert evaluate(*common, *options) == 0
    found = result(types / "r.json")
    assert found["details"]["entries"] == {"used": 3, "all": 4, "alike": 1}
    assert found["details"]["candidates"] == 3
    assert "1 identical ones left out" in capsys.readouterr().out


# --- eval correlate


def in_french(name, folder, values=None):
    """Write the results ``name`` again, of another pair, with other values."""
    record = read_record(folder / f"{name}.json")
    values = iter(values or [row["value"] for row in record.rows])
    lines = [{**row, "target": "fr", "value": next(values)} for row in record.rows]
    write_record(folder / f"{name}-fr.json", dataclasses.replace(record, rows=lines))


def test_two_measures_are_correlated_by_pair_and_together(rotated, capsys):
    folders = rotated / "en", rotated / "de"
    output, figure = rotated / "r.json", rotated / "r.svg"
    assert evaluate("cka", *folders, "--output", rotated / "cka.json") == 0
    mapped = ["--map", rotated / "map", "--output", rotated / "tatoeba.json"]
    assert evaluate("tatoeba", *folders, *mapped) == 0
    cka, tatoeba = (result(rotated / f"{name}.json") for name in ("cka", "tatoeba"))
    in_french("cka", rotated, [0.1, 0.5, 0.2])
    in_french("tatoeba", rotated)
    capsys.readouterr()
    files = [rotated / name for name in ("cka.json", "tatoeba.json")]
    files += [rotated / name for name in ("cka-fr.json", "tatoeba-fr.json")]
    options = ["--output", output, "--figure", figure]
    assert evaluate("correlate", *files, *options) == 0
    y = tatoeba["curves"]["cosine mean"]
    expected = {
        "en-de": np.corrcoef(cka["curves"]["CKA"], y)[0, 1],
        "en-fr": np.corrcoef([0.1, 0.5, 0.2], y)[0, 1],
        "all": np.corrcoef(cka["curves"]["CKA"] + [0.1, 0.5, 0.2], y + y)[0, 1],
    }
    found = {row["pair"]: row["value"] for row in rows(output, measure="Pearson")}
    assert found == pytest.approx(expected)
    assert value(output, measure="points", pair="all") == 6 == len(rows(output, layer="*"))
    assert "Correlation of CKA with tatoeba cosine mean" in capsys.readouterr().out
    assert "tatoeba cosine mean" in figure.read_text()
    assert evaluate("correlate", *files[:2], "--y", "csls forward") == 0
    assert "Correlation of CKA with tatoeba csls forward" in capsys.readouterr().out


def test_results_that_cannot_be_correlated_are_refused(rotated, capsys):
    folders = rotated / "en", rotated / "de"
    cka = rotated / "cka.json"
    assert evaluate("cka", *folders, "--output", cka) == 0
    assert "RESULTS must come in twos, got 1 files" in fails(capsys, "correlate", cka)
    line = fails(capsys, "correlate", cka, cka, "--x", "cks")
    assert "cka.json: unknown curve 'cks'" in line and "known: CKA" in line
    write_record(rotated / "other.json", Record("Other", [{"row": "a", "value": 1}]))
    line = fails(capsys, "correlate", cka, rotated / "other.json")
    assert "other.json: not results by layer, as `eval cka --output` writes them" in line
    assert evaluate("cka", *folders, "--layers", "1-2", "--output", rotated / "two.json") == 0
    capsys.readouterr()
    line = fails(capsys, "correlate", cka, rotated / "two.json")
    assert "a correlation needs 3 layers in both, got 2" in line
    in_french("cka", rotated)
    line = fails(capsys, "correlate", cka, rotated / "cka-fr.json")
    assert "must be of one pair of languages, got en-de and en-fr" in line
    assert evaluate("tatoeba", *folders, "--output", rotated / "t.json") == 0
    capsys.readouterr()
    line = fails(capsys, "correlate", cka, rotated / "t.json", cka, cka)
    assert "must measure CKA and tatoeba cosine mean as the first two do, got CKA and CKA" in line


# --- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["tatoeba", "en", "short"], "must have equally many rows, got 60 and 59"),
        (["tatoeba", "en", "wide"], "widths must be equal, or a map must be given, got 8 and 9"),
        (["tatoeba", "en", "nan"], "layer02.npy: must be finite, got NaN or infinity in row 17"),
        (["tatoeba", "en", "blank"], "blank: line 4 of its text is blank, or has no word"),
        (["tatoeba", "en", "deep"], "layers differ, 0,1,2 and 0,1,2,3; name those to compare"),
        (["tatoeba", "en", "nothing"], "nothing: no such folder; `fairseq-xling extract` writes"),
        (["tatoeba", "en", "."], "not a folder that `fairseq-xling extract` wrote"),
        (["tatoeba", "en", "de", "--map", "none"], "none: no such file"),
        (["tatoeba", "en", "wide", "--map", "map"], "must be rows 8 wide, got (60, 9)"),
        (["tatoeba", "en", "de", "--nearest", ","], "`--nearest` must name at least one of cosine"),
        (["tatoeba", "en", "de", "--output", "x.csv"], "`--output` must end in .json, got 'x.csv'"),
        (["cka", "en", "types"], "rows must be of the same unit, got sentences and types"),
        (
            ["cka", "en", "same"],
            "layer 1: CKA needs rows that differ, those of `y` are all identical",
        ),
        (["cka", "en", "de", "--all-layers", "--layers", "1"], "but `--layers` 1 was also given"),
        (["cka", "en", "de", "--output", "d.json"], "`--output` d.json: is a folder, not a file"),
        (["cka", "en", "huge"], "huge/layer02.npy: must be finite, got NaN or infinity in row 0"),
        (["meanshift", "en", "wide"], "widths must be equal"),
        (["meanshift", "en", "de", "--held-out", "0.01"], "must leave 1 pair to learn from and 2"),
        (["bli", "en", "de", "--dictionary", "d"], "en: has no words, its rows are sentences"),
        (
            ["bli", "types", "types", "--dictionary", "d"],
            "d: none of its 1 entries has a vector for both words in types and types",
        ),
        (["bli", "types", "thin", "--dictionary", "d2"], "widths must be equal, or a map must be"),
        (
            ["bli", "thin", "types", "--dictionary", "d2"],
            "; in the reverse direction it has 1: give X and Y in the dictionary's order",
        ),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    rotated, capsys, monkeypatch, options, message
):
    monkeypatch.chdir(rotated)
    x = {n: normal(60, 8, seed=n) for n in range(3)}
    nan, blank = x[2].copy(), x[2].copy()
    nan[17, 3], blank[3] = np.nan, 0
    made = {
        "short": {n: rows[:59] for n, rows in x.items()},
        "wide": {n: normal(60, 9, seed=n) for n in range(3)},
        "nan": {**x, 2: nan},
        "blank": {**x, 2: blank},
        "deep": {**x, 3: x[0]},
        "same": {**x, 1: np.ones((60, 8))},
    }
    for name, vectors in made.items():
        write_extracted(rotated / name, vectors)
    write_extracted(rotated / "types", x, words=[f"w{n}" for n in range(60)])
    write_extracted(
        rotated / "thin", {n: normal(2, 5) for n in range(3)}, words=["v0", "v1"], lang="de"
    )
    huge = {n: 1e300 * rows for n, rows in x.items()}
    write_extracted(rotated / "huge", huge, dtype="float64")
    for name in ("d.json", "d.svg"):
        (rotated / name).mkdir()
    (rotated / "empty").write_text("\n")
    (rotated / "d").write_text("house haus\n")
    (rotated / "d2").write_text("w0 v0\n")
    before = sorted(rotated.iterdir())
    if "--output" not in options:
        options = [*options, "--output", "r.json"]
    assert message in fails(capsys, *options)
    assert sorted(rotated.iterdir()) == before
