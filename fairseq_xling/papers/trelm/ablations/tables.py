"""The studies of TreLM's tables: the same migration several times, each a row of a table."""

import argparse
import functools
import itertools
import shlex
from typing import Any

from fairseq_xling.core.ranges import Number, Range
from fairseq_xling.papers.trelm.ablations import TrelmStudy
from fairseq_xling.papers.trelm.study import Variation
from fairseq_xling.studies.ablations import STUDIES


@STUDIES.register("trelm-baselines")
class TrelmBaselines(TrelmStudy):
    """A small BERT of the target language, multilingual models with MLM, and with MLM + TLM, and a
    BERT as large as the migrated encoder, which reads more text for longer."""

    help = "small, multilingual and large models from scratch: TreLM, Tables 1, 2, 4 and A.5"
    title = "TreLM: migration and training from scratch"
    heads = False
    lead = (
        "The multilingual models have as many optimiser steps as the migration, on the same "
        "text; the small BERT has `--small-steps` times as many, the large one `--large-steps`."
    )
    notes = (
        "Tokens are those that the models read, with repetitions; batches are the same, so "
        "rows differ in tokens only if their sentences differ in length.",
        "The paper's multilingual models have three languages; these have the pair's two.",
        "Where a migration's text is limited, so is that of models from scratch, but for the large "
        "BERT, which reads all of it.",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--small-model",
            default="--arch separable_transformer_small",
            metavar="OPTIONS",
            help="model options of the small BERT, as one text (default: %(default)s, the paper's)",
        )
        for name, times, steps in (("small", 2.0, "240K"), ("large", 8.0, "1M")):
            parser.add_argument(
                f"--{name}-steps",
                type=Number(float, Range(0.1)),
                default=times,
                metavar="X",
                help=f"steps of the {name} BERT, by the migration's (default: %(default)s; in the "
                f"paper {steps} by 120K)",
            )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        from fairseq_xling.papers.trelm.transfers import add_scratch

        def scratch(code: str, name: str, objectives: str = "mlm", **how: Any) -> Variation:
            add = functools.partial(add_scratch, objectives=objectives, **how)
            return Variation(code, name, add=add)

        small = {"model": shlex.split(args.small_model), "times": args.small_steps}
        large = {"times": args.large_steps, "limited": False, "of_target": True}
        return [
            Variation("migrated", "migrated from the source encoder"),
            scratch(
                *("small-bert", "small BERT of the target language"),
                **{"task": "bilingual_mlm", "of_target": True, **small},
            ),
            scratch("mlm", "multilingual, MLM"),
            scratch("mlm-tlm", "multilingual, MLM + TLM", "mlm,tlm"),
            scratch("large-bert", "large BERT of the target language", **large),
        ]


