"""What a paper claims, as data, and the verdict on each claim, computed from committed frames.

A claim is a line of `papers/PAPER/claims.tsv`. Where a run tests it, the line names the frame, the
rows that it compares, the measures and the number of seeds, which is fixed before the run; where
none does, it says why. There is no verdict until all seeds are there; further ones are not
read. A verdict is a paired t-test over seeds. A claim about several measures is one about each of
them: it is decided by the one that is the least sure (an intersection-union test, which needs no
correction), and not at all if they point to different sides. A claim that rows are alike, or that
one loses little, has a margin and is tested both ways: for a difference within it (two one-sided
tests; of a loss, one) and for one outside, each at half of the level. Holm's correction is over the
central claims of a paper, a family that is fixed before any run: those that no run tests count,
too. Other claims are exploratory, and have their own p.
"""

import csv
import dataclasses
import functools
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.paired import paired_difference, shown_p
from fairseq_xling.reports.record import read_record
from fairseq_xling.reports.rows import GIVEN, Row, by_seed, distinct, select

HIGHER, LOWER, ALIKE, LITTLE = DIRECTIONS = "higher", "lower", "alike", "little"
KEPT, NOT_KEPT, UNDECIDED, EQUAL, WAITING, NOT_RUN = STATES = (
    *("kept", "not kept", "undecided"),
    *("equal within the margin", "seeds missing", "not run"),
)
LEVEL = 0.05
POWER = 0.8
SEEDS = 5  # at least
BUDGET = 0.05  # a part of the larger one, by which budgets of two rows may differ
_BUDGETS = ("updates", "budget")  # columns
_TIMES, _AT = "times", " @ "
_PAPERS = Path(__file__).parents[1] / "papers"


@dataclasses.dataclass(frozen=True)
class Claim:
    """A line of a table of claims.

    Attributes:
        code: unique among all papers, such as ``ECS-T1-1``.
        place: table, figure or section of the paper.
        central: whether abstract, conclusion or the main point of a table says it.
        text: in one sentence.
        better, worse: what the paper compares, in words.
        measure: the paper's; ``direction``: whether the better row has the `HIGHER` or `LOWER`
            figure of it, or both are `ALIKE`, or the worse one is `LITTLE` below.
        reported: the paper's figures, better first.
        regime: what encoder, data and steps must be for a run to test this claim at all.
        frame: path of the record whose frame tests it, below the folder of recipes, or of several,
            with `` + `` between them; may be empty.
        ours, theirs: the frame's rows: ``COLUMN=VALUE`` joined by ``;``, or a difference of two,
            with `` - `` between them. Rows that name their ``measure`` are of that one; with a part
            ``chance`` it is that of the rows, not their figure, which is compared. Several values
            with ``|`` between them are a mean over their rows. Rows with ``times=X`` are given X
            times the others' budget by the claim itself.
        measures: of the frame, for each of which the claim must be true; ``MEASURE @ COLUMN=VALUE``
            is that of those rows. Rows of several records have a column ``record``, its file.
        margin: within which rows are `ALIKE`, or a loss `LITTLE`, in their unit; else None.
        seeds: how many decide, fixed before the run; 0 without a test.
        also: further measures that are shown without a say.
        note: why there is no test, or what to know of it.
    """

    code: str
    place: str
    central: bool
    text: str
    better: str
    worse: str
    measure: str
    direction: str
    reported: str
    regime: str
    frame: str
    ours: str
    theirs: str
    measures: tuple[str, ...]
    margin: float | None
    seeds: int
    also: tuple[str, ...]
    note: str

    @property
    def parts(self) -> list[str]:
        """The selections of both rows, each part of a difference by itself."""
        return [part for both in (self.ours, self.theirs) for part in both.split(" - ")]


