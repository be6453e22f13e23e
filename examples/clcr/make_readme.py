"""Write README.md of this folder from finished runs.

    python examples/clcr/make_readme.py [RUN ...]

Each RUN is the folder of a script of this folder, or its folder `measures`; what was run, where and
when is taken from it. Results are kept in `results/`; without RUN, the page is made from them.
"""

from collections.abc import Sequence
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.classify_result import accuracies
from fairseq_xling.results.frame import figures, frame_from_json
from fairseq_xling.results.paired import in_words, paired_difference
from fairseq_xling.results.result import Result, kind_of
from fairseq_xling.results.tables import markdown_table
from fairseq_xling.studies.examples_page import (
    measured_table,
    section_lines,
    table_lines,
    table_section,
    write_page,
)

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


# Columns of a frame, what their measures begin with, and the rows that the paper compares.
_COMPARED = (("row", "hard ", "annealed", "no annealing"), ("order", "BLEU-", "rel", "abs"))


def body(record: dict[str, Any]) -> list[str]:
    """The lines of one run."""
    if kind_of(record) in ("clcr-pairs", "clcr-readings"):
        return table_lines(record)
    if record.get("clcr") != "study":
        raise UserError("must be a run of a script of examples/clcr")
    lines = []
    for table in record["tables"]:
        lines += [f"### {table['title']}", "", markdown_table(table["header"], table["rows"]), ""]
        lines += [f"- {note}" for note in table["notes"]] + ([""] if table["notes"] else [])
        if table.get("figure"):
            lines += [f"![{table['figure']['title']}]({table['figure']['file']})", ""]
    return [*lines[:-1], *_paired(record)]


def _paired(record: dict[str, Any]) -> list[str]:
    """What each table compares, paired by seed, where the figures of every seed are kept."""
    if "frame" not in record:
        return []
    frame = frame_from_json(record["frame"])
    lines = [""]
    for measure in dict.fromkeys(frame["measure"]):
        for column, prefix, better, worse in _COMPARED:
            found = figures(frame[frame["measure"] == measure], column)
            if measure.startswith(prefix) and {(better,), (worse,)} <= found.keys():
                gap = paired_difference(found[better,], found[worse,])
                lines.append(f"- {measure}, {better} less {worse}: {in_words(gap, '', 3)}.")
    return lines


def measures(found: Sequence[Result]) -> list[str]:
    """The lines of a folder with what each verb found."""
    shown = [one.record for one in found if kind_of(one.record) == "clcr-show"]
    if shown:
        return _sentence(shown[0], found)
    about = (
        "What each verb found, by language and task. A verb that reads one model was given that of "
        "the first seed. C1 correlates the distance of a premise in that language and an English "
        "hypothesis with the share of the hypothesis' words that the English premise has: a score "
        "that is computed, not one by people."
    )
    lines = [about, "", measured_table(found, named=True)]
    for one in found:
        if kind_of(one.record) == "clcr-classify":
            lines += _beside(one)
    return lines


def _beside(classified: Result) -> list[str]:
    """The table, and what is said of other encoders beside it, paired by seed; none without."""
    frame = accuracies(classified.frame)
    encoders = set(frame["row"][frame["beside"].eq(True)]) if "beside" in frame else set()
    if not encoders:
        return []
    lines = section_lines(table_section(classified.record))
    found = figures(frame[frame["target"] != classified.record["source"]], "target", "row")
    for (target, row), values in found.items():
        if row in encoders:
            gap = paired_difference(found[target, "T+E+R"], values)
            lines.append(f"- Accuracy in {target}, T+E+R less {row}: {in_words(gap, '', 1)}.")
    return lines


def _sentence(shown: dict[str, Any], found: Sequence[Result]) -> list[str]:
    """The lines of one sentence, and of the orders and contexts of its model."""
    about = (
        "The model of 20,000 sentence pairs of `pairs`, seed 1, with order heads for both "
        "languages. Where the plain classifier doubts, the confident one is sure (Figure 2 of the "
        'paper): here that "to" is no key-point, as in most sentences, though in this one it is '
        '"zu". The heat maps are those of Figure 3, for either language.'
    )
    lines = [about, "", markdown_table(shown["header"], shown["rows"]), ""]
    lines += [f"![{shown['title']}](show.svg)", ""]
    for one in found:
        if one.record is not shown:
            lines += [*table_lines(one.record), ""]
    return lines[:-1]


if __name__ == "__main__":
    write_page(__file__, __doc__, _HEAD, body, measures)
