"""Transfers of a multilingual encoder next to migration (TreLM, Table 9)."""

import argparse
import functools
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import LANG_FILE, Input
from fairseq_xling.core.ranges import COUNT, Number, Range
from fairseq_xling.papers.trelm.ablations import TrelmStudy
from fairseq_xling.papers.trelm.study import Variation
from fairseq_xling.studies.ablations import STUDIES

_BUDGETS = 400 / 120  # the paper's larger number of steps by its usual one


@STUDIES.register("trelm-transfers")
class TrelmTransfers(TrelmStudy):
    """What a multilingual encoder becomes by simpler transfers, and by migration."""

    help = "transfers of a multilingual encoder, and its migration: TreLM, Table 9"
    title = "TreLM: transfers of a multilingual encoder"
    heads = False
    lead = (
        "A multilingual encoder as it is and after each transfer; the migration of the source "
        "encoder, and of the multilingual one with its own vocabulary, each with two budgets."
    )
    notes = (
        "Distances are mean squared Euclidean distances after the last layer, over the links of "
        "held-out sentence pairs, and of words at random in them; compare them within a row.",
        "Rows target-mlm and word-alignment take as many steps as a migration. RositaWORD and MIM "
        "train nothing before a task, whose head reads mapped states; their bits per word are "
        "those of as-is.",
        "Bits per word of tri-bert and tri-bert-long are of other subwords than those of the other "
        "rows.",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        group = parser.add_argument_group("the multilingual encoder")
        add = group.add_argument
        add(
            "--multilingual",
            metavar=Input("SOURCE"),
            required=True,
            help="a Hugging Face folder or a checkpoint, as `--source`",
        )
        add(
            "--multilingual-data",
            metavar=Input("DIR"),
            default="",
            help="its data folder, if it is a checkpoint",
        )
        add(
            "--word-vectors",
            metavar=LANG_FILE,
            action="append",
            default=[],
            help="vectors of words in one space, for RositaWORD; repeatable (default: trained on "
            "the text, and mapped by --mapping)",
        )
        add(
            "--map-sentences",
            type=Number(int, COUNT),
            metavar="N",
            default=2000,
            help="training pairs that maps of states are fitted on (default: %(default)s)",
        )
        add(
            "--longer",
            type=Number(float, Range(1)),
            metavar="X",
            default=_BUDGETS,
            help="the second budget of a migration, by its first (default: 400K by 120K steps)",
        )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        from fairseq_xling.papers.trelm import transfers
        from fairseq_xling.tasks.items import parse_files

        if config.data:
            raise UserError("`--data`: this study has two vocabularies; give `--text` instead")
        given = ",".join(args.word_vectors)
        vectors = dict(parse_files("--word-vectors", given)) if given else None
        own = {
            **{"source": args.multilingual, "source_data": args.multilingual_data},
            **{"source_language": "", "keep_vocabulary": True},
        }
        longer = {
            name: round(args.longer * getattr(config, name))
            for name in ("commonality_steps", "transfer_steps", "language_steps")
        }
        many = {"sentences": args.map_sentences}

        def row(code: str, name: str, method: Any = None) -> Variation:
            add = functools.partial(transfers.add_transfer, method=method, **many)
            return Variation(code, name, own, add=add)

        def migration(code: str, name: str, changes: dict[str, Any]) -> Variation:
            add = functools.partial(transfers.add_migrated, **many)
            return Variation(code, name, changes, add=add)

        rosita = functools.partial(transfers.rosita_word, given=vectors)
        return [
            row("as-is", "multilingual encoder as it is"),
            row("target-mlm", "+ MLM on the target", transfers.target_mlm),
            row("rosita-word", "RositaWORD", rosita),
            row("mim", "MIM", transfers.mim),
            row("word-alignment", "word alignment", transfers.word_alignment),
            migration("tri-bert", "TRI-BERT", {}),
            migration("tri-mbert", "TRI-mBERT", own),
            migration("tri-bert-long", "TRI-BERT, more steps", longer),
            migration("tri-mbert-long", "TRI-mBERT, more steps", {**own, **longer}),
        ]
