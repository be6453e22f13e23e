from pathlib import Path

from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.runs.step import Step

RUN = Path("run")


def maker(*inputs, option="1"):
    """A step that writes one file named after it."""

    def build(name):
        output = RUN / f"{name}.txt"
        command = ["make", option, *map(str, inputs), "--output", str(output)]
        return Step(name, commands=[command], inputs=list(inputs), outputs=[output])

    return build


def test_equal_work_is_one_step_and_other_work_is_named_after_its_row():
    book = Book(RUN)
    assert book.add("embed-de", "first", maker(), plain=True) == "embed-de"
    assert book.add("embed-de", "second", maker(), plain=True) == "embed-de"
    assert book.add("embed-de", "third", maker(option="2"), plain=True) == "embed-de-third"
    assert book.add("train-de", "first", maker()) == "train-de-first"
    assert book.add("train-de", "", maker(option="3")) == "train-de"
    assert list(book.steps) == ["embed-de", "embed-de-third", "train-de-first", "train-de"]
    assert book["embed-de-third"].outputs == [RUN / "embed-de-third.txt"]


def test_work_of_another_kind_is_never_the_same():
    book = Book(RUN)
    assert book.add("forward", "a", maker()) == "forward-a"
    assert book.add("backward", "a", maker()) == "backward-a"


def test_a_difference_far_up_makes_everything_below_it_another_step():
    book = Book(RUN)
    for row, option in (("a", "1"), ("b", "2"), ("c", "1")):
        first = RUN / f"{book.add('first', row, maker(option=option))}.txt"
        book.add("second", row, maker(first))
    assert list(book.steps) == ["first-a", "second-a", "first-b", "second-b"]


def test_only_what_results_are_built_on_is_needed():
    book = Book(RUN)
    for name in ("a", "b"):
        first = RUN / f"{book.add('first', name, maker(option=name))}.txt"
        book.add("second", name, maker(first))
    chosen = book.needed([RUN / "second-b.txt"])
    assert [step.name for step in chosen] == ["first-b", "second-b"]
    assert book.needed([]) == []
