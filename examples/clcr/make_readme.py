"""Write README.md of this folder from finished runs.

    python examples/clcr/make_readme.py [RUN ...]

Each RUN is the folder of a script of this folder, or its folder `measures`; what was run, where and
when is taken from it. Results are kept in `results/`; without RUN, the page is made from them.
"""

import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.paired import in_words, paired_difference
from fairseq_xling.reports.record import Record
from fairseq_xling.reports.rows import GIVEN, distinct, figures, select
from fairseq_xling.reports.tables import markdown_table

sys.path.insert(0, str(Path(__file__).parents[1]))
from page import part_named, table_lines, write_page

_HEAD = """\
# CLCR: one language-independent sequence from two monolingual encoders

A sentence and its translation become the same sequence of vectors: the states of one encoder are
transformed into the space of the other (T), words without a counterpart are left out (E), and the
remaining ones are put into the order of the other language (R). A model trained on the sequences
of one language can then read those of the other. The paper's encoders are BERT models of 12
layers, aligned on 250,000 sentence pairs; only rankings can be compared here, not absolute
numbers.

    examples/clcr/1_synthetic.sh                          the embedded corpus, needs nothing
    examples/clcr/2_minilm.sh DATA                        English MiniLM, German and Japanese
    examples/clcr/3_mismatched.sh                         the same, encoders pretrained differently
    examples/clcr/4_probing.sh                            edge probing of the encoders of 1
    examples/clcr/5_pairs.sh                              nested subsets of the sentence pairs of 1
    examples/clcr/6_sentence.sh                           a detailed look at one sentence
    examples/clcr/7_readings.sh                           other attention, key-points and orders
    examples/clcr/8_multilingual.sh                       multilingual encoders, fine-tuned
    python examples/clcr/make_readme.py [RUN ...]         writes this page

The scripts can be interrupted and resume when called again. `synthetic.yaml` and `minilm.yaml`
contain the settings; `fairseq-xling clcr run --help` explains them.

Our choices where the paper does not specify something, and notes on the results:

- Distances are Euclidean, of single states, and D is their mean over the tokens of the target; it
  is not normalised, so its scale depends on the encoders. `relative` is D divided by the mean
  distance of the target's states from their mean.
- T is MLP(x) + A x, which can be initialised in many ways. Initialised as the identity, it makes
  attention sharp over random partners, and then learns those. Here T is initialised to zero and
  reads centred states, so that attention is uniform at first.
- The paper does not specify the attention score. In these runs it is `exclusive`: each English
  token is divided among the tokens of the other language. With dot products alone (`transformed`,
  the default), the one "." of a sentence can be the partner of every article, and the distances
  do not reveal that this is wrong. In `readings`, without full stops, `transformed` is as good
  with two seeds of three, and worse with the third.
- Full stops are left out of the embedded corpus for the same reason. Every sentence ends in one
  and nearly every sentence has an article, so a T that confuses the two has as low a D as the
  right one; most trainings with one of the English encoders ended there.
- English is the second language of each pair: German and Chinese are transformed and put into
  English order. The classifier of table 4 (ESIM) is trained on English alone.
- Key-points are evaluated against pseudo-gold pivots, as in the paper, and against gold ones.
  Gold pivots are one token from each block of the finest common granularity of the gold
  alignment; in a block of several tokens, the pseudo-gold pivot if the block contains one.
- `roles` is a task whose label depends on word order alone: "the waiter will show the dog to the
  judge", and who the hypothesis is about: giver, given, getter, or none of them. German and
  Chinese name the getter before the given. `nli` is the entailment of the embedded corpus, which
  needs no order.
- In German, T+E is worse than T on `roles`: where E leaves out "to", which has no counterpart,
  only the order distinguishes given from getter, and without R half of the answers are correct
  (seeds 2 and 3; with seed 1, "to" is kept).
- A third of the Chinese pseudo-gold pivots are wrong: "the" has no counterpart in Chinese, but is
  assigned one. R learns the order of such pivots; compared with gold pivots, its order is worse
  than that of the source.
- The corpus has few sentences in which someone gets something. Therefore a quarter more of them,
  without labels, are mixed into the training text: R learns their order from this text.
- D with soft matching favours mixtures of tokens; D to the best partner alone is shown next to
  it.
- In Table 3, `sign` is the paper's sum of disagreements; otherwise the search weights a pair by
  the classifier's confidence.
- In `1_synthetic.sh`, English encoders have no position embeddings. With them, the states of
  layer 2 reveal who gives and who gets, whatever their order, and a classifier that was trained
  on English order was as good with any other. Without them, a word that occurs twice has the same
  state both times; such duplicates get as many pivots as they have partners, in the order of the
  text.
- The encoders of `2_minilm.sh` other than MiniLM are trained only briefly, for 4,000 steps of
  2,000 tokens: the German one on 29,000 captions and on novels, the Japanese one on 50,000 short
  sentences. The SICK classifier is trained without the last 500 training pairs, which are used
  for early stopping, and tested on the trial set, the only other set that JSICK has.
- The paper's Chinese encoder is of a different kind from its English one: ERNIE instead of BERT.
  To imitate this, `3_mismatched.sh` pretrains only the English encoder on other text, in blocks
  that cross sentence boundaries, with two fifths of the tokens masked instead of 15 %. This
  lowers the scores for pivots and entailment, but not for `roles`, which depends on order alone.
- Table 6: T loses little. E loses about as much recall as it leaves out words, and less
  precision.
- T+pGA uses the translation: it is an upper bound for E and R.
- `synthetic-de` is the German part of `1_synthetic.sh` once more, without table 4. It keeps the
  figures of every seed, on which the claims of tables 1 to 3 are tested. Its encoders and T are
  those that `multilingual-measures` sets beside encoders of both languages, fine-tuned for 10
  epochs with one learning rate (`TASKS=roles LRS=1e-3`); a quarter is right by chance.
"""


