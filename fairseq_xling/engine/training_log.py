"""fairseq's ``--log-format json`` lines as curves, and as a few words of progress.

A line reads ``<time> | INFO | <tag> | {"num_updates": "100", "loss": "5.2", ...}`` with tags
``train_inner`` (every --log-interval), ``train`` (end of epoch) and the name of a validation set,
whose keys carry that name as a prefix.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from fairseq_xling.core.errors import UserError

UNDRAWN = frozenset({"best_loss"})  # keys that end in loss but are not curves
_LINE = re.compile(r"\| (\S+) \| (\{.*\})\s*$")
_PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+)")


def read_records(path: str | Path) -> Iterator[tuple[str, dict[str, float]]]:
    """``(tag, {key: number})`` for every JSON line, in file order; half-written lines are skipped.

    Raises:
        UserError: if there is no such file.
    """
    if not Path(path).is_file():
        raise UserError(f"{path}: no such training log")
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if (match := _LINE.search(line)) is None:
                continue
            try:
                record = json.loads(match[2])
            except json.JSONDecodeError:
                continue
            yield (
                match[1],
                {key: v for key, raw in record.items() if (v := _number(raw)) is not None},
            )


def _number(raw: object) -> float | None:
    try:
        return float(raw)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def curve_words(key: str, split: str) -> str:
    """A curve's key in words, for a figure: an objective and its language, or a head's name.

    >>> curve_words("cdlm_en-de_loss", "valid"), curve_words("order_loss", "train")
    ('CDLM en-de, validation', 'order, training')
    >>> curve_words("loss", "train")
    'all together, training'
    """
    objective, _, rest = key.removesuffix("loss").strip("_").partition("_")
    what = f"{objective.upper()} {rest}" if rest else objective or "all together"
    return f"{what}, {'validation' if split == 'valid' else 'training'}"


def read_curves(path: str | Path, tag: str) -> dict[str, list[tuple[int, float]]]:
    """``{key: [(update, value), ...]}`` of one tag, updates increasing.

    A resumed training repeats updates; the later line is used. A validation set's name is removed
    from its keys: ``valid_mlm_en_ppl`` of tag ``valid`` is ``mlm_en_ppl``.
    """
    curves: dict[str, dict[int, float]] = {}
    for found, record in read_records(path):
        prefix = f"{tag}_"
        update = record.get("num_updates", record.get(f"{prefix}num_updates"))
        if found != tag or update is None:
            continue
        for key, value in record.items():
            curves.setdefault(key.removeprefix(prefix), {})[int(update)] = value
    return {key: sorted(points.items()) for key, points in curves.items()}


def parameter_count(path: str | Path) -> int:
    """The number of parameters fairseq printed at the start, shared ones counted once.

    Raises:
        UserError: if the log does not say.
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if (match := _PARAMETERS.search(line)) is not None:
                return int(match[1].replace(",", ""))
    raise UserError(f"{path}: this training log has no parameter count")


def progress(path: Path, updates: int) -> str:
    """How far a training is, from the end of its log: ``step 300/2,000, loss 4.21``.

    With ``updates`` 0, if it is limited by time, ``step 300, loss 4.21``.
    """
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 16384))
        text = file.read().decode("utf-8", "replace")
    for line in reversed(text.splitlines()):
        match = _LINE.search(line)
        if match is None or match[1] != "train_inner":
            continue
        try:
            record = json.loads(match[2])
        except json.JSONDecodeError:
            continue
        done = int(float(record.get("num_updates", 0)))
        of = f"/{updates:,}" if updates else ""
        return f"step {done:,}{of}, loss {record.get('loss', '?')}"
    return "starting"