@dataclasses.dataclass(frozen=True)
class Difference:
    """Of the better and the worse row by one measure: means over seeds, and of their difference
    the 95 % interval, the probability of a two-sided test, or with a ``margin`` of the likelier of
    two: that it is within, or that it is outside; and each seed's ``gaps``."""

    measure: str
    unit: str
    better: float
    worse: float
    mean: float
    low: float
    high: float
    p: float
    gaps: tuple[float, ...]
    margin: float | None = None
    loss: bool = False  # the margin is that of a loss alone

    @property
    def within(self) -> bool:
        """Whether the difference is within the margin."""
        return self.margin is not None and self.size < self.margin

    @property
    def size(self) -> float:
        """What a margin is compared with."""
        return self.mean if self.loss else abs(self.mean)

    @property
    def label(self) -> str:
        """The measure in words.

        >>> paired([1, 2], [0, 0], "LAS @ pair=en-de").label
        'LAS of en-de'
        """
        return re.sub(f"{_AT}[^=]+=", " of ", self.measure)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """On a ``claim``: one of `STATES`, by the difference ``decides``; ``p`` is corrected if it is
    central. ``agree``: whether the claim's measures point to the same side.

    ``shown`` are the differences by each measure.
    """

    claim: Claim
    state: str
    decides: Difference | None = None
    shown: tuple[Difference, ...] = ()
    p: float | None = None
    agree: bool = True

    @property
    def title(self) -> str:
        """The state; where seeds are missing also how many there are."""
        if self.state != WAITING or self.decides is None:
            return self.state
        return f"{self.state}: {len(self.decides.gaps)} of {self.claim.seeds}"


# ---- reading


def every_paper() -> dict[str, list[Claim]]:
    """The claims of each paper, by the name of its folder.

    Raises:
        UserError: as `read_claims`, and for a code that two papers have.
    """
    found: dict[str, list[Claim]] = {}
    codes: dict[str, Path] = {}
    for path in sorted(_PAPERS.glob("*/claims.tsv")):
        found[path.parent.name] = read_claims(path)
        for claim in found[path.parent.name]:
            if claim.code in codes:
                raise UserError(f"{path}: {claim.code} is in {codes[claim.code]}, too")
            codes[claim.code] = path
    return found


def read_claims(path: Path) -> list[Claim]:
    """The claims of a file: UTF-8, tabs, no quoting, a line of column names.

    Raises:
        UserError: with file and line, for a line of other columns, a code twice, a direction that
            is none, a test without rows, measures or `SEEDS` seeds, or none without a note.
    """
    names = [field.name for field in dataclasses.fields(Claim)]
    found: dict[str, Claim] = {}
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if (header := next(lines, [])) != names:
            raise UserError(f"{path}:1: columns must be {', '.join(names)}, got {header}")
        for number, line in enumerate(lines, 2):
            where = f"{path}:{number}"
            if len(line) != len(names):
                raise UserError(f"{where}: must have {len(names)} columns, got {len(line)}")
            values: dict[str, Any] = dict(zip(names, line, strict=True))
            if values["central"] not in ("yes", "no"):
                raise UserError(f"{where}: central must be yes or no, got {values['central']!r}")
            values["central"] = values["central"] == "yes"
            for name in ("measures", "also"):
                values[name] = tuple(filter(None, map(str.strip, values[name].split(","))))
            for name, kind, empty in (("margin", float, None), ("seeds", int, 0)):
                text = values[name]
                try:
                    values[name] = kind(text) if text else empty
                except ValueError:
                    raise UserError(f"{where}: {name} must be a number, got {text!r}") from None
            claim = Claim(**values)
            if claim.code in found:
                raise UserError(f"{where}: {claim.code} is there twice")
            _check(claim, where)
            found[claim.code] = claim
    return list(found.values())


def _check(claim: Claim, where: str) -> None:
    if claim.direction not in DIRECTIONS:
        raise UserError(
            f"{where}: direction must be one of {', '.join(DIRECTIONS)}, got {claim.direction!r}"
        )
    tested = bool(claim.frame), bool(claim.ours), bool(claim.theirs), bool(claim.measures)
    if any(tested) != all(tested):
        raise UserError(f"{where}: a test needs a frame, both rows and measures, or none of them")
    if claim.seeds < SEEDS if claim.frame else claim.seeds:
        raise UserError(
            f"{where}: a test, and nothing else, needs at least {SEEDS} seeds, got {claim.seeds}"
        )
    if not claim.frame and not claim.note:
        raise UserError(f"{where}: a claim without a test must say why in its note")
    if ("measure=" in claim.ours) != ("measure=" in claim.theirs):
        raise UserError(f"{where}: both rows must name their measure, or neither")
    if max(claim.ours.count(" - "), claim.theirs.count(" - ")) > 1:
        raise UserError(f"{where}: rows may be a difference of two, not of more")
    try:
        times = [_times(part) for part in claim.parts]
    except ValueError as error:
        raise UserError(f"{where}: {_TIMES} must be a number ({error})") from None
    if not all(0 < one < math.inf for one in times):
        raise UserError(f"{where}: {_TIMES} must be finite and above 0, got {times}")
    if claim.frame and (claim.margin is not None) != (claim.direction in (ALIKE, LITTLE)):
        raise UserError(
            f"{where}: a claim that rows are {ALIKE} or lose {LITTLE}, and no other, needs a margin"
        )


