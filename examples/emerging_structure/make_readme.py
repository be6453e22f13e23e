"""Write README.md of this folder from finished runs.

    python examples/emerging_structure/make_readme.py [RUN ...]

Each RUN is the `--output` folder of an ablation; what was run, where and when is taken from
it. Results are kept in `results/`; without RUN, the page is made from them.
"""

from typing import Any

from fairseq_xling.papers.emerging.sharing_study import sharing_claims
from fairseq_xling.studies.encoder_training import describe_steps
from fairseq_xling.studies.examples_page import section_lines, table_lines, write_page

_HEAD = """\
# Emerging Cross-lingual Structure in Pretrained Language Models

Conneau, Wu, Li, Zettlemoyer and Stoyanov, ACL 2020, Table 1: which of shared domain, shared words
(anchors) and shared parameters a masked language model of two languages needs in order to align
them, though it never sees parallel text. The paper scores zero-shot transfer of models with 8
layers, 768 wide; here small models are scored by retrieval, without mapping their spaces, and on
the embedded corpus by zero-shot transfer, too.

    examples/emerging_structure/1_synthetic.sh          the embedded corpus, needs nothing
    examples/emerging_structure/2_multi30k.sh DATA      real text
    python examples/emerging_structure/make_readme.py [RUN ...]         writes this page

The scripts can be interrupted and resume when called again. `fairseq-xling ablate
emerging-structure --help` lists every option; the values used are in `synthetic.yaml` and
`multi30k.yaml`. `--preset paper` has the paper's settings: vocabularies of 80,000 pieces, streams
of 256 tokens, 8 GPUs.
"""


def body(record: dict[str, Any]) -> list[str]:
    """The lines of one run."""
    claims = section_lines(sharing_claims(record))
    return [_facts(record["config"]), "", *table_lines(record), *claims]


def _facts(config: dict[str, Any]) -> str:
    return (
        f"`{config['arch']}`, {config['layers']} layers, {describe_steps(config)}, "
        f"{config['vocab_type']} vocabulary of "
        f"{config['vocab_size']:,} pieces, learning rate {config['lr']}."
    )


if __name__ == "__main__":
    write_page(__file__, __doc__, _HEAD, body)
