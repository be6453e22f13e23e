"""Studies that no table of TreLM has: what its parts give, and what its results depend on."""

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import COUNT, SLOTS, Number
from fairseq_xling.papers.trelm.ablations import TrelmStudy
from fairseq_xling.papers.trelm.ablations.tables import CDLM, TLM
from fairseq_xling.papers.trelm.study import Variation
from fairseq_xling.studies.ablations import STUDIES

_LIMITS = ("commonality_limit", "parallel_limit", "language_limit")
_STEPS = ("commonality_steps", "transfer_steps", "language_steps")
_WEIGHTS = "--objective-weights"
_MLM = {"transfer_objectives": "mlm"}


# ---- Readings of what TreLM (Sections 3.1 and 3.2) leaves open, and those of its release.


@STUDIES.register("trelm-readings")
class TrelmReadings(TrelmStudy):
    """One row for each other reading; the first has the defaults."""

    help = "what the paper leaves open, and its release: rules, null token, starts of new parts"
    title = "TreLM: readings of what the paper leaves open"
    lead = "The same migration, with one point read in another way."
    notes = (
        "A target word with several aligned source words takes the first of them (defaults), the "
        "last, as in the release, or the mean of all.",
        "The release has a masked `[PAD]` as its null token, always the second language at the "
        "input, and the source's mask above the TRILayer (`--compat`).",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        def reading(code: str, name: str, part: str, option: str) -> Variation:
            words = f"{getattr(config, part)} {option}".strip()
            return Variation(code, name, {part: words}, needs_text=part == "prepare_args")

        return [
            Variation("defaults", "our readings"),
            reading("last", "several source words: the last", "prepare_args", "--many-to-one last"),
            reading("mean", "several source words: the mean", "prepare_args", "--many-to-one mean"),
            Variation(
                "release",
                "null token, languages, masks of the release",
                # The release has no --emission of slots, so no translator of its own.
                {"train_args": f"{config.train_args} --compat".strip(), "translator_steps": 0},
            ),
            reading("layer", "TRILayer begins as layer N/2", "init_args", "--trilayer-from text"),
            reading("normal", "normal language embeddings", "init_args", "--language-init normal"),
            reading("head", "the source's LM head is kept", "init_args", "--head keep"),
        ]


# ---- What the difference in bits per word between CdLM and TLM (TreLM, Table 7) depends on.


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
    heads = False
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


def _conditions(config: Any, less_text: int) -> list[Condition]:
    """All conditions, the plain one first."""
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


# ---- The contribution of a migration's two main parts (TreLM, sections 3.1 and 3.2).


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
        return [
            Variation("full", "the full migration"),
            Variation("no-cdlm", "without CdLM", {**TLM, **alone}),
            Variation(
                "no-alignment",
                "without alignment of the embeddings",
                {
                    "embeddings": trained_init(config.embeddings),
                    "mapping": "none",
                    "copy_shared": False,
                    **alone,
                },
            ),
        ]


# ---- Translators with slots, which are trained from a migration's forward model.


@STUDIES.register("trelm-translators")
class TrelmTranslators(TrelmStudy):
    """Emissions, with glancing, and with a teacher, which `--teacher` may name.

    ``--upsample`` says how many slots of each source token `ctc` has; `lattice` has twice as many,
    8 at most.
    Without `--translator-steps` as many as of a direction of the transfer phase.
    """

    help = "slots that write words: CTC, lattice, glancing, a teacher; after TreLM, A.7"
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
        lattice = {
            **own,
            "emission": "lattice",
            "upsample": min(2 * config.upsample, int(SLOTS.most)),
        }
        glancing, teacher = {"glancing": 0.5}, {"teacher": config.teacher or AUTOREGRESSIVE}
        return [
            Variation("ctc", "CTC", ctc),
            Variation("ctc-scratch", "CTC, from scratch", {**ctc, "translator_start": SCRATCH}),
            Variation("ctc-glancing", "CTC, glancing", {**ctc, **glancing}),
            Variation("ctc-teacher", "CTC, teacher", {**ctc, **teacher}),
            Variation("ctc-all", "CTC, glancing, teacher", {**ctc, **glancing, **teacher}),
            Variation(
                "ctc-both",
                "CTC, teacher and references",
                {**ctc, **teacher, "teacher_original": True},
            ),
            Variation("lattice", "lattice", lattice),
            Variation("lattice-glancing", "lattice, glancing", {**lattice, **glancing}),
            Variation("lattice-teacher", "lattice, teacher", {**lattice, **teacher}),
            Variation(
                "lattice-all", "lattice, glancing, teacher", {**lattice, **glancing, **teacher}
            ),
        ]
