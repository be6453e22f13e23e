"""What the difference in bits per word between CdLM and TLM (TreLM, Table 7) depends on."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairseq_xling.results.paired import Claim
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.trelm.study import TrelmStudy, Variation

CDLM = {"transfer_objectives": "cdlm,mlm"}
TLM = {"transfer_objectives": "tlm,mlm", "auxiliary": ""}  # nothing teaches translation there
MLM = {"transfer_objectives": "mlm", "auxiliary": ""}


class Condition(NamedTuple):
    """What CdLM and TLM are compared under: a suffix of their rows' codes, its description, and the
    settings that differ from the study's."""

    suffix: str
    name: str
    changes: Mapping[str, Any]


@STUDIES.register("trelm-bits")
class TrelmBits(TrelmStudy):
    """CdLM and TLM with more steps, less text, more weight on MLM and a longer last phase; and MLM
    alone with and without the TRILayer, through which one language passes as it is."""

    help = "CdLM and TLM by steps, text, MLM's weight and the last phase; after TreLM, Table 7"
    title = "TreLM: what bits per word depend on"
    spec_rows = ("T19",)
    lead = "CdLM and MLM + TLM, compared under one condition after another."
    notes = (
        "More steps are three times as many in each phase, more MLM is a loss of masked words that "
        "counts four times in the transfer phase, and the long last phase has five times the "
        "steps. Rows with fewer sentences have as many sentence pairs, and the same vocabulary.",
        "Rows mlm and mlm-no-trilayer train on masked words of one language alone. It passes "
        "through the TRILayer in its own order, so their difference is what that costs or gives.",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.ranges import COUNT, Number

        super().add_arguments(parser)
        parser.add_argument(
            "--less-text",
            type=Number(int, COUNT),
            default=5000,
            metavar="N",
            help="sentences of each text, and sentence pairs, in the rows with less text (default: "
            "%(default)s)",
        )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        rows = []
        for condition in _conditions(config, args.less_text):
            for code, name, changes in (("cdlm", "CdLM", CDLM), ("tlm", "MLM + TLM", TLM)):
                rows.append(
                    Variation(
                        code + condition.suffix,
                        f"{name}{condition.name}",
                        {**changes, **condition.changes},
                    )
                )
        rows.append(Variation("mlm", "MLM", MLM))
        rows.append(Variation("mlm-no-trilayer", "MLM, no TRILayer", {**MLM, "trilayer": False}))
        return rows

    def claims(self, rows: Sequence[Variation]) -> list[Claim]:
        codes = {row.code: row.name for row in rows}
        found = []
        for code, name in codes.items():
            other = f"tlm{code.removeprefix('cdlm')}"
            if code.startswith("cdlm") and other in codes:
                under = name.removeprefix("CdLM")
                found.append(Claim(f"CdLM is better than MLM + TLM{under} (Table 7).", code, other))
        if {"mlm", "mlm-no-trilayer"} <= codes.keys():
            text = "The TRILayer helps without CdLM, too (Table 7)."
            found.append(Claim(text, "mlm", "mlm-no-trilayer"))
        return found


def _conditions(config: Any, less_text: int) -> list[Condition]:
    steps = ("commonality_steps", "transfer_steps", "language_steps")
    limits = ("commonality_limit", "parallel_limit", "language_limit")
    more_mlm = f"{config.transfer_args} --objective-weights mlm=4".strip()
    return [
        Condition("", "", {}),
        Condition("-last", ", long last phase", {"language_steps": 5 * config.language_steps}),
        Condition("-mlm", ", more MLM", {"transfer_args": more_mlm}),
        Condition("-text", f", {less_text:,} sentences", {name: less_text for name in limits}),
        Condition("-steps", ", more steps", {name: 3 * getattr(config, name) for name in steps}),
    ]
