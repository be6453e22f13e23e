"""How the embeddings of the new words are initialised (TreLM, Table 5)."""

import argparse
from typing import Any

from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.trelm.study import Row, TrelmStudy

# code: (what it is, settings, bits per word in the paper after 20K steps); {trained} is what
# `--embeddings` names, or skip-gram.
_WAYS: dict[str, tuple[str, dict[str, Any], float]] = {
    "random": ("random", {"embeddings": "random", "mapping": "none"}, 6.99),
    "random-adv": (
        "random, mapped adversarially",
        {"embeddings": "random", "mapping": "adversarial"},
        6.77,
    ),
    "skipgram": ("{trained}", {"embeddings": "{trained}", "mapping": "none"}, 6.53),
    "skipgram-adv": (
        "{trained}, mapped adversarially",
        {"embeddings": "{trained}", "mapping": "adversarial"},
        5.93,
    ),
}


@STUDIES.register("trelm-init")
class TrelmInit(TrelmStudy):
    """Four initialisations, after the commonality phase, at its length and at twice its length."""

    help = "embedding initialisation: TreLM, Table 5"
    title = "TreLM: how the embeddings of new words begin"
    spec_rows = ("T15",)
    lead = "Bits per word after commonality training alone, at one and two times its length."
    notes = (
        "The paper's figures are those after 20K steps.",
        "Every word of either language is initialised by the row's method; none is copied from the "
        "source because of its spelling, as `fairseq-xling trelm run` does by default.",
        "If no seed of the adversarial map was better than chance, the best of them was used.",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Row]:
        from fairseq_xling.studies.trelm.vector_ways import trained_way

        trained = trained_way(config.embeddings)
        return [
            Row(
                code if factor == 1 else f"{code}-{factor}x",
                name.format(trained=trained),
                {
                    **{key: value.format(trained=trained) for key, value in changes.items()},
                    "embed_languages": "both",
                    "copy_shared": False,
                    "map_keep_failed": True,
                    "commonality_steps": factor * config.commonality_steps,
                    "transfer_steps": 0,
                    "language_steps": 0,
                },
                paper if factor == 1 else None,
            )
            for factor in (1, 2)
            for code, (name, changes, paper) in _WAYS.items()
        ]
