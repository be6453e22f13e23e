"""Write README.md of this folder from finished runs.

    python examples/transfer/make_readme.py [RUN ...]

Each RUN is the `--output` folder of `fairseq-xling eval transfer`, of `fairseq-xling ablate
emerging-structure --tasks`, `mapped-layers` or `adversarial-tagging`, of `fairseq-xling struct
matrix`, or the folder of 6_measures.sh; what was run, where and when is taken from it. Results are
kept in `results/`; without RUN, the page is made from them.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from comparisons import comparisons, is_compared
from pandas import DataFrame

from fairseq_xling.papers.transfer.transfer_result import scored_lines
from fairseq_xling.results.frame import figures as by_row
from fairseq_xling.results.frame import frame_from_json
from fairseq_xling.results.page import Result
from fairseq_xling.results.paired import (
    Claim,
    claim_verdicts,
    in_words,
    paired_difference,
    paired_verdict,
    verdict,
)
from fairseq_xling.results.result import make_page
from fairseq_xling.results.tables import markdown_table
from fairseq_xling.studies.encoder_training import describe_steps
from fairseq_xling.studies.examples_page import (
    measured_table,
    section_lines,
    table_lines,
    write_page,
)
from fairseq_xling.verbs.parts.struct_matrix_result import AWAY, compared, scores_of

_HEAD = """\
# Zero-shot transfer: fine-tune on English, test on the others

Conneau et al. 2020 (XNLI, NER, parsing), Wu et al. 2020 and Pires et al. 2019 evaluate a
multilingual encoder by training a head on one language and testing it on others. The papers'
encoders have a hundred times the parameters of these and a thousand times their text; only the
ranking is comparable, not the figures: in the first paper's Table 1, XNLI accuracy over French,
Russian and Chinese is 70.2 with all layers shared and 40.6 without shared embeddings and lower
layers.

    examples/transfer/1_synthetic.sh                        the embedded corpus, needs nothing
    examples/transfer/3_cdlm.sh                             the same, by encoders that translate
    examples/transfer/encoder.sh DATA ENCODER               six languages from real text
    examples/transfer/2_real.sh DATA ENCODER MIGRATED       real tasks
    examples/transfer/4_adversarial.sh                      names; with DATA set, WikiANN
    examples/transfer/5_structures.sh synthetic             relations and roles on trees
    examples/transfer/5_structures.sh kbp37 DATA ENCODER PARSER
    examples/transfer/6_measures.sh                         every other measure, of one encoder
    examples/transfer/7_token_translation.sh                tokens translated by the mean difference
    python examples/transfer/make_readme.py [RUN ...]       writes this page

MIGRATED is the run of `examples/trelm/3_minilm.sh`.

