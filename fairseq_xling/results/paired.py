"""Differences of two rows of figures that share their seeds, with a paired test."""

import dataclasses
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

LEVEL = 0.95  # of the interval
SHOWN_LEVEL = f"{LEVEL:.0%}".replace("%", " %")
_IN_WORDS = {True: "Kept", False: "Not kept", None: "Not enough to tell"}


def paired_difference(better: Sequence[float], worse: Sequence[float]) -> dict[str, Any]:
    """The mean of ``better`` - ``worse``, one figure of each for every seed.

    ``p`` is that of a two-sided paired t-test, ``low`` and ``high`` are the ends of the mean's
    interval at `LEVEL` by the same distribution; all three are None with one seed or equal
    differences.

    >>> found = paired_difference([3.0, 5.0, 4.0], [1.0, 2.0, 3.0])
    >>> found["gaps"], found["mean"], round(found["p"], 3)
    ([2.0, 3.0, 1.0], 2.0, 0.074)
    >>> round(found["low"], 2), round(found["high"], 2)
    (-0.48, 4.48)
    """
    gaps = [a - b for a, b in zip(better, worse, strict=True)]
    found = {"gaps": gaps, "mean": statistics.fmean(gaps), "low": None, "high": None, "p": None}
    # Shares that differ by as much in every seed have gaps that differ by rounding alone.
    rounding = 1e-9 * max(map(abs, [*better, *worse]))
    if len(gaps) > 1 and max(gaps) - min(gaps) > rounding:
        from scipy.stats import ttest_rel

        test = ttest_rel(better, worse)
        interval = test.confidence_interval(LEVEL)
        found |= {"low": float(interval.low), "high": float(interval.high)}
        found |= {"p": float(test.pvalue)}
    return found


