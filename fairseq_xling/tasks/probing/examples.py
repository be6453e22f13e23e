"""Probing examples as JSON lines: a text, one or two of its spans, and their labels.

    {"text": "The cat sat .", "span1": [1, 2], "span2": [2, 3], "label": "nsubj"}
    {"text": "The cat sat .", "targets": [{"span1": [1, 2], "span2": [2, 3], "label": "nsubj"}]}

The second form, several targets for a text, is the one of edge probing (Tenney et al. 2019). A span
is ``[first, end]``, ``end`` not included, in white-space-separated tokens of the text, or in
characters. ``label`` is a text, or a list of any number of texts, possibly none; it is null, or
left out, if unknown. Other keys are kept.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairseq_xling.core.arguments import check_kind, get_value
from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import atomic_write, parse_json
from fairseq_xling.core.options import option
from fairseq_xling.core.ranges import BELOW_ONE, COUNT, Range
from fairseq_xling.core.texts import read_lines
from fairseq_xling.tasks.encode import on_one_line

OFFSETS = ("tokens", "characters")
_SPANS = ("span1", "span2")


@dataclass(frozen=True)
class FitOptions:
    """The network of a probe (`EdgeProbe`), and its training."""

    classifier: str = option(
        "mlp", "classifier of the pooled spans: linear or mlp", metavar="CLASSIFIER"
    )
    hidden: int = option(256, "hidden units of the mlp", range=COUNT)
    projection: int = option(256, "projection width before pooling", range=COUNT)
    dropout: float = option(0.3, "dropout before the classifier", range=BELOW_ONE)
    lr: float = option(1e-3, "learning rate of Adam", range=Range(0, 1, above=True, below=True))
    batch_size: int = option(64, "examples per step", range=COUNT)
    epochs: int = option(50, "maximum passes over the examples", range=COUNT)
    patience: int = option(5, "passes without improvement before stopping", range=COUNT)


@dataclass(frozen=True)
class Example:
    """One or two spans.

    Attributes:
        place: ``file:line``, for messages.
        text: all of it.
        spans: one or two of (first, end).
        labels: None if unknown.
    """

    place: str
    text: str
    spans: tuple[tuple[int, int], ...]
    labels: tuple[str, ...] | None


def read_examples(path: str | Path, offsets: str = "tokens") -> list[Example]:
    """The examples of a file in their order.

    Args:
        offsets: the unit of spans, one of `OFFSETS`.

    Raises:
        UserError: for the first malformed row, if some examples have one span and some two, or some
            have labels and some none, or if there are none.
    """
    if offsets not in OFFSETS:
        raise UserError(f"`--offsets` must be one of {', '.join(OFFSETS)}, got {offsets!r}")
    found: list[Example] = []
    for line, text in enumerate(read_lines(path), start=1):
        row = parse_json(path, text, line)
        found += _examples(f"{path}:{line}", row, offsets)
        for one in found[-1:]:
            if len(one.spans) != len(found[0].spans):
                raise UserError(
                    f"{one.place}: must have {len(found[0].spans)} span(s) like the rows before, "
                    f"got {len(one.spans)}"
                )
            if (one.labels is None) != (found[0].labels is None):
                raise UserError(f"{one.place}: `label` must be in all rows or in none")
    if not found:
        raise UserError(f"{path}: contains no examples")
    return found


def write_texts(examples: Sequence[Example], output: str | Path) -> int:
    """Write each text once, in the order of its first example, one per line; returns their number.

    A line end in a text becomes a space, so that character offsets are unchanged.
    """
    texts = dict.fromkeys(example.text for example in examples)
    with atomic_write(output, "w") as file:
        file.writelines(on_one_line(text) + "\n" for text in texts)
    return len(texts)


def in_characters(example: Example) -> Example:
    """An example whose spans count tokens, with spans that count characters.

    >>> in_characters(Example("f:1", " The  cat", ((1, 2), (0, 2)), None)).spans
    ((6, 9), (1, 9))
    """
    places = [match.span() for match in re.finditer(r"\S+", example.text)]
    spans = tuple((places[first][0], places[end - 1][1]) for first, end in example.spans)
    return replace(example, spans=spans)


def write_predictions(
    source: str | Path, output: str | Path, predictions: Sequence[Sequence[str]]
) -> None:
    """The rows of ``source`` with predicted labels instead of the annotation.

    Args:
        predictions: the labels of each example, in the order of `read_examples`. Where the row had
            one text, one label is one text; any other number is a list.
    """
    left = iter(predictions)
    with atomic_write(output, "w") as file:
        for line, text in enumerate(read_lines(source), start=1):
            row = parse_json(source, text, line)
            for target in row.get("targets", [row]):
                labels = list(next(left))
                key = "labels" if "labels" in target else "label"
                single = len(labels) == 1 and not isinstance(target.get(key), list)
                target[key] = labels[0] if single else labels
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    if next(left, None) is not None:
        raise ValueError(f"{source} has fewer examples than {len(predictions)} predictions")


def _examples(place: str, row: Any, offsets: str) -> Iterator[Example]:
    text = get_value(place, row, "text", str)
    size = len(text) if offsets == "characters" else len(text.split())
    targets = get_value(place, row, "targets", list) if "targets" in row else [row]
    first: Example | None = None
    for target in targets:
        if not isinstance(target, dict):
            raise UserError(f"{place}: a target must be an object, got {shown(target)}")
        names = _SPANS if target.get("span2") is not None else _SPANS[:1]
        spans = tuple(_span(place, target, name, size, offsets) for name in names)
        example = Example(place, text, spans, _labels(place, target))
        first = first or example
        if len(spans) != len(first.spans) or (example.labels is None) != (first.labels is None):
            raise UserError(f"{place}: targets of a text must be of one kind, got several")
        yield example


def _span(
    place: str, target: Mapping[str, Any], name: str, size: int, offsets: str
) -> tuple[int, int]:
    value = get_value(place, target, name, list)
    if len(value) != 2:
        raise UserError(f"{place}: `{name}` must be [first, end], got {shown(value)}")
    first, end = (check_kind(place, number, f"`{name}`", int) for number in value)
    if not 0 <= first < end <= size:
        raise UserError(
            f"{place}: `{name}` must lie in the text's {size} {offsets}, first before end, got "
            f"{shown(value)}"
        )
    return first, end


def _labels(place: str, target: Mapping[str, Any]) -> tuple[str, ...] | None:
    name = "labels" if "labels" in target else "label"
    value = target.get(name)
    if value is None:
        return None
    given = value if isinstance(value, list) else [value]
    labels = tuple(check_kind(place, label, f"`{name}`", str) for label in given)
    if len(set(labels)) < len(labels):
        raise UserError(f"{place}: `{name}` must name each label once, got {shown(value)}")
    return labels
