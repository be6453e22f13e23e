"""Pipes, devices and what lies below them are neither read nor written; refused at the start."""

import argparse
import os
import subprocess
import sys

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.named_files import NEW_FILE, NEW_FOLDER, Input, arguments_of, check_outputs


@pytest.fixture
def check():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", metavar=Input("LANG=FILE[,FILE]"), action="append")
    parser.add_argument("--output", metavar=NEW_FILE)
    parser.add_argument("--folder", metavar=NEW_FOLDER)
    return lambda *words: check_outputs(arguments_of(parser, parser.parse_args(map(str, words))))


@pytest.mark.parametrize("form", ["{}", "de={}", "de=a.txt,{}", "train.de={},a.txt"])
def test_an_input_that_never_ends_is_refused(form, check, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(UserError) as error:
            check("--data", form.format(path))
        assert str(error.value) == f"`--data` {path}: is a pipe or a device, not a file"


@pytest.mark.parametrize("option", ["--output", "--folder"])
def test_an_output_that_cannot_be_made_is_refused(option, check, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"`{option}` .*pipe: is a pipe or a device, not a file"):
        check(option, tmp_path / "pipe")
    for above in (tmp_path / "file", tmp_path / "pipe", "/dev/null"):
        with pytest.raises(UserError, match=f"{above} is a file, not a folder"):
            check(option, f"{above}/x/y")
    assert check(option, tmp_path / "new" / "x") == []


@pytest.mark.parametrize("mode", ["w", "wb"])
def test_standard_output_may_be_a_pipe_or_a_file(mode, tmp_path):
    code = (
        "from fairseq_xling.core.files import atomic_write\n"
        f"with atomic_write('/dev/stdout', {mode!r}) as file:\n"
        f"    file.write({'é' if mode == 'w' else 'é'.encode()!r})\n"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == "é".encode()
    with open(tmp_path / "out", "wb") as file:
        subprocess.run(command, stdout=file, check=True)
    assert (tmp_path / "out").read_bytes() == "é".encode()
    with pytest.raises(UserError, match="is a pipe or a device"), atomic_write("/dev/null"):
        pass