The scripts can be interrupted and resume when called again; `synthetic.yaml` and `real.yaml`
contain the settings. `synthetic` is pretrained with MLM alone: A3 shares all layers, T the lower
half of them. `trained-encoders` and `new-weights` are two tables of `3_cdlm.sh`: encoders that were
trained to translate, and the same with their initial weights. The `fine-tuned` ones are such an
encoder trained as a whole on English alone. The `understanding` ones are the same trained and
tested on Chinese alone (TreLM, A.6), on tasks in the forms of CLUE that are made of the embedded
corpus: entailment (CMNLI, chance a third), which of four words fills a blank (ChID, chance a
quarter; the most frequent of the four is right as often), the word of three sentences that fills a
blank in a statement (CMRC 2018), and the same with two to four words to choose from (C3, chance 27
in a hundred; the trained encoder learns it with two seeds, 48.6 and 49.8, and not with the third,
28.0; in bf16, the others in fp32). The `adversarial` ones are BiLSTMs over mapped word
vectors with a language discriminator, the `structures` ones graph convolution and a BiLSTM over
pairs of mentions. `adversarial-wikiann` was run on one core of an AMD EPYC with AVX-512: mapped
words gain in each seed, the adversary nothing over them, and its discriminator still tells five
sentences of six. The others are real: `six-languages` is the encoder of `encoder.sh`, `migrated`
the MiniLM that was migrated to German, and `before` the same before migration. At this scale names
and trees transfer in part; parts of speech and Japanese entailment are no better than with new
weights, slots hardly. Question answering on real text is left out: there is no English training set
of its size here that such small encoders could learn from.
"""


def body(record: dict[str, Any]) -> list[str]:
    """The lines of one run."""
    config = record["config"]
    if record.get("kind") == "adversarial-tagging":
        return [_tagging(config), "", "![By epoch](plot.svg)", "", *table_lines(record)]
    if record.get("kind") == "structures":
        return _structures(record)
    if record.get("kind") == "token-translation":
        return _token_translation(record)
    if "settings" in config:
        record = {**record, **_turned(record["header"], record["rows"])}
    return [_facts(config), "", *table_lines(record), *_against_new_weights(record)]


# Of the measures of one encoder, those whose figure is shown.
_DRAWN = {
    "names-overlap": "Names: zero-shot F1 by shared subwords of entities",
    "tags-word-order": "Parts of speech: zero-shot accuracy by shared order of words",
    "mapped-layers-de": "Heads on mapped and unmapped German states, by the layer below them",
    "mapped-layers-zh": "The same of Chinese",
    "mapped-layers-id": "The same of Indonesian",
    "probe-pos": "Probes of parts of speech, by layer",
    "probe-deps": "Probes of relations of words, by layer",
    "size-window": "Size of the text and length of its segments",
}
# The transfer note, Table of section 3: F1 in en / zh / ar of what was trained on each.
_PAPER = {
    "relations": (
        ("en", "68.2", "42.5", "58.7"),
        ("zh", "62.6", "69.4", "54.0"),
        ("ar", "58.6", "35.2", "67.4"),
    ),
    "roles": (
        ("en", "63.9", "59.0", "61.8"),
        ("zh", "51.6", "59.3", "60.6"),
        ("ar", "43.1", "50.1", "64.0"),
        ("en + zh", "", "", "63.1"),
        ("en + ar", "", "60.1", ""),
        ("zh + ar", "51.9", "", ""),
    ),
}

# What is said of pretrained encoders and the same with new weights, in languages not trained on.
_ZERO_SHOT = (
    "What a pretrained encoder learns of a task in one language carries over to others (Emerging "
    "Structure, 1)."
)
# What the transfer note says of training sets, by task and the language tested on.
_TRAINING_SETS = {
    ("roles", "zh"): Claim(
        "For roles in Chinese, training on English is as good as training on Chinese (transfer "
        "note, 3; 59.0 and 59.3).",
        *("en", "zh"),
    ),
}


def _token_translation(record: dict[str, Any]) -> list[str]:
    """What was trained, every table, and the figure."""
    config = record["config"]
    lines = [f"`{config['arch']}`, {config['layers']} layers, MLM alone, {describe_steps(config)}."]
    for section in make_page(Result(Path("results.json"), record), figures=False).sections:
        if section.header:
            lines += ["", f"{section.title}:", *section_lines(section)]
    frame = frame_from_json(record["frame"])
    chosen = frame[frame["cell"] == "chosen"]
    pairs = [
        (chosen, measure, "mean difference", other)
        for measure in ("convert rate", "BLEU-1")
        for other in ("no shift", "random direction")
    ]
    pairs.append((frame, "zero-shot transfer", "lower half frozen, shifted", "lower half frozen"))
    lines.append("")
    for own, measure, better, worse in pairs:
        found = by_row(own[own["measure"] == measure], "row")
        gap = paired_difference(found[better,], found[worse,])
        unit, digits = ("", 3) if measure == "convert rate" else ("points", 1)
        lines.append(f"- {measure}, {better} less {worse}: {in_words(gap, unit, digits)}.")
    return [*lines, "", "![By layer and alpha](plot-1.svg)"]


def _against_new_weights(record: dict[str, Any]) -> list[str]:
    """Encoders of `eval transfer` against the same with new weights, paired by seed."""
    if record.get("kind") != "transfer":
        return []
    fresh = {text.partition("=")[0] for text in record["config"]["scratch"]}
    lines = scored_lines(frame_from_json(record["frame"]), record["metric"])
    own = lines[lines["line"] == lines["row"]]  # as they are, on the first test set
    (sources,) = (source.split("+") for source in dict.fromkeys(own["source"]))
    languages = list(dict.fromkeys(own["target"]))
    chosen = [lang for lang in languages if lang not in sources] or sources
    found = by_row(own[own["target"].isin(chosen)], "encoder")
    means = {encoder: values for (encoder,), values in found.items()}
    where = f"mean of {', '.join(chosen)}" if len(chosen) > 1 else chosen[0]
    pairs = [(a, b) for a in means for b in means if a not in fresh and b in fresh]
    if not set(chosen) <= set(sources):
        claims = [Claim(_ZERO_SHOT, *pair) for pair in pairs]
        return [f"- {line}" for line in claim_verdicts(claims, means, f"points, {where}")]
    return [
        f"- {better} less {worse}, {where}: "
        f"{in_words(paired_difference(means[better], means[worse]))}."
        for better, worse in pairs
    ]


def _structures(record: dict[str, Any]) -> list[str]:
    """The table, the paper's, and paired tests between the networks."""
    config = record["config"]
    facts = record.get("facts") or (
        f"`struct matrix --task {config['task']}`, {config['networks']}, features "
        f"{config['features']}, {config['layers']} layers of {config['width']}, "
        f"{config['optimizer']}, at most {config['epochs']} epochs."
    )
    frame = frame_from_json(record["frame"])
    own = scores_of(frame)
    lines = [facts, "", *table_lines(record), *_paired(compared(frame))]
    lines += [*_by_training_set(config["task"], own), ""]
    for network in dict.fromkeys(own["network"]):
        if len(record["languages"]) > 1:
            lines += [f"![{network}](heat-map.{network}.svg)", ""]
    if len(record["languages"]) > 1:
        rows = [list(row) for row in _PAPER[config["task"]]]
        lines += ["The paper's (ACE 2005; other data, so only the pattern is comparable):", ""]
        lines += [markdown_table(["trained on", "en", "zh", "ar"], rows), ""]
    return lines


