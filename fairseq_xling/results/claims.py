"""The part of a report that says which of a paper's claims hold here."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from fairseq_xling.results.paired import SHOWN_LEVEL, Claim, claims_table
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
    if "," in seeds:
        notes = [
            f"Difference of the two rows, its {SHOWN_LEVEL} interval, and p of a paired t-test "
            f"over seeds {seeds}, not corrected for the number of tests. A claim is kept if all of "
            "the interval is on its side of zero, and not kept if all of it is on the other side "
            "(on either, if the rows are said to be alike)."
        ]
    else:
        notes = [f"Difference of the two rows with seed {seeds}; one seed decides nothing."]
    if lower_is_better:
        notes.append(f"Lower is better: {'; '.join(lower_is_better)}.")
    return Section("What the paper says", header=header, rows=rows, notes=notes)
