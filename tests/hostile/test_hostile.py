"""Hostile files and options: refused in one line, and nothing of them runs, stays or explodes.

`HOSTILE_REPORT=FILE` in the environment appends the failing cases of each kind to FILE.
"""

import collections
import json
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from fairseq_xling.cli import main
from tests.hostile import checkpoints, folders, gold, inputs, options
from tests.hostile.calls import (
    POINTERS,
    PROGRAMS,
    VERBS,
    calls,
    checkpoint_arguments,
    checkpoint_fields,
    parsers,
)
from tests.hostile.machine import SPARE, Case, perform, try_all
from tests.tiny_world import World, complete_world


@pytest.fixture(scope="module")
def world(tiny_world, tmp_path_factory):
    """Of its own, since a case must not change it, and times of access tell what a call reads."""
    return World(shutil.copytree(tiny_world, tmp_path_factory.mktemp("hostile") / "world"))


@pytest.fixture(scope="module")
def whole_world(world):
    return complete_world(world)


def peak_of(call: str, world: World) -> int:
    """Bytes that a valid call takes."""
    with tempfile.TemporaryDirectory(dir=world.root.parent) as here:
        outcome = perform(call.replace("{w}", str(world.root)).split(), Path(here), 4 * SPARE)
    assert not outcome.status, f"{call}: {outcome.printed[-2000:]}"
    return outcome.peak


@pytest.fixture(scope="module")
def limit(world):
    """Bytes that a hostile case may take: what a valid call of about its kind does, and `SPARE`."""
    return SPARE + peak_of(calls()["eval"], world)


def assert_refused(cases: Iterable[Case], world: World, limit: int, least: int) -> None:
    report = try_all(cases, world, limit)
    assert report.tried >= least, "cases have been lost"
    assert not report.found, str(report)


def test_every_verb_has_a_call_and_every_checkpoint_a_place_in_one():
    known = parsers()
    for name, parser in known.items():
        assert name in VERBS, (
            f"the verb {name!r} is new: give a valid call of it in VERBS of tests/hostile/calls.py"
        )
        words = VERBS[name].split()
        for argument in checkpoint_arguments(parser):
            given = [
                word
                for place, word in enumerate(words)
                if re.search(r"\{w\}/\w+\.pt$", word)
                and (words[place - 1] == argument if argument.startswith("-") else True)
            ]
            assert given, (
                f"{argument} of {name!r} reads a checkpoint: name one in the verb's call in VERBS "
                "of tests/hostile/calls.py, or say in _READS_NONE what it reads"
            )
    assert set(VERBS) <= set(known), "VERBS has verbs that are no more"


def test_every_option_of_fairseq_train_for_a_checkpoint_has_a_call():
    text = " ".join(PROGRAMS.values())
    for owner, option in checkpoint_fields():
        assert re.search(rf"{option} \S*\{{w\}}/\w+\.pt", text), (
            f"{option} of {owner!r} reads a checkpoint: add a call to PROGRAMS of "
            "tests/hostile/calls.py"
        )


def test_every_owner_of_options_of_fairseq_train_has_a_call():
    assert not options.unknown_owners(), (
        "add a call of these to _OWNERS of tests/hostile/options.py"
    )


# What reads text in lines, with the words that are added to its call.
_READ_LINES = {
    "extract": "",
    "mean": "",
    "predict": "",
    "translate-mds": "--reference {w}/text/parallel/test.en-de.de.txt",
    "embed words": "",
    "align": "",
    "map procrustes": "",
    "eval": "--targets de --measure retrieval --retrieval-text "
    "{w}/text/parallel/test.en-de.en.txt {w}/text/parallel/test.en-de.de.txt",
}


@pytest.mark.parametrize("verb", _READ_LINES)
def test_a_text_may_be_a_column_of_a_table(world, verb, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def as_column(match: re.Match) -> str:
        lines = Path(match[0]).read_text(encoding="utf-8").splitlines()
        rows = (json.dumps({"text": line, "other": line[::-1]}) + "\n" for line in lines)
        Path(f"{match[1]}.jsonl").write_text("".join(rows))
        return f"{match[1]}.jsonl:text"

    call = f"{VERBS[verb]} {_READ_LINES[verb]}".replace("{w}", str(world.root))
    call = re.sub(rf"{world.root}/text/\w+/([\w.-]+)\.(?:txt|tsv)\b", as_column, call)
    assert main([*verb.split(), *call.split()]) == 0, capsys.readouterr().err


def test_states_of_another_column_are_not_taken_for_finished(world, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text(2 * '{"a": "the dog", "b": "the cat"}\n')
    call = VERBS["extract"].replace("{w}", str(world.root)).split()
    for column, status in (("a", 0), ("a", 0), ("b", 1)):
        call[call.index("--text") + 1] = f"t.jsonl:{column}"
        assert main(["extract", *call]) == status
    assert "must be new; it contains something else" in capsys.readouterr().err


# ---- thousands of cases

CHUNKS = 60  # of each list: a test is what an interrupted run repeats, and what a worker takes


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_call_ends_well(whole_world):
    for name, text in calls().items():
        if name not in POINTERS:
            peak_of(text, whole_world)


def assert_chunk_refused(
    cases: Sequence[Case], chunk: int, world: World, limit: int, least: int
) -> None:
    """Those of ``cases`` that are in a chunk by their names, wherever they stand in the list."""
    assert len(cases) >= least, "cases have been lost"
    names = collections.Counter(case.name for case in cases)
    twice = [name for name, count in names.items() if count > 1]
    assert not twice, f"two cases have one name: {twice}"
    chosen = [case for case in cases if zlib.crc32(case.name.encode()) % CHUNKS == chunk]
    assert_refused(chosen, world, limit, 1)


@pytest.fixture(scope="module")
def hostile_checkpoints():
    return checkpoints.cases()


@pytest.fixture(scope="module")
def hostile_folders():
    return list(folders.cases())


@pytest.fixture(scope="module")
def hostile_files(whole_world):
    return inputs.cases(whole_world)


@pytest.fixture(scope="module")
def hostile_options():
    return options.cases()


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_hostile_checkpoints_are_refused_by_every_call(
    chunk, hostile_checkpoints, whole_world, limit
):
    assert_chunk_refused(hostile_checkpoints, chunk, whole_world, limit, 2000)


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_hostile_data_folders_are_refused_by_every_call(chunk, hostile_folders, whole_world, limit):
    assert_chunk_refused(hostile_folders, chunk, whole_world, limit, 1000)


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_hostile_files_are_refused_by_every_call(chunk, hostile_files, whole_world, limit):
    assert_chunk_refused(hostile_files, chunk, whole_world, limit, 1000)


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_hostile_options_are_refused_by_every_call(chunk, hostile_options, whole_world, limit):
    assert_chunk_refused(hostile_options, chunk, whole_world, limit, 900)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_gold_files_that_are_hostile_by_what_they_say_are_refused(whole_world, limit):
    assert_refused(gold.cases(), whole_world, limit, 50)
