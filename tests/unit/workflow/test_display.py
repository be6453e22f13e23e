import io
from pathlib import Path

from fairseq_xling.workflow.display import Display


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_line_is_rewritten_and_wiped():
    screen = Terminal()
    display = Display(screen)
    display._every = 0.0
    display.number("a", "[1/1] a")
    display.begin("a", lambda: "half way and more")
    display.tick()
    display.end("a", "done")
    assert "\r[1/1] a: 0 s, half way and more" in screen.getvalue()
    assert screen.getvalue().endswith("\r[1/1] a: done\n")
    wipe = screen.getvalue().split("\r")[-2]
    assert wipe == " " * len("[1/1] a: 0 s, half way and more")


def test_a_log_gets_whole_lines():
    screen = io.StringIO()
    display = Display(screen, every=0.0)
    display.begin("a", lambda: "")
    display.tick()
    display.end("a", "done")
    assert screen.getvalue() == "a ...\na: 0 s\na: done\n"


def test_reports_are_not_more_frequent_than_asked():
    screen = io.StringIO()
    display = Display(screen, every=1000.0)
    display.begin("a", lambda: "")
    display.tick()
    assert screen.getvalue() == "a ...\n"


def test_progress_that_fails_is_left_out():
    screen = io.StringIO()
    display = Display(screen, every=0.0)
    display.begin("a", lambda: Path("no such log").read_text())
    display.tick()
    assert screen.getvalue().splitlines()[-1] == "a: 0 s"
