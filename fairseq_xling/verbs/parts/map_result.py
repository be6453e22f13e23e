"""The pages of `fairseq-xling map`: of maps of states, and of maps of word vectors."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fairseq_xling.results.charts import bars, curves
from fairseq_xling.results.frame import make_frame
from fairseq_xling.results.page import Measured, Page, Result, caption
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

STATES = "Emerging Cross-lingual Structure (Conneau et al., 2020), 5.1"
VECTORS = "TreLM (Li et al., 2021), A.1"
COSINE = "mean cosine to the nearest source word"
ROWS = {"procrustes": "S1", "unconstrained": "S2", "contextual": "S6"}
ROWS |= {"meeting": "T23", "anchored": "T23"}
_BEFORE = "_unmapped"  # suffix of the name of a figure measured without the map
_WORDS = {"words": "words", "candidates": "candidates", "P@1": "p_at_1", "P@10": "p_at_10"}


@KINDS.register("map-states")
class MapStates:
    """How well the pairs fit, by layer, before and after the map (sections 5.1 and 5.1.2)."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"method", "settings", "pairs", "layers", "warnings"} <= record.keys()

    def page(self, result: Result) -> Page:
        record, settings = result.record, result.record["settings"]
        fits = {int(layer): fit for layer, fit in record["layers"].items()}
        layers = sorted(fits)
        keys = list(fits[layers[0]])
        table = ["layer", *keys], [[n, *(fits[n].get(key) for key in keys)] for n in layers]
        given = [settings[side] for side in ("moving", "fixed")]
        sides = " to ".join(f"{side['lang']} ({side['unit']})" for side in given)
        name = next(key for key in keys if key + _BEFORE in keys)
        label = f"{name.replace('_', ' ')}, mean over the pairs"
        frame = make_frame(
            {"row": words, "layer": n, "measure": label, "value": fits[n][key]}
            for words, key in (("without the map", name + _BEFORE), ("with the map", name))
            for n in layers
        )
        figure = partial(bars, frame, label)
        if len(layers) > 1:
            figure = partial(curves, frame, label, xlabel="layer (0 = embedding output)")
        notes = caption(
            result,
            STATES,
            f"Pairs: {settings['pairs']}; both sides normalised by {settings['normalize']}.",
            f"Unit: {label}.",
        )
        row = ROWS.get(record["method"], "")
        what = f"{label}, {record['method']}, {sides}, layer {layers[-1]}"
        return Page(
            title=f"Map by {record['method']}, {sides}",
            source=STATES,
            lead=record["warnings"],
            sections=[
                Section("By layer", figure=figure, notes=notes),
                Section("Every layer", header=table[0], rows=table[1]),
            ],
            tables={"layers": table},
            measured=[Measured(row, what, fits[layers[-1]][name])] if row else [],
        )


@KINDS.register("map-vectors")
class MapVectors:
    """The criterion of every seed before and after refinement; identically spelt words."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"best_seed", "seeds", "criterion", "chance", "shared_words"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        rows = [
            [seed, one["unrefined"], one["criterion"], one["failure"]]
            for seed, one in record["seeds"].items()
        ]
        frame = make_frame(
            (
                {"row": f"seed {seed}{' (failed)' if failure else ''}", "measure": name, "value": x}
                for seed, found, refined, failure in rows
                for name, x in (("found", found), ("refined", refined))
            ),
            chance=record["chance"],
            task=COSINE,
        )
        figure = partial(bars, frame, COSINE, panel="task", chance="chance ({:.3f})")
        seeds = ["seed", "found", "refined", "failure"], rows
        words = (
            ["vectors", *_WORDS],
            [
                [name, *map(record[key].get, _WORDS.values())]
                for name, key in (("mapped", "shared_words"), ("unmapped", "shared_words_unmapped"))
            ],
        )
        failed = "Every seed failed." if record["failed"] else f"Best seed: {record['best_seed']}."
        method = record["settings"]["method"]
        facts = (f"Method {method}; {failed}", f"Unit: {COSINE} by CSLS.")
        kept = record["shared_words"].get("p_at_1")
        what = f"P@1 of identically spelt words (share), {method}, best seed"
        return Page(
            title=f"Map of word vectors, {method}",
            source=VECTORS,
            lead=[failed],
            sections=[
                Section("Every seed", figure=figure, notes=caption(result, VECTORS, *facts)),
                Section("Seeds", header=seeds[0], rows=seeds[1]),
                Section("Identically spelt words", header=words[0], rows=words[1]),
            ],
            tables={"seeds": seeds, "words": words},
            measured=[] if kept is None else [Measured("T11", what, kept)],
        )
