"""`--task adversarial_tagging`: tag words of a language that has no annotation.

Adversarial cross-lingual name tagging: words of both languages in one space, a shared encoder, and
a discriminator of the language whose gradient the encoder works against. Zero-shot training reads
annotated files of the first language and plain text of the second; `--low-resource` reads a little
annotation of the second, too. `fairseq-xling predict` tags other files.
"""

import functools
import math
from pathlib import Path
from typing import Any

from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from fairseq.tasks import register_task

from fairseq_xling.checkpoints import origin
from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.models.tagging.adversaries import Settings, adversaries
from fairseq_xling.models.tagging.model import Contents
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.formats.conll import TaggedItem
from fairseq_xling.tasks.heads import check_labels, count_items
from fairseq_xling.tasks.items import parse_columns, parse_files
from fairseq_xling.tasks.tagging import (
    Sentences,
    Spelling,
    Text,
    Together,
    WordCodec,
    WordHead,
    find_tags,
    read_text,
    word_head,
)
from fairseq_xling.tasks.word_vectors import joint_space
from fairseq_xling.training.adversarial_tagging_config import AdversarialTaggingConfig, check_config
from fairseq_xling.training.items import ItemTask
from fairseq_xling.training.tagging_criterion import LANGUAGE
from fairseq_xling.training.transfer_criterion import COUNT


