"""Studies that no table of TreLM has: what its parts give, and translators with slots."""

import argparse
from typing import Any

from fairseq_xling.core.ranges import SLOTS
from fairseq_xling.papers.trelm.ablations import TrelmStudy
from fairseq_xling.papers.trelm.ablations.tables import TLM
from fairseq_xling.papers.trelm.study import Variation
from fairseq_xling.studies.ablations import STUDIES


@STUDIES.register("trelm-parts")
class TrelmParts(TrelmStudy):
    """The full migration, and without CdLM or without the embeddings' alignment, in equal steps."""

    help = "the whole migration, without CdLM, and without alignment of the embeddings"
    title = "TreLM: what its parts give"
    lead = "The same migration without one of its parts."
    notes = (
        "Without CdLM, the transfer phase trains with MLM and TLM on the same sentence pairs for "
        "as many steps; such a model is not trained to translate, and has none of the heads that "
        "other rows train along with CdLM.",
        "Without alignment, embeddings of new words are unmapped vectors, and no word gets the "
        "source's embedding of the same spelling.",
        "The autoregressive translation model is in the row whose training time it was given.",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        from fairseq_xling.papers.trelm.embedding_init import trained_init

        alone = {"autoregressive": False, "translator_steps": 0}
        trained = trained_init(config.embeddings)
        unmapped = {"embeddings": trained, "mapping": "none", "copy_shared": False, **alone}
        return [
            Variation("full", "the full migration"),
            Variation("no-cdlm", "without CdLM", {**TLM, **alone}),
            Variation("no-alignment", "without alignment of the embeddings", unmapped),
        ]


@STUDIES.register("trelm-translators")
class TrelmTranslators(TrelmStudy):
    """Emissions, with glancing, and with a teacher, which `--teacher` may name.

    ``--upsample`` says how many slots of each source token `ctc` has; `lattice` has twice as many,
    8 at most.
    Without `--translator-steps` as many as of a direction of the transfer phase.
    """

    help = "slots that write words: CTC, lattice, glancing, a teacher; from TreLM, A.7"
    title = "TreLM: translators with slots"
    translates = True
    lead = (
        "From one migration, translators that write whole sentences in one pass. BLEU of the "
        "migration's own orderings is the same in all rows."
    )
    notes = (
        "Steps, tokens and minutes are those of the migration and of the translator, without a "
        "teacher's; bits per word are the migration's.",
        "A translator from scratch has the migration's sizes and words, but none of its weights.",
        "A teacher's translations of the training text take the references' place. It is an "
        "autoregressive model of the same text, unless a file is given.",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        from fairseq_xling.papers.trelm.config import AUTOREGRESSIVE, SCRATCH

        own = {
            "translator_steps": config.translator_steps or config.transfer_steps,
            "translator_start": "forward",
            "teacher": "",
            "teacher_original": False,
        }
        ctc = {**own, "emission": "ctc"}
        # A path leaves slots out, so a lattice gets more of them.
        slots = min(2 * config.upsample, int(SLOTS.most))
        lattice = {**own, "emission": "lattice", "upsample": slots}
        glancing, teacher = {"glancing": 0.5}, {"teacher": config.teacher or AUTOREGRESSIVE}
        both = {**teacher, "teacher_original": True}
        rows = [
            ("ctc", "CTC", ctc),
            ("ctc-scratch", "CTC, from scratch", {**ctc, "translator_start": SCRATCH}),
            ("ctc-glancing", "CTC, glancing", {**ctc, **glancing}),
            ("ctc-teacher", "CTC, teacher", {**ctc, **teacher}),
            ("ctc-all", "CTC, glancing, teacher", {**ctc, **glancing, **teacher}),
            ("ctc-both", "CTC, teacher and references", {**ctc, **both}),
            ("lattice", "lattice", lattice),
            ("lattice-glancing", "lattice, glancing", {**lattice, **glancing}),
            ("lattice-teacher", "lattice, teacher", {**lattice, **teacher}),
            ("lattice-all", "lattice, glancing, teacher", {**lattice, **glancing, **teacher}),
        ]
        return [Variation(*row) for row in rows]
