"""The translations of migrations in a report: scores by ordering, and some sentences."""

from collections.abc import Iterator, Sequence
from functools import partial

from fairseq_xling.analysis.sampled_bleu import ORDERS
from fairseq_xling.papers.trelm.results import PAPER, Migration, seeds_of, which
from fairseq_xling.results.page import Result, Table, caption
from fairseq_xling.results.plots import BarPanel, Bars, draw_bars
from fairseq_xling.results.report import Section
from fairseq_xling.results.statistics import merge_seeds

_BACKWARD = "samples_backward"  # of a migration that translates in both directions

FAULTS = (
    "Words: F1 of the words, whatever their order. Order: pairs of unambiguous words in the order "
    "of the reference. Repeated: words that repeat the one before them. All in percent."
)


def bleu_table(found: Sequence[Migration]) -> Table:
    """n-gram precisions, the cumulative score and where it is lost, of every ordering, over
    seeds."""
    header, rows = bleu_rows(found)
    digits = [1] * ORDERS + [2, 3, 3, 2, 1, 1, 1]
    return merge_seeds(header[:-1], [row[:-1] for row in rows], digits)


def translation_sections(result: Result, found: Sequence[Migration]) -> Iterator[Section]:
    """Scores of all, then sentences of each migration; nothing if none has translated."""
    if not found:
        return
    header, rows = bleu_table(found)
    names = [*(f"{n}-gram precision" for n in range(1, ORDERS + 1)), "BLEU"]
    panels = [
        BarPanel(
            names,
            [
                Bars(name, [*scores["precisions"], scores["bleu"]])
                for name in one["orderings"]
                if (scores := one["translation"][name])
            ],
            "percent",
            which(one),
        )
        for one in found
    ]
    yield Section(
        f"Translation with the {translators(found)}",
        text="All words are predicted at once; the orderings differ in the source position of each "
        "target word.",
        figure=partial(draw_bars, panels),
        header=header,
        rows=rows,
        notes=[
            *caption(result, f"{PAPER}, Table 6", seeds_of(found)),
            "Precisions as printed by sacrebleu, in percent, without smoothing; BLEU is their "
            "geometric mean times the brevity penalty. References are the data folder's subwords "
            "joined again.",
            FAULTS,
            f"sacrebleu {'; '.join(signatures(found))}",
        ],
    )
    for one in found:
        yield _samples(one, "samples", f"Translations {which(one)}")
        if _BACKWARD in one:
            yield _samples(one, _BACKWARD, f"Translations from {one['target']}, seed {one['seed']}")


def signatures(found: Sequence[Migration]) -> list[str]:
    """Those that sacrebleu gave the scores."""
    return sorted(
        {
            value
            for one in found
            for scores in one["translation"].values()
            for name, value in scores.items()
            if name.endswith("signature")
        }
    )


def _samples(one: Migration, name: str, title: str) -> Section:
    samples = one[name]
    header = ["source", "reference", *(n for n in one["orderings"] if n in samples[0])]
    return Section(title, header=header, rows=[[sample[n] for n in header] for sample in samples])


def translators(found: Sequence[Migration]) -> str:
    """The models that translate."""
    both = any(_BACKWARD in one for one in found)
    return "forward and backward model" if both else "forward model"


def bleu_rows(found: Sequence[Migration]) -> Table:
    """The same as numbers, with sacrebleu's signature."""
    precisions = [f"{order}-gram precision" for order in range(1, ORDERS + 1)]
    # By column. Runs of before have no chrF and no faults.
    names = {
        "BLEU": "bleu",
        "brevity penalty": "brevity_penalty",
        "length ratio": "length_ratio",
        "chrF": "chrf",
        "words": "words",
        "order": "order",
        "repeated": "repeated",
        "signature": "signature",
    }
    return ["target", "seed", "ordering", *precisions, *names], [
        [
            *(one["target"], one["seed"], ordering, *scores["precisions"]),
            *map(scores.get, names.values()),
        ]
        for one in found
        for ordering in one["orderings"]
        if (scores := one["translation"][ordering])
    ]
