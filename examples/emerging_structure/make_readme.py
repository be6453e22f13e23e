"""Write README.md of this folder from finished runs.

    python examples/emerging_structure/make_readme.py RUN [RUN ...]

Each RUN is the `--output` folder of an ablation; what was run, where and when is taken from it.
"""

import argparse
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.files import atomic_write, read_json
from fairseq_xling.runs.tables import markdown_table

_HEAD = """\
# Emerging Cross-lingual Structure in Pretrained Language Models

Conneau, Wu, Li, Zettlemoyer and Stoyanov, ACL 2020, Table 1: which of shared domain, shared words
(anchors) and shared parameters a masked language model of two languages needs in order to align
them, though it never sees parallel text. The paper scores zero-shot transfer of models with 8
layers, 768 wide; here small models are scored by retrieval, without any mapping of their spaces.

    examples/emerging_structure/1_synthetic.sh          the embedded corpus, needs nothing
    examples/emerging_structure/2_multi30k.sh DATA      real text
    python examples/emerging_structure/make_readme.py RUN [RUN ...]     writes this page

The scripts can be stopped and go on when they are called again. `fairseq-xling ablate
emerging-structure --help` lists every option; the values used stand in `synthetic.yaml` and
`multi30k.yaml`. To work at the paper's size: `--arch separable_transformer_base --layers 8
--vocab-size 80000 --max-tokens 24576 --updates 200000 --lr 1e-4 --warmup 30000 --device cuda`.
"""


def describe(run: Path) -> str:
    """The section of one run."""
    if not (run / "results.json").is_file():
        raise UserError(f"{run}: holds no finished ablation (no results.json)")
    record = read_json(run / "results.json")
    config, origin = record["config"], record["provenance"]
    version = ", ".join(f"{name} {number}" for name, number in origin["versions"].items())
    lines = [
        f"## {run.name}",
        "",
        f"{origin['date'][:10]}, {origin['machine']}, seeds {config['seeds']}; {version}.",
        "",
        _facts(config),
        "",
        markdown_table(record["header"], record["rows"]),
        "",
        *(f"- {note}" for note in record["notes"]),
    ]
    return "\n".join(lines)


def _facts(config: dict[str, Any]) -> str:
    return (
        f"`{config['arch']}`, {config['layers']} layers, {config['updates']:,} steps of at most "
        f"{config['max_tokens']:,} tokens, {config['vocab_type']} vocabulary of "
        f"{config['vocab_size']:,} pieces, learning rate {config['lr']}."
    )


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("README.md"))
    args = parser.parse_args()
    with atomic_write(args.output, "w") as file:
        file.write("\n".join([_HEAD, *(describe(run) + "\n" for run in args.runs)]))


if __name__ == "__main__":
    main()