# ---- judging


def judge(claims: Sequence[Claim], folder: Path) -> list[Verdict]:
    """The verdict on each of the claims of one paper.

    Args:
        folder: of recipes, below which records lie.

    Raises:
        UserError: with the claim's code, for a record that is missing or of another version, rows
            or measures that are not in its frame, fewer than two seeds, rows whose budgets are
            recorded (a column ``updates`` or ``budget``) and differ, rows that share trainings
            between seeds (a column ``shared``) of which the note says nothing, or one language
            twice where the regime has two.
    """
    frames = functools.cache(
        lambda paths: [
            {**row, "record": Path(path).stem}
            for path in paths.split(" + ")
            for row in read_record(folder / path).rows
        ]
    )
    found: dict[str, list[Difference]] = {}
    for claim in claims:
        if claim.frame:
            try:
                found[claim.code] = _differences(claim, frames(claim.frame))
            except UserError as error:
                raise UserError(f"{claim.code}: {error}") from None
    known = {claim.code: claim for claim in claims}
    decisive = {code: _decisive(known[code], shown) for code, shown in found.items()}
    p_of = {
        code: decides.p if agree else 1.0
        for code, (decides, agree) in decisive.items()
        if len(decides.gaps) == known[code].seeds
    }
    family = [claim.code for claim in claims if claim.central]
    p_of |= _holm({code: p_of[code] for code in family if code in p_of}, len(family))
    verdicts = []
    for claim in claims:
        if claim.code not in found:
            verdicts.append(Verdict(claim, NOT_RUN))
            continue
        (decides, agree), p = decisive[claim.code], p_of.get(claim.code)
        state = WAITING if p is None else _state(claim, decides, p)
        verdicts.append(Verdict(claim, state, decides, tuple(found[claim.code]), p, agree))
    return verdicts


def _decisive(claim: Claim, shown: Sequence[Difference]) -> tuple[Difference, bool]:
    """The least sure of the differences by the claim's measures, and whether all point to the same
    side: of 0, or of the margin."""
    own = [one for one in shown if one.measure in claim.measures]
    sides = {one.within if one.margin is not None else one.mean > 0 for one in own}
    return max(own, key=lambda one: one.p), len(sides) == 1


def _state(claim: Claim, found: Difference, p: float) -> str:
    if p >= LEVEL:
        return UNDECIDED
    if claim.margin is not None:
        return EQUAL if found.within else NOT_KEPT
    return KEPT if (found.mean > 0) == (claim.direction == HIGHER) else NOT_KEPT


def _differences(claim: Claim, frame: Sequence[Row]) -> list[Difference]:
    """By each measure, over the claim's first seeds that all its measures have."""
    _check_budgets(frame, claim)
    _check_regime(frame, claim)
    every: dict[str, tuple[dict[Any, float], dict[Any, float]]] = {}
    units: dict[str, str] = {}
    for name in (*claim.measures, *claim.also):
        every[name] = _of(frame, claim.ours, name, claim), _of(frame, claim.theirs, name, claim)
        of = {"measure": name.partition(_AT)[0], "unit": GIVEN}
        found = {row["unit"] for row in select(frame, of)}
        units[name] = found.pop().strip(" ()") if len(found) == 1 else ""
    decide = [every[name] for name in claim.measures]
    seeds = sorted(set.intersection(*(set(row) for pair in decide for row in pair)))[: claim.seeds]
    if len(seeds) < 2:
        names = ", ".join(claim.measures)
        raise UserError(f"{names}: a difference needs two seeds of both rows, got {len(seeds)}")
    shown = []
    for name, (better, worse) in every.items():
        both = [seed for seed in seeds if seed in better and seed in worse]
        if len(both) > 1:
            one, other = ([row[seed] for seed in both] for row in (better, worse))
            margin = claim.margin if name in claim.measures else None
            loss = claim.direction == LITTLE
            shown.append(paired(one, other, name, units[name], margin, loss))
    return shown


