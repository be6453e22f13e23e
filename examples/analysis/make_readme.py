"""Write README.md of this folder from finished runs.

    python examples/analysis/make_readme.py [RUN ...]

Each RUN is the `--output` folder of a similarity study, or the folder of 4_measures.sh or
5_paraphrases.sh; what was run, where and when is taken from it. Results are kept in `results/`;
without RUN, the page is made from them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.emerging.similarity_config import ROWS
from fairseq_xling.results.frame import figures, frame_from_json
from fairseq_xling.results.page import Result
from fairseq_xling.results.paired import in_words, paired_difference, verdict
from fairseq_xling.results.result import make_page
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.results.tables import markdown_table
from fairseq_xling.studies.encoder_training import describe_steps
from fairseq_xling.studies.examples_page import (
    measured_table,
    table_lines,
    write_page,
)

# Which row the paper finds above which, by what; CKA does not ask for maps.
_UNMAPPED = (("bilingual", "unmapped"), ("sep-emb", "unmapped"))
_MAPPED = (("bilingual-mapped", "mapped"), ("mapped", "random"))
_ORDER = [
    *(("CKA", *rows) for rows in (*_UNMAPPED, ("mapped", "random"))),
    *(("retrieval P@1", *rows) for rows in (*_UNMAPPED, *_MAPPED)),
    *(("BLI MRR", *rows) for rows in (*_UNMAPPED, *_MAPPED)),
]
# Of every measure of one encoder, those with a figure by layer.
_DRAWN = ("retrieval", "vector-translation", "cka", "words-in-context", "mean-difference")
# Share of tokens in the other language, without a shift, above which a shift can do little.
_CONVERTED = 0.9

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


def body(record: dict[str, Any]) -> list[str]:
    """The lines of one run."""
    if record.get("kind") != "similarity":
        raise UserError("must be a run of `fairseq-xling ablate similarity`")
    frame = _by_layer(record)
    pairs = list(dict.fromkeys(frame["pair"]))
    text = [_facts(record), "", *table_lines(record)]
    for pair in pairs:
        text += ["", f"![{pair}, by layer](plot-{pair}.svg)"]
    return text + _order(frame, pairs)


def _order(frame: pandas.DataFrame, pairs: Sequence[str]) -> list[str]:
    """In how many layers and seeds one kind of encoders lies above another."""
    titles = dict(zip(frame["row"], frame["title"], strict=True))
    values: dict[tuple[str, str, str], list[list[float]]] = {}
    for key, found in figures(frame, "measure", "row", "pair", "layer").items():
        values.setdefault(key[:3], []).append(found)
    table = []
    for measure, upper, lower in _ORDER:
        both = [[values.get((measure, row, pair)) for row in (upper, lower)] for pair in pairs]
        if any(None not in ends for ends in both):
            said = f"{titles[upper]} above {titles[lower]}"
            table.append([measure, said, *(_above(*ends) for ends in both)])
    if not table:
        return []
    said = "In how many of all layers and seeds one kind of encoders lies above another:"
    return ["", said, "", markdown_table(["measure", "encoders", *pairs], table)]


def _above(upper: list[list[float]] | None, lower: list[list[float]] | None) -> str:
    if upper is None or lower is None:
        return "-"
    above = np.array(upper) > np.array(lower)  # layers by seeds
    return f"{above.sum()} of {above.size}"


def measures(found: Sequence[Result]) -> list[str]:
    """The lines of a run that left a result for each measure, or for each text that is compared."""
    if {result.name for result in found} == {*_SECOND}:
        return _paraphrases({result.name: result.record for result in found})
    lines = [
        "An English MiniLM that was migrated to German on image captions, with one seed.",
        *("", measured_table(found), "", *(f"- {line}" for line in _expected(found))),
    ]
    pages = {result.name: make_page(result, figures=False) for result in found}
    for name, page in pages.items():
        if name in _DRAWN:
            lines += ["", f"![{page.title}]({name}.svg)"]
    return lines


def _paraphrases(records: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The same encoders, by what the second one reads."""
    lines = {
        (name, *key): values
        for name, record in records.items()
        for key, values in figures(_by_layer(record), "pair", "title", "measure").items()
    }
    of_english = dict.fromkeys(key[2:] for key in lines if key[1] == "en-en_2")
    rows = [
        [
            title,
            measure,
            *(OverSeeds.of(lines[name, "en-en_2", title, measure], 3) for name in _SECOND),
            OverSeeds.of(lines.get(("same", "en-zh", title, measure), ()), 3),
        ]
        for title, measure in of_english
    ]
    notes = [
        f"- Paraphrases less the same sentences, {measure}, {title}: "
        + in_words(
            paired_difference(
                *(lines[name, "en-en_2", title, measure] for name in ("paraphrases", "same"))
            ),
            "",
            3,
        )
        + "."
        for title, measure in of_english
    ]
    drawn = "![English sentences and their paraphrases](paraphrases.svg)"
    return [
        _facts(records["same"]),
        "",
        "Two encoders of English read the same sentences, or the second one reads paraphrases of "
        "them, or these in another order, so that nothing matches. The last column is English and "
        "Chinese. Means over layers.",
        "",
        markdown_table(["encoders", "measure", *_SECOND, "Chinese"], rows),
        "",
        *notes,
        "",
        drawn,
    ]


