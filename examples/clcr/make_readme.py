"""Write README.md of this folder from finished runs.

    python examples/clcr/make_readme.py [RUN ...]

Each RUN is the folder of a script of this folder, or its folder `measures`; what was run, where and
when is taken from it. Results are kept in `results/`; without RUN, the page is made from them.
"""

from collections.abc import Sequence
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.results.result import Result, kind_of
from fairseq_xling.results.tables import markdown_table
from fairseq_xling.studies.examples_page import measured_table, table_lines, write_page

_HEAD = """\
# CLCR: one language-independent sequence from two encoders of one language each

A sentence and its translation become the same sequence of vectors: the states of one encoder are
transformed into those of the other (T), words without a counterpart are dropped (E), and the rest
is put into the other language's order (R). A model trained on sequences of one language can then
read the other. The paper's encoders are BERT models of 12 layers, aligned on 250,000 sentence
pairs; only the ranking is comparable here, not the figures.

    examples/clcr/1_synthetic.sh                          the embedded corpus, needs nothing
    examples/clcr/2_minilm.sh DATA                        English MiniLM, German and Japanese
    examples/clcr/3_mismatched.sh                         the first, encoders not pretrained alike
    examples/clcr/4_probing.sh                            edge probing of the first
    examples/clcr/5_pairs.sh                              nested subsets of its sentence pairs
    examples/clcr/7_readings.sh                           its attention, key-points, order otherwise
    examples/clcr/6_sentence.sh                           one sentence and its orders, looked at
    python examples/clcr/make_readme.py [RUN ...]         writes this page

The scripts can be interrupted and resume when called again; `synthetic.yaml` and `minilm.yaml`
contain the settings, `fairseq-xling clcr run --help` explains each.

Where the paper is silent, and what was chosen:

- Distances are Euclidean, of single states, and D is their mean over the tokens of the target; it
  is not normalised, so its scale depends on the encoders. `relative` is D divided by the mean
  distance of the target's states from their mean.
- T is MLP(x) + A x, which can be initialised in many ways. Initialised as the identity, it makes
  attention sharp over random partners, and then learns those. Here T is initialised to zero and
  reads centred states, so that attention is uniform at first.
- The paper does not specify the attention score. In these runs it is `exclusive`: the share of an
  English token that belongs to each token. With dot products alone (`transformed`, the default) one
  "." of a sentence can be the partner of every article, and no distance reveals that it is wrong.
  In `readings`, without full stops, two seeds of three are as good so, and the third is not.
- Full stops are left out of the embedded corpus for the same reason. Every sentence ends in one and
  nearly every one has an article, so a T that takes each for the other has a D as low as the right
  one, and most trainings with one of the English encoders found that one.
- English is the second language of each pair: German and Chinese are transformed and put into
  English order. The classifier of table 4 (ESIM) is trained on English alone.
- Key-points are measured against pseudo-gold pivots, as in the paper, and against gold ones: of
  each block of the finest common granularity of the gold alignment one token. In a block of several
  tokens that is the pseudo-gold pivot in it, if there is one.
- `roles` is a task whose label depends on word order alone: "the waiter will show the dog to the
judge",
  and who the hypothesis is about: giver, given, getter, or none of them. German and Chinese name
  the getter before the given. `nli` is the entailment of the embedded corpus, which needs no order.
- In German T+E is below T in `roles`: where E leaves out "to", which has no counterpart, only
  order distinguishes given from getter, and without R half are correct (seeds 2 and 3; seed 1 keeps
  it).
- A third of the Chinese pseudo-gold pivots are wrong: "the" has no counterpart there and takes one.
  R learns the order of such pivots, and of gold ones it has less than the source's own order has.
- The corpus has few sentences in which someone gets something, so a quarter more of them, without
  labels, are mixed into its training text: R learns their order from what it is trained on.
- D of soft matching favours mixtures of tokens; D to the best partner alone is shown next to it.
- Table 3's `sign` is the paper's sum of disagreements; otherwise the search weights a pair by
  the classifier's confidence.
- In `1_synthetic.sh` English encoders have no position embeddings. With them, the states of layer 2
  reveal who gives and who gets, in whatever order they come, and a classifier that was trained on
  English order was as good with any other. Without them, a word that occurs twice has one state;
  such twins get as many pivots as they have partners, in the order of the text.
- The encoders of `2_minilm.sh` other than MiniLM are little trained, 4,000 steps of 2,000 tokens:
  the German one on 29,000 captions and novels, the Japanese one on 50,000 short sentences and
  nothing else. The classifier of SICK is trained without the last 500 training pairs, which say
  when to stop, and tested on the trial set, the only other one that JSICK has.
- The paper's Chinese encoder is of another kind than its English one, ERNIE instead of BERT. In
  `3_mismatched.sh` English alone is pretrained on other text, in blocks that run over the ends of
  sentences, with two fifths of the tokens masked instead of 15 %. Pivots and entailment lose by
  it; `roles`, which depends on order alone, does not.
- Table 6: T costs little, and E about as much recall as it drops words, of precision less.
- T+pGA uses the translation: it is an upper bound for E and R.
"""


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
    return lines[:-1]


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
    return [about, "", measured_table(found, named=True)]


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
