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

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import refuse_files_above, same_place, sha256, write_json
from fairseq_xling.core.folders import META, begun_settings
from fairseq_xling.core.named_files import CHECKPOINT, DATA, NEW_FOLDER
from fairseq_xling.core.options import REQUIRED, argument, like, option
from fairseq_xling.core.ranges import POSITIVE
from fairseq_xling.papers.clcr.commands import warn
from fairseq_xling.papers.clcr.measures import BatchOptions

GROUP = "CLCR"


@dataclasses.dataclass(frozen=True)
class Options:
    checkpoint: str = argument("of fairseq-train --task clcr, with a transform", CHECKPOINT)
    data: str | None = option(None, "its data folder, if it has moved", metavar=DATA)
    splits: str = option("train,valid", "of the data folder's parallel text", metavar=())
    threshold: float | None = option(
        None, "pairs closer than D are kept (default: tuned)", range=POSITIVE, metavar="D"
    )
    tune_on: str = option("valid", "split with a word alignment, for tuning", metavar="SPLIT")
    max_tokens: int = like(BatchOptions, "max_tokens")
    device: str = shared.device()
    output: str = option(REQUIRED, "folder to write", metavar=NEW_FOLDER)


def run(options: Options) -> None:
    from fairseq_xling.core.provenance import provenance
    from fairseq_xling.papers.clcr.labels import write_labels
    from fairseq_xling.papers.clcr.trained import Clcr
    from fairseq_xling.reports.tables import text_table

    splits = names_in(options.splits)
    if not splits or len({*splits}) < len(splits):
        raise UserError(
            f"`--splits` must name one or several different ones, got {options.splits!r}"
        )
    if not options.output:
        raise UserError("`--output` must name a folder, got none")
    refuse_files_above("--output", Path(options.output, splits[0]))

    model = Clcr.load(options.checkpoint, options.data, options.device)
    folder = model.folder
    if same_place(options.output, folder.path):
        raise UserError(f"`--output` {options.output}: is the data folder; name a separate one")
    sides = {split: folder.parallel(split, *model.pair) for split in splits}
    files = {"checkpoint": options.checkpoint, "data": folder.path / META}
    common = {"pair": list(model.pair), "norm": model.norm}
    common |= {name: sha256(file) for name, file in files.items()}
    if options.threshold is None:
        common |= _tuned(model, options, common, splits)
    else:
        common["threshold"] = options.threshold
    rows = []
    for split in splits:
        output, settings = Path(options.output, split), {**common, "split": split}
        meta = write_labels(model, sides[split], output, settings, options.max_tokens)
        if "provenance" not in meta:
            write_json(output / META, {**meta, "provenance": provenance(files)})
        shares = [meta["pivots"] / max(tokens, 1) for tokens in meta["tokens"]]
        rows.append([split, meta["sentences"], meta["pivots"], *shares])
        if not meta["pivots"]:
            warn(
                f"{output}: no pair of tokens is under the threshold "
                f"{common['threshold']:g}; raise `--threshold`, or train the transform longer"
            )
    first, second = model.pair
    print(text_table(["split", "pairs", "pivots", f"of {first}", f"of {second}"], rows))
    print(f"written to {options.output}")


def _tuned(
    model: Any, options: Options, common: Mapping[str, Any], splits: Sequence[str]
) -> dict[str, Any]:
    """The settings of a tuned threshold; those of an unfinished OUTPUT, if there is one.

    Tuned again in batches of another size, it would differ in its last digits.
    """
    from fairseq_xling.papers.clcr import labels

    for split in splits:
        begun = begun_settings(Path(options.output, split)) or {}
        on = begun.get("tuned", {}).get("split")
        if on == options.tune_on and all(begun.get(name) == own for name, own in common.items()):
            found = {name: begun[name] for name in ("threshold", "tuned")}
            break
    else:
        threshold, *shares = labels.tune(model, model.folder, options.tune_on, options.max_tokens)
        tuned = dict(zip(("precision", "recall", "f1"), shares, strict=True))
        found = {"threshold": threshold, "tuned": {"split": options.tune_on, **tuned}}
    print(
        "threshold {:.4f}, tuned on {split}: precision {precision:.3f}, recall {recall:.3f}, F1 "
        "{f1:.3f}".format(found["threshold"], **found["tuned"])
    )
    return found
