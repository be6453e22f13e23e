"""`--task bilstm_baseline`: parsing and semantic roles without a pretrained encoder.

The baselines of TreLM (Tables 1 to 3): words and parts of speech of annotated files, in one
vocabulary that is counted in the training file. `fairseq-xling predict` reads other files.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.tasks import register_task
from omegaconf import MISSING

from fairseq_xling.checkpoints import origin
from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.ranges import COUNT, ranged
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.tasks.dataset import WordTagCodec, WordTagDataset, count_contents
from fairseq_xling.tasks.heads import heads
from fairseq_xling.tasks.items import Item
from fairseq_xling.training.head_task import HeadConfig, HeadTask


@dataclass
class BilstmBaselineTaskConfig(HeadConfig):
    languages: str = field(default=MISSING, metadata={"help": "languages of the files, e.g. zh"})
    head: str = field(default="parsing", metadata={"help": "what is predicted: parsing or srl"})
    min_count: int = field(
        default=2,
        metadata=ranged("words seen less often in the training file are unknown", COUNT),
    )


@register_task("bilstm_baseline", dataclass=BilstmBaselineTaskConfig)
class BilstmBaselineTask(HeadTask):
    """Files, words, parts of speech, labels and batches for one head."""

    def __init__(self, cfg: BilstmBaselineTaskConfig):
        super().__init__(cfg)
        self.languages = parse_languages(cfg.languages)
        if not self.kind.reads_tags:
            known = [name for name in heads if heads[name].reads_tags]
            raise unknown_name("`--head` of a baseline", cfg.head, known)
        # Parts of a checkpoint: what rows of a table mean must not depend on a file's later words.
        self.state.add_factory("words", self._contents)

    @property
    def contents(self) -> tuple[list[str], list[str]]:
        """Words and parts of speech, those of the checkpoint or, at the start, of training."""
        found = self.state.words
        return found["word"], found["tag"]

    def _contents(self) -> dict[str, list[str]]:
        if self.trained:  # a file named in it must not be read instead
            raise UserError(f"{origin()}: must have words (`task_state.words`), got none")
        items = (item for _, items in self.annotated("train") for item in items)
        words, tags = count_contents(self.kind, items, self.cfg.min_count)
        return {"word": words, "tag": tags}

    @functools.cached_property
    def _codecs(self) -> dict[str, WordTagCodec]:
        return {lang: WordTagCodec(lang, *self.contents) for lang in self.languages}

    def make_dataset(
        self, files: Iterable[tuple[str, list[Item]]], shuffle: bool = False
    ) -> WordTagDataset:
        """The items that `read` returns, encoded."""
        parts = []
        for lang, items in files:
            self.check_labels(items)
            parts.append((self._codecs[lang], self.languages.index(lang), items))
        return WordTagDataset(parts, self.head, shuffle, self.cfg.seed)

    @exits_on_user_error
    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False):
        if not hasattr(cfg, "lstm_layers"):
            raise UserError("`--arch` must be bilstm_baseline with this task")
        return super().build_model(cfg, from_checkpoint)
