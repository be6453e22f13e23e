"""A pretrained encoder as a checkpoint and a data folder of ours, unchanged."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fairseq_xling.errors import UserError, about
from fairseq_xling.interop.sources import read_source
from fairseq_xling.papers.trelm.initialise import InitOptions
from fairseq_xling.papers.trelm.start import ModelOptions
from fairseq_xling.papers.trelm.start_file import make_start
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.segment import segmentations
from fairseq_xling.text.sources import Sources

# How the tensors of fine-tuned heads begin in Hugging Face folders; a pooler may be left out.
_HEADS = ("classifier.", "qa_outputs.")


def import_encoder(
    folder: str | Path, languages: Sequence[str], output: str | Path, segment: str | None = None
) -> str:
    """Write ``output/data`` and ``output/checkpoint.pt``; returns a text that describes them.

    Hidden states and the probabilities of masked words are the source's: every symbol keeps its
    embedding and its bias under a new id.

    Args:
        folder: in Hugging Face format, with its tokenizer.
        segment: what counts as a word (default: the tokenizer's own).

    Raises:
        UserError: as `read_source`, `prepare` and `make_start`; or for a source with language
            embeddings, which a `separable_transformer` does not support, or with a fine-tuned head.
    """
    folder, output = Path(folder), Path(output)
    if segment is not None:
        with about("`--segment`"):
            segmentations.check(segment)
    if not folder.is_dir():
        said = f"{folder}: must be a folder in Hugging Face format, with config.json"
        if folder.is_file():
            said += "; a checkpoint has no tokenizer: `fairseq-xling init` starts from it"
        raise UserError(said)
    source = read_source(folder, untied=True)
    if "language_table.weight" in source.state:
        raise UserError(
            f"{folder}: an encoder with language embeddings ({source.family}) cannot be imported "
            "unchanged; use `fairseq-xling init`"
        )
    if head := [name for name in source.left_out if name.startswith(_HEADS)]:
        raise UserError(
            f"{folder}: a model with a fine-tuned head (`{head[0]}`) cannot be imported unchanged; "
            "save its encoder alone, as in AutoModel.from_pretrained(FOLDER).save_pretrained(OTHER)"
        )
    chosen = segment or source.segmentation
    options = PrepareOptions(
        languages=tuple(languages), aligner="none", segment=dict.fromkeys(languages, chosen)
    )
    sources = Sources(tokenizers=dict.fromkeys(languages, folder / "tokenizer.json"))
    model = ModelOptions(
        arch="separable_transformer_base",
        trilayer=False,
        separate="" if source.tied else "softmax",
    )
    head = "whole" if source.has_head else "reset"
    initial = InitOptions(copy_shared=True, head=head, unchanged=True)
    with _removed_if_useless(output):
        prepare(output / "data", sources, options)
        return make_start(output / "checkpoint.pt", source, output / "data", model, initial)


@contextmanager
def _removed_if_useless(output: Path) -> Iterator[None]:
    """After an error, ``output`` is removed if it was not there before."""
    before = output.exists()
    try:
        yield
    except Exception:
        if not before:
            shutil.rmtree(output, ignore_errors=True)
        raise
