"""A trained encoder for use outside the trainer: ids in, hidden states out."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.checkpoints.files import checkpoint_in, find_data, named_data
from fairseq_xling.core import arguments
from fairseq_xling.core.errors import UserError, program_error
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Example, side_of
from fairseq_xling.data.folder import MASK, SPECIALS, DataFolder, text_mask
from fairseq_xling.data.plan import Limits, cut
from fairseq_xling.data.sources import frame
from fairseq_xling.engine.devices import usable_device
from fairseq_xling.engine.prepare import prepare_engine

Loaded = TypeVar("Loaded", bound="Encoder")


class Encoder:
    """A checkpoint's model in evaluation mode, with the data folder whose ids it reads.

    ``num_layers`` is L, ``width`` D; ``languages`` in the order that numbers them; ``checkpoint``
    is the file that it was loaded from.
    """

    checkpoint: Path | None = None

    def __init__(self, model: Any, task: Any, device: str | torch.device = "cpu"):
        self.model = model.eval().to(device)
        self.task, self.device = task, torch.device(device)
        self.folder: DataFolder = task.folder
        self.languages: list[str] = list(task.languages)
        self.num_layers: int = model.encoder.depth
        self.width: int = model.encoder.shape.dim

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(self.languages)}; {self.num_layers} layers, "
            f"{self.width} wide, on {self.device})"
        )

    @classmethod
    def load(
        cls: type[Loaded],
        checkpoint: str | Path,
        data: str | Path | None = None,
        device: str | torch.device = "cpu",
    ) -> Loaded:
        """The model in a fairseq ``checkpoint``, or in a folder of a training, an import or an
        export: of a training its best checkpoint, or else its last.

        Args:
            checkpoint: may be a folder of `fairseq-xling export`, which is its own data folder.
            data: its data folder (default: the one that it was trained with; a relative path is
                looked for here, then in the folders above the checkpoint).

        Raises:
            UserError: if the file is missing, truncated or not plain data, if its model is of
                another kind, if the data folder is not the one it was trained with, or if there is
                no such ``device``.
        """
        prepare_engine()
        from fairseq import checkpoint_utils

        import fairseq_xling.plugin  # noqa: F401

        device = usable_device(device)
        arguments.path("checkpoint", checkpoint)
        if data is not None:
            arguments.path("data", data)
        checkpoint, data = checkpoint_in(checkpoint, data)
        if not Path(checkpoint).is_file():
            raise UserError(f"{checkpoint}: no such checkpoint{_remedy(Path(checkpoint))}")
        overrides = {"data": str(data)} if data is not None else {}
        try:
            models, cfg, task = checkpoint_utils.load_model_ensemble_and_task(
                [str(checkpoint)], overrides
            )
        except SystemExit as error:  # one line, meant for fairseq's own programs
            told = program_error(error)
            if data is None and (lost := _lost_data(checkpoint)):
                raise UserError(
                    f"{checkpoint}: its data folder {lost} is not here; name it as `data`"
                ) from None
            raise told from None
        except RuntimeError as error:
            raise UserError(f"{checkpoint}: not a checkpoint of this project ({error})") from None
        if not hasattr(models[0], "encoder") or not hasattr(task, "folder"):
            raise UserError(
                f"{checkpoint}: contains a model of task {cfg.task._name!r}, not a bilingual "
                "encoder"
            )
        loaded = cls(models[0], task, device)
        loaded.checkpoint = Path(checkpoint)
        return loaded

    def check_language(self, lang: str) -> None:
        """Nothing, if the model has the language."""
        if not isinstance(lang, str) or lang not in self.languages:
            raise unknown_name("language", lang, self.languages)

    @torch.no_grad()
    def states(
        self,
        sentences: Sequence[np.ndarray],
        lang: str,
        max_tokens: int = 8192,
        unknown: bool = False,
        max_sentences: int | None = None,
    ) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        """The states of ``sentences`` after every layer, in batches of similar length.

        Args:
            sentences: ids as returned by `TextEncoder.encode`: ``</s>`` at the end, no ``<s>``
                (it is added here). Too long ones are cut at the model's positions.
            lang: their language.
            max_tokens: maximum padded tokens per batch.
            unknown: whether ``<unk>`` is a word, too.
            max_sentences: maximum sentences per batch; None for any number.

        Yields:
            (indices (B,), states (L + 1, B, T, D) float32, words (B, T) bool); layer 0 is the
            output of the embeddings, ``words`` is True at tokens that are not special.
        """
        for indices, batch in self.batches(sentences, lang, max_tokens, max_sentences):
            src = batch["net_input"]["src"]
            layers = self.model.encoder.states(src, (lang, lang))
            yield indices, torch.stack(layers).float(), text_mask(src["tokens"], unknown)

    def masked_log_probs(
        self,
        sentences: Sequence[np.ndarray],
        positions: Sequence[np.ndarray],
        lang: str,
        max_tokens: int = 8192,
    ) -> Iterator[Tensor]:
        """ln p of chosen subwords, masked as ``<mask>``, batch by batch.

        Args:
            sentences, positions, lang, max_tokens: as for `masked_logits`.

        Yields:
            (n,) float32 on the CPU, n the number of masked subwords in the batch.
        """
        for logits, gold in self.masked_logits(sentences, positions, lang, max_tokens):
            yield logits.log_softmax(-1).gather(1, gold[:, None]).flatten().cpu()

    @torch.no_grad()
    def masked_logits(
        self,
        sentences: Sequence[np.ndarray],
        positions: Sequence[np.ndarray],
        lang: str,
        max_tokens: int = 8192,
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """The model's predictions at ``<mask>``, batch by batch.

        Args:
            sentences: as for `states`.
            positions: per sentence, the indices into it that are masked and predicted; special
                symbols, and those beyond the model's positions, are left out.
            lang: the language of both input and output.

        Yields:
            (logits (n, V) float32, ids of the subwords that were masked (n,)), on the model's
            device.
        """
        for indices, batch in self.batches(sentences, lang, max_tokens):
            src = batch["net_input"]["src"]
            gold = src["tokens"]
            chosen = torch.zeros(gold.shape, dtype=torch.bool)
            for row, i in enumerate(indices):
                places = torch.as_tensor(positions[i], dtype=torch.int64) + 1  # after <s>
                chosen[row, places[places < min(gold.shape[1], len(sentences[i]))]] = True
            chosen = chosen.to(self.device) & (gold >= SPECIALS)
            masked = {**src, "tokens": gold.masked_fill(chosen, MASK)}
            states = self.model.encoder.states(masked, (lang, lang))[-1]
            yield self.model.encoder.logits(states[chosen], (lang, lang)).float(), gold[chosen]

    @torch.no_grad()
    def embeddings(self, lang: str) -> Tensor:
        """The raw rows (V, D) of the token embeddings that ``lang`` reads, float32.

        Raises:
            UserError: for a language that the model does not have.
        """
        self.check_language(lang)
        return self.model.encoder.tokens.select(lang).weight.detach().float()

    def batches(
        self,
        sentences: Sequence[np.ndarray],
        lang: str,
        max_tokens: int = 8192,
        max_sentences: int | None = None,
    ) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
        """``sentences`` framed, sorted by length and padded, on the model's device."""
        self.check_language(lang)
        number, limit = self.languages.index(lang), self.model.max_positions()
        lengths = np.array([min(len(ids) + 1, limit) for ids in sentences])
        for indices in cut(lengths, Limits(max_tokens, max_sentences)):
            examples = [_plain(frame(sentences[i], limit), number) for i in indices]
            batch = collate(examples, [0] * len(examples), indices.tolist(), (lang, lang))
            yield indices, to_device(batch, self.device)


