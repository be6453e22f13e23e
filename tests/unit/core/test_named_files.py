import argparse
import os
import re

import pytest

from fairseq_xling import cli
from fairseq_xling.command_line import build_parser, verbs
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import kept, write_json
from fairseq_xling.core.named_files import (
    NEW_FILE,
    NEW_FOLDER,
    NEW_REPORTED,
    NEW_RESULTS,
    Input,
    Named,
    OutputFile,
    check_outputs,
)

READ = Input("FILE")
# What a metavar or a help says of an option that names files or folders.
_NAMES_FILES = re.compile(
    r"FILE|FOLDER|CHECKPOINT|DIR\b|\bDATA\b|\bPATH\b|\bYAML\b|\bJSON\b"
    r"|^(a |an |the |its |their |second |existing |ready |another |data )*"
    r"(file|files|folder|folders|checkpoint|text in the layout|vectors file)\b"
)
# Options of text whose help speaks of files that they do not name.
_TEXTS = {"--columns", "--checkpoint", "--aligner", "--format", "--head-options"}


def options(parser, verb):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name in action.choices if verb is None else {verb} & {*action.choices}:
                yield from options(action.choices[name], None)
        else:
            yield action


@pytest.mark.parametrize("verb", verbs())
def test_options_that_name_files_say_whether_they_are_read(verb):
    for action in options(build_parser([verb]), verb):
        marks = action.metavar if isinstance(action.metavar, tuple) else (action.metavar,)
        name = [*action.option_strings, action.dest][0]
        if any(isinstance(mark, Named) for mark in marks):
            written = any(isinstance(mark, Named) and not isinstance(mark, Input) for mark in marks)
            assert written or name not in ("--output", "out"), name
        elif action.nargs != 0 and not action.choices and name not in _TEXTS:
            said = [mark for mark in marks if mark] + [action.help or ""]
            assert not any(map(_NAMES_FILES.search, said)), f"{name}: {said}"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "states").mkdir()
    for name in ("a.txt", "b.txt", "states/meta.json"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("a.txt")
    (tmp_path / "folder").symlink_to("states")
    os.link("a.txt", "hard")
    return tmp_path


@pytest.mark.parametrize(
    "text",
    ["a.txt", "./states/../a.txt", "link", "hard", "en=a.txt", "train.en=b.txt,a.txt", "{lang}.txt",
     "en=b.txt,de=a.txt", "a.txt:states"],
)  # fmt: skip
def test_an_output_is_no_input_by_whatever_name(here, text):
    for output in ("a.txt", "hard", "link", f"{here}/a.txt"):
        with pytest.raises(
            UserError, match=f"`--output` must be another file than `x`, got {output}"
        ):
            check_outputs([("x", READ, text), ("--output", NEW_FILE, output)])


def test_an_output_is_no_file_of_a_folder_that_is_read(here):
    for folder in ("states", "folder", "x=states"):
        for output in ("states/meta.json", "folder/meta.json"):
            with pytest.raises(UserError, match="`--output` must not be a file of `x`"):
                check_outputs([("x", READ, folder), ("--output", NEW_FILE, output)])
        check_outputs([("x", READ, folder), ("--output", NEW_FILE, "states/new.json")])
        with pytest.raises(UserError, match="`--output` must be another folder than `x`"):
            check_outputs([("x", READ, folder), ("--output", NEW_FOLDER, "states")])
        check_outputs([("x", READ, folder), ("--output", NEW_FOLDER, "states/predictions")])


def test_what_is_written_next_to_an_output_counts(here):
    with pytest.raises(UserError, match="must not be a file of `x`"):
        check_outputs([("x", READ, "states"), ("--output", NEW_REPORTED, "states/meta")])
    with pytest.raises(UserError, match="`--figure` must be another file than `--output`"):
        check_outputs([("--output", NEW_RESULTS, "a.json"), ("--figure", NEW_FILE, "./a.csv")])


def test_what_is_missing_is_never_in_the_way(here):
    assert check_outputs([("x", READ, "missing"), ("--output", OutputFile("X"), "missing")]) == []
    (here / "t.jsonl").write_text("{}\n")
    read = check_outputs([("x", READ, "t.jsonl:states"), ("--output", NEW_FOLDER, "states")])
    assert [path.name for path in read] == ["t.jsonl"]


def test_a_file_that_is_read_is_not_written_by_another_name(here):
    with kept(check_outputs([("files", READ, "de=a.txt")])):
        with pytest.raises(UserError, match=r"a\.txt: is read by this command"):
            write_json("a.txt", {})
        write_json("b.txt", {})
    assert (here / "a.txt").read_text() == "a.txt"
    write_json("a.txt", {})


@pytest.mark.parametrize(
    "line",
    [
        "realign a.txt --words b.txt --output a.txt",
        "probe-texts a.txt --output a.txt",
        "init a.txt --output link",
        "eval cka states folder --output states/meta.json",
        "eval cka states folder --figure folder/meta.json",
        "align fwd a.txt b.txt --output a.txt",
        "mean a.txt --data states --lang de --text b.txt --output b.txt",
        "clcr texts a.txt.premise --output a.txt",
        "report states --output folder",
        "trelm run --data states --output states",
    ],
)
def test_no_command_destroys_what_it_reads(here, line, capsys):
    (here / "a.txt.premise").write_text("x")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert cli.main(line.split()) == 1
    assert re.search(r"`\S+` must (be another|not be a file)", capsys.readouterr().err)
    assert before == {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
