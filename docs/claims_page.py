"""The page of the papers' claims, and the front page's tables of them, from committed frames.

python docs/claims_page.py      puts the tables into README.md
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fairseq_xling.core.files import atomic_write
from fairseq_xling.reports.claims import (
    LOWER,
    STATES,
    Verdict,
    cells_of,
    counts,
    every_paper,
    judge,
    table,
)

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- claims: python docs/claims_page.py -->\n", "<!-- end of claims -->\n"
LEAD = """\
Small models, trained on two cores: the first claim of each paper, with means over seeds of what it
found better (for) and worse (against), and the difference with its 95 % interval. *Kept*:
significant in the paper's direction; *not kept*: in the other; *undecided*: in neither. There is no
verdict before all seeds, whose number is fixed in advance, are there."""
LEAD_OF_SUMMARY = (
    "How many claims our runs confirm, by Holm's correction over a paper's central ones "
    "(`make docs` lists them all):"
)
TITLES = {
    "emerging": "Emerging Cross-lingual Structure",
    "trelm": "TreLM",
    "clcr": "CLCR",
    "mbert": "Study of multilingual BERT",
    "transfer": "Transfer note",
}
REGIMES = "<summary>Regimes: what a run must be like to test a claim</summary>"
_NO_BREAK = "\u00a0"
LEAD_OF_PAGE = """---
hide:
  - toc
---
# The papers' claims

This page lists every testable claim of the five papers, central ones in bold, and whether our runs
confirm it. Our models are a thousand times smaller and are mostly trained on a small generated
corpus, so only rankings can be compared, not absolute numbers.

- Verdicts are computed when this page is built, from the results of committed runs. The test is a
  paired t-test over seeds. Their number, at least five, is fixed for each claim before the run,
  from the spread seen earlier; while some are missing, there is no verdict (*seeds missing*).
- A claim about several measures must be true of each: the least sure one decides, and nothing
  does if they point to different sides.
- Holm's correction is over the central claims of a paper, whether or not a run tests them. Other
  claims are *exploratory*: their p is not corrected.
- *Kept* means a significant difference in the paper's direction, *not kept* one in the opposite
  direction, and *undecided* that the difference is not significant; then the page says how many
  seeds would find one like it, tested alone, with a probability of 80 %.
- If the paper claims that two settings are alike, a margin is stated. *Equal within the margin*
  means that the difference is significantly smaller than the margin, *not kept* that it is
  significantly larger.
- *Not run* means that no run tests this claim; the line below the verdict says why. Numbers shown
  there are from runs of a different kind.
- A claim is tested in the regime that it is made for: each has a letter, and below each table is
  what it asks for. Rows compared are named as in the committed record.
- For each measure, the table has the setting that the paper found better, the one that it found
  worse, and the difference with its 95% interval."""


def verdicts() -> dict[str, list[Verdict]]:
    """On all claims, by paper in the order of `TITLES`."""
    claims = every_paper()
    if unknown := claims.keys() - TITLES.keys():
        raise ValueError(f"a paper without a title: {', '.join(sorted(unknown))}")
    return {name: judge(claims[name], ROOT / "examples") for name in TITLES}


def claims_pages(found: dict[str, list[Verdict]] | None = None) -> dict[str, str]:
    """By path, the page of what was ``found``, which else is `verdicts`."""
    parts, found = [LEAD_OF_PAGE], found or verdicts()
    parts.append(summary(found))
    for name, judged in found.items():
        regimes = dict(_lettered(verdict.claim.regime for verdict in judged))
        rows = [["Claim", "Paper", "Ours", "Verdict"], ["---"] * 4]
        for verdict, cells in zip(judged, table(judged), strict=True):
            text, paper, compared, ours, state, note = cells
            claim = verdict.claim
            measures = ours.replace(" ", _NO_BREAK).replace(f";{_NO_BREAK}", "<br>")  # a line each
            measures = f"`{compared}`<br>{measures}" if compared else ""
            about = f"*{claim.code}, {claim.place}; regime {regimes[claim.regime]}*"
            rows.append([f"{text}<br>{about}", paper, measures, f"{state}<br>{note}"])
        known = [f"- *Regime {sign}*: {_shortened(one, regimes)}." for one, sign in regimes.items()]
        fold = ['<details markdown="1">', REGIMES, "", *known, "", "</details>"]
        parts += [f"## {TITLES[name]}", _table(rows), "\n".join(fold)]
    return {"results/papers.md": "\n\n".join(parts) + "\n"}


def _lettered(regimes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each regime once, with a letter and a number by what it begins with.

    >>> dict(_lettered(["b", "a; c", "a", "b", "a; d"]))
    {'b': 'A', 'a; c': 'B1', 'a': 'B', 'a; d': 'B2'}
    """
    counts_of: dict[str, int] = {}  # by what they begin with, those that have more
    for regime in dict.fromkeys(regimes):
        base, _, more = regime.partition("; ")
        counts_of[base] = counts_of.get(base, 0) + bool(more)
        letter = chr(ord("A") + list(counts_of).index(base))
        yield regime, f"{letter}{counts_of[base] if more else ''}"


def _shortened(regime: str, regimes: dict[str, str]) -> str:
    """A regime by the longest of another letter and number that it begins with."""
    known = [one for one in regimes if regime.startswith(f"{one}; ")]
    if not known:
        return regime
    longest = max(known, key=len)
    return f"as {regimes[longest]}; {regime.removeprefix(longest + '; ')}"


def summary(found: dict[str, list[Verdict]]) -> str:
    """How many central claims have which verdict, and in brackets how many exploratory ones."""
    header = ["Central claims (exploratory)", *STATES]
    lines = [header, ["---", *["--:"] * len(STATES)]]
    for name, judged in found.items():
        central = counts(verdict for verdict in judged if verdict.claim.central)
        other = counts(verdict for verdict in judged if not verdict.claim.central)
        lines.append([TITLES[name], *(f"{central[s]} ({other[s]})" for s in STATES)])
    return _table(lines)


def _table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as Markdown; header and marks are the first two."""
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows
    )


def figures(found: dict[str, list[Verdict]]) -> str:
    """The first central claim of each paper: figures of both rows, their difference."""
    lines = [["The paper's first claim", "Measure", "For", "Against", "Difference", ""]]
    lines.append(["---", "---", "--:", "--:", "---", "---"])
    for name, judged in found.items():
        first = next(verdict for verdict in judged if verdict.claim.central)
        ends = f"**{TITLES[name]}**: {first.claim.text}", f"*{first.title}*"
        lower = ", lower is better" if first.claim.direction == LOWER else ""
        for one in [one for one in first.shown if one.measure in first.claim.measures]:
            lines.append([ends[0], one.label + lower, *cells_of(one), ends[1]])
            ends = "", ""  # said once
        if any(ends):
            lines.append([ends[0], *[""] * 4, ends[1]])
    return _table(lines)


def with_table(readme: str, found: dict[str, list[Verdict]] | None = None) -> str:
    """The text of a README with the tables of what was ``found`` in their place."""
    found = found or verdicts()
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = "\n\n".join([LEAD, figures(found), LEAD_OF_SUMMARY, summary(found)])
    return f"{before}{BEGIN}\n{tables}\n\n{END}{after}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    text = with_table(path.read_text(encoding="utf-8"))
    with atomic_write(path, "w") as file:
        file.write(text)
