"""The common form of all families: an encoder's sizes, weights and vocabulary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.interop.sources.folder import Folder
from fairseq_xling.interop.sources.table import KeyRow, convert
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.text.tokenizers.vocabulary import is_placeholder

HEAD = "softmax."  # the names that a source without an LM head lacks
_TOKENS, _OUTPUT = "tokens.shared.weight", "output_tokens.shared.weight"


@dataclass(frozen=True)
class SourceModel:
    """A pretrained encoder in the terms of `SeparableEncoder`.

    Attributes:
        family: the family that read it, such as ``bert``.
        origin: the folder or file.
        shape: its sizes and rates.
        state: its weights, float32, under the names of an encoder with nothing private; without
            those of the LM head if the source has none, and with ``output_tokens`` if the head is
            not tied to the token embeddings.
        symbols: the vocabulary by id. Word starts are marked ``▁``; the five special symbols are
            spelt like ours (``<s>``, ``<pad>``, ``</s>``, ``<unk>``, ``<mask>``).
        special_ids: ids of ``cls``, ``pad``, ``sep``, ``unk``, ``mask``, and ``null`` if it has it.
        languages: names of the rows of its language embeddings, or one meaningless name.
        counts: how often each symbol occurred in the text that the vocabulary was learnt on, where
            that is known.
        left_out: tensors of the source that are not used here, such as a pooler.
        segmentation: the one (`fairseq_xling.text.segment`) with the same words as its tokenizer.
    """

    family: str
    origin: str
    shape: EncoderShape
    state: dict[str, Tensor]
    symbols: list[str]
    special_ids: dict[str, int]
    languages: tuple[str, ...] = ("source",)
    counts: tuple[int, ...] | None = None
    left_out: tuple[str, ...] = field(default=())
    segmentation: str = "pre"

    @classmethod
    def of_folder(
        cls,
        folder: Folder,
        shape: EncoderShape,
        vocabulary: tuple[list[str], dict[str, int]],
        tensors: Mapping[str, Tensor],
        table: Sequence[KeyRow],
        head: Sequence[KeyRow],
        inside: str,
        **more: Any,
    ) -> "SourceModel":
        """The model in a Hugging Face folder.

        Args:
            vocabulary: its symbols and special ids.
            tensors, table, head, inside: as for `convert`.
            more: further attributes.
        """
        found = convert(tensors, table, head, shape.layers, str(folder.path), inside)
        symbols, special_ids = vocabulary
        model = cls(
            *(folder.model_type, str(folder.path), shape, found.state, symbols, special_ids),
            left_out=found.left_out,
            **more,
        )
        return model.checked(found.theirs, "config.json")

    def __post_init__(self) -> None:
        size = len(self.embeddings)
        if len(self.symbols) != size:
            raise UserError(
                f"{self.origin}: the vocabulary must have as many symbols as there are token "
                f"embeddings, {size}, got {len(self.symbols)}"
            )

    @property
    def has_head(self) -> bool:
        """Whether the source has an LM head."""
        return any(name.startswith(HEAD) for name in self.state)

    @property
    def tied(self) -> bool:
        """Whether the LM head, if there is one, uses the token embeddings."""
        return _OUTPUT not in self.state

    def as_output(self) -> "SourceModel":
        """This model with the embeddings of its LM head as those of tokens."""
        if self.tied:
            return self
        return replace(self, state={**self.state, _TOKENS: self.state[_OUTPUT]})

    @property
    def embeddings(self) -> Tensor:
        """The token embeddings (V, D), rows by the source's ids."""
        return self.state[_TOKENS]

    def words(self) -> list[int]:
        """The ids of all but special symbols and placeholders."""
        special = set(self.special_ids.values())
        return [
            number
            for number, symbol in enumerate(self.symbols)
            if number not in special and not is_placeholder(symbol)
        ]

    def encoder(self) -> SeparableEncoder:
        """The source model itself, in evaluation mode, reading the source's ids.

        Without a head in the source, the one here is newly initialised.
        """
        encoder = self.empty_encoder()
        state = {self._in_encoder(name): tensor for name, tensor in self.state.items()}
        if not self.has_head:
            state |= {k: v for k, v in encoder.state_dict().items() if k.startswith(HEAD)}
        encoder.load_state_dict(state)
        return encoder.eval()

    def empty_encoder(self) -> SeparableEncoder:
        """An encoder of the source's sizes with new weights."""
        sizes = {lang: len(self.symbols) for lang in self.languages}
        # Only a softmax of its own has its own embeddings.
        plan = SharingPlan() if self.tied else SharingPlan(frozenset(["softmax"]))
        return SeparableEncoder(self.shape, sizes, plan)

    def _in_encoder(self, name: str) -> str:
        """The name that a tensor of `state` has in `empty_encoder`."""
        if self.tied or not name.startswith((HEAD, "output_tokens.")):
            return name
        return name.replace(".shared.", f".private.{self.languages[0]}.")

    def checked(self, theirs: dict[str, str], config: str) -> "SourceModel":
        """Itself, if every tensor has the shape that the sizes ask for.

        Args:
            theirs: the source's names of the tensors, by ours.
            config: where the sizes come from, for the message.
        """
        try:
            with torch.device("meta"):
                expected = self.empty_encoder().state_dict()
        except UserError:
            raise
        except (RuntimeError, ArithmeticError, TypeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise UserError(f"{self.origin}: {config} describe no encoder ({reason})") from None
        for name, tensor in self.state.items():
            shape = expected[self._in_encoder(name)].shape
            if tensor.shape != shape:
                raise UserError(
                    f"{self.origin}: `{theirs[name]}` must have shape {tuple(shape)} by {config}, "
                    f"got {tuple(tensor.shape)}"
                )
        return self
