"""A trained model of `--task clcr` for use outside the trainer.

B sentences, T tokens with ``<s>`` and ``</s>``, D and E widths of the first and the second encoder.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.checkpoints import building
from fairseq_xling.checkpoints.files import load_trained
from fairseq_xling.data.batch import pad_rows, source_side
from fairseq_xling.data.folder import PAD, DataFolder, text_mask
from fairseq_xling.data.plan import Limits, cut
from fairseq_xling.data.sources import frame
from fairseq_xling.devices import usable_device
from fairseq_xling.errors import UserError, about, program_error
from fairseq_xling.guards import prepare_engine
from fairseq_xling.models.identity import KEY, decode_identity


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
        """The model in ``checkpoint``; ``data`` if its data folder has moved.

        Raises:
            UserError: if the file is missing, damaged or of another kind, if the data folder is not
                the one it was trained with, or if there is no such ``device``.
        """
        prepare_engine()
        from fairseq_xling.models.clcr.config import read_config
        from fairseq_xling.models.clcr.model import ClcrModel

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
        """0 for the first language, 1 for the second.

        Raises:
            UserError: for another one.
        """
        if lang not in self.pair:
            raise UserError(f"{self.checkpoint}: is of {' and '.join(self.pair)}, not of {lang!r}")
        return self.pair.index(lang)

    @torch.no_grad()
    def states(
        self, sentences: Sequence[np.ndarray], side: int, max_tokens: int = 8192
    ) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        """The states of ``sentences`` after the encoder's layer, in batches of similar length.

        Args:
            sentences: ids as returned by `TextEncoder.encode`, ``</s>`` at the end; too long ones
                are cut.
            max_tokens: maximum padded tokens per batch.

        Yields:
            (indices (B,), states (B, T, D) float32, content (B, T) bool): token k of a sentence is
            at place k + 1.
        """
        lengths = np.array([min(len(ids) + 1, self.positions) for ids in sentences])
        for chosen in cut(lengths, Limits(max_tokens, None)):
            yield chosen, *self._encode([sentences[i] for i in chosen], side)

    @torch.no_grad()
    def pairs(
        self,
        first: Sequence[np.ndarray],
        second: Sequence[np.ndarray],
        max_tokens: int = 8192,
    ) -> Iterator[tuple[np.ndarray, tuple[Tensor, Tensor], tuple[Tensor, Tensor]]]:
        """Like `states`, for both sides of sentence pairs: states and content of each."""
        lengths = np.array(
            [
                min(max(map(len, both)) + 1, self.positions)
                for both in zip(first, second, strict=True)
            ]
        )
        for chosen in cut(lengths, Limits(max_tokens, None)):
            sides = [
                self._encode([sentences[i] for i in chosen], number)
                for number, sentences in enumerate((first, second))
            ]
            states, masks = zip(*sides, strict=True)
            yield chosen, states, masks

    @torch.no_grad()
    def transform(self, side: int, states: Tensor) -> Tensor:
        """T12 of states of side 0, T21 of those of side 1."""
        return self.model.transform(side, states)

    def source(self, sentences: Sequence[np.ndarray]) -> dict[str, Tensor]:
        """A batch of sentences as encoders read it; arguments as of `states`."""
        rows = [frame(ids, self.positions) for ids in sentences]
        tokens = pad_rows(rows, PAD).to(self.device)
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        return source_side(tokens, lengths, lang=0)

    def _encode(self, sentences: Sequence[np.ndarray], side: int) -> tuple[Tensor, Tensor]:
        src = self.source(sentences)
        return self.model.encode(side, src).float(), text_mask(src["tokens"], unknown=True)
