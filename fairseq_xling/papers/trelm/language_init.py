"""The initial values of language embeddings (TreLM, Section 3.2).

L languages, D width of the encoder.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fairseq_xling.errors import UserError
from fairseq_xling.interop.sources import SourceModel
from fairseq_xling.registry import Registry

LanguageInit = Callable[[Sequence[str], SourceModel, torch.Generator], Tensor]
# Each returns (L, D) for the languages, in their order.
language_inits: Registry[LanguageInit] = Registry("`--language-init`")


@language_inits.register("normal")
def normal(languages: Sequence[str], source: SourceModel, generator: torch.Generator) -> Tensor:
    """Normal with the source's initial deviation, as in the paper's released code."""
    shape = source.shape
    return torch.randn(len(languages), shape.dim, generator=generator) * shape.init_std


@language_inits.register("orthogonal")
def orthogonal(languages: Sequence[str], source: SourceModel, generator: torch.Generator) -> Tensor:
    """Orthogonal to each other, as in TreLM's text, with the average length of `normal`.

    Raises:
        UserError: if there are more languages than dimensions.
    """
    shape = source.shape
    if len(languages) > shape.dim:
        raise UserError(
            f"`--language-init orthogonal` supports at most {shape.dim} languages, the width of "
            f"the encoder, got {len(languages)}"
        )
    drawn = torch.randn(shape.dim, len(languages), generator=generator, dtype=torch.float64)
    basis = torch.linalg.qr(drawn).Q.T
    return (basis * shape.init_std * math.sqrt(shape.dim)).float()


@language_inits.register("source")
def from_source(
    languages: Sequence[str], source: SourceModel, generator: torch.Generator
) -> Tensor:
    """The source's own for the languages that it names, `orthogonal` ones for the others.

    Raises:
        UserError: if it has none of them.
    """
    known = (
        {}
        if not source.shape.language_embeddings
        else dict(zip(source.languages, source.state["language_table.weight"], strict=True))
    )
    if not set(known) & set(languages):
        raise UserError(
            f"`--language-init source`: {source.origin} has no embedding of any of "
            f"{', '.join(languages)}"
        )
    drawn = orthogonal(languages, source, generator)
    return torch.stack([known.get(lang, row) for lang, row in zip(languages, drawn, strict=True)])
