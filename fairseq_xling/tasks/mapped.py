"""Zero-shot transfer by a map between two encoders.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.2: the lower layers of its own
language's encoder read a text, its states after layer i are mapped into the source encoder's space,
and the source encoder's layers above i and its head continue from there. Neither encoder has seen
the other's language.

B batch, T length, D width.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.folder import UNK
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.mapping.fitted import FittedMap
from fairseq_xling.models.encoder import Pair, SeparableEncoder
from fairseq_xling.models.sharing import Slot
from fairseq_xling.models.transfer_encoder import TransferEncoder, stages
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.encode import Codec
from fairseq_xling.tasks.heads import check_labels
from fairseq_xling.tasks.items import Item
from fairseq_xling.tasks.predict import Predictor


def module_of(encoder: SeparableEncoder, layer: int, lang: str) -> nn.Module:
    """The module whose output, in evaluation, are the states after ``layer``, as `extract` counts.

    0 is the embeddings; a TRILayer counts as a layer.
    """
    found = stages(encoder)
    if not 0 <= layer < len(found):
        raise UserError(f"`layer` must lie in [0, {len(found) - 1}], got {layer}")
    return found[layer].select(lang) if isinstance(found[layer], Slot) else found[layer]


def states_after(
    encoder: SeparableEncoder, src: Mapping[str, Tensor], pair: Pair, layer: int
) -> Tensor:
    """The states (B, T, D) that the next layer reads, followed by a null state if it reads one."""
    kept: list[Tensor] = []
    module = module_of(encoder, layer, pair[0])
    handle = module.register_forward_hook(lambda _, __, output: kept.append(output))
    try:
        encoder.states(src, pair)
    finally:
        handle.remove()
    return kept[0]


@contextmanager
def replacing(encoder: SeparableEncoder, layer: int, lang: str, states: Tensor) -> Iterator[None]:
    """Within this block, the states after ``layer`` are ``states``, whatever the input."""

    def replace(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        if output.shape != states.shape:
            raise UserError(
                f"states after layer {layer} must be {tuple(output.shape)}, got "
                f"{tuple(states.shape)}; both encoders must have a TRILayer below it, or neither"
            )
        return states.to(output)

    handle = module_of(encoder, layer, lang).register_forward_hook(replace)
    try:
        yield
    finally:
        handle.remove()


class MappedModel(nn.Module):
    """The lower layers of one encoder, a map, and the upper layers of another with its head.

    Args:
        lower: the encoder of the text's language.
        fitted: the map from its states to those of ``upper``.
        upper: a `TransferEncoder`; it reads the mapped states as language ``lang``, its ``number``.
        layer: the last one of ``lower`` that is used; 0 is the embeddings.

    Raises:
        UserError: if the map has no such layer, does not lead back to unnormalised states, or does
            not have the encoders' widths.
    """

    def __init__(
        self,
        lower: SeparableEncoder,
        fitted: FittedMap,
        upper: TransferEncoder,
        layer: int,
        lang: str,
        number: int,
    ):
        super().__init__()
        self.lower, self.upper, self.layer = lower, upper, layer
        self._fitted, self._lang, self._number = fitted, lang, number
        widths = lower.shape.dim, upper.encoder.shape.dim
        sides = fitted[layer].moving.width, fitted[layer].fixed.width
        if widths != sides:
            raise UserError(
                f"the map leads from states {sides[0]} wide to {sides[1]}, the encoders are "
                f"{widths[0]} and {widths[1]} wide"
            )
        for encoder in (lower, upper.encoder):
            module_of(encoder, layer, encoder.languages[0])
        if layer > upper.read_layer:
            raise UserError(
                f"`layer` must be at most {upper.read_layer}, which the head reads, got {layer}"
            )
        fitted.carry(torch.zeros(1, widths[0]), layer)  # raises if the map does not allow it

    def forward(
        self, src: Mapping[str, Tensor], pair: Pair, fields: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """As `TransferEncoder.forward`, for a text in a language of ``lower``."""
        last = max(self.lower.shape.num_segments - 1, 0)
        seen = {**src, "segments": src["segments"].clamp(max=last)}
        states = states_after(self.lower, seen, pair, self.layer)
        carried = self._fitted.carry(states.flatten(0, 1), self.layer)
        carried = carried.view(*states.shape[:2], -1)
        # The input at the text's positions below the layer has no influence.
        blind = {
            **src,
            "tokens": torch.full_like(src["tokens"], UNK),
            "langs": torch.full_like(src["langs"], self._number),
        }
        with replacing(self.upper.encoder, self.layer, self._lang, carried):
            return self.upper(blind, (self._lang, self._lang), fields)

    def max_positions(self) -> int:
        return min(self.lower.shape.max_positions, self.upper.encoder.shape.max_positions)


class MappedTask:
    """A fine-tuned model's task whose texts are those of another encoder's data folder."""

    def __init__(self, task: Any, reader: Encoder, max_positions: int):
        self._task, self._reader, self._max_positions = task, reader, max_positions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    @property
    def languages(self) -> list[str]:
        """Those of the other encoder; the fine-tuned model may know none of them."""
        return self._reader.languages

    def read(self, lang: str, path: str | Path) -> list[Item]:
        """The items of a file, in a language of the other encoder."""
        if lang not in self.languages:
            raise unknown_name("language of the mapped encoder", lang, self.languages)
        return self._task.items_of(lang, path)

    def make_dataset(self, files: Iterable[tuple[str, list[Item]]]) -> ItemDataset:
        """The items that `read` returned, as input of the other encoder."""
        parts = []
        for lang, items in files:
            if self._task.cfg.unknown_labels == "refuse":
                check_labels(self._task.head, items)
            codec = Codec(
                self._reader.folder.path, lang, self._max_positions, self._task.cfg.too_long
            )
            parts.append((codec, self.languages.index(lang), items))
        return ItemDataset(parts, self._task.head)


def mapped_predictor(
    predictor: Predictor, reader: Encoder, fitted: FittedMap, layer: int
) -> Predictor:
    """A predictor for the languages of ``reader`` with the upper layers and head of ``predictor``.

    Args:
        fitted: the map from ``reader``'s states to those of ``predictor``'s encoder, as fitted by
            `fairseq-xling map contextual`; its fixed side determines the language as which the
            upper layers read them.

    Raises:
        UserError: if encoders, map and layer do not fit together, or the model has no encoder.
    """
    task = predictor.task
    joint = getattr(predictor.model, "joint", None)
    if joint is None:
        raise UserError(
            "only a head of `--task cross_lingual_transfer` reads another encoder's states, got "
            f"one of {type(task).__name__}"
        )
    if joint:
        raise UserError(
            "a head trained with `--concat-vectors` or `--map` reads no other encoder's states"
        )
    lang = fitted.settings["fixed"]["lang"]
    if lang not in task.languages:
        raise unknown_name("language of the fine-tuned model", lang, task.languages)
    model = MappedModel(
        reader.model.encoder, fitted, predictor.model, layer, lang, task.languages.index(lang)
    )
    mapped = MappedTask(task, reader, model.max_positions())
    return Predictor(model, mapped, predictor.device)
