"""Write README.md of this folder from finished runs.

    python examples/analysis/make_readme.py [RUN ...]

Each RUN is the `--output` folder of a similarity study, or the folder of 4_measures.sh or
5_paraphrases.sh; what was run, where and when is taken from it. Results are kept in `results/`;
without RUN, the page is made from them.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.emerging.encoders import ROWS
from fairseq_xling.reports.paired import in_words, paired_difference
from fairseq_xling.reports.pivot import OverSeeds
from fairseq_xling.reports.record import Record
from fairseq_xling.reports.rows import GIVEN, Row, by_seed, distinct, figures, select
from fairseq_xling.reports.tables import markdown_table
from fairseq_xling.studies.encoder_training import describe_steps

sys.path.insert(0, str(Path(__file__).parents[1]))
from page import part_named, table_lines, write_page

# Which row the paper finds above which, by what; CKA does not ask for maps.
_UNMAPPED = (("bilingual", "unmapped"), ("sep-emb", "unmapped"))
_MAPPED = (("bilingual-mapped", "mapped"), ("mapped", "random"))
_ORDER = [
    *(("CKA", *rows) for rows in (*_UNMAPPED, ("mapped", "random"))),
    *(("retrieval P@1", *rows) for rows in (*_UNMAPPED, *_MAPPED)),
    *(("BLI MRR", *rows) for rows in (*_UNMAPPED, *_MAPPED)),
]
# Of every measure of one encoder, those with a figure by layer.
_DRAWN = ("cka", "mean-difference", "retrieval", "vector-translation", "words-in-context")
# Curves by layer: row of the specification, record, title of the row, curve, the paper's figure.
_BY_LAYER = (
    ("T23", "aligned-words", "Transfers from a multilingual encoder", "ratio", ""),
    ("S1", "map-procrustes", "Orthogonal Procrustes map", "cosine", ""),
    ("S2", "map-unconstrained", "Unconstrained linear map", "cosine", ""),
    ("S4", "words-static", "Word translation by embedding rows", "P@1 cosine", ""),
    ("S5", "words-in-context", "Contextual vectors of word types", "P@1 cosine", ""),
    ("S7", "retrieval", "Sentence retrieval with a map", "cosine mean", "LASER above 95 %"),
    ("S8", "cka", "Linear CKA", "CKA", ""),
    ("S15", "vector-translation", "Vector translation of sentences", "after", ""),
)

# Figures of the best shift: row of the specification, its title, measure, the paper's figure.
_SHIFTED = (
    ("S11", "Token translation by the mean difference", "convert rate", ""),
    (
        *("S12", "Convert rate and BLEU-1 of token translation", "BLEU-1 precision"),
        "en-zh BLEU-1 19.68 fixed, 23.21 best",
    ),
)

# What the second of two English encoders reads.
_SECOND = ("same", "paraphrases", "shuffled")

_HEAD = """\
# Encoders trained jointly and independently

This page repeats Section 5 of Conneau, Wu, Li, Zettlemoyer and Stoyanov, "Emerging Cross-lingual
Structure in Pretrained Language Models" (ACL 2020). The paper finds that encoders of two
languages have similar states even if they are trained independently: a rotation aligns them, and
layers with a high linear CKA are good at retrieving translations. Its models have 8 layers, 768
wide, and are trained on Wikipedia; ours are small.

    examples/analysis/1_synthetic.sh                          the embedded corpus, needs nothing
    examples/analysis/2_six_languages.sh DATA ENCODER         one encoder of real text
    examples/analysis/3_minilm.sh DATA                        English MiniLM and a German encoder
    examples/analysis/4_measures.sh DATA MIGRATION CHECKPOINT every measure of one encoder
    examples/analysis/5_paraphrases.sh DATA                   English sentences and paraphrases
    python examples/analysis/make_readme.py [RUN ...]         writes this page

ENCODER is the folder written by `examples/transfer/encoder.sh`, MIGRATION the one written by
`examples/trelm/5_translators.sh`. The scripts can be interrupted and resume
when called again. `fairseq-xling ablate similarity --help` lists every option; the values used
are in `synthetic.yaml`, `six_languages.yaml` and `minilm.yaml`. Existing encoders can replace
trained ones: `--encoder en=CHECKPOINT --data en=DATA`. In the paper, Pearson's correlation of CKA
with retrieval over the layers is above 0.9 for every pair.