def _paired(differences: Sequence[Mapping[str, Any]]) -> list[str]:
    """The first network against each other one, over languages not trained on, and against the
    models of other runs, paired by seed."""
    found = []
    for one in differences:
        if ", " in one["other"] or (not one["run"] and one["file"] != AWAY):  # a variant's name
            continue
        where = "languages not trained on" if one["file"] == AWAY else f"trained on {one['row']}"
        other = one["run"] and f" ({one['run']})"
        found.append(f"- {one['model']} over {one['other']}{other}, {where}: {in_words(one)}")
    return found


def _by_training_set(task: str, own: DataFrame) -> list[str]:
    """What is said of training sets, by the first model's figures of one language."""
    model = own["model"].iat[0]
    found = by_row(own[own["model"] == model], "target", "row")
    return [
        f"- {line}"
        for lang in dict.fromkeys(own["target"])
        if (task, lang) in _TRAINING_SETS
        for line in claim_verdicts(
            [_TRAINING_SETS[task, lang]],
            {row: figures for (of, row), figures in found.items() if of == lang},
            f"points, {model} tested on {lang}",
            difference="trained on {} minus {}",
        )
    ]


def measures(found: Sequence[Result]) -> list[str]:
    """The lines of 6_measures.sh, which left a result for each measure."""
    records = {result.name: result.record for result in found}
    lines = [
        "One encoder of English, German, Chinese and Indonesian of the embedded corpus (CdLM and "
        "MLM, 4 layers, 64 wide). Heads were trained with seeds "
        f"{records['names']['config']['seeds']}; states are shifted in layer "
        f"{records['tags-shifted']['config']['shift_layer']}.",
        *("", measured_table([one for one in found if not is_compared(one.name)]), ""),
        *(f"- {line}" for line in _expected(records)),
    ]
    for name, title in _DRAWN.items():
        lines += ["", f"![{title}]({name}.svg)"]
    for heading, text, rows in comparisons(records):
        lines += ["", f"### {heading}", "", text, "", *rows]
    return lines


