"""Write README.md of this folder from finished runs.

    python examples/trelm/make_readme.py RUN [RUN ...]

Each RUN is the `--output` folder of `fairseq-xling trelm run` or of a study of `fairseq-xling
ablate`; what was run, where and when is taken from it.
"""

import argparse
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.files import atomic_write, read_json
from fairseq_xling.runs.tables import markdown_table
from fairseq_xling.trelm.report import bleu_table, phase_table
from fairseq_xling.trelm.run_config import TrelmConfig

_HEAD = """\
# Cross-lingual Transferring of Pre-trained Contextualized Language Models (TreLM)

Li, Parnow, Zhao, Utiyama, Sumita and He, 2021: an English encoder becomes one of another language.
Its layers stay; new words take the place of the old ones, a further layer in the middle (TRILayer)
lets it write the words of one language in the place of another's, and three phases of training do
the rest. `fairseq-xling trelm run` does all of it from an encoder and plain text.

    examples/trelm/1_synthetic.sh          the embedded corpus, needs nothing
    examples/trelm/2_multi30k.sh DATA      real text, an encoder from scratch
    examples/trelm/3_minilm.sh DATA        real text, a real pretrained encoder
    examples/trelm/4_studies.sh            the paper's ablations, after 1
    python examples/trelm/make_readme.py RUN [RUN ...]     writes this page

The scripts can be stopped and go on when they are called again. `fairseq-xling trelm run --help`
lists every option; the values used stand in the `.yaml` files beside this page. `paper.yaml` has
the paper's own sizes.
"""


def describe(run: Path) -> str:
    """The section of one run or study."""
    if not (run / "results.json").is_file():
        raise UserError(f"{run}: holds no finished run (no results.json)")
    record = read_json(run / "results.json")
    if "migrations" not in record:
        raise UserError(f"{run}: is no run of `trelm run`, nor a study of it")
    origin, config = record["provenance"], record["config"]
    version = ", ".join(f"{name} {number}" for name, number in origin["versions"].items())
    body = _study(record) if "study" in record else _run(record)
    return "\n".join(
        [
            f"## {run.name}",
            "",
            f"{origin['date'][:10]}, {origin['machine']}, seeds {config['seeds']}; {version}.",
            "",
            _facts(config),
            "",
            *body,
        ]
    )


def _facts(config: dict[str, Any]) -> str:
    batch = [f"{config['batch_size']} sentences"] if config["batch_size"] else []
    batch += [f"{config['max_tokens']:,} tokens"] if config["max_tokens"] else []
    return (
        f"{config['languages'].replace(',', ' to ', 1)}; {config['vocab_type']} vocabulary of "
        f"{config['vocab_size']:,} pieces; vectors {config['embeddings']}, map "
        f"{config['mapping']}; {config['commonality_steps']:,}, {config['transfer_steps']:,} (each "
        f"direction) and {config['language_steps']:,} steps of at most {' and '.join(batch)}."
    )


def _run(record: dict[str, Any]) -> list[str]:
    found, config = record["migrations"], TrelmConfig(**_typed(record["config"]))
    lines = [markdown_table(*phase_table(found, config)), ""]
    header, rows = bleu_table(found)
    if rows:
        lines += [markdown_table(header, rows), ""]
    for one in found:
        total = one["cost"]["sums"]
        lines.append(
            f"- To {one['target']}, seed {one['seed']}: {total['steps']:,} steps as run, "
            f"{total['steps_as_the_paper_counts']:,} as the paper counts them, "
            f"{total['tokens']:,} tokens, {total['seconds'] / 60:.0f} minutes of training."
        )
    return lines


def _study(record: dict[str, Any]) -> list[str]:
    notes = [f"- {note}" for note in record["notes"]]
    return [f"{record['study']}.", "", markdown_table(record["header"], record["rows"]), "", *notes]


def _typed(config: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in config.items()}


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
