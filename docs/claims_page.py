"""The page of the papers' claims, and the front page's tables of them, from committed frames.

python docs/claims_page.py      puts the tables into README.md
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from fairseq_xling.core.files import atomic_write
from fairseq_xling.reports.claims import (
    STATES,
    Verdict,
    counts,
    digits_of,
    every_paper,
    judge,
    table,
)

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- claims: python docs/claims_page.py -->\n", "<!-- end of claims -->\n"
LEAD_OF_SUMMARY = """\
How many of the papers' claims our runs confirm (`make docs` builds a page that lists them all):"""
# What the front page shows: a claim, its measure, the row that is beaten and the one that beats it,
# in words, and the script that repeats it.
FRONT = (
    (
        *("ECS-T1-1", "LAS", "private embeddings and layers 1-3 of 4", "everything shared"),
        "examples/emerging_structure/1_synthetic.sh",
    ),
    (
        *("ECS-F6-1", "retrieval P@1", "independently trained encoders", "the same, mapped"),
        "examples/analysis/5_paraphrases.sh",
    ),
    (
        *("MBERT-4.2-2", "BLEU-1", "output of a masked LM", "with a mean-difference shift"),
        "examples/transfer/7_token_translation.sh",
    ),
    (
        *("TRELM-T6-1", "1-gram precision", "migrated with MLM + TLM", "migrated with CdLM"),
        "examples/trelm/4_studies.sh",
    ),
    (
        *("CLCR-T4-1", "accuracy in German", "CLCR: T alone", "T+E+R"),
        "examples/clcr/7_readings.sh",
    ),
    (
        *("NOTE-E13-5", "F1", "relations by a BiLSTM", "by graph convolution on trees"),
        "examples/transfer/5_structures.sh",
    ),
)
TITLES = {
    "emerging": "Emerging Cross-lingual Structure",
    "trelm": "TreLM",
    "clcr": "CLCR",
    "mbert": "Study of multilingual BERT",
    "transfer": "Transfer note",
}
_NO_BREAK = "\u00a0"
LEAD = """---
hide:
  - toc
---
# The papers' claims

This page lists every testable claim of the five papers, central ones in bold, and whether our runs
confirm it. Our models are a thousand times smaller and are mostly trained on a small generated
corpus, so only rankings can be compared, not absolute numbers.

- Verdicts are computed when this page is built, from the results of committed runs. The test is a
  paired t-test over at least three seeds, on the mean over the claim's measures, with Holm's
  correction over the claims of a paper.
- *Kept* means a significant difference in the paper's direction, *not kept* one in the opposite
  direction, and *undecided* that the difference is not significant.
- If the paper claims that two settings are alike, a margin is stated. *Equal within the margin*
  means that the difference is significantly smaller than the margin, *not kept* that it is
  significantly larger.
- *Not run* means that no run tests this claim; the line below the verdict says why. Numbers shown
  there are from runs of a different kind.
- For each measure, the table has the setting that the paper found better, the one that it found
  worse, and the difference with its 95% interval."""


def verdicts() -> dict[str, list[Verdict]]:
    """On all claims, by paper in the order of `TITLES`."""
    claims = every_paper()
    if unknown := claims.keys() - TITLES.keys():
        raise ValueError(f"a paper without a title: {', '.join(sorted(unknown))}")
    return {name: judge(claims[name], ROOT / "examples") for name in TITLES}


def claims_pages() -> dict[str, str]:
    """By path, the page."""
    parts, found = [LEAD], verdicts()
    parts.append(summary(found))
    for name, judged in found.items():
        rows = [["Claim", "Paper", "Ours", "Verdict"], ["---"] * 4]
        for place, claim, paper, ours, verdict, note in table(judged):
            measures = ours.replace(" ", _NO_BREAK).replace(f";{_NO_BREAK}", "<br>")  # a line each
            rows.append([f"{claim}<br>*{place}*", paper, measures, f"{verdict}<br>{note}"])
        parts += [f"## {TITLES[name]}", _table(rows)]
    return {"results/papers.md": "\n\n".join(parts) + "\n"}


def summary(found: dict[str, list[Verdict]]) -> str:
    """How many central claims of each paper have which verdict, and all claims in brackets."""
    header = ["Central claims (all)", *STATES]
    lines = [header, ["---", *["--:"] * len(STATES)]]
    for name, judged in found.items():
        central = counts(verdict for verdict in judged if verdict.claim.central)
        every = counts(judged)
        lines.append([TITLES[name], *(f"{central[s]} ({every[s]})" for s in STATES)])
    return _table(lines)


def _table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as Markdown; header and marks are the first two."""
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows
    )


def figures(found: dict[str, list[Verdict]]) -> str:
    """The figures of `FRONT`, means over seeds, with the verdict on the claim."""
    by_code = {verdict.claim.code: verdict for judged in found.values() for verdict in judged}
    lines = [["Measure", "Baseline", "", "Compared", "", "Verdict", "Repeated by"]]
    lines.append(["---", "---", "--:", "---", "--:", "---", "---"])
    for code, measure, worse, better, command in FRONT:
        verdict = by_code[code]
        (shown,) = [one for one in verdict.shown if one.measure == measure]
        low, high = (f"{value:.{digits_of(shown)}f}" for value in (shown.worse, shown.better))
        lines.append([measure, worse, low, better, high, verdict.state, f"`{command}`"])
    return _table(lines)


def with_table(readme: str) -> str:
    """The text of a README with the tables in their place."""
    found = verdicts()
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = "\n\n".join([figures(found), LEAD_OF_SUMMARY, summary(found)])
    return f"{before}{BEGIN}\n{tables}\n\n{END}{after}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    text = with_table(path.read_text(encoding="utf-8"))
    with atomic_write(path, "w") as file:
        file.write(text)