def paired(
    better: Sequence[float],
    worse: Sequence[float],
    measure: str = "",
    unit: str = "",
    margin: float | None = None,
    loss: bool = False,
) -> Difference:
    """The difference of two rows of figures that share their seeds.

    Differences that are the same in all seeds have an interval of one point, and a probability of 0
    or 1.

    >>> found = paired([3.0, 5.0, 4.0], [1.0, 2.0, 3.0])
    >>> found.mean, round(found.low, 2), round(found.high, 2), round(found.p, 3)
    (2.0, -0.48, 4.48, 0.074)
    >>> round(paired([3.0, 5.0, 4.0], [1.0, 2.0, 3.0], margin=5).p, 3)
    0.035
    >>> paired([1.0, 2.0, 3.0], [3.0, 5.0, 4.0], margin=1, loss=True).within
    True
    """
    found = paired_difference(better, worse)
    mean, low, high, p = (found[name] for name in ("mean", "low", "high", "p"))
    if p is None:
        rounding = 1e-9 * max(map(abs, [*better, *worse]))
        low = high = mean
        p = 0.0 if abs((mean if loss else abs(mean)) - (margin or 0.0)) > rounding else 1.0
    elif margin is not None:
        from scipy.stats import ttest_1samp

        # Against the nearer end of the margin. One side of it is the larger of the two one-sided
        # tests that the difference is within, the other that it is outside.
        end = margin if loss else math.copysign(margin, mean)
        p = float(ttest_1samp(found["gaps"], end).pvalue)
    means = statistics.fmean(better), statistics.fmean(worse)
    gaps = tuple(found["gaps"])
    return Difference(measure, unit, *means, mean, low, high, p, gaps, margin, loss)


def _of(frame: Sequence[Row], selection: str, measure: str, claim: Claim) -> dict[Any, float]:
    """By seed the figure of the rows that ``selection`` names: a mean over all that it leaves
    open."""
    parts = [
        by_seed(_selected(frame, part, measure, claim)).get((), {})
        for part in selection.split(" - ")
    ]
    if len(parts) == 1:
        return parts[0]
    first, second = parts
    return {seed: first[seed] - second[seed] for seed in first if seed in second}


def _selected(frame: Sequence[Row], selection: str, measure: str, claim: Claim) -> Sequence[Row]:
    """The rows that ``selection`` names, of ``measure`` unless it names another."""
    every = frame
    measure, at, more = measure.partition(_AT)
    selection += f";{more}" if at else ""
    if "measure=" not in selection:
        frame = select(frame, {"measure": measure})
        if not frame:
            known = ", ".join(map(str, distinct(every, "measure")))
            raise UserError(f"measure {measure!r} is not in {claim.frame}; it has {known}")
    for part in selection.split(";"):
        if part.strip() == "chance":
            frame = [{**row, "value": row.get("chance")} for row in frame]
            continue
        column, _, value = part.strip().partition("=")
        if column == _TIMES:
            continue
        if all(row.get(column) is None for row in every):
            raise UserError(f"{claim.frame} has no column {column!r}")
        values = value.split("|")
        if not {*values} <= {str(one) for one in distinct(frame, column)}:
            raise UserError(f"rows {selection!r} are not in {claim.frame}")
        frame = [row for row in frame if str(row.get(column)) in values]
    return frame


def _times(selection: str) -> float:
    """What the claim gives rows of a selection, by the others' budget."""
    parts = [part.strip().partition("=") for part in selection.split(";")]
    return math.prod(float(value) for column, _, value in parts if column == _TIMES)


def _check_budgets(frame: Sequence[Row], claim: Claim) -> None:
    for column in _BUDGETS:
        if all(row.get(column) is None for row in frame):
            continue
        totals = []
        for part in claim.parts:
            own = select(_selected(frame, part, claim.measures[0], claim), {column: GIVEN})
            if own:
                totals.append(statistics.fmean(row[column] for row in own) / _times(part))
        if totals and max(totals) - min(totals) > BUDGET * max(totals):
            raise UserError(
                f"{column} of both rows must not differ by more than {BUDGET:.0%}, got "
                + " and ".join(f"{total:,g}" for total in totals)
            )


def _check_regime(frame: Sequence[Row], claim: Claim) -> None:
    compared = [
        row
        for part in claim.parts
        for measure in claim.measures
        for row in _selected(frame, part, measure, claim)
    ]
    for row in compared if "share" not in claim.note else ():
        if row.get("shared"):
            raise UserError(
                f"seeds share {row['shared']}, and the note does not say what they share"
            )
    for row in compared if "two languages" in claim.regime else ():
        for column in ("pair", "target", "language"):
            if f"{row.get(column)}".endswith("_2"):
                raise UserError(f"its regime has two languages, and {column} is {row[column]}")