def _expected(records: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What the papers say of the measures, and whether it is so here."""
    for name, paper in (
        ("names-overlap", "Names that two languages share are not what transfer of names lives on "
         "(Pires et al., Figure 2: F1 hardly rises with the overlap)."),
        ("tags-word-order", "Tags transfer better between languages of a similar order of words "
         "(Pires et al., Figure 3)."),
    ):  # fmt: skip
        (one,) = records[name]["correlations"]
        found, points = one["Pearson"], one["points"]
        if found is None:
            yield verdict(paper, f"all {points} figures are equal", None)
            continue
        # With so few points, a correlation within this of zero could be by chance.
        clear = abs(found) > 2 / points**0.5
        kept = (found > 0) == (name == "tags-word-order") if clear else None
        yield verdict(paper, f"Pearson's correlation {found:.2f}, {points} points", kept)
    shifted = records["tags-shifted"]
    lines = scored_lines(frame_from_json(shifted["frame"]), shifted["metric"])
    targets = {*lines.loc[lines["shifted"].astype(bool), "target"]}
    own = lines[(lines["how"] == "") & lines["target"].isin(targets)]
    sides = by_row(own, "shifted")
    yield paired_verdict(
        "Shifted by the languages' mean difference, states transfer better (mBERT study, 4.3).",
        *(sides[moved,] for moved in (True, False)),
    )
    mapped = frame_from_json(records["mapped-layers"]["frame"])
    by_seed = by_row(mapped, "row", "measure")  # means over pairs of languages and layers
    for measure in dict.fromkeys(mapped["measure"]):
        yield paired_verdict(
            "Mapped by aligned words, states below a head transfer better (Emerging Structure, "
            f"5.1.2); {measure}, mean over layers.",
            *(by_seed[row, measure] for row in ("bilingual-mapped", "bilingual")),
        )
    sizes = frame_from_json(records["size-window"]["frame"])
    most = max(sizes["sentences"])
    own = sizes[(sizes["row"] == "masked LM") & (sizes["sentences"] == most)]
    words = by_row(own[own["measure"] == "word_mrr"], "window")
    found = {window: [100 * value for value in values] for (window,), values in words.items()}
    yield paired_verdict(
        "A masked LM that reads text in long segments finds translations better than one that "
        f"reads it cut short (mBERT study, 3.2); MRR times 100, {most:,} sentences, segments of "
        f"{max(found)} tokens less those of {min(found)}. Sentences here do not continue each "
        "other.",
        found[max(found)],
        found[min(found)],
    )


def _turned(header: list[str], rows: list[list[Any]]) -> dict[str, Any]:
    """The table of an ablation with a column for each setting: it has many figures of few."""
    names = [f"{code}: {name}" for code, name, *_ in rows]
    figures = [[name, *(row[n] for row in rows)] for n, name in enumerate(header) if n > 1]
    filled = [row for row in figures if any(cell not in ("", None) for cell in row[1:])]
    return {"header": ["", *names], "rows": filled}


def _tagging(config: dict[str, Any]) -> str:
    words = f"vectors of {config['dim']}, {config['vector_epochs']} epochs"
    if config["text"]:
        words += " of " + ", ".join(
            f"`{'/'.join(Path(pattern).parts[-2:])}`" for pattern in config["text"]
        )
    return (
        f"{config['sentences']:,} annotated sentences, {config['epochs']} epochs at learning rate "
        f"{config['lr']:g}; {words}; map {config['map']}, adversary {config['adversary']}, weight "
        f"{config['adversary_weight']:g} ({config['adversary_schedule']}); {config['precision']}. "
        "The paper claims gains of up to 16 points of F1, on other data."
    )


def _facts(config: dict[str, Any]) -> str:
    if "read_layers" in config:
        above = f"{config['head_layers']} new layers and a head on layer {config['read_layers']}"
        return f"{above}, which is frozen; tasks {config['tasks']}; {_encoders(config)}."
    if "head" not in config:
        return (
            f"`{config['arch']}`, {config['layers']} layers, {describe_steps(config)}; tasks "
            f"{config['tasks']}."
        )
    names = ", ".join(Path(text.partition("=")[2]).name for text in config["train"])
    return (
        f"Head `{config['head']}`, trained on {names}; learning rate {config['lrs']}, batches of "
        f"{config['batch_sizes']}, {config['epochs']} epochs, {config['precision']}."
    )


def _encoders(config: dict[str, Any]) -> str:
    if config["encoder"]:
        files = dict.fromkeys(text.partition("=")[2] for text in config["encoder"])
        return "ready encoders " + ", ".join(
            f"`{'/'.join(Path(file).parts[-2:])}`" for file in files
        )
    return f"`{config['arch']}`, {config['layers']} layers, {config['updates']:,} steps"


if __name__ == "__main__":
    write_page(__file__, __doc__, _HEAD, body, measures)
