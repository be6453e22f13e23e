"""Write README.md of this folder from finished runs.

    python examples/transfer/make_readme.py RUN [RUN ...]

Each RUN is the `--output` folder of `fairseq-xling eval transfer`, or of `fairseq-xling ablate
emerging-structure --tasks`; what was run, where and when is taken from it.
"""

import argparse
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.files import atomic_write, read_json
from fairseq_xling.runs.tables import markdown_table

_HEAD = """\
# Zero-shot transfer: fine-tune on English, test on the others

Conneau et al. 2020 (XNLI, NER, parsing), Wu et al. 2020 and Pires et al. 2019 judge an encoder of
several languages by what a head that was trained on one of them does in the others. The papers'
encoders have a hundred times the parameters of these and a thousand times their text; what can be
compared is who is above whom, not the figures.

    examples/transfer/1_synthetic.sh                        the embedded corpus, needs nothing
    examples/transfer/encoder.sh DATA ENCODER               six languages from real text
    examples/transfer/2_real.sh DATA ENCODER MIGRATED       real tasks
    python examples/transfer/make_readme.py RUN [RUN ...]   writes this page

MIGRATED is the run of `examples/trelm/3_minilm.sh`.

The scripts can be stopped and go on when they are called again; `synthetic.yaml` and `real.yaml`
hold the settings. Question answering is left out: there is no English training set of its size here
that such small encoders could learn from.
"""


def describe(run: Path) -> str:
    """The section of one run."""
    if not (run / "results.json").is_file():
        raise UserError(f"{run}: holds no finished run (no results.json)")
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
    if "head" not in config:
        return (
            f"`{config['arch']}`, {config['layers']} layers, {config['updates']:,} steps of at "
            f"most {config['max_tokens']:,} tokens; tasks {config['tasks']}."
        )
    names = ", ".join(Path(text.partition("=")[2]).name for text in config["train"])
    return (
        f"Head `{config['head']}`, trained on {names}; learning rate {config['lrs']}, batches of "
        f"{config['batch_sizes']}, {config['epochs']} epochs, {config['precision']}."
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