# Columns of the rows, what their measures begin with, and the rows that the paper compares.
_COMPARED = (("row", "hard ", "annealed", "no annealing"), ("order", "BLEU-", "rel", "abs"))
# Of what a verb found: a code, a title, which rows, what they say, and the paper's figures.
_AUC = "{distance}: random pairs farther apart than translations (AUC), {source}-{target}"
_SPEARMAN = "{distance}: Spearman of distance and score"
_ACCURATE = ("C15", "Inference on frozen vectors", "80.2 / 71.7, gap 8.5")
_DISTANCES = {"study": "clcr-report", "task": "distances"}
_FOUND: tuple[tuple[str, str, Mapping[str, Any], str, str], ...] = (
    ("C1", "Report on the conditions", {**_DISTANCES, "measure": "AUC"}, _AUC, ""),
    ("C1", "Report on the conditions", {**_DISTANCES, "measure": "Spearman"}, _SPEARMAN, ""),
    (
        *("C4", "Annealed attention", {"study": "clcr-curves", "steps": GIVEN, "chance": None}),
        *("{measure} at the end, {row}", ".055 / .078; .138 / .207; .025 / .037"),
    ),
    (
        *("C10", "Accuracy of key points", {"study": "clcr-keypoints", "measure": "accuracy"}),
        *("accuracy of key-points, {target}, delta {delta}", "en .864, zh .826 (accuracy)"),
    ),
    (
        *("C13", "BLEU of orders", {"study": "clcr-order", "measure": "BLEU-2"}),
        *("order BLEU-2 of {source}-{target}, {order} {search}", "en .582 / .419 / .316"),
    ),
)


def body(record: Record) -> list[str]:
    """The lines of one run."""
    study = record.rows[0].get("study") if record.rows else None
    if study in ("clcr-pairs", "clcr-readings"):
        return table_lines(part_named(record))
    if "languages" not in record.config or not any("table" in row for row in record.rows):
        raise UserError("must be a run of a script of examples/clcr")
    lines = []
    for part in parts(record):
        section = part.section
        if section.table is None:
            continue
        lines += [f"### {section.title}", "", markdown_table(*part.shown), ""]
        lines += [f"- {note}" for note in section.notes] + ([""] if section.notes else [])
        if section.name:
            lang = section.name.partition("/")[0]
            title = f"Figure 1, {lang} and en: D by step, and D by the spread of the target"
            lines += [f"![{title}]({section.name}.svg)", ""]
    return [*lines[:-1], *_paired(record)]