def shown_p(p: float) -> str:
    """A probability with three decimals, or that it is below them.

    >>> shown_p(0.0426), shown_p(0.0002)
    ('= 0.043', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def in_words(found: Mapping[str, Any], unit: str = "points", digits: int = 1) -> str:
    """For a note, with so many ``digits`` after the point; ``unit`` may be empty.

    >>> in_words({"gaps": [1.0], "mean": 1.0, "low": None, "high": None, "p": None})
    '+1.0 points'
    >>> in_words({"gaps": [1.0, 2.0, 3.0], "mean": 2.0, "low": -0.48, "high": 4.48, "p": 0.074})
    '+2.0 points (95 % interval -0.5 to +4.5), paired t-test over 3 seeds: p = 0.074'
    """
    text = f"{found['mean']:+.{digits}f} {unit}".rstrip()
    if found["p"] is None:
        return text
    return (
        f"{text} ({SHOWN_LEVEL} interval {found['low']:+.{digits}f} to "
        f"{found['high']:+.{digits}f}), paired t-test "
        f"over {len(found['gaps'])} seeds: p {shown_p(found['p'])}"
    )


def verdict(paper: str, here: str, kept: bool | None) -> str:
    """What a paper says, what was found here, and whether it is the same.

    >>> verdict("Maps help.", "not", False)
    'Maps help. Here: not. Not kept.'

    Args:
        kept: None where what was found is too little to tell.
    """
    return f"{paper} Here: {here}. {_IN_WORDS[kept]}."


def paired_verdict(
    paper: str,
    better: Sequence[float],
    worse: Sequence[float],
    unit: str = "points",
    digits: int = 1,
) -> str:
    """The `verdict` on figures that a paper says are larger than others, by the interval of their
    difference over seeds.

    >>> paired_verdict("Maps help.", [3.0, 4.1, 5.0], [1.0, 2.0, 3.0])
    'Maps help. Here: +2.0 points (95 % interval +1.9 to +2.2), paired t-test over 3 seeds: \
p < 0.001. Kept.'
    >>> paired_verdict("Maps help.", [3.0], [1.0])
    'Maps help. Here: +2.0 points. Not enough to tell.'
    """
    return difference_verdict(paper, paired_difference(better, worse), unit, digits)


def difference_verdict(
    paper: str, found: Mapping[str, Any], unit: str = "points", digits: int = 1
) -> str:
    """As `paired_verdict`, on a `paired_difference` that a paper says is above zero."""
    return verdict(paper, in_words(found, unit, digits), _is_above(found))


def _is_above(found: Mapping[str, Any]) -> bool | None:
    """Whether a `paired_difference` is above zero; None if it cannot be told from zero."""
    low, high = found["low"], found["high"]
    return None if low is None or low <= 0 <= high else low > 0


@dataclasses.dataclass(frozen=True)
class RowClaim:
    """What a paper says of two rows of a table, by their codes: one has the better figure, or
    they are ``alike``, which no test can show: it is not kept, or there is not enough to tell.

    For the note of one run; verdicts on the papers' claims are those of `results.claims`.
    """

    text: str
    better: str
    worse: str
    alike: bool = False

    def kept(self, found: Mapping[str, Any], lower_is_better: bool = False) -> bool | None:
        """Whether a `paired_difference` of the better and the worse row is what it says; None if
        it cannot be told from zero."""
        above = _is_above(found)
        return None if above is None else not self.alike and above is not lower_is_better


def claims_table(
    claims: Iterable[RowClaim],
    measures: Mapping[str, Mapping[str, Sequence[float]]],
    digits: Mapping[str, int],
    lower_is_better: Collection[str] = (),
) -> tuple[list[str], list[list[str | None]]]:
    """Header and rows of a table with every claim on rows that have figures, and by each measure
    their difference with its interval, and whether the claim is kept, as in `paired_verdict`.

    Args:
        measures: figures by measure and code of a row, one for every seed.
        digits: after the point, by measure.
        lower_is_better: measures of which a claim says that the better row has less.

    >>> figures = {"map": [3.0, 4.1, 5.0], "none": [1.0, 2.0, 3.0]}
    >>> claims_table([RowClaim("Maps help.", "map", "none")], {"F1": figures}, {"F1": 1})[1]
    [['Maps help.', 'map - none', '+2.0 [+1.9, +2.2], p < 0.001: kept']]
    """
    rows: list[list[str | None]] = []
    for claim in claims:
        cells = [
            _claim_cell(claim, figures, digits[measure], measure in lower_is_better)
            for measure, figures in measures.items()
        ]
        if any(cells):
            rows.append([claim.text, f"{claim.better} - {claim.worse}", *cells])
    return ["claim", "rows", *measures], rows


def _claim_cell(
    claim: RowClaim, figures: Mapping[str, Sequence[float]], digits: int, lower_is_better: bool
) -> str | None:
    """The difference, its interval and the verdict on a claim; None if a row has no figures."""
    if not {claim.better, claim.worse} <= figures.keys():
        return None
    found, test = paired_difference(figures[claim.better], figures[claim.worse]), ""
    if found["p"] is not None:
        low, high = (f"{found[end]:+.{digits}f}" for end in ("low", "high"))
        test = f" [{low}, {high}], p {shown_p(found['p'])}"
    kept = _IN_WORDS[claim.kept(found, lower_is_better)].lower()
    return f"{found['mean']:+.{digits}f}{test}: {kept}"


def claim_verdicts(
    claims: Iterable[RowClaim],
    figures: Mapping[str, Sequence[float]],
    unit: str = "points",
    digits: int = 1,
    difference: str = "{} minus {}",
) -> list[str]:
    """The `paired_verdict` on each claim of rows that both have figures, one for every seed.

    Args:
        difference: what is said of the codes of the rows.

    >>> claims = [RowClaim("Maps help.", "map", "none"), RowClaim("So do pairs.", "pairs", "none")]
    >>> claim_verdicts(claims, {"map": [3.0], "none": [1.0]})
    ['Maps help. Here: +2.0 points, map minus none. Not enough to tell.']
    """
    found = []
    for claim in claims:
        if {claim.better, claim.worse} <= figures.keys():
            better, worse = claim.better, claim.worse
            of = f"{unit}, {difference.format(better, worse)}"
            gap = paired_difference(figures[better], figures[worse])
            found.append(verdict(claim.text, in_words(gap, of, digits), claim.kept(gap)))
    return found
