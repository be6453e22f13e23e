"""The files that every project has agree with each other and with the package."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest
import yaml

import fairseq_xling

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it where Python has none

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())


def supported_pythons():
    """The minor versions that ``requires-python`` admits, as in ``3.10``."""
    first, end = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    return [f"3.{minor}" for minor in range(int(first), int(end))]


def make_targets():
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def test_the_changelog_begins_with_this_version_and_goes_back_to_the_first():
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## \[(\S+)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.M)
    assert len(headings) == text.count("\n## ")
    assert headings[0] == ("Unreleased", "")
    assert headings[1] == (fairseq_xling.__version__, str(CITATION["date-released"]))
    versions = [tuple(map(int, name.split("."))) for name, _ in headings[1:]]
    assert versions == sorted(versions, reverse=True) and versions[-1] == (0, 1, 0)
    kinds = set(re.findall(r"^### (.*)$", text, re.M))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_citation_is_of_this_version_by_the_same_authors():
    assert CITATION["version"] == fairseq_xling.__version__
    assert CITATION["cff-version"] == "1.2.0"
    assert [author["name"] for author in CITATION["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]


def test_the_version_is_written_once_in_code():
    assert "version" in PROJECT["dynamic"]
    pattern = re.compile(rf"""["']{re.escape(fairseq_xling.__version__)}["']""")
    code = [*(ROOT / "fairseq_xling").rglob("*.py"), ROOT / "setup.py", ROOT / "pyproject.toml"]
    found = [path.relative_to(ROOT) for path in code if pattern.search(path.read_text())]
    assert found == [Path("fairseq_xling/version.py")]


def test_one_licence_is_named_everywhere():
    text = (ROOT / "LICENSE").read_text()
    assert text.startswith("MIT License\n")
    year = str(CITATION["date-released"])[:4]
    assert f"Copyright (c) {year} {PROJECT['authors'][0]['name']}" in text
    assert PROJECT["license"] == CITATION["license"] == "MIT"
    assert PROJECT["license-files"] == ["LICENSE"]


def test_ci_runs_on_each_python_that_the_package_admits_and_lists():
    prefix = "Programming Language :: Python :: "
    listed = [c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(prefix)]
    assert [c for c in listed if c[0] == "3" and "." in c] == supported_pythons()
    assert WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"] == supported_pythons()


def test_nox_has_each_python_and_the_lowest_versions_that_setup_admits():
    tree = ast.parse((ROOT / "noxfile.py").read_text())
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    assert values["PYTHONS"] == supported_pythons()
    assert values["LOWEST_PYTHON"] in values["PYTHONS"]
    setup = (ROOT / "setup.py").read_text()
    admitted = dict(re.findall(r'"(numpy|torch)>=([\d.]+)[",]', setup))
    assert {name: f"{least}.0" for name, least in admitted.items()} == values["LOWEST"]


def test_setup_admits_no_minor_version_of_torch_above_the_pinned_one():
    pinned = re.search(r"^torch==2\.(\d+)\.", (ROOT / "constraints.txt").read_text(), re.M)
    first_refused = re.search(r'"torch>=[\d.]+,<2\.(\d+)"', (ROOT / "setup.py").read_text())
    assert int(first_refused[1]) == int(pinned[1]) + 1


def test_ci_runs_targets_that_make_has_and_actions_of_a_major_version():
    steps = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    asked = {
        target
        for step in steps
        for target in re.findall(r"^make ([a-z-]+)", step.get("run", ""), re.M)
    }
    assert {"test", "dist"} <= asked <= make_targets()
    actions = [step["uses"] for step in steps if "uses" in step]
    assert actions and all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", action) for action in actions)


@pytest.mark.parametrize("name", ["bug_report", "feature_request"])
def test_each_issue_form_asks_questions_with_ids_of_their_own(name):
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    questions = [part for part in form["body"] if part["type"] != "markdown"]
    assert form["name"] and form["description"]
    assert len({part["id"] for part in questions}) == len(questions) > 2
    assert any(part.get("validations", {}).get("required") for part in questions)


def axes():
    """The rows of CONTRIBUTING.md's table: folder, base class, registry."""
    row = r"^\| [^|]* \| `([\w/]+)/` \| `([\w.]+)` \| `@(\w+)\.register\(\"name\"\)` \|$"
    return re.findall(row, CONTRIBUTING, re.M)


def test_contributing_names_the_folders_base_classes_and_registries_of_the_axes():
    assert len(axes()) == CONTRIBUTING.count('.register("name")`') >= 8
    for folder, base, registry in axes():
        package = importlib.import_module(folder.replace("/", "."))
        module, _, name = base.rpartition(".")
        owner = importlib.import_module(module) if module else package
        assert isinstance(vars(owner)[name], type), base
        entries = vars(package)[registry]
        files = [entries[name].__module__ for name in entries]
        assert any(file.startswith(f"{package.__name__}.") for file in files), folder


def test_contributing_names_files_and_targets_that_exist():
    files = re.findall(r"`(\w+(?:/\w+)+\.py)`", CONTRIBUTING)
    files += re.findall(r"\]\(([\w/.]+)\)", CONTRIBUTING)
    assert len(files) > 8
    folders = [ROOT, ROOT / "fairseq_xling"]
    assert not [file for file in files if not any((f / file).exists() for f in folders)]
    assert set(re.findall(r"`make ([a-z-]+)", CONTRIBUTING)) <= make_targets()
