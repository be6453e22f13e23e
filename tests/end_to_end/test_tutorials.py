"""The commands of the tutorials run: quickly, and as they stand with what they show."""

import re
from pathlib import Path

import pytest

from tests.end_to_end.pages import Page, folder_of, pages, parameters
from tests.records import value, values

# What a reader has at the end of each.
LEAVES = {
    "tutorials/train.md": ["encoder/checkpoint_best.pt", "eval.json", "pages/eval.html"],
    "tutorials/migrate.md": ["migration/report.html"],
    "tutorials/analyse.md": ["tatoeba.svg", "pages/cka.html", "words-en-mapped/meta.json"],
    "tutorials/transfer.md": ["parsed", "transfer-pos/plot.svg", "transfer-pos/report.html"],
    "tutorials/clcr.md": ["clcr/results.json", "conditions.json", "conditions.svg"],
}


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("page", parameters(pages("tutorials")))
def test_every_command_of_a_tutorial_runs(page, pages_root):
    folder = folder_of(page, pages_root)
    assert [name for name in LEAVES[page.name] if not (folder / name).exists()] == []


def check_train(folder, printed):
    for task, measure in (("retrieval", "mean"), ("words", "MRR")):
        trained, random = values(folder / "eval.json", task=task, measure=measure, best=1)
        assert trained > 1.5 * random, measure
    assert "player -> Spieler" in printed


def check_migrate(folder, printed):
    translated = re.findall(r"^D-\d+\t\S+\t(.+)$", printed, re.M)
    wanted = (folder / "text/parallel/test.en-de.de.txt").read_text(encoding="utf-8").splitlines()
    assert len(translated) == 3
    for line, reference in zip(translated, wanted, strict=False):
        assert len({*line.split()} & {*reference.split()}) > 0.6 * len({*reference.split()})
    return sum(line == reference for line, reference in zip(translated, wanted, strict=False))


def check_translator(folder, printed):
    assert check_migrate(folder, printed) >= 2


def check_transfer(folder, printed):
    assert value(folder / "parsed" / "scores.json", row="test.de.conllu", measure="las") > 50
    assert "predicted:" in printed


CHECKS = {
    "README.md": check_migrate,
    "tutorials/train.md": check_train,
    "tutorials/migrate.md": check_translator,
    "tutorials/transfer.md": check_transfer,
}


@pytest.mark.slow
@pytest.mark.timeout(7000)
@pytest.mark.parametrize("name", CHECKS)
def test_a_tutorial_ends_with_what_it_promises(name, pages_root):
    folder = folder_of(Page(name), pages_root, whole=True)
    CHECKS[name](folder, Path(f"{folder}.out").read_text(encoding="utf-8"))
