"""A trained model of `--task clcr` for use outside the trainer.

Its measures read labelled sentence pairs in batches (`labelled_batches`).

B sentences, T tokens with ``<s>`` and ``</s>``, D and E widths of the first and the second encoder.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.checkpoints import building
from fairseq_xling.core.errors import UserError, about, program_error
from fairseq_xling.data.batch import pad_rows, source_side
from fairseq_xling.data.folder import PAD, DataFolder, text_mask
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.plan import Limits, cut
from fairseq_xling.data.sources import frame, frame_order
from fairseq_xling.engine.devices import usable_device
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.models.identity import KEY, decode_identity
from fairseq_xling.papers.clcr.labels import blocks_of_text
from fairseq_xling.papers.clcr.modules import PairStates
from fairseq_xling.papers.clcr.pivots import Pivots, mutual_best, pair_distances
from fairseq_xling.trained import load_trained


class Batch(NamedTuple):
    """Sentences, by side of those that were asked for.

    Attributes:
        indices: (B,); token k of a sentence is at place k + 1.
        states: (B, T, D) float32 each.
        masks: (B, T) each, True at content.
        sources: the batch as encoders read it.
    """

    indices: np.ndarray
    states: tuple[Tensor, ...]
    masks: tuple[Tensor, ...]
    sources: tuple[dict[str, Tensor], ...]


class Clcr:
    """A checkpoint's model in evaluation mode, with the data folder whose ids it reads.

    Attributes:
        pair: its languages; the states of the first are mapped to those of the second.
        parts: its trained modules by key.
        norm: of its distances.
    """

    def __init__(self, model, folder: DataFolder, checkpoint: str, device: torch.device):
        self.model, self.folder, self.checkpoint = model.eval().to(device), folder, checkpoint
        self.device = device
        self.pair: tuple[str, str] = model.pair
        self.parts = model.parts
        self.norm: str = model.require("transform", checkpoint).norm
        self.widths = tuple(side.width for side in model.encoders)

    @classmethod
    def load(
        cls,
        checkpoint: str | Path,
        data: str | Path | None = None,
        device: str | torch.device = "cpu",
    ) -> "Clcr":
        """The model in ``checkpoint``; ``data`` if its data folder has moved."""
        prepare_engine()
        from fairseq_xling.papers.clcr.encoder import read_config
        from fairseq_xling.papers.clcr.model import ClcrModel

        device = usable_device(device)
        if not Path(checkpoint).is_file():
            raise UserError(f"{checkpoint}: no such checkpoint")
        state = load_trained(checkpoint)
        try:
            text = dict(state["cfg"]["model"])["clcr_config"]
            place = data if data is not None else dict(state["cfg"]["task"])["data"]
            weights, identity = state["model"], decode_identity(state["model"][KEY])
        except (KeyError, TypeError, ValueError):
            raise UserError(f"{checkpoint}: contains no model of `--task clcr`") from None
        config = read_config(text, checkpoint)
        folder = DataFolder(place)
        digests = identity.get("dictionaries", {})
        for lang in sorted(config["pair"]):
            known = lang in folder.languages and folder.dictionary_digest(lang)
            if not known or digests.get(lang) != known:
                raise UserError(
                    f"{checkpoint}: was trained with another dictionary of {lang} than that of "
                    f"{folder.path}"
                )
        try:
            with about(checkpoint, from_file=True), building(checkpoint, weights):
                model = ClcrModel(config, identity)
                model.load_state_dict(weights)
        except SystemExit as error:  # one line, meant for fairseq's own programs
            raise UserError(f"{checkpoint}: {program_error(error)}") from None
        return cls(model.float(), folder, str(checkpoint), device)

    @property
    def positions(self) -> int:
        """The longest sentence in tokens, with ``<s>`` and ``</s>``."""
        return self.model.max_positions()

    def side(self, lang: str) -> int:
        """0 for the first language, 1 for the second."""
        if lang not in self.pair:
            raise UserError(f"{self.checkpoint}: is of {' and '.join(self.pair)}, not of {lang!r}")
        return self.pair.index(lang)

    @torch.no_grad()
    def batches(
        self, texts: Mapping[int, Sequence[np.ndarray]], max_tokens: int = 8192
    ) -> Iterator[Batch]:
        """The states of sentences after the encoders' layers, in batches of similar length.

        Args:
            texts: by side the ids as returned by `TextEncoder.encode`, ``</s>`` at the end, of
                sentences that translate each other if there are two; too long ones are cut.
            max_tokens: maximum padded tokens per side and batch.
        """
        longest = [max(map(len, line)) for line in zip(*texts.values(), strict=True)]
        lengths = np.array([min(length + 1, self.positions) for length in longest])
        for chosen in cut(lengths, Limits(max_tokens, None)):
            sides = [self._encode([text[i] for i in chosen], n) for n, text in texts.items()]
            yield Batch(chosen, *zip(*sides, strict=True))

    def pivots(self, states: Sequence[Tensor], masks: Sequence[Tensor]) -> Pivots:
        """The mutual best pairs of both sides of a batch; tokens are counted from ``<s>``."""
        moved = self.transform(0, states[0]), self.transform(1, states[1])
        return mutual_best(pair_distances(*states, *moved, self.norm), *masks)

    @torch.no_grad()
    def transform(self, side: int, states: Tensor) -> Tensor:
        """T12 of states of side 0, T21 of those of side 1."""
        return self.model.transform(side, states)

    def _encode(
        self, sentences: Sequence[np.ndarray], side: int
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        rows = [frame(ids, self.positions) for ids in sentences]
        tokens = pad_rows(rows, PAD).to(self.device)
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        src = source_side(tokens, lengths, lang=0)
        return self.model.encode(side, src).float(), text_mask(src["tokens"], unknown=True), src


def labelled_batches(
    model: Clcr, sides: tuple[TokenFile, TokenFile], order: TokenFile, max_tokens: int
) -> Iterator[PairStates]:
    """Every sentence pair once, with its pivots as ``partner`` and T12 of its first side.

    Args:
        order: the pivots, of `Labels.order`.
        max_tokens: maximum padded tokens per side and batch.
    """
    for start, texts in blocks_of_text(sides, 0):
        yield from _batches(model, texts, order, start, max_tokens)


def labelled_pair(
    model: Clcr, sides: tuple[TokenFile, TokenFile], order: TokenFile, number: int
) -> PairStates:
    """Sentence pair ``number``, from 0, as a batch of one; arguments as of `labelled_batches`."""
    texts = [[side[number]] for side in sides]
    return next(_batches(model, texts, order, number, max_tokens=1))


def _batches(
    model: Clcr,
    texts: Sequence[Sequence[np.ndarray]],
    order: TokenFile,
    start: int,
    max_tokens: int,
) -> Iterator[PairStates]:
    for indices, states, masks, sources in model.batches(dict(enumerate(texts)), max_tokens):
        rows = []
        for i in indices:
            lengths = (min(len(text[i]) + 1, model.positions) for text in texts)
            rows.append(frame_order(order[start + int(i)], *lengths))
        partner = pad_rows(rows, -1).to(masks[1].device).masked_fill(~masks[1], -1)
        yield PairStates(states, masks, partner, model.transform(0, states[0]), sources)