@STUDIES.register("trelm-compensated")
class TrelmCompensated(TrelmStudy):
    """Without the transfer phase, but with its text, as monolingual text, and its steps."""

    help = "without CdLM, compensated by monolingual text and steps: TreLM, Table 3"
    title = "TreLM: compensation for the transfer phase"
    heads = False
    lead = (
        "The migration without transfer, and again with as many more target sentences as there are "
        "sentence pairs, and more steps."
    )
    notes = (
        "Row same-steps has as many optimiser steps as the whole migration, whose transfer phase "
        "trains two models; row paper has 9/7 of them (180K there, and 140K of the migration).",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        without = {"transfer_steps": 0}
        same = config.language_steps + 2 * config.transfer_steps
        papers = round(9 / 7 * (config.commonality_steps + same)) - config.commonality_steps
        more = {**without, "extra_mono": True}
        return [
            Variation("full", "with transfer"),
            Variation("without", "without transfer", without),
            Variation("same-steps", "compensated, same steps", {**more, "language_steps": same}),
            Variation("paper", "compensated as in the paper", {**more, "language_steps": papers}),
        ]


# code: (embeddings, their map, bits per word in the paper after 20K steps); trained ones are by the
# method that `--embeddings` names, or skip-gram.
_INITS = {
    "random": ("random", "none", 6.99),
    "random-adv": ("random", "adversarial", 6.77),
    "skipgram": ("trained", "none", 6.53),
    "skipgram-adv": ("trained", "adversarial", 5.93),
}


@STUDIES.register("trelm-init")
class TrelmInit(TrelmStudy):
    """Four initialisations, after the commonality phase, at its length and at twice its length."""

    help = "embedding initialisation: TreLM, Table 5"
    title = "TreLM: how the embeddings of new words begin"
    lead = "Bits per word after commonality training alone, at one and two times its length."
    notes = (
        "The paper's figures are those after 20K steps.",
        "Every word of either language is initialised by the row's method; none is copied from the "
        "source because of its spelling, as `fairseq-xling trelm run` does by default.",
        "If no seed of the adversarial map was better than chance, the best of them was used.",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        from fairseq_xling.papers.trelm.embedding_init import trained_init

        rows = []
        for factor, (code, (kind, mapping, paper)) in itertools.product((1, 2), _INITS.items()):
            made = kind if kind == "random" else trained_init(config.embeddings)
            changes = {
                **{"embeddings": made, "mapping": mapping, "embed_languages": "both"},
                **{"copy_shared": False, "map_keep_failed": True},
                "commonality_steps": factor * config.commonality_steps,
                **{"transfer_steps": 0, "language_steps": 0},
            }
            name = f"{made}, mapped adversarially" if mapping == "adversarial" else made
            twice = "-2x" * (factor == 2)
            rows.append(Variation(code + twice, name, changes, None if twice else paper))
        return rows


CDLM = {"transfer_objectives": "cdlm,mlm"}
TLM = {"transfer_objectives": "tlm,mlm"}


@STUDIES.register("trelm-objectives")
class TrelmObjectives(TrelmStudy):
    """CdLM, its variants and what came before it, with the same steps in each row."""

    help = "CdLM, CdLM*, TLM and BRLM, and without the TRILayer: TreLM, Tables 7 and 8"
    title = "TreLM: objectives of the transfer phase"
    heads = False
    lead = "The same migration with other objectives on the parallel text."
    notes = (
        "Row cdlm-star has separate vocabularies and no language embeddings; its "
        "bits per word are of other subwords, and not comparable with the other rows'.",
        "The rows of BRLM are reimplementations: the paper it comes from has no public code.",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        return [
            Variation("cdlm", "CdLM", CDLM, 1.548),
            Variation(
                "cdlm-star",
                "CdLM*: separate vocabularies",
                {
                    **CDLM,
                    "vocab": "separate",
                    "separate": "tokens,softmax",
                    "arch": "tri_encoder",  # without language embeddings
                },
                needs_text=True,
            ),
            Variation("tlm", "without CdLM (MLM + TLM)", TLM, 3.028),
            Variation(
                "tlm-no-trilayer", "also without TRILayer", {**TLM, "trilayer": False}, 3.469
            ),
            *(
                Variation(code, f"BRLM, {what}", {"transfer_objectives": f"{code},mlm"})
                for code, what in (
                    ("brlm-mask", "masked bridges"),
                    ("brlm-attn", "restricted attention"),
                )
            ),
        ]


@STUDIES.register("trelm-parallel")
class TrelmParallel(TrelmStudy):
    """Nested subsets of the sentence pairs."""

    help = "bits per word by the size of the parallel text: TreLM, Figure 2"
    title = "TreLM: how much parallel text"
    lead = "The same migration with fewer sentence pairs; subsets are nested."
    notes = (
        "Vocabulary and word alignment are those of all pairs in every row, so that bits per word "
        "are comparable; the aligner has thus seen more than the smaller rows' models.",
    )
    axis, size = "sentence pairs", "parallel_limit"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--sizes", metavar="N,N", required=True, help="numbers of sentence pairs"
        )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        from fairseq_xling.workflow.options import parse_numbers

        return [
            Variation(f"pairs-{size}", f"{size:,} pairs", {"parallel_limit": size})
            for size in sorted(parse_numbers("--sizes", args.sizes, int), reverse=True)
        ]
