"""Tables of make_readme.py that put several results of 6_measures.sh next to each other."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from pandas import DataFrame, concat

from fairseq_xling.papers.transfer.transfer_result import scored_lines, table
from fairseq_xling.results.frame import figures, frame_from_json
from fairseq_xling.results.paired import in_words, paired_difference
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.results.tables import markdown_table

# Results that are compared in tables of their own.
_COMPARED = (
    "similarity-", "mean-difference-", "mapped-layers-iterative", "rosita-", "senses-", "trees"
)  # fmt: skip
_FULL = {"en": "English", "de": "German", "zh": "Chinese", "id": "Indonesian"}


def is_compared(name: str) -> bool:
    """Whether the result is in one of these tables, and not in that of all measures."""
    return name.startswith(_COMPARED)


def comparisons(records: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, list[str]]]:
    """A heading, what is compared, and the lines of its table, for each comparison."""
    for heading, make in (
        ("Similarity of translations", _similarity),
        ("Tokens of a third language", _mean_differences),
        ("Normalised before a map", _normalised),
        ("RositaWORD", _rosita),
        ("Senses of predicates", _senses),
        ("Without an encoder", _bilstm),
    ):
        yield heading, *make(records)


def _similarity(records: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[str]]:
    """CKA, SVCCA and PWCCA, means over layers."""
    found = {
        name.removeprefix("similarity-"): record
        for name, record in records.items()
        if name.startswith("similarity-")
    }
    controls = {
        "en-de-moved": "en-de, lines moved by one",
        "en-de-new-weights": "en-de, new weights",
    }
    pairs = {name: name for name in found if name not in controls}
    names = ["CKA", "SVCCA", "PWCCA"]
    rows = [
        [title, *(found[name]["means"][measure] for measure in names)]
        for name, title in (pairs | controls).items()
    ]
    details = found["en-de"]["details"]
    return (
        f"Similarity of the vectors of {details['rows']:,} sentences, {details['widths'][0]} wide, "
        "and their translations: means over layers. With the lines of one side moved by one, no "
        "sentence is compared with its translation; with new weights the encoder is untrained. "
        "SVCCA reads the directions that hold 99 % of the variance.",
        [
            markdown_table(["vectors", *names], rows),
            "",
            "![English and German sentences, by layer](similarity-en-de.svg)",
        ],
    )


def _mean_differences(
    records: Mapping[str, Mapping[str, Any]],
) -> tuple[str, list[str]]:
    """What English tokens became, by target."""
    rows = []
    for name, record in records.items():
        if name.startswith("mean-difference-"):
            for setting in ("no shift", "best"):
                one = record["chosen"][setting]
                rate = one["convert_rate"]  # none if all tokens are of both languages
                where = f"layer {one['layer']}, {one['alpha']:g}" if one["layer"] else setting
                others = [f"{_FULL[x]} {n:,}" for x, n in one["other_languages"].items()]
                rows.append(
                    [
                        _FULL[record["summary"]["pair"][1]],
                        where,
                        "-" if rate is None else f"{100 * rate:.1f}",
                        f"{one['precision']:.1f}",
                        f"{one['tokens']:,}",
                        one["neither"],
                        ", ".join(others),
                    ]
                )
    return (
        "English states shifted by the mean difference (mBERT study, 4.2) become tokens of the "
        "target, in percent of those that only one of the two languages has; BLEU-1 in percent; "
        "and how many tokens neither language has, which a third one may have. The shift is the "
        "best on the same text.",
        [
            markdown_table(
                ["to", "shift", "converted", "BLEU-1", "tokens", "of neither", "of a third"], rows
            )
        ],
    )


def _normalised(records: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Heads on mapped states, by the normalisation before the map."""
    own = frame_from_json(records["mapped-layers-iterative"]["frame"])
    layers = list(dict.fromkeys(own["layer"]))
    ways = {
        "not mapped": ("mapped-layers", "bilingual"),
        "centred": ("mapped-layers", "bilingual-mapped"),
        "iterative": ("mapped-layers-iterative", "bilingual-mapped"),
    }
    measures, pairs = (list(dict.fromkeys(own[name])) for name in ("measure", "pair"))
    found = {}
    for name in ("mapped-layers", "mapped-layers-iterative"):
        frame = frame_from_json(records[name]["frame"])
        found[name] = figures(frame[frame["layer"].isin(layers)], "row", "pair", "measure")
    by_way = {
        (way, pair, measure): found[name][row, pair, measure]
        for way, (name, row) in ways.items()
        for pair in pairs
        for measure in measures
    }
    rows = [
        [pair, way, *(OverSeeds.of(by_way[way, pair, measure], 1) for measure in measures)]
        for pair in pairs
        for way in ways
    ]
    notes = [
        f"- Iterative less centred, {measure}, mean of {', '.join(pairs)}: "
        + in_words(
            paired_difference(
                *(
                    np.mean([by_way[way, pair, measure] for pair in pairs], axis=0).tolist()
                    for way in ("iterative", "centred")
                )
            )
        )
        + "."
        for measure in measures
    ]
    return (
        "Heads on mapped states, by what is done to both languages' states before the map is "
        f"fitted: centred, or the paper's iterative normalisation. Means over layers "
        f"{' and '.join(map(str, layers))}, in percent; the heads are the same.",
        [markdown_table(["pair", "states", *measures], rows), "", *notes],
    )