@register_task("adversarial_tagging", dataclass=AdversarialTaggingConfig)
class AdversarialTaggingTask(ItemTask):
    """Files, words, batches of both languages, and the adversary."""

    def __init__(self, cfg: AdversarialTaggingConfig):
        super().__init__(cfg)
        self.languages = parse_languages(cfg.languages)
        self.update = 0  # number of updates before this one
        self._total = math.inf  # of the whole training
        self._items: dict[str, list[tuple[str, list[TaggedItem]]]] = {}
        check_config(cfg, self.languages)
        self.columns = parse_columns(cfg.columns)
        settings = Settings(cfg.flip_steps, cfg.language_smoothing)
        self.adversary = adversaries[cfg.adversary](settings)
        self.format = find_format("conll", cfg.format)
        self.kind = word_head(cfg.head)
        # Parts of a checkpoint, which restores them before they are requested: what a model's rows
        # and numbers mean must not depend on what the files contain later.
        for name in ("labels", "words", "letters"):
            self.state.add_factory(name, functools.partial(self._first, name))

    @functools.cached_property
    def contents(self) -> Contents:
        """Words, letters and tags, those of the checkpoint or, at the start, of the files."""
        words = self.state.words
        missing = [lang for lang in self.languages if lang not in words]
        if missing:
            raise UserError(f"{origin()}: must have words of {missing[0]!r}, got none")
        return Contents(
            {lang: words[lang] for lang in self.languages},
            self.state.letters.get("letter", []),
            self.state.labels.get("tag", []),
            self.adversary.discriminates,
        )

    @functools.cached_property
    def head(self) -> WordHead:
        """The head with the tags of the contents."""
        return WordHead(self.cfg.head, self.cfg.scheme, self.contents.tags)

    @functools.cached_property
    def _codecs(self) -> dict[str, WordCodec]:
        spelling = Spelling(self.contents.letters)
        words = self.contents.words
        return {lang: WordCodec(lang, words[lang], spelling) for lang in self.languages}

    @functools.cached_property
    def _space(self):
        """The frozen vectors of both languages; reads their files."""
        cfg = self.cfg
        files = dict(parse_files("--vectors", cfg.vectors))
        for lang in self.languages:
            if lang not in files:
                raise UserError(f"`--vectors` must have a file of {lang!r}, got {cfg.vectors!r}")
        files = {lang: files[lang] for lang in self.languages}
        work = Path(cfg.save_dir) / "map"
        return joint_space(files, cfg.map, cfg.normalize, cfg.most_words, work, cfg.seed)

    def _first(self, name: str) -> dict[str, list[str]]:
        """The labels, words or letters of a training that begins."""
        if self.trained:  # a file named in a checkpoint must not be read instead
            raise UserError(f"{origin()}: must have {name} (`task_state.{name}`), got none")
        if name == "labels":
            items = [item for _, items in self._read("train") for item in items]
            return {"tag": find_tags(self.cfg.head, self.cfg.scheme, items)}
        if name == "words":
            return {lang: list(words) for lang, words in self._space.words.items()}
        found: set[str] = set()
        for _, items in self._read("train"):
            found.update(letter for item in items for word in item.words for letter in word)
        for _, path in self._texts("--text-file", self.cfg.text_file):
            found.update(letter for words in read_text(path) for word in words for letter in word)
        return {"letter": sorted(found)}

    def _texts(self, option: str, text: str) -> list[tuple[str, Path]]:
        files = parse_files(option, text) if text else []
        for lang, _ in files:
            if lang not in self.languages[1:]:
                target = " ".join(self.languages[1:]) or "a second of `--languages`"
                raise UserError(f"`{option}` must be text of the target, {target}, got {lang!r}")
        return files

    def _read(self, split: str) -> list[tuple[str, list[TaggedItem]]]:
        """The annotated files of a split; of the target's, only with `--low-resource`."""
        if split not in self._items:
            (option, text), source = self.file_option(split), self.languages[0]
            files = parse_files(option, text)
            wanted = self.languages if self.cfg.low_resource else [source]
            for lang, _ in files:
                if lang not in wanted:
                    raise UserError(
                        f"`{option}` must be in {' and '.join(wanted)}, got {lang!r}; "
                        "`--low-resource` also reads annotation of the target"
                    )
            for lang in wanted:
                if lang not in dict(files):
                    raise UserError(f"`{option}` must have a file of {lang!r}, got {text!r}")
            self._items[split] = [(lang, self.read(lang, path)) for lang, path in files]
            for (_, path), (_, items) in zip(files, self._items[split], strict=True):
                count_items(self.kind, option, path, items)
        return self._items[split]

    @staticmethod
    def read_plain(path: str | Path) -> list[TaggedItem]:
        """The sentences of a text, without tags."""
        return [
            TaggedItem(str(path), number, tuple(words), None, tuple(words))
            for number, words in enumerate(read_text(path), start=1)
        ]

    def make_dataset(self, files: list[tuple[str, list[TaggedItem]]]) -> Sentences:
        """The items that `read` returns, encoded."""
        for _, items in files:
            if self.cfg.unknown_labels == "refuse":
                check_labels(self.head, items)
        parts = [(self._codecs[lang], self.languages.index(lang), x) for lang, x in files]
        return Sentences(parts, self.head)

    @exits_on_user_error
    def load_dataset(self, split: str, combine: bool = False, **kwargs: Any) -> None:
        files = self._read(split)
        if split != "train":
            held_out = self._texts("--valid-text-file", self.cfg.valid_text_file)
            self.datasets[split] = self.make_dataset(
                [*files, *((lang, self.read_plain(path)) for lang, path in held_out)]
            )
            return
        streams: list[Any] = [self.make_dataset([one]) for one in files]
        texts = self._texts("--text-file", self.cfg.text_file)
        if self.adversary.discriminates:
            if not texts and not self.cfg.low_resource:
                raise UserError(
                    f"`--adversary {self.cfg.adversary}` needs `--text-file`, text of "
                    f"{self.languages[1]}"
                )
            for lang, path in texts:
                streams.append(Text(self.languages.index(lang), self._codecs[lang], path))
        self.datasets[split] = Together(streams, self.cfg.seed, self.cfg.epoch_sentences)

    @exits_on_user_error
    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False):
        if not hasattr(cfg, "tagger_hidden"):
            raise UserError("`--arch` must be adversarial_tagger with this task")
        # Not `from_checkpoint`, which fairseq does not pass through a decorated method.
        if not self.trained:
            if cfg.word_dim not in (0, self._space.width):
                raise UserError(
                    f"`--word-dim` must be the width of `--vectors`, {self._space.width}, got "
                    f"{cfg.word_dim}"
                )
            cfg.word_dim = self._space.width  # in the configuration that is saved
        model = super().build_model(cfg, from_checkpoint)
        if not self.trained:
            model.set_words(self._space.tables, self._space.w)
        return model

    @exits_on_user_error
    def get_batch_iterator(self, dataset: Any, *args: Any, **kwargs: Any):
        """The base's; of training, how many updates there will be."""
        made = super().get_batch_iterator(dataset, *args, **kwargs)
        if dataset is self.datasets.get("train"):
            batches = -(-len(made.frozen_batches) // kwargs.get("num_shards", 1))
            updates = self.cfg.max_epoch * -(-batches // self.cfg.update_freq[-1])
            self._total = min(updates or math.inf, self.cfg.max_update or math.inf)
        return made

    def weight_now(self) -> float:
        """lambda at this update: constant, or 2 / (1 + exp(-10 p)) - 1 times it at the share p of
        the training (Ganin and Lempitsky, 2015)."""
        if self.cfg.adversary_schedule == "constant":
            return self.cfg.adversary_weight
        if math.isinf(self._total):
            raise UserError("`--adversary-schedule ramp` needs `--max-epoch` or `--max-update`")
        share = min(self.update / self._total, 1.0)
        return self.cfg.adversary_weight * (2 / (1 + math.exp(-10 * share)) - 1)

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        self.update = update_num
        return super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)

    @property
    def metric_names(self) -> list[str]:
        """The scores in validation: the head's, by which the epoch is chosen; those on the source
        in low-resource mode; D's accuracy, the mean over the languages, if there is one."""
        names = list(self.head.scores(dict.fromkeys(self.head.count_names, 0.0)))
        if self.cfg.low_resource:
            names += [f"source_{name}" for name in names]
        return names + ["language_accuracy"] * self.adversary.discriminates

    def reduce_metrics(self, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        """Losses, speed, D's accuracy and, in validation, the head's scores."""
        super().reduce_metrics(logging_outputs, criterion)
        heads = [
            f"{side}_{name}" for side in ("source", "target") for name in self.head.count_names
        ]
        validating = any(f"{COUNT}{heads[0]}" in log for log in logging_outputs)
        for name in (*LANGUAGE, *(heads if validating else ())):
            total = sum(float(log.get(f"{COUNT}{name}", 0)) for log in logging_outputs)
            metrics.log_scalar_sum(f"_{name}", total)
        for name in self.metric_names:
            if validating or name == "language_accuracy":
                metrics.log_derived(name, functools.partial(self._score, name=name))

    def _score(self, meters: Any, name: str) -> float:
        def total(key: str) -> float:
            return float(meters[f"_{key}"].sum)

        if name == "language_accuracy":
            shares = [
                total(f"language_{side}_right") / max(total(f"language_{side}_read"), 1.0)
                for side in ("source", "target")
            ]
            return round(sum(shares) / 2, 4)
        own = name.removeprefix("source_")
        side = "target" if self.cfg.low_resource and own == name else "source"
        sums = {count: total(f"{side}_{count}") for count in self.head.count_names}
        return round(self.head.scores(sums)[own], 3)
