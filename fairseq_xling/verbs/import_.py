"""Import a pretrained encoder unchanged: its weights, its vocabulary, its tokenizer.

    fairseq-xling import bert-folder --languages en --output runs/bert
    fairseq-xling extract runs/bert/checkpoint.pt --data runs/bert/data --lang en --text en.txt ...

Every verb that takes a checkpoint and a data folder accepts the two in OUTPUT: extract, eval,
probe, ablate similarity, and fairseq-train with --finetune-from-model. To prepare training text
with an encoder's tokenizer, see `fairseq-xling prepare --tokenizer` and `fairseq-xling init`.

OUTPUT/checkpoint.pt   the model, a separable_transformer of the source's sizes
OUTPUT/data            data folder with its vocabulary and tokenizer, without text
"""

import dataclasses

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import NEW_FOLDER, Input
from fairseq_xling.core.options import REQUIRED, argument, option

GROUP = "Data"


@dataclasses.dataclass(frozen=True)
class Options:
    source: str = argument(
        "folder in Hugging Face format (BERT, RoBERTa, XLM, XLM-R, CamemBERT, DistilBERT or "
        "ELECTRA) with a tokenizer.json",
        Input("SOURCE"),
    )
    languages: str = option(REQUIRED, "its languages, comma-separated", metavar="CODES")
    segment: str | None = option(
        None,
        "what counts as a word, as in `fairseq-xling prepare`; subwords are the tokenizer's either "
        "way (default: basic for BERT's kind of tokenizer, else pre)",
        metavar="HOW",
    )
    output: str = shared.output("folder to write", NEW_FOLDER)


def run(options: Options) -> None:
    from fairseq_xling.core.languages import parse_languages
    from fairseq_xling.papers.trelm.start import import_encoder

    languages = parse_languages(options.languages)
    print(import_encoder(options.source, languages, options.output, options.segment))
