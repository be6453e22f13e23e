"""Write README.md of this folder from finished runs.

    python examples/clcr/make_readme.py RUN [RUN ...]

Each RUN is the folder of a script of this folder; what was run, where and when is taken from it.
"""

from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.runs.examples_page import write_page
from fairseq_xling.runs.tables import markdown_table

_HEAD = """\
# CLCR: one language-independent sequence from two encoders of one language each

A sentence and its translation become the same sequence of vectors: the states of one encoder are
transformed into those of the other (T), what has no counterpart is left out (E), and what is left
is put into the other language's order (R). A model that was trained on sequences of one language
then reads the other. The paper's encoders are BERT models of 12 layers, which see 250,000 sentence
pairs; what can be compared here is who is above whom, not the figures.

    examples/clcr/1_synthetic.sh                          the embedded corpus, needs nothing
    examples/clcr/2_minilm.sh DATA                        English MiniLM, German and Japanese
    examples/clcr/3_mismatched.sh                         the first, encoders not pretrained alike
    examples/clcr/4_probing.sh                            edge probing of the first
    python examples/clcr/make_readme.py RUN [RUN ...]     writes this page

The scripts can be interrupted and resume when called again; `synthetic.yaml` and `minilm.yaml`
hold the settings, `fairseq-xling clcr run --help` explains each.

Where the paper is silent, and what was chosen:

- Distances are Euclidean, of single states, and D is their mean over the tokens of the target; it
  is not divided by anything, so its size hangs on the encoders. `relative` is D by the mean
  distance of the target's states from their mean.
- T is MLP(x) + A x, which can begin in many ways. Begun as the identity it makes attention sharp
  over partners found by chance, and then learns those. Here T begins as zero and reads states
  without the mean of their language, so that attention begins even.
- Attention's score is open in the paper. In these runs it is `exclusive`: what share of a token of
  English is whose. With dot products alone (`transformed`, the default) one "." of a sentence can
  be the partner of every article, and no distance tells that it is wrong.
- Full stops are left out of the embedded corpus for the same reason. Every sentence ends in one and
  nearly every one has an article, so a T that takes each for the other has a D as low as the right
  one, and most trainings with one of the English encoders found that one.
- English is the second language of each pair: German and Chinese are transformed and put into
  English order. The classifier of table 4 (ESIM) is trained on English alone.
- Key-points are measured against pseudo-gold pivots, as in the paper, and against gold ones: of
  each block of the finest common granularity of the gold alignment one token. In a block of several
  tokens that is the pseudo-gold pivot in it, if there is one.
- `roles` is a task whose label hangs on order alone: "the waiter will show the dog to the judge",
  and who the hypothesis is about: giver, given, getter, or none of them. German and Chinese name
  the getter before the given. `nli` is the entailment of the embedded corpus, which needs no order.
- In German T+E is below T in `roles`: where E leaves out "to", which has no counterpart, nothing
  but order tells given from getter, and without R a half is right (seeds 2 and 3; seed 1 keeps it).
- A third of the Chinese pseudo-gold pivots are wrong: "the" has no counterpart there and takes one.
  R learns the order of such pivots, and of gold ones it has less than the source's own order has.
- The corpus has few sentences in which someone gets something, so a quarter more of them, without
  labels, are mixed into its training text: R learns their order from what it is trained on.
- D of soft matching flatters mixtures of tokens; D to the best partner alone stands beside it.
- Table 3's `sign` is the paper's sum of disagreements; the search otherwise weighs a pair by how
  sure the classifier is.
- In `1_synthetic.sh` English encoders have no position embeddings. Where they have, the states of
  layer 2 tell who gives and who gets, in whatever order they come, and a classifier that read them
  in English order was as good in any other. Without them a word that stands twice has one state;
  such twins take as many pivots as they have partners, in the order of the text.
- The encoders of `2_minilm.sh` beside MiniLM are little trained, 4,000 steps of 2,000 tokens: the
  German one on 29,000 captions and novels, the Japanese one on 50,000 short sentences and nothing
  else. The classifier of SICK is trained without the last 500 training pairs, which say when to
  stop, and tested on the trial set, the only other one that JSICK has.
- The paper's Chinese encoder is of another kind than its English one, ERNIE beside BERT. In
  `3_mismatched.sh` English alone is pretrained on other text, in blocks that run over the ends of
  sentences, with two fifths of the tokens masked instead of 15 %. Pivots and entailment lose by
  it; `roles`, which hangs on order alone, does not.
- Table 6: T costs little, and E about as much recall as it drops words, of precision less.
- T+pGA sees the translation: it is the bound that E and R aim for.
"""


def body(record: dict[str, Any]) -> list[str]:
    """The lines of one run."""
    if record.get("clcr") != "study":
        raise UserError("must be a run of a script of examples/clcr")
    lines = []
    for table in record["tables"]:
        lines += [f"### {table['title']}", "", markdown_table(table["header"], table["rows"]), ""]
        lines += [f"- {note}" for note in table["notes"]] + ([""] if table["notes"] else [])
        if table.get("figure"):
            lines += [f"![{table['figure']['title']}]({table['figure']['file']})", ""]
    return lines[:-1]


if __name__ == "__main__":
    write_page(__file__, __doc__, _HEAD, body)