def _holm(p: Mapping[str, float], size: int) -> dict[str, float]:
    """Probabilities corrected by Holm's method in a family of ``size``, of which some are known.

    >>> _holm({"a": 0.01, "b": 0.04, "c": 0.03}, 3)
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    >>> _holm({"a": 0.01}, 3)
    {'a': 0.03}
    """
    found, least = {}, 0.0
    for rank, code in enumerate(sorted(p, key=p.__getitem__)):
        least = max(least, min(1.0, (size - rank) * p[code]))
        found[code] = least
    return found


# ---- showing


def in_words(difference: Difference) -> str:
    """A difference for a cell of a table.

    >>> in_words(paired([3.0, 5.0, 4.0], [1.0, 2.0, 3.0], "LAS", "%"))
    'LAS 4.0 / 2.0: +2.0 [-0.5, +4.5]'
    """
    better, worse, found = cells_of(difference)
    margin = f", margin {difference.margin:g}" if difference.margin is not None else ""
    return f"{difference.label} {better} / {worse}: {found}{margin}"


def cells_of(difference: Difference) -> tuple[str, str, str]:
    """The better and the worse figure, and the difference with its interval."""
    d = difference
    large = max(abs(d.better), abs(d.worse)) >= 10
    digits = 1 if large or d.unit == "%" else 3
    ends = f"[{d.low:+.{digits}f}, {d.high:+.{digits}f}]"
    return f"{d.better:.{digits}f}", f"{d.worse:.{digits}f}", f"{d.mean:+.{digits}f} {ends}"


def counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """How many verdicts there are of each of `STATES`."""
    states = [verdict.state for verdict in verdicts]
    return {state: states.count(state) for state in STATES}


def table(verdicts: Iterable[Verdict]) -> Iterator[list[str]]:
    """Rows of cells: claim, the paper's figures, the rows compared, ours, the verdict, a note. Of
    several measures the one that decides is bold."""
    for verdict in verdicts:
        claim, decides = verdict.claim, verdict.decides
        ours = because = rows = ""
        if decides is not None:
            bold = "**" if len(claim.measures) > 1 and verdict.agree else ""
            shown = [
                f"{bold}{in_words(one)}{bold}" if one is decides else in_words(one)
                for one in verdict.shown
            ]
            ours = "; ".join(shown) + f" ({len(decides.gaps)} seeds)"
            because = _because(verdict, decides)
            rows = f"{claim.ours} against {claim.theirs}"
        text = f"**{claim.text}**" if claim.central else claim.text
        yield [text, claim.reported, rows, ours, verdict.title + because, claim.note]


def _because(verdict: Verdict, decides: Difference) -> str:
    """What the verdict rests on."""
    claim = verdict.claim
    if verdict.p is None:
        return ""
    if not verdict.agree:
        return ": its measures point to different sides"
    by = f" by {decides.label}" if len(claim.measures) > 1 else ""
    said = f"{by}, p {shown_p(verdict.p)}"
    said += f" (uncorrected {shown_p(decides.p)})" if claim.central else ", exploratory"
    if verdict.state == UNDECIDED:
        needed = seeds_needed(decides, LEVEL)
        count = f"{needed} seeds" if needed else "more than 100 seeds"
        said += f"; alone, a difference like this one needs {count}"
    return said


def seeds_needed(found: Difference, level: float, most: int = 100) -> int:
    """How many seeds find a difference like this one, at a ``level``, with a probability of
    `POWER`; 0 if more than ``most``.

    >>> seeds_needed(paired([3.0, 5.0, 4.0], [1.0, 2.0, 3.0]), 0.05)
    5
    >>> seeds_needed(paired([3.0, 5.0, 4.0], [3.1, 4.8, 4.0]), 0.05)
    0
    """
    from scipy.stats import nct, t

    spread = statistics.stdev(found.gaps)
    if not spread:
        return SEEDS
    size = abs(found.size - (found.margin or 0.0)) / spread
    for count in range(2, most + 1):
        end, shift = t.ppf(1 - level / 2, count - 1), size * math.sqrt(count)
        if nct.sf(end, count - 1, shift) >= POWER:
            return max(count, SEEDS)
    return 0
