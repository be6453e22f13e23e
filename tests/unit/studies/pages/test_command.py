import pytest

from fairseq_xling.cli import main
from fairseq_xling.core.files import write_json
from fairseq_xling.results.page import Result
from fairseq_xling.studies.verbs.report import page_names
from tests.unit.studies.pages.records import RECORDS


def test_each_run_becomes_a_page_and_rows_an_index(tmp_path, capsys):
    write_json(tmp_path / "runs" / "ablation" / "results.json", RECORDS["ablation"])
    write_json(tmp_path / "cka.json", RECORDS["comparison"])
    output = tmp_path / "pages"
    runs = [str(tmp_path / "runs" / "ablation"), str(tmp_path / "cka.json")]
    assert main(["report", *runs, "--index", "--output", str(output)]) == 0
    assert sorted(path.name for path in output.iterdir()) == [
        *("ablation.html", "cka.html", "index.html"),
    ]
    printed = capsys.readouterr().out
    assert f"page: {output / 'cka.html'}" in printed
    assert f"index: {output / 'index.html'}" in printed
    assert 'href="ablation.html"' in (output / "index.html").read_text(encoding="utf-8")


def test_results_of_one_measure_are_compared_on_a_page_more(tmp_path, capsys):
    for name, value in (("bilingual", 0.75), ("random", 0.125)):
        curves, means = {"cosine mean": [0.25, value]}, {"cosine mean": (0.25 + value) / 2}
        more = {"curves": curves, "means": means, "panels": {"": ["cosine mean"]}}
        write_json(tmp_path / f"{name}.json", RECORDS["comparison"] | more)
    write_json(tmp_path / "other.json", RECORDS["comparison"] | {"measure": "cka"})
    assert main(["report", str(tmp_path), "--output", str(tmp_path / "pages")]) == 0
    names = sorted(path.stem for path in (tmp_path / "pages").iterdir())
    assert names == ["bilingual", "other", "random", "tatoeba-together"]
    text = (tmp_path / "pages" / "tatoeba-together.html").read_text(encoding="utf-8")
    assert "bilingual (en-de)" in text and "random (en-de)" in text
    assert "tatoeba-together.layers.csv" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "RUN must name at least one finished run, or give `--index`"),
        (
            ["RUN", "--tests", "t.json"],
            "`--tests` and `--recipes` require `--index`",
        ),
        (["missing"], "missing: no such file"),
        (["RUN", "RUN"], "named twice"),
        (["--index", "--tests", "missing.json"], "missing.json: no such file"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(tmp_path, capsys, options, message):
    run = tmp_path / "run"
    write_json(run / "results.json", RECORDS["demo"])
    options = [str(run) if option == "RUN" else option for option in options]
    assert main(["report", *options, "--output", str(tmp_path / "pages")]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "pages").exists()


def test_a_file_is_no_place_for_pages(tmp_path, capsys):
    write_json(tmp_path / "demo.json", RECORDS["demo"])
    (tmp_path / "pages").write_text("")
    options = [str(tmp_path / "demo.json"), "--output", str(tmp_path / "pages")]
    assert main(["report", *options]) == 1
    assert "`--output` must be a folder" in capsys.readouterr().err


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path):
    paths = ["a/ner/results.json", "b/ner/results.json", "c/eval.json", "index/results.json"]
    results = [Result(tmp_path / path, {}) for path in paths]
    assert page_names(results) == ["a-ner", "b-ner", "eval", f"{tmp_path.name}-index"]


def test_scores_are_not_written_over_the_results_that_they_come_from(tmp_path, capsys):
    path = tmp_path / "cka.json"
    write_json(path, RECORDS["comparison"])
    before = path.read_bytes()
    (tmp_path / "link.json").symlink_to(path)
    for target in (path, tmp_path / "link.json"):
        assert main(["report", str(path), "--jsonl", str(target)]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.endswith(f"`--jsonl` must be another file than `RUN`, got {target}")
    assert path.read_bytes() == before
