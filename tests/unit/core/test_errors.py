import errno
import resource

import numpy as np
import pytest
import torch

from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.core.errors import (
    UserError,
    about,
    exits_on_user_error,
    one_line,
    shown,
    writing,
)
from fairseq_xling.core.files import atomic_write
from fairseq_xling.reports.tables import text_table


def test_a_file_whose_settings_stand_for_options_is_named_before_them():
    with pytest.raises(UserError, match=r"^a\.pt: `--lr` must"), about("a.pt", from_file=True):
        raise UserError("`--lr` must be above 0")
    with pytest.raises(UserError, match=r"^`--lr` of a\.pt"), about("a.pt", from_file=True):
        raise UserError("`--lr` of a.pt must be above 0")


NO_SPACE = errno.ENOSPC, "No space left on device"
FULL = "no space left on device while writing"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("a\n  b\tc\n"), "a b c"),
        (OSError(*NO_SPACE), f"{FULL} output; free some"),
        (OSError(*NO_SPACE, "in.txt", None, "out.txt"), f"{FULL} out.txt;"),
        (PermissionError(errno.EACCES, "Permission denied", "x.txt"), "x.txt: Permission denied"),
        (MemoryError("Unable to get 107. PiB"), "not enough memory (Unable to get 107. PiB)"),
    ],
)
def test_an_error_is_one_line_that_names_its_file(error, line):
    assert one_line(error).startswith(f"fairseq-xling: error: {line}")


@pytest.mark.parametrize("mark", ["\x1b", "\x07", "\x08", "\x7f", "\x9b", "\u202e", "\u2066"])
def test_what_controls_a_terminal_is_shown_in_messages_and_tables(mark, tmp_path):
    escaped = ascii(mark)[1:-1]
    path = tmp_path / "x.pt"
    torch.save({"model": {f"weight{mark}": torch.tensor(float("nan"))}}, path)
    with pytest.raises(UserError) as caught:
        load_plain(path)
    assert f"`model.weight{escaped}` must be finite" in one_line(caught.value)
    assert text_table([f"a{mark}"], [[f"b{mark}"]]) == f"a{escaped}\nb{escaped}"


def test_a_full_disk_says_what_to_do_and_which_file():
    error = OSError(errno.ENOSPC, "No space left on device", "out/train.bin")
    line = one_line(error)
    assert line.startswith("fairseq-xling: error: no space left on device while writing out/train")
    assert "run the same command again" in line and "\n" not in line


def test_a_failed_write_names_its_file(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, limits[1]))
    try:
        with pytest.raises(OSError) as of_numpy, writing("out"):
            np.save(tmp_path / "x.npy", np.zeros(1 << 14))
        with pytest.raises(OSError) as of_python, atomic_write(tmp_path / "a.bin") as file:
            file.write(bytes(1 << 14))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "no space left on device while writing out; free" in one_line(of_numpy.value)
    assert one_line(of_python.value).endswith(f"{tmp_path}/a.bin: File too large")
    assert not (tmp_path / "a.bin").exists()


@pytest.mark.parametrize("error", [UserError("bad\nvalue"), IsADirectoryError(21, "Is one", "x")])
def test_a_users_mistake_becomes_a_one_line_exit_with_status_1(error):
    @exits_on_user_error
    def fails():
        raise error

    with pytest.raises(SystemExit) as caught:
        fails()
    assert caught.value.code == one_line(error)  # Python prints a text and exits with 1
    assert caught.value.__cause__ is error


def test_a_bug_is_not_dressed_up_as_a_users_mistake():
    @exits_on_user_error
    def fails():
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        fails()


def test_a_long_message_is_shortened_in_its_middle():
    line = one_line(UserError("a.txt:1: " + "x" * 1_000_000 + " is the end"))
    assert len(line) < 2100 and line.startswith("fairseq-xling: error: a.txt:1: xx")
    assert line.endswith("xx is the end") and " ... " in line


def bomb():
    """A list that refers to lists that refer to lists: formatted, it would fill any memory."""
    value = ["x"] * 9
    for _ in range(30):
        value = [value] * 9
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (bomb(), "[" * 31 + "'x', '..."),
        ({"a": bomb()}, None),
        ("a\nb", r"'a\nb'"),
        ("ü" * 9, "'üüüüüüüüü'"),
        (10**5000, "a number of 16610 bits"),
        ({1: (2,), "b": None}, "{1: (2,), 'b': None}"),
        (b"a" * 10**6, None),
        ([0.5, True, []], "[0.5, True, []]"),
    ],
    ids=["list", "dict", "lines", "letters", "number", "kinds", "bytes", "nested"],
)
def test_a_value_in_a_message_is_short_however_large_it_is(value, text):
    found = shown(value)
    assert len(found) <= 40
    assert found == text if text else found.endswith("...")


@pytest.mark.parametrize(
    ("text", "names", "line"),
    [
        ("unknown kind 'x'", ["`--order`"], "`--order`: unknown kind 'x'"),
        ("2 rows are needed", ["a/x", "a/y"], "a/x and a/y: 2 rows are needed"),
        ("`--lr` must be above 0", ["a.pt"], "`--lr` must be above 0"),
        ("a/y:3: no word", ["a/x", "a/y"], "a/y:3: no word"),
    ],
)
def test_a_reader_adds_where_a_value_comes_from_if_nothing_says_it(text, names, line):
    with pytest.raises(UserError) as error, about(*names):
        raise UserError(text)
    assert str(error.value) == line
    with pytest.raises(SystemExit) as ended, about(*names):
        raise SystemExit(f"fairseq-xling: error: {text}")
    assert str(ended.value) == f"fairseq-xling: error: {line}"


@pytest.mark.parametrize("code", [0, 2, "Bye"])
def test_other_ends_of_a_program_stay_as_they_are(code):
    with pytest.raises(SystemExit) as ended, about("a"):
        raise SystemExit(code)
    assert ended.value.code == code
