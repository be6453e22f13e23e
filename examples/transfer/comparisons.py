"""Tables of make_readme.py that put several results of 6_measures.sh next to each other."""

import statistics
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fairseq_xling.papers.transfer.zero_shot import GAP, MEAN
from fairseq_xling.reports.paired import in_words, paired_difference
from fairseq_xling.reports.pivot import OverSeeds, Table, pivot
from fairseq_xling.reports.record import Record
from fairseq_xling.reports.rows import GIVEN, Row, distinct, figures, select
from fairseq_xling.reports.tables import markdown_table

# Results that are compared in tables of their own.
_COMPARED = (
    "similarity-", "mean-difference-", "mapped-layers-iterative", "rosita-", "senses-", "trees"
)  # fmt: skip
_FULL = {"en": "English", "de": "German", "zh": "Chinese", "id": "Indonesian"}


def is_compared(name: str) -> bool:
    """Whether the result is in one of these tables, and not in that of all measures."""
    return name.startswith(_COMPARED)


def comparisons(records: Mapping[str, Record]) -> Iterator[tuple[str, str, list[str]]]:
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


def _similarity(records: Mapping[str, Record]) -> tuple[str, list[str]]:
    """CKA, and what older results have beside it, means over layers."""
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
    names = distinct(found["en-de"].rows, "measure")
    rows = [
        [title, *(statistics.fmean(figures(found[name].rows, "measure")[one,]) for one in names)]
        for name, title in (pairs | controls).items()
    ]
    details = found["en-de"].facts
    return (
        f"Similarity of the vectors of {details['rows']:,} sentences, {details['widths'][0]} wide, "
        "and their translations: means over layers. With the lines of one side moved by one, no "
        "sentence is compared with its translation; with new weights the encoder is untrained. "
        "Version 0.3.0 was the last to measure SVCCA (of the directions that hold 99 % of the "
        "variance) and PWCCA.",
        [
            markdown_table(["vectors", *names], rows),
            "",
            "![English and German sentences, by layer](similarity-en-de.svg)",
        ],
    )


def _mean_differences(records: Mapping[str, Record]) -> tuple[str, list[str]]:
    """What English tokens became, by target."""
    rows = []
    for name, record in records.items():
        for setting in ("no shift", "best") if name.startswith("mean-difference-") else ():
            (first, *_) = chosen = select(record.rows, {"setting": setting})
            layer, alpha = first["layer"], first["alpha"]
            own = select(record.rows, {"layer": layer, "alpha": alpha, "setting": None})
            one = {row["measure"]: row["value"] for row in (*own, *chosen)}
            rate = one.get("convert rate")  # none if all tokens are of both languages
            others = [
                f"{_FULL[row['of']]} {row['value']:,}"
                for row in select(own, {"measure": "in another language"})
            ]
            rows.append(
                [
                    _FULL[first["target"]],
                    f"layer {layer}, {alpha:g}" if layer else setting,
                    "-" if rate is None else f"{100 * rate:.1f}",
                    f"{one['BLEU-1 precision']:.1f}",
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


def _normalised(records: Mapping[str, Record]) -> tuple[str, list[str]]:
    """Heads on mapped states, by the normalisation before the map."""
    own = records["mapped-layers-iterative"].rows
    layers = distinct(own, "layer")
    ways = {
        "not mapped": ("mapped-layers", "bilingual"),
        "centred": ("mapped-layers", "bilingual-mapped"),
        "iterative": ("mapped-layers-iterative", "bilingual-mapped"),
    }
    measures, pairs = (distinct(own, name) for name in ("measure", "pair"))
    found = {
        name: figures(select(records[name].rows, {"layer": layers}), "row", "pair", "measure")
        for name in ("mapped-layers", "mapped-layers-iterative")
    }
    by_way = {
        (way, pair, measure): found[name][row, pair, measure]
        for way, (name, row) in ways.items()
        for pair in pairs
        for measure in measures
    }
    rows = [
        [pair, way, *(OverSeeds(tuple(by_way[way, pair, measure]), 1) for measure in measures)]
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


def _rosita(records: Mapping[str, Record]) -> tuple[str, list[str]]:
    """Heads on states with and without vectors of words and a map."""
    ways = {
        "states": "states",
        "states-vectors": "states and vectors",
        "states-mapped": "states, mapped",
        "states-vectors-mapped": "states and vectors, mapped",
    }
    found = {way: figures(_tests(records[f"rosita-{way}"]), "target") for way in ways}
    rows = [
        [title, *(OverSeeds(tuple(found[way][lang,]), 1) for lang in ("en", "de"))]
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


def _senses(records: Mapping[str, Record]) -> tuple[str, list[str]]:
    """Roles without and with senses, and the senses alone."""
    titles = {
        "left-out": "roles alone, F1",
        "counted": "roles and senses, F1",
        "predicted": "senses, accuracy",
        "most frequent": "always the verb's most frequent sense, accuracy",
    }
    named = ("senses-left-out", "senses-counted", "senses-alone")
    lines = [
        {**row, "line": titles[row["line"]]} for name in named for row in _tests(records[name])
    ]
    alone = figures(_tests(records["senses-alone"]), "line", "target")
    gain = in_words(paired_difference(*(alone[x, "en"] for x in ("predicted", "most frequent"))))
    return (
        "Semantic roles, trained on English for "
        f"{records[named[1]].config['epochs']} epochs, without and with the senses of verbs. "
        "The corpus has no senses: ours are the types of what acts (a person, a vehicle, ...), so "
        "the sentence tells them. A verb that training did not have gets the most frequent sense "
        "of all, as do verbs of other languages that are not spelt as in English; that one is "
        "often right, and counts in the joint figure.",
        [
            _transfer_table(lines),
            "",
            f"- Senses less the most frequent ones, in English: {gain}.",
        ],
    )


def _bilstm(records: Mapping[str, Record]) -> tuple[str, list[str]]:
    """Heads next to BiLSTMs without an encoder."""
    parts = (
        ("LAS", "trees", "trees-bilstm"),
        ("F1 of roles", "senses-left-out", "senses-left-out-bilstm"),
    )
    lines, notes = [], []
    for figure, encoder, baseline in parts:
        both = [_tests(records[name]) for name in (encoder, baseline)]
        for own, title in zip(both, ("head on the encoder", "BiLSTM"), strict=True):
            lines += [{**row, "line": f"{title}, {figure}"} for row in own]
        sides = [figures(own, "target") for own in both]
        for lang in distinct(select(both[0], {"target": GIVEN}), "target"):
            found = in_words(paired_difference(*(side[lang,] for side in sides)))
            notes.append(f"- {figure}, {_FULL[lang]}, head less BiLSTM: {found}.")
    config = records["trees-bilstm"].config
    return (
        "Trees and roles without an encoder: a BiLSTM of 3 layers of 400 units in each direction "
        "over words and gold parts of speech, on the same English sentences and for as many "
        f"epochs, {config['epochs']}. In other languages it knows hardly any word, and reads the "
        "parts of speech, which all languages have. The heads read none; the upper half of the "
        "encoder is trained with them.",
        [_transfer_table(lines), "", *notes],
    )


def _tests(record: Record) -> list[Row]:
    """What the table of `eval transfer` shows."""
    return select(record.rows, {"part": "test", "measure": [record.facts["metric"], MEAN, GAP]})


def _transfer_table(rows: Sequence[Row]) -> str:
    languages = distinct(select(rows, {"target": GIVEN}), "target")
    order = [*languages, MEAN, GAP]
    return markdown_table(
        *pivot(rows, Table({"": "line"}, "{target|measure}", order=order, digits=1))
    )
