"""The verb and the study that docs/contributing/verb.md adds, as it adds them."""

import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest

from fairseq_xling import command_line
from fairseq_xling.cli import main
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.ablations import __name__ as STUDIES_FOLDER

PAGE = Path(__file__).parents[2] / "docs" / "contributing" / "verb.md"
_BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```$", re.M | re.S)


@pytest.fixture
def blocks(tmp_path, monkeypatch):
    """The page's files are in the package, as in a copy of it; its commands, in order."""
    found = _BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    commands = []
    for language, text in found:
        if language == "bash":
            commands += [shlex.split(line)[1:] for line in text.splitlines()]
            continue
        file = tmp_path / re.match(r"# (\S+\.py)\n", text)[1]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert list(STUDIES)  # all that there are, since a module registers itself only once
    monkeypatch.setattr(STUDIES, "_entries", dict(STUDIES._entries))
    monkeypatch.setattr(STUDIES, "_packages", (STUDIES_FOLDER,))  # to be searched again
    for name in ("verbs", "studies", "studies.ablations"):
        package = importlib.import_module(f"fairseq_xling.{name}")
        place = tmp_path / "fairseq_xling" / name.replace(".", "/")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(place)])
    command_line._verbs_of.cache_clear()
    monkeypatch.chdir(tmp_path)
    yield commands
    command_line._verbs_of.cache_clear()
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.slow
def test_its_commands_run(blocks, tmp_path, capsys):
    text = [
        "synthesize",
        "text",
        "--sentences",
        "80",
        "--held-out",
        "10",
        "--parallel-sentences",
        "9",
    ]
    assert main(text) == 0
    assert (
        main(["prepare", "data", "--from", "text", "--languages", "en,de", "--vocab-size", "400"])
        == 0
    )
    verb, study, report = blocks
    capsys.readouterr()
    assert main(verb) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["language", "sentences", "mean", "longest"]
    assert [row.split()[:2] for row in rows] == [["en", "10"], ["de", "10"]]
    assert main(study) == 0
    first = (tmp_path / "runs" / "pieces" / "results.json").read_bytes()
    assert main(study) == 0
    assert "prepare-300: done before" in capsys.readouterr().out
    assert (tmp_path / "runs" / "pieces" / "results.json").read_bytes() == first
    lines = (tmp_path / "runs" / "pieces" / "table.md").read_text().splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:4]] == ["300 pieces", "600 pieces"]
    assert main(report) == 0
    assert "<svg" in (tmp_path / "pages" / "pieces.html").read_text()