In the run `synthetic`, a bilingual encoder is trained for twice as many steps as a monolingual one,
and so reads as much text of each language. fastText has the same words as the encoders.
The encoder of `six-languages` is that of `examples/transfer/encoder.sh` after 4,000 of its 5,000
steps.
"""


def body(record: Record) -> list[str]:
    """The lines of one run."""
    if record.rows[0].get("study") != "similarity":
        raise UserError("must be a run of `fairseq-xling ablate similarity`")
    pairs = distinct(record.rows, "pair")
    text = [_facts(record), "", *table_lines(part_named(record))]
    for pair in pairs:
        text += ["", f"![{pair}, by layer](plot-{pair}.svg)"]
    return text + _order(_by_layer(record), pairs)


def _order(rows: Sequence[Row], pairs: Sequence[str]) -> list[str]:
    """In how many layers and seeds one kind of encoders lies above another."""
    titles = {row["row"]: row["title"] for row in rows}
    table = []
    for measure, upper, lower in _ORDER:
        cells = []
        for pair in pairs:
            both = [
                by_seed(select(rows, {"measure": measure, "row": row, "pair": pair}), "layer")
                for row in (upper, lower)
            ]
            above = [
                both[0][at][seed] > value
                for at in both[0]
                for seed, value in both[1].get(at, {}).items()
            ]
            cells.append(f"{sum(above)} of {len(above)}" if above else "-")
        if {*cells} != {"-"}:
            table.append([measure, f"{titles[upper]} above {titles[lower]}", *cells])
    if not table:
        return []
    said = "In how many of all layers and seeds one kind of encoders lies above another:"
    return ["", said, "", markdown_table(["measure", "encoders", *pairs], table)]


def measures(found: Sequence[Record]) -> list[str]:
    """The lines of a run that left a record for each measure, or for each text that is compared."""
    records = {record.name: record for record in found}
    if records.keys() == {*_SECOND}:
        return _paraphrases(records)
    header = ["row", "title", "measured", "value", "paper"]
    rows = sorted(_measured(records), key=lambda row: (row[0][0] == "S", int(row[0][1:])))
    lines = [
        "An English MiniLM that was migrated to German on image captions, with one seed.",
        *("", markdown_table(header, rows)),
        *("", *(f"- {line}" for line in _expected(records))),
    ]
    for name in _DRAWN:
        lines += ["", f"![{records[name].title}]({name}.svg)"]
    return lines


def _measured(records: Mapping[str, Record]) -> Iterator[list[Any]]:
    """A row of the specification, what was measured of it here, and the paper's figure."""
    nearest = select(records["neighbours"].rows, {"measure": "cosine"})[0]
    said = f"cosine of {nearest['of']!r} to its nearest word, {nearest['row']}"
    yield ["T16", "Looking at raw embeddings", said, nearest["value"], ""]
    encoder = records["encoder"].rows
    for one in select(encoder, {"task": "bpw"}):
        said = f"bits per word, {one['target']}"
        yield ["T17", "Bits per word on fixed masks", said, one["value"], ""]
    for code, name, title, curve, paper in _BY_LAYER:
        which, one = _chosen(records[name], curve)
        said = f"{curve}, {one['source']}-{one['target']}, {which} {one['layer']}"
        yield [code, title, said, one["value"], paper]
    (pearson,) = select(records["cka-and-retrieval"].rows, {"measure": "Pearson"})
    said = f"Pearson's correlation over layers, {pearson['pair']}"
    title = "CKA of bilingual, monolingual and random encoders"
    yield ["S9", title, said, pearson["value"], "Pearson above 0.9"]
    for code, title, measure, paper in _SHIFTED:
        (one,) = select(records["mean-difference"].rows, {"setting": "best", "measure": measure})
        said = f"{measure}, best: layer {one['layer']}, alpha {one['alpha']:g}"
        yield [code, title, said, one["value"], paper]
    masses = select(encoder, {"task": "langmass", "of": GIVEN})
    for lang in distinct(masses, "target"):
        others = [one["value"] for one in masses if lang == one["target"] != one["of"]]
        said = f"mass on words of other languages (share), {lang}"
        yield ["S13", "Language leakage", said, sum(others), ""]
    for one in select(encoder, {"task": "words", "measure": "MRR", "best": 1}):
        said = f"word MRR, best layer {one['layer']}, {one['target']}"
        yield ["S16", "Word retrieval, mean reciprocal rank", said, one["value"], ""]


def _chosen(record: Record, curve: str) -> tuple[str, Row]:
    """The best layer of a curve, or of a map the last; and which it is."""
    own = select(record.rows, {"measure": curve, "layer": GIVEN})
    if curve == "cosine":
        return "last layer", max(own, key=lambda row: row["layer"])
    return "best layer", (min if curve == "ratio" else max)(own, key=lambda row: row["value"])


