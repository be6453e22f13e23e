"""Find pseudo-gold pivots of parallel text: tokens that mean the same, one to one.

  fairseq-xling clcr label transform/checkpoint_last.pt --output labels
  fairseq-xling clcr label model.pt --threshold 3.5 --splits train,valid,test --output labels

Token i of a sentence and j of its translation are kept if they are mutual nearest neighbours and
their distance, in both directions, is under the threshold. Without --threshold, the one that best
matches the word alignment of --tune-on is used. Distances are in the units of the encoders' states.

OUTPUT/SPLIT/pivots.pharaoh   links i-j, a line for each sentence pair
OUTPUT/SPLIT/distances.npy    the distance of each link
OUTPUT/SPLIT/meta.json        settings, counts, provenance

An interrupted call resumes when repeated, with the same result.
"""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import refuse_files_above, same_place, sha256, write_json
from fairseq_xling.core.folders import begun_settings
from fairseq_xling.core.named_files import NEW_FOLDER
from fairseq_xling.core.options import add_fields, option
from fairseq_xling.core.ranges import POSITIVE
from fairseq_xling.papers.clcr.commands import add_batches, add_trained, warn

GROUP = "CLCR"


@dataclasses.dataclass(frozen=True)
class Options:
    splits: str = option("train,valid", "of the data folder's parallel text", metavar=())
    threshold: float | None = option(
        None, "pairs closer than D are kept (default: tuned)", range=POSITIVE, metavar="D"
    )
    tune_on: str = option("valid", "split with a word alignment, for tuning", metavar="SPLIT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trained(parser, ", with a transform")
    add_fields(parser, Options)
    add_batches(parser)
    parser.add_argument("--output", required=True, metavar=NEW_FOLDER, help="folder to write")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.core.provenance import provenance
    from fairseq_xling.papers.clcr.labels import write_labels
    from fairseq_xling.papers.clcr.trained import Clcr
    from fairseq_xling.reports.tables import text_table

    splits = [split.strip() for split in args.splits.split(",") if split.strip()]
    if not splits or len({*splits}) < len(splits):
        raise UserError(f"`--splits` must name one or several different ones, got {args.splits!r}")
    if not args.output:
        raise UserError("`--output` must name a folder, got none")
    refuse_files_above("--output", Path(args.output, splits[0]))

    model = Clcr.load(args.checkpoint, args.data, args.device)
    folder = model.folder
    if same_place(args.output, folder.path):
        raise UserError(f"`--output` {args.output}: is the data folder; name a separate one")
    sides = {split: folder.parallel(split, *model.pair) for split in splits}
    common = {
        "pair": list(model.pair),
        "norm": model.norm,
        "checkpoint": sha256(args.checkpoint),
        "data": sha256(folder.path / "meta.json"),
    }
    if args.threshold is None:
        common |= _tuned(model, args, common, splits)
    else:
        common["threshold"] = args.threshold
    rows = []
    for split in splits:
        output, settings = Path(args.output, split), {**common, "split": split}
        meta = write_labels(model, sides[split], output, settings, args.max_tokens)
        if "provenance" not in meta:
            files = {"checkpoint": args.checkpoint, "data": folder.path / "meta.json"}
            write_json(output / "meta.json", {**meta, "provenance": provenance(files)})
        shares = [meta["pivots"] / max(tokens, 1) for tokens in meta["tokens"]]
        rows.append([split, meta["sentences"], meta["pivots"], *shares])
        if not meta["pivots"]:
            warn(
                f"{output}: no pair of tokens is under the threshold "
                f"{common['threshold']:g}; raise `--threshold`, or train the transform longer"
            )
    first, second = model.pair
    print(text_table(["split", "pairs", "pivots", f"of {first}", f"of {second}"], rows))
    print(f"written to {args.output}")


def _tuned(
    model: Any, args: argparse.Namespace, common: Mapping[str, Any], splits: Sequence[str]
) -> dict[str, Any]:
    """The settings of a tuned threshold; those of an unfinished OUTPUT, if there is one.

    Tuned again in batches of another size, it would differ in its last digits.
    """
    for split in splits:
        begun = begun_settings(Path(args.output, split)) or {}
        on = begun.get("tuned", {}).get("split")
        if on == args.tune_on and all(begun.get(name) == own for name, own in common.items()):
            found = {name: begun[name] for name in ("threshold", "tuned")}
            break
    else:
        from fairseq_xling.papers.clcr.labels import tune

        best = tune(model, model.folder, args.tune_on, args.max_tokens)
        shares = {name: getattr(best, name) for name in ("precision", "recall", "f1")}
        found = {"threshold": best.threshold, "tuned": {"split": args.tune_on, **shares}}
    tuned = found["tuned"]
    print(
        f"threshold {found['threshold']:.4f}, tuned on {tuned['split']}: precision "
        f"{tuned['precision']:.3f}, recall {tuned['recall']:.3f}, F1 {tuned['f1']:.3f}"
    )
    return found
