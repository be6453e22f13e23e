"""A file that a command of a study names decides its step, and all that is built on it, and no
other: each is changed in turn."""

import os
import re
from pathlib import Path
from unittest import mock

import pytest

from fairseq_xling.workflow.runner import Runner
from tests.golden.plans import MORE
from tests.golden.world import call, inside, world
from tests.hostile.calls import VERBS

PATH = re.compile(r"(?<![\w./-])w/[\w./-]+")
STUDIES = [name for name, words in VERBS.items() if "--dry-run" in words]
# What one of these studies alone reads.
FURTHER = {
    "ablate emerging-structure": "--dictionary w/en.vec",
    "ablate token-translation": MORE["ablate token-translation"][0],
}


def planned(words):
    found = []
    quick = mock.patch.object(Runner, "check", lambda *_: None)
    note = mock.patch.object(Runner, "print_plan", lambda runner: found.append(runner.graph))
    with quick, note:
        status, _, errors = call(words)
    assert status == 0, errors
    return found[-1]


def named(step):
    """The files that its commands name, by the plainest reading of their words; and those that a
    function says it reads."""
    found = set()
    for words in step.commands:
        for before, word in zip(("", *words), words, strict=False):
            for path in map(Path, PATH.findall(word)):
                if path.is_dir() and before == "--from":
                    languages = words[words.index("--languages") + 1].split(",")
                    found |= {one for one in path.rglob("*") if of_text(path, one, languages)}
                elif path.is_dir():
                    found |= {one for one in path.rglob("*") if one.is_file()}
                elif path.is_file():
                    found.add(path)
    given = [path for path in map(Path, (*step.inputs, *step.unread)) if path.exists()]
    inner = [one for path in given if path.is_dir() for one in path.rglob("*") if one.is_file()]
    return found | {path for path in (*given, *inner) if path.is_file()}


def of_text(folder, path, languages):
    """Whether `prepare --from` reads a file, by the layout of `synthesize`."""
    kind = path.relative_to(folder).parts[0]
    if kind == "dictionary":
        return path.suffix == ".tsv" and set(path.stem.split("-")) <= set(languages)
    named = path.name.split(".")[1:2]
    return kind in ("mono", "parallel") and set("-".join(named).split("-")) <= set(languages)


@pytest.mark.parametrize("name", STUDIES)
def test_a_changed_file_makes_what_is_built_on_it_new(name):
    words = f"{name} {VERBS[name].replace('{w}', 'w')} {FURTHER.get(name, '')}"
    with inside(world()):
        plan = planned(words)
        reads = {step.name: named(step) for step in plan.steps}
        files = sorted(set().union(*reads.values()))
        before = plan.digests()
        assert files or name == "demo"
        for file in files:
            expected = set()
            for step in plan.steps:
                above = {other.name for other in plan.before[step.name]}
                if file in reads[step.name] or above & expected:
                    expected.add(step.name)
            kept, about = file.read_bytes(), file.stat()
            file.write_bytes(kept + b"x")
            try:
                after = plan.digests()
            finally:
                file.write_bytes(kept)

            os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
            new = {step for step, key in after.items() if before[step] != key}
            assert new == expected, file