def _remedy(path: Path) -> str:
    """What to do where ``path`` is no checkpoint."""
    if path.is_dir() and not (path / "config.json").is_file():
        return "; the folder has none of checkpoint_best.pt, checkpoint_last.pt and model.pt"
    if (path / "config.json").is_file():
        return f"; bring a model of Hugging Face here by `fairseq-xling import {path}`"
    if re.fullmatch(r"([\w-]+/)?[A-Za-z]\w*(-[\w.]+)+", str(path)) and not path.exists():
        return (
            "; models are not downloaded: download its folder and bring it here by "
            "`fairseq-xling import FOLDER`"
        )
    return ""


def _lost_data(checkpoint: str | Path) -> str:
    """The data folder that a whole checkpoint names, if it is missing; else nothing."""
    try:
        data = named_data(checkpoint)
    except (UserError, KeyError, TypeError):
        return ""
    return data if not find_data(data, checkpoint) else ""


def _plain(tokens: np.ndarray, lang: int) -> Example:
    """An example that predicts nothing: the unchanged sentence."""
    side = side_of(tokens, lang)
    return Example(src=side, tgt={**side, "predict": np.zeros(len(tokens), dtype=bool)})


def to_device(value: Any, device: torch.device) -> Any:
    """``value`` with all tensors of nested dicts on ``device``."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {name: to_device(item, device) for name, item in value.items()}
    return value