def _expected(found: Sequence[Result]) -> Iterator[str]:
    """What the papers say of the measures, and whether it is so here."""
    records = {result.name: result.record for result in found}
    points = records["cka-and-retrieval"]["correlations"]
    pearson = [one["Pearson"] for one in points if one["Pearson"] is not None]
    yield verdict(
        "CKA and retrieval rise together over the layers (Emerging Structure, Figure 7: Pearson's "
        "correlation above .9).",
        f"{min(pearson):.3f}",
        min(pearson) > 0.9,
    )
    curves = records["vector-translation"]["curves"]
    both = zip(curves["after"], curves["before"], strict=True)
    higher = [after > before for after, before in both]
    yield verdict(
        "Adding the mean difference of two languages brings sentences to their translations (Pires "
        "et al., section 5).",
        f"in {sum(higher)} of {len(higher)} layers",
        all(higher),
    )
    ratio = records["aligned-words"]["curves"]["ratio"]
    yield verdict(
        "States of aligned words are closer than those of others (TreLM, Table 9).",
        f"their squared distance is {min(ratio):.2f} to {max(ratio):.2f} of it",
        max(ratio) < 1,
    )
    for name, what in (("map-procrustes", "A rotation"), ("map-unconstrained", "A linear map")):
        fits = records[name]["layers"].values()
        raised = [fit["cosine"] > fit["cosine_unmapped"] for fit in fits]
        yield verdict(
            f"{what} brings aligned words together (Emerging Structure, 5.1.2).",
            f"cosine {max(fit['cosine'] for fit in fits):.2f} instead of "
            f"{max(fit['cosine_unmapped'] for fit in fits):.2f} in the best layer, higher in "
            f"{sum(raised)} of {len(raised)}",
            all(raised),
        )
    plain, best = (records["mean-difference"]["chosen"][one] for one in ("no shift", "best"))
    yield verdict(
        "Shifted by the mean difference, an encoder writes the other language (mBERT study, 4.2).",
        f"convert rate {best['convert_rate']:.2f} instead of {plain['convert_rate']:.2f}, BLEU-1 "
        f"{best['precision']:.1f} instead of {plain['precision']:.1f}; trained by CdLM, this "
        "encoder writes German without it",
        None if plain["convert_rate"] > _CONVERTED else best["precision"] > plain["precision"],
    )


def _by_layer(record: Mapping[str, Any]) -> pandas.DataFrame:
    """The measurements of single layers."""
    frame = frame_from_json(record["frame"])
    return frame[frame["layer"].notna()]


def _facts(record: dict[str, Any]) -> str:
    config, frame = record["config"], _by_layer(record)
    ready = [str(one).partition("=")[0] for one in config["encoder"]]
    families = {ROWS[row].family for row in frame["row"]}
    if families == {"joint"} and {*frame["pair"]} <= {*ready}:
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
