"""Write README.md of this folder from finished runs.

    python examples/trelm/make_readme.py [RUN ...]

Each RUN is the `--output` folder of `fairseq-xling trelm run` or of a study of `fairseq-xling
ablate`; what was run, where and when is taken from
it. Results are kept in `results/`; without RUN, the page is made from them, and sections that have
none there stay as they are.
"""

import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.trelm.results import costs_of, part, totals, which
from fairseq_xling.reports.record import Record
from fairseq_xling.reports.rows import Row, distinct, select
from fairseq_xling.reports.tables import markdown_table

sys.path.insert(0, str(Path(__file__).parents[1]))
from page import part_named, table_lines, write_page

_HEAD = """\
# Cross-lingual Transferring of Pre-trained Contextualized Language Models (TreLM)

The method of Li, Parnow, Zhao, Utiyama, Sumita and He (2021) turns an English encoder into an
encoder of another language. Its layers are kept and its vocabulary is replaced. An additional
layer in the middle (the TRILayer) lets it predict the words of one language at the positions of
the words of another. It is then trained in three phases. `fairseq-xling trelm run` does all of
this, given an encoder and plain text.

    examples/trelm/1_synthetic.sh          the embedded corpus, needs nothing
    examples/trelm/2_multi30k.sh DATA      real text, an encoder from scratch
    examples/trelm/3_minilm.sh DATA        real text, a real pretrained encoder
    examples/trelm/4_studies.sh            the paper's ablations, after 1
    examples/trelm/5_translators.sh DATA   real text: translators with slots, from the encoder of 3
    examples/trelm/6_xlm.sh                the embedded corpus, from an XLM that transformers trains
    examples/trelm/7_languages.sh DATA     real text: translators to four languages
    examples/trelm/8_transfers.sh          simpler transfers of a multilingual encoder, after 1
    examples/trelm/9_word_maps.sh DATA     how new words begin, mapped without pairs of words
    examples/trelm/teacher.sh DATA RUN OUTPUT.pt           a teacher for them
    examples/trelm/split_pairs.py          a file of sentence pairs as DATA of these two
    python examples/trelm/make_readme.py [RUN ...]         writes this page

The scripts can be interrupted and resume when called again. `fairseq-xling trelm run --help`
lists every option; the values used are in the `.yaml` files of this folder. `paper.yaml` contains
the paper's own sizes.

The orderings are compared with an autoregressive translation model: fairseq's `transformer` of
the same width, with half of the layers in its encoder and half in its decoder. It is trained in
fp32 (ours in bfloat16, which fairseq does not support on CPUs), with batches of the same size, a
learning rate of 5e-4 and beam 5. It is trained on the same sentence pairs, for as long as all
steps up to the forward model took.

The teachers that translators are compared with come from `teacher.sh`: 4 layers each in encoder
and decoder, 128 wide, dropout 0.3, learning rate 4e-3, 2,600 updates of 4,096 tokens, one seed.
Those of German and Japanese were trained in a few minutes on an NVIDIA H100 with torch 2.11.0. So
were the translators of 5,600 steps, in fp16: with CTC, nine at a time in six minutes; with a
lattice, fifteen at a time in ten minutes. Everything else ran on CPUs, in bf16.
"""


def body(record: Record) -> list[str]:
    """The lines of one run, or of a study of runs."""
    if not part(record.rows, "cost"):
        raise UserError("is no run of `trelm run`, nor a study of it")
    lines = _study(record) if part(record.rows, "setting") else _run(record)
    return [_facts(record.config), "", *lines]


def _facts(config: Mapping[str, Any]) -> str:
    batch = [f"{config['batch_size']} sentences"] if config["batch_size"] else []
    batch += [f"{config['max_tokens']:,} tokens"] if config["max_tokens"] else []
    translator = config.get("translator_steps")
    more = ""
    if translator:
        more = f" Translator: {translator:,} steps, learning rate {config['translator_lr']:g}."
    return (
        f"{config['languages'].replace(',', ' to ', 1)}; {config['vocab_type']} vocabulary of "
        f"{config['vocab_size']:,} pieces; vectors {config['embeddings']}, map "
        f"{config['mapping']}; {config['commonality_steps']:,}, {config['transfer_steps']:,} (each "
        f"direction) and {config['language_steps']:,} steps of at most {' and '.join(batch)}."
        f"{more}"
    )


def _totals(rows: Sequence[Row]) -> dict[tuple[str, int], dict[str, float]]:
    """The cost of each migration, by target and seed."""
    of = dict.fromkeys((row["target"], row["seed"]) for row in part(rows, "cost"))
    return {
        (target, seed): totals(costs_of(select(rows, {"target": target, "seed": seed})))
        for target, seed in of
    }


def _run(record: Record) -> list[str]:
    lines = [markdown_table(*part_named(record, "bits").shown), ""]
    if part(record.rows, "translation"):
        lines += [markdown_table(*part_named(record, "translation").shown), ""]
    for of, total in _totals(record.rows).items():
        lines.append(
            f"- T{which(*of)[1:]}: {total['steps']:,} steps as run, "
            f"{total['steps_as_the_paper_counts']:,} as the paper counts them, "
            f"{total['tokens']:,} tokens, {total['seconds'] / 60:.0f} minutes of training."
        )
    return lines


def _study(record: Record) -> list[str]:
    times = []
    for label in sorted(distinct(part(record.rows, "cost"), "row")):
        own = _totals(select(record.rows, {"row": label})).values()
        times.append(f"{label} {sum(one['seconds'] for one in own) / len(own) / 60:.0f}")
    lines = [f"{record.title}.", "", *table_lines(part_named(record))]
    lines.append(f"- Minutes of training, with other work running: {', '.join(times)}.")
    if any("of" in row for row in record.rows):
        lines += ["", *table_lines(part_named(record, "plot"))]
    return lines


def maps(found: Sequence[Record]) -> list[str]:
    """The lines of the adversarial maps of a study."""
    words = [
        row["value"]
        for record in found
        for row in select(record.rows, {"row": "mapped", "measure": "P@1", "best": 1})
    ]
    what = "P@1 of identically spelt words (share), adversarial, best seed"
    title = "Adversarial map of embeddings"
    line = ["T11", title, what, statistics.fmean(words), ""]
    return [
        "Maps of the rows of a study of Table 5, and words of both languages that are spelt alike.",
        "",
        markdown_table(["row", "title", "measured", "value", "paper"], [line]),
        "",
        *(f"- {record.name.partition('.')[0]}: {_outcome(record)}" for record in found),
    ]


def _outcome(record: Record) -> str:
    refined = select(record.rows, {"measure": "refined"})
    (best,) = select(refined, {"best": 1})
    failure = best.get("failure")
    how = f"failed ({failure})" if failure else "is better than random rotations"
    return (
        f"the best of {len(refined)} seeds, {best['seed']}, {how}; mean cosine to the nearest "
        f"source word {best['value']:.3f}, chance {best['chance']:.3f}."
    )


if __name__ == "__main__":
    write_page(__file__, __doc__, _HEAD, body, maps)
