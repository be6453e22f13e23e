"""Write README.md of this folder from finished runs.

    python examples/analysis/make_readme.py RUN [RUN ...]

Each RUN is the `--output` folder of a similarity study; what was run, where and when is taken from
it.
"""

from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.runs.examples_page import table_lines, write_page

_HEAD = """\
# Encoders trained together and apart

Conneau, Wu, Li, Zettlemoyer and Stoyanov, ACL 2020, "Emerging Cross-lingual Structure in Pretrained
Language Models", section 5. The paper finds that encoders of two languages that never met have
similar states: a rotation brings them together, and layers that linear CKA finds alike retrieve
translations. Its models have 8 layers, 768 wide, and read Wikipedia; here they are small.

    examples/analysis/1_synthetic.sh                          the embedded corpus, needs nothing
    examples/analysis/2_six_languages.sh DATA ENCODER         one encoder of real text
    examples/analysis/3_minilm.sh DATA                        English MiniLM and a German encoder
    python examples/analysis/make_readme.py RUN [RUN ...]     writes this page

ENCODER is the folder of `examples/transfer/encoder.sh`. The scripts can be stopped and go on when
they are called again. `fairseq-xling ablate similarity --help` lists every option; the values used
stand in `synthetic.yaml`, `six_languages.yaml` and `minilm.yaml`. Encoders that exist already take
the place of trained ones: `--encoder en=CHECKPOINT --data en=DATA`. In the paper Pearson's
correlation of CKA with retrieval over the layers lies above 0.9 for every pair.
"""


def body(record: dict[str, Any]) -> list[str]:
    """The lines of one run."""
    if record.get("study") != "similarity":
        raise UserError("must be a run of `fairseq-xling ablate similarity`")
    return [_facts(record["config"]), "", *table_lines(record)]


def _facts(config: dict[str, Any]) -> str:
    ready = ", ".join(str(one).partition("=")[0] for one in config["encoder"])
    return (
        f"`{config['arch']}`, {config['layers']} layers, {config['updates']:,} steps of at most "
        f"{config['max_tokens']:,} tokens, {config['vocab_type']} vocabulary of "
        f"{config['vocab_size']:,} pieces, learning rate {config['lr']}."
        + (f" Ready encoders: {ready}." if ready else "")
    )


if __name__ == "__main__":
    write_page(__file__, __doc__, _HEAD, body)
