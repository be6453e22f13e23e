"""The part of a report that says which of a paper's claims hold here."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from fairseq_xling.results.paired import Claim, claims_table
from fairseq_xling.results.report import Section


def claims_section(
    claims: Iterable[Claim],
    measures: Mapping[str, Mapping[str, Sequence[float]]],
    digits: Mapping[str, int],
    seeds: str,
    lower_is_better: Collection[str] = (),
) -> Section | None:
    """A table of claims, as `claims_table` makes it; None if no claim is of rows with figures.

    Args:
        seeds: those of the figures, in their order, separated by commas.
    """
    header, rows = claims_table(claims, measures, digits, lower_is_better)
    if not rows:
        return None
    note = (
        "Differences of the rows, with their 95 % interval, by a paired t-test over seeds "
        f"{seeds}. A claim is kept if all of the interval is on the side that it says, and not "
        "kept if all of it is on the other."
        if "," in seeds
        else f"Differences of the rows, of seed {seeds} alone, which decides nothing."
    )
    fewer = [f"Of {', '.join(lower_is_better)}, less is better."] if lower_is_better else []
    return Section("What the paper says", header=header, rows=rows, notes=[note, *fewer])