def _rosita(records: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Heads on states with and without vectors of words and a map."""
    ways = {
        "states": "states",
        "states-vectors": "states and vectors",
        "states-mapped": "states, mapped",
        "states-vectors-mapped": "states and vectors, mapped",
    }
    found = {way: figures(_lines(records[f"rosita-{way}"]), "target") for way in ways}
    rows = [
        [title, *(OverSeeds.of(found[way][lang,], 1) for lang in ("en", "de"))]
        for way, title in ways.items()
    ]
    notes = [
        f"- {ways[better].capitalize()} less {ways[worse]}, German: "
        + in_words(paired_difference(found[better]["de",], found[worse]["de",]))
        + "."
        for better, worse in (
            ("states-vectors", "states"),
            ("states-mapped", "states"),
            ("states-vectors-mapped", "states-mapped"),
        )
    ]
    return (
        "RositaWORD (TreLM, Table 9): heads for trees on the last layer of the frozen encoder, "
        "trained on English; LAS in percent. Each state is followed by the vector of its word, or "
        "not; what the head reads is mapped from German to English, or not.",
        [markdown_table(["the head reads", "English", "German"], rows), "", *notes],
    )


def _senses(records: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Roles without and with senses, and the senses alone."""
    titles = {
        "left-out": "roles alone, F1",
        "counted": "roles and senses, F1",
        "predicted": "senses, accuracy",
        "most frequent": "always the verb's most frequent sense, accuracy",
    }
    named = ("senses-left-out", "senses-counted", "senses-alone")
    lines = concat([_lines(records[name]) for name in named])
    alone = figures(_lines(records["senses-alone"]), "line", "target")
    gain = in_words(paired_difference(*(alone[x, "en"] for x in ("predicted", "most frequent"))))
    return (
        "Semantic roles, trained on English for "
        f"{records[named[1]]['config']['epochs']} epochs, without and with the senses of verbs. "
        "The corpus has no senses: ours are the types of what acts (a person, a vehicle, ...), so "
        "the sentence tells them. A verb that training did not have gets the most frequent sense "
        "of all, as do verbs of other languages that are not spelt as in English; that one is "
        "often right, and counts in the joint figure.",
        [
            _transfer_table(records[named[0]], lines, titles),
            "",
            f"- Senses less the most frequent ones, in English: {gain}.",
        ],
    )


def _bilstm(records: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Heads next to BiLSTMs without an encoder."""
    parts = {
        "trees": ("LAS", "trees", "trees-bilstm"),
        "roles": ("F1 of roles", "senses-left-out", "senses-left-out-bilstm"),
    }
    lines, notes, titles = [], [], {}
    for task, (figure, encoder, baseline) in parts.items():
        both = [_lines(records[name]) for name in (encoder, baseline)]
        for own, title in zip(both, ("head on the encoder", "BiLSTM"), strict=True):
            titles[f"{task} {title}"] = f"{title}, {figure}"
            lines.append(own.assign(line=f"{task} {title}"))
        sides = [figures(own, "target") for own in both]
        for lang in records[encoder]["languages"]:
            found = in_words(paired_difference(*(side[lang,] for side in sides)))
            notes.append(f"- {figure}, {_FULL[lang]}, head less BiLSTM: {found}.")
    config = records["trees-bilstm"]["config"]
    return (
        "Trees and roles without an encoder: a BiLSTM of 3 layers of 400 units in each direction "
        "over words and gold parts of speech, on the same English sentences and for as many "
        f"epochs, {config['epochs']}. In other languages it knows hardly any word, and reads the "
        "parts of speech, which all languages have. The heads read none; the upper half of the "
        "encoder is trained with them.",
        [_transfer_table(records["trees"], concat(lines), titles), "", *notes],
    )


def _lines(record: Mapping[str, Any]) -> DataFrame:
    return scored_lines(frame_from_json(record["frame"]), record["metric"])


def _transfer_table(record: Mapping[str, Any], lines: DataFrame, titles: Mapping[str, str]) -> str:
    header, rows = table(lines, record["languages"])
    named = [[titles.get(name, name), *cells] for name, *cells in rows]
    return markdown_table(["", *header[1:]], named)
