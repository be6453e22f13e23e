"""`fairseq-xling map adversarial` and `identical`: maps of word vectors."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fairseq_xling.results.page import Measured, Page, Result, caption
from fairseq_xling.results.plots import BarPanel, Bars, draw_bars
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

SOURCE = "TreLM (Li et al., 2021), A.1"
COSINE = "mean cosine to the nearest source word"


@KINDS.register("map-vectors")
class MapVectors:
    """The criterion of every seed before and after refinement; identically spelt words."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"best_seed", "seeds", "criterion", "chance", "shared_words"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        seeds = record["seeds"]
        names = [
            f"seed {seed}{' (failed)' if one['failure'] else ''}" for seed, one in seeds.items()
        ]
        series = [
            Bars("found", [one["unrefined"] for one in seeds.values()]),
            Bars("refined", [one["criterion"] for one in seeds.values()]),
        ]
        chance = record["chance"], f"chance ({record['chance']:.3f})"
        figure = partial(draw_bars, [BarPanel(names, series, COSINE, chance=chance)])
        header = ["seed", "found", "refined", "failure"]
        rows = [
            [seed, one["unrefined"], one["criterion"], one["failure"]]
            for seed, one in seeds.items()
        ]
        alike, before = record["shared_words"], record["shared_words_unmapped"]
        words = [["mapped", *map(alike.get, _WORDS)], ["unmapped", *map(before.get, _WORDS)]]
        failed = "Every seed failed." if record["failed"] else f"Best seed: {record['best_seed']}."
        method = record["settings"]["method"]
        facts = (f"Method {method}; {failed}", f"Unit: {COSINE} by CSLS.")
        kept = alike.get("p_at_1")
        what = f"P@1 of identically spelt words (share), {method}, best seed"
        return Page(
            title=f"Map of word vectors, {method}",
            source=SOURCE,
            lead=[failed],
            sections=[
                Section("Every seed", figure=figure, notes=caption(result, SOURCE, *facts)),
                Section("Seeds", header=header, rows=rows),
                Section("Identically spelt words", header=_HEADER, rows=words),
            ],
            tables={"seeds": (header, rows), "words": (_HEADER, words)},
            measured=[] if kept is None else [Measured("T11", what, kept)],
        )


_WORDS = ("words", "candidates", "p_at_1", "p_at_10")
_HEADER = ("vectors", "words", "candidates", "P@1", "P@10")