def _expected(records: Mapping[str, Record]) -> Iterator[str]:
    """What the papers say of the measures, and what was found here."""
    pearson = select(records["cka-and-retrieval"].rows, {"measure": "Pearson"})
    least = min(one["value"] for one in pearson)
    yield (
        "CKA and retrieval rise together over the layers (Emerging Structure, Figure 7: Pearson's "
        f"correlation above .9). Here: {least:.3f}."
    )
    sides = (_curve(records["vector-translation"], name) for name in ("after", "before"))
    higher = [after > before for after, before in zip(*sides, strict=True)]
    yield (
        "Adding the mean difference of two languages brings sentences to their translations (Pires "
        f"et al., section 5). Here: in {sum(higher)} of {len(higher)} layers."
    )
    ratio = _curve(records["aligned-words"], "ratio")
    yield (
        "States of aligned words are closer than those of others (TreLM, Table 9). Here: their "
        f"squared distance is {min(ratio):.2f} to {max(ratio):.2f} of it."
    )
    for name, what in (("map-procrustes", "A rotation"), ("map-unconstrained", "A linear map")):
        mapped, plain = (_curve(records[name], one) for one in ("cosine", "cosine unmapped"))
        raised = [one > other for one, other in zip(mapped, plain, strict=True)]
        yield (
            f"{what} brings aligned words together (Emerging Structure, 5.1.2). Here: cosine "
            f"{max(mapped):.2f} instead of {max(plain):.2f} in the best layer, higher in "
            f"{sum(raised)} of {len(raised)}."
        )
    shifted = select(records["mean-difference"].rows, {"setting": GIVEN})
    found = {(one["setting"], one["measure"]): one["value"] for one in shifted}
    rates, scores = (
        [found[setting, name] for setting in ("best", "no shift")]
        for name in ("convert rate", "BLEU-1 precision")
    )
    yield (
        "Shifted by the mean difference, an encoder writes the other language (mBERT study, 4.2). "
        f"Here: convert rate {rates[0]:.2f} instead of {rates[1]:.2f}, BLEU-1 {scores[0]:.1f} "
        f"instead of {scores[1]:.1f}; trained by CdLM, this encoder writes German without it."
    )


def _curve(record: Record, name: str) -> list[float]:
    """The values of a curve, layer by layer."""
    return [row["value"] for row in select(record.rows, {"measure": name, "layer": GIVEN})]


def _paraphrases(records: Mapping[str, Record]) -> list[str]:
    """The same encoders, by what the second one reads."""
    lines = {
        (name, *key): values
        for name, record in records.items()
        for key, values in figures(_by_layer(record), "pair", "title", "measure").items()
    }
    of_english = dict.fromkeys(key[2:] for key in lines if key[1] == "en-en_2")

    def cell(name: str, pair: str, title: str, measure: str) -> OverSeeds | None:
        values = lines.get((name, pair, title, measure))
        return OverSeeds(tuple(values)) if values else None

    rows = [
        [*of, *(cell(name, "en-en_2", *of) for name in _SECOND), cell("same", "en-zh", *of)]
        for of in of_english
    ]
    notes = []
    for title, measure in of_english:
        both = (lines[name, "en-en_2", title, measure] for name in ("paraphrases", "same"))
        said = in_words(paired_difference(*both), "", 3)
        notes.append(f"- Paraphrases less the same sentences, {measure}, {title}: {said}.")
    return [
        _facts(records["same"]),
        "",
        "Two encoders of English read the same sentences, or the second one reads paraphrases of "
        "them, or these in another order, so that nothing matches. The last column is English and "
        "Chinese. Means over layers.",
        "",
        markdown_table(["encoders", "measure", *_SECOND, "Chinese"], rows),
        *("", *notes),
        *("", "![English sentences and their paraphrases](paraphrases.svg)"),
    ]


def _by_layer(record: Record) -> list[Row]:
    """The measurements of single layers."""
    return select(record.rows, {"layer": GIVEN})


def _facts(record: Record) -> str:
    config, rows = record.config, _by_layer(record)
    ready = [str(one).partition("=")[0] for one in config["encoder"]]
    below = {ROWS[row].under for row in distinct(rows, "row")}
    if below == {"bilingual"} and {*distinct(rows, "pair")} <= {*ready}:
        facts = "Nothing is trained here but maps."
    else:
        facts = (
            f"`{config['arch']}`, {config['layers']} layers, {describe_steps(config)}, "
            f"{config['vocab_type']} vocabulary of {config['vocab_size']:,} pieces, "
            f"learning rate {config['lr']}."
        )
    sentences = f"{config['contexts']:,}" if config["contexts"] else "all"
    facts += f" Words have contexts from {sentences} training sentences."
    return facts + (f" Ready encoders: {', '.join(ready)}." if ready else "")


if __name__ == "__main__":
    write_page(__file__, __doc__, _HEAD, body, measures)
