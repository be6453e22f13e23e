"""The project's own formats of `fairseq-xling export`."""

from __future__ import annotations

import dataclasses

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import FILE
from fairseq_xling.core.options import NoOptions, option
from fairseq_xling.core.ranges import NOT_NEGATIVE
from fairseq_xling.verbs.export_formats import FORMATS, ExportFormat, Job


@dataclasses.dataclass(frozen=True)
class _FairseqOptions:
    shortlist: str | None = option(
        None, "of `fairseq-xling shortlist`, with which the folder then translates", metavar=FILE
    )


@FORMATS.register("fairseq")
class Fairseq(ExportFormat):
    """The checkpoint with its vocabulary, to translate, analyse or train with."""

    help = "model.pt with its vocabulary, which every command here and fairseq's own read"
    options = _FairseqOptions

    def write(self, job: Job, options: _FairseqOptions) -> str:
        from fairseq_xling.interop.export import export

        if job.language is not None:
            raise UserError(
                f"`--language` {job.language}: `--format fairseq` keeps all languages; leave it out"
            )
        return export(job.checkpoint, job.folder, job.data, options.shortlist)


@FORMATS.register("hf")
class HuggingFace(ExportFormat):
    """One language's path as a plain BERT that Hugging Face's transformers loads.

    `AutoModel.from_pretrained(DIR)` needs no code of this project. A folder has ``config.json``,
    ``model.safetensors``, a tokenizer, and a model card, ``README.md``, whose licence is to be
    filled in. `fairseq-xling import` reads it back.
    """

    help = "a BERT with its tokenizer and a model card, for Hugging Face's transformers"

    def write(self, job: Job, options: NoOptions) -> str:
        from fairseq_xling.api.export_hf import write

        return write(job)


@dataclasses.dataclass(frozen=True)
class _SentenceOptions:
    sentence_layer: int | None = option(
        None,
        "layer of the states, 0 the embeddings' output; higher ones are not written (default: the "
        "last)",
        range=NOT_NEGATIVE,
    )


@FORMATS.register("sentence-transformers")
class SentenceTransformers(ExportFormat):
    """The mean over a text's subwords, as a folder of that library.

    `SentenceTransformer(DIR).encode(texts)` needs no code of this project. A folder is a BERT as of
    `--format hf`, with the modules that leave special symbols out of the mean.
    """

    help = "a BERT whose mean over subwords is a text's vector, for sentence-transformers"
    options = _SentenceOptions

    def write(self, job: Job, options: _SentenceOptions) -> str:
        from fairseq_xling.api.export_hf import write_sentences

        return write_sentences(job, options.sentence_layer)
