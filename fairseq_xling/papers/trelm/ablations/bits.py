"""What the difference in bits per word between CdLM and TLM (TreLM, Table 7) depends on."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairseq_xling.errors import UserError
from fairseq_xling.papers.trelm.ablations.tables import CDLM, PLAIN, TLM
from fairseq_xling.papers.trelm.study import TrelmStudy, Variation
from fairseq_xling.ranges import COUNT, Number
from fairseq_xling.results.paired import Claim
from fairseq_xling.studies.ablations import STUDIES

_LIMITS = ("commonality_limit", "parallel_limit", "language_limit")
_STEPS = ("commonality_steps", "transfer_steps", "language_steps")
_WEIGHTS = "--objective-weights"
_MLM = {"transfer_objectives": "mlm", **PLAIN}


class Condition(NamedTuple):
    """What CdLM and TLM are compared under: the end of their rows' codes, words for it, and the
    settings that differ from the study's."""

    suffix: str
    words: str
    changes: Mapping[str, Any] = {}


@STUDIES.register("trelm-bits")
class TrelmBits(TrelmStudy):
    """CdLM and TLM with more steps, less text, more weight on MLM and a longer last phase; and MLM
    alone with and without the TRILayer, through which one language passes as it is."""

    help = "CdLM and TLM by steps, text, MLM's weight and the last phase; after TreLM, Table 7"
    title = "TreLM: what bits per word depend on"
    spec_rows = ("T19",)
    lead = "CdLM and MLM + TLM, compared under one condition after another."
    notes = (
        "With more steps each phase has three times as many; with more MLM the loss of masked "
        "words counts four times in the transfer phase; the long last phase has five times the "
        "steps. With less text there are that many sentences of each language and that many pairs; "
        "vocabulary, vectors and word alignment are still those of all text.",
        "Rows mlm and mlm-no-trilayer train on masked words of one language alone. It passes "
        "through the TRILayer in its own order, so their difference is what that costs or gives.",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--less-text",
            type=Number(int, COUNT),
            default=5000,
            metavar="N",
            help="sentences of each text, and sentence pairs, in the rows with less text; fewer "
            "than there are (default: %(default)s)",
        )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        rows = []
        for condition in _conditions(config, args.less_text):
            for code, name, objectives in (("cdlm", "CdLM", CDLM), ("tlm", "MLM + TLM", TLM)):
                name = f"{name}, {condition.words}" if condition.words else name
                changes = {**objectives, **condition.changes}
                rows.append(Variation(code + condition.suffix, name, changes))
        rows.append(Variation("mlm", "MLM", _MLM))
        rows.append(Variation("mlm-no-trilayer", "MLM, no TRILayer", {**_MLM, "trilayer": False}))
        return rows

    def claims(self, rows: Sequence[Variation]) -> list[Claim]:
        found = []
        for row in rows:
            if row.code.startswith("cdlm"):
                words = row.name.removeprefix("CdLM").replace(", ", "; ", 1)
                text = f"CdLM is better than MLM + TLM (Table 7){words}."
                found.append(Claim(text, row.code, f"tlm{row.code.removeprefix('cdlm')}"))
        return [*found, Claim("The TRILayer helps MLM alone, too.", "mlm", "mlm-no-trilayer")]


def _conditions(config: Any, less_text: int) -> list[Condition]:
    """All conditions, the plain one first.

    Raises:
        UserError: if a setting of the study leaves no room for one of them.
    """
    for limit in _LIMITS:
        if 0 < getattr(config, limit) <= less_text:
            name = limit.replace("_", "-")
            raise UserError(
                f"`--less-text` must be below `--{name}` {getattr(config, limit)}, got {less_text}"
            )
    if _WEIGHTS in config.transfer_args:
        raise UserError(f"`--transfer-args` must not have {_WEIGHTS}, which rows of this study set")
    more_mlm = f"{config.transfer_args} {_WEIGHTS} mlm=4".strip()
    return [
        Condition("", ""),
        Condition("-last", "long last phase", {"language_steps": 5 * config.language_steps}),
        Condition("-mlm", "more MLM", {"transfer_args": more_mlm}),
        Condition("-text", f"{less_text:,} sentences", dict.fromkeys(_LIMITS, less_text)),
        Condition("-steps", "more steps", {name: 3 * getattr(config, name) for name in _STEPS}),
    ]
