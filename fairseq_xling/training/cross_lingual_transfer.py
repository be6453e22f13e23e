"""`--task cross_lingual_transfer`: fine-tune an encoder on annotated files.

Training reads only the given files: for zero-shot transfer, those of the source language. Other
languages are tested by `fairseq-xling predict` and `eval transfer`.
"""

import contextlib
import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Optional

from fairseq.dataclass import FairseqDataclass
from fairseq.tasks import register_task
from omegaconf import MISSING

from fairseq_xling.checkpoints import building, check_complete
from fairseq_xling.core.errors import UserError, about, exits_on_user_error
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.data.folder import Shards
from fairseq_xling.models.transfer_encoder import read_encoder
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.encode import TOO_LONG, TOO_LONG_HELP, Codec
from fairseq_xling.tasks.head_input import HeadInput, check_mapped
from fairseq_xling.tasks.items import Item
from fairseq_xling.training.base import check_choices
from fairseq_xling.training.head_task import HeadConfig, HeadTask


@dataclass
class CrossLingualTransferConfig(HeadConfig):
    data: str = field(default=MISSING, metadata={"help": "the encoder's data folder"})
    languages: Optional[str] = field(
        default=None,
        metadata={"help": "the encoder's languages, in its order (default: the data folder's)"},
    )
    too_long: str = field(
        default="truncate",
        metadata={"help": TOO_LONG_HELP},
    )
    concat_vectors: str = field(
        default="",
        metadata={
            "help": "a head reads each token's state and the vector of its word, of files in one "
            "space: en=FILE,de=FILE"
        },
    )
    map: str = field(
        default="",
        metadata={
            "help": "map of `fairseq-xling map` from one language's states, with these vectors, to "
            "another's; a head reads them in the common space"
        },
    )


@register_task("cross_lingual_transfer", dataclass=CrossLingualTransferConfig)
class CrossLingualTransferTask(HeadTask):
    """Files, labels and batches for one head."""

    def __init__(self, cfg: CrossLingualTransferConfig):
        super().__init__(cfg)
        self.shards = Shards(cfg.data)
        folder = self.folder = self.shards.first  # for its dictionaries and tokenizers
        self.languages = parse_languages(cfg.languages) if cfg.languages else list(folder.languages)
        self.vocab_sizes = {lang: folder.vocab_sizes[lang] for lang in self.languages}
        self.dictionary_digests = {lang: folder.dictionary_digest(lang) for lang in self.languages}
        self._max_positions = 0
        self._mapped: list[str] = []  # the languages that a model's map is of
        self._codecs: dict[str, Codec] = {}
        check_choices(cfg, too_long=TOO_LONG)

    @functools.cached_property
    def head_input(self) -> HeadInput:
        """What a head reads besides states; an older checkpoint has no such options."""
        cfg = self.cfg
        return HeadInput.read(getattr(cfg, "concat_vectors", ""), getattr(cfg, "map", ""))

    def make_dataset(
        self, files: Iterable[tuple[str, list[Item]]], shuffle: bool = False
    ) -> ItemDataset:
        """The items that `read` returns, encoded; needs a model, which bounds the length."""
        parts = []
        for lang, items in files:
            self.check_labels(items)
            check_mapped(self._mapped, lang)
            if lang not in self._codecs:
                self._codecs[lang] = Codec(
                    self.folder.path, lang, self._max_positions, self.cfg.too_long, self.head_input
                )
            parts.append((self._codecs[lang], self.languages.index(lang), items))
        return ItemDataset(parts, self.head, shuffle, self.cfg.seed)

    @exits_on_user_error
    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False):
        if not hasattr(cfg, "encoder_config"):
            raise UserError("`--arch` must be cross_lingual_transfer with this task")
        check_complete("cfg.model.encoder_config", cfg.encoder_config)
        weights = None
        if not cfg.encoder_config:
            # Set here, in the configuration that is saved: a checkpoint needs no other file.
            cfg.encoder_config, weights = read_encoder(cfg.encoder, self)
        with contextlib.ExitStack() as bounds:
            if weights is not None:
                bounds.enter_context(about(cfg.encoder))
                bounds.enter_context(building(f"`--encoder` {cfg.encoder}", weights))
            model = super().build_model(cfg, from_checkpoint)
        if weights is not None and not cfg.reset_encoder:
            model.load_encoder(weights, cfg.encoder)
        self._max_positions, self._mapped = model.max_positions(), list(model.sides)
        return model

    def max_positions(self) -> int:
        return self._max_positions