def _paired(record: Record) -> list[str]:
    """What each table compares, paired by seed."""
    lines = [""]
    for measure in distinct(record.rows, "measure"):
        for column, prefix, better, worse in _COMPARED:
            found = figures(select(record.rows, {"measure": measure}), column)
            if measure.startswith(prefix) and {(better,), (worse,)} <= found.keys():
                gap = paired_difference(found[better,], found[worse,])
                lines.append(f"- {measure}, {better} less {worse}: {in_words(gap, '', 3)}.")
    return lines


def measures(found: Sequence[Record]) -> list[str]:
    """The lines of a folder with what each verb found."""
    by_name = {record.name: record for record in found}
    if "show" in by_name:
        return _sentence(by_name.pop("show"), list(by_name.values()))
    about = (
        "What each verb found, by language and task. A verb that reads one model was given that of "
        "the first seed. C1 correlates the distance of a premise in that language and an English "
        "hypothesis with the share of the hypothesis' words that the English premise has: a score "
        "that is computed, not one by people."
    )
    header = ["row", "title", "of", "measured", "value", "paper"]
    rows = sorted((row for one in found for row in _measured(one)), key=lambda row: int(row[0][1:]))
    lines = [about, "", markdown_table(header, rows)]
    for one in found:
        lines += _beside(one)
    return lines


def _measured(record: Record) -> Iterator[list[Any]]:
    """The lines of one record."""
    for code, title, where, words, paper in _FOUND:
        for (what,), values in figures(select(record.rows, where), words).items():
            yield [code, title, record.name, what, statistics.fmean(values), paper]
    if trained := select(record.rows, {"study": "clcr-classify", "seed": GIVEN, "column": GIVEN}):
        code, title, paper = _ACCURATE
        tasks = [name for name in distinct(trained, "task") if name != "valid"]
        for measure, said in {"accuracy": "accuracy (%) in", "gap": "gap (points) of"}.items():
            where = {"row": trained[-1]["row"], "task": tasks, "measure": measure}
            words = f"{said} {{target}}, {{row}}"
            for (what,), values in figures(select(trained, where), words).items():
                yield [code, title, record.name, what, statistics.fmean(values), paper]
    probed = select(record.rows, {"study": "probing", "measure": "F1", "seed": GIVEN})
    for task in [name for name in distinct(probed, "task") if name != "valid"]:
        means = figures(select(probed, {"task": task}), "row")
        best = max(means, key=lambda row: statistics.fmean(means[row]))
        what = f"micro F1 (%) of {task}, best probe {best[0]}"
        title = "Probing before and after extraction"
        yield ["C16", title, record.name, what, statistics.fmean(means[best]), ""]


def _beside(record: Record) -> list[str]:
    """The table, and what is said of other encoders beside it, paired by seed; none without."""
    encoders = distinct(select(record.rows, {"beside": True}), "row")
    if not encoders:
        return []
    lines = ["", *table_lines(part_named(record))]
    own = select(record.rows, {"measure": "accuracy", "seed": GIVEN})
    own = [row for row in own if row["target"] != row["source"]]
    found = figures(own, "target", "row")
    for (target, row), values in found.items():
        if row in encoders:
            gap = paired_difference(found[target, "T+E+R"], values)
            lines.append(f"- Accuracy in {target}, T+E+R less {row}: {in_words(gap, '', 1)}.")
    return lines


def _sentence(shown: Record, others: Sequence[Record]) -> list[str]:
    """The lines of one sentence, and of the orders and contexts of its model."""
    about = (
        "The model of 20,000 sentence pairs of `pairs`, seed 1, with order heads for both "
        "languages. Where the plain classifier doubts, the confident one is sure (Figure 2 of the "
        'paper): here that "to" is no key-point, as in most sentences, though in this one it is '
        '"zu". The heat maps are those of Figure 3, for either language.'
    )
    lines = [about, "", markdown_table(*part_named(shown).shown), ""]
    lines += [f"![{shown.title}](show.svg)", ""]
    for one in others:
        for part in parts(one):
            where = [] if part.section.name == "table" else [f"{part.section.title}:", ""]
            notes = [f"- {note}" for note in part.section.notes]
            lines += [*where, markdown_table(*part.shown), "", *notes, ""]
    return lines[:-1]


if __name__ == "__main__":
    write_page(__file__, __doc__, _HEAD, body, measures)
