"""What a task needs for fairseq-generate and fairseq-interactive to translate with its models."""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Optional

import numpy as np
import torch
from fairseq.data import Dictionary
from omegaconf import OmegaConf

from fairseq_xling.core import arguments
from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.batch import source_side
from fairseq_xling.data.feeds import parse_directions
from fairseq_xling.data.folder import CLS, SEP, SPECIALS
from fairseq_xling.data.iterator import EvaluationIterator
from fairseq_xling.data.plan import Limits
from fairseq_xling.data.shortlist import Shortlist, name_of
from fairseq_xling.engine.compat import keep_freed_memory, keep_shapes_of_sentences
from fairseq_xling.engine.precision import computes_in_bf16
from fairseq_xling.generation.codec import FolderCodec, KeepsReferences, References, difference
from fairseq_xling.generation.dataset import Sentences, TranslationDataset
from fairseq_xling.generation.generator import CandidateTokens, NonAutoregressiveGenerator
from fairseq_xling.generation.options import (
    check_candidates,
    check_reading,
    check_request,
    shared_emission,
)
from fairseq_xling.generation.orderings import orderings
from fairseq_xling.models.emissions import Reading
from fairseq_xling.models.int8 import quantise
from fairseq_xling.models.packed import pack
from fairseq_xling.tasks.encode import TOO_LONG

logger = logging.getLogger(__name__)

# What is kept of options, by the options that it depends on.
_PAIR = ("source_lang", "target_lang")
_CACHED = {
    "direction": _PAIR,
    "_codec": ("post_process", *_PAIR),
    "_references": _PAIR,
}
_SENTENCES, _LENGTHS = 16, (6, 12, 24)  # of calibration, of each length, without the frame


class Translates:
    """Mixed into a `UnifiedTask` whose configuration has `TranslationOptions`."""

    cfg: Any

    @cached_property
    def direction(self) -> tuple[str, str]:
        """Source and target language of translation.

        Raises:
            UserError: if the options name languages that the task does not have, or one twice.
        """
        source, target = self.cfg.source_lang, self.cfg.target_lang
        for lang in filter(None, (source, target)):
            if lang not in self.languages:
                raise unknown_name(
                    "language in `--source-lang` or `--target-lang`", lang, self.languages
                )
        known = [*parse_directions(self.cfg.directions), *self._prepared()]
        known += [pair[::-1] for pair in known]
        for pair in known:
            if source in (None, pair[0]) and target in (None, pair[1]):
                return pair
        if not source and not target:  # training on monolingual text
            return self.languages[0], self.languages[-1]
        if not (source and target) or source == target:
            raise UserError(
                "`--source-lang` and `--target-lang` must name two of the languages "
                f"{','.join(self.languages)}, got {source} and {target}"
            )
        return source, target

    def choose_translation(self, settings: Mapping[str, Any]) -> None:
        """Set options of translation, and forget what earlier ones have led to.

        Raises:
            UserError: for an option that there is not, a value of another type or out of range, an
                unknown ordering or language. No option is set then but for the last two.
        """
        config, checked = OmegaConf.get_type(self.cfg), {}
        known = {field.name for field in dataclasses.fields(config)}
        for name, value in settings.items():
            if name not in known:
                raise UserError(f"there is no option `{name}` of translation")
            checked[name] = arguments.option(config, name, value)
        if "too_long" in checked:
            arguments.choice("too_long", checked["too_long"], TOO_LONG)
        for name, value in checked.items():
            setattr(self.cfg, name, value)
        for name, options in _CACHED.items():
            if not checked.keys().isdisjoint(options):
                self.__dict__.pop(name, None)
        self.check_translation()

    def check_translation(self) -> None:
        """Reject options of translation that are invalid for any data."""
        orderings.check(self.cfg.ordering)
        if self.cfg.source_lang or self.cfg.target_lang:
            self.direction  # noqa: B018  raises

    def _prepared(self) -> list[tuple[str, str]]:
        """The folder's pairs in the languages of this task, in any split."""
        splits = self.folder.meta.get("parallel", {})
        pairs = [pair for split in splits for pair in self.folder.pairs(split)]
        return [pair for pair in pairs if set(pair) <= set(self.languages)]

    @property
    def source_dictionary(self) -> Dictionary:
        return self.dictionaries[self.direction[0]]

    @property
    def target_dictionary(self) -> Dictionary:
        return self.dictionaries[self.direction[1]]

    @exits_on_user_error
    def load_dataset(self, split: str, combine: bool = False, **kwargs: Any) -> None:
        # Only fairseq-generate passes a checkpoint's configuration and no epoch.
        if "task_cfg" in kwargs and "epoch" not in kwargs:
            self.datasets[split] = dataset = self.sentences(split)
            found = dataset.target is not None and difference(
                dataset, lambda: self._codec.encoders[1]
            )
            if found:
                logger.warning("%s: %s", split, found)
        else:
            super().load_dataset(split, combine, **kwargs)

    def sentences(self, split: str) -> TranslationDataset:
        """A split's parallel text in this direction, or else the source language's own text."""
        ordering = orderings[self.cfg.ordering]
        target = order = further = raw = None
        if set(self.direction) in map(set, self.folder.pairs(split)):
            source, target = self.folder.parallel(split, *self.direction)
            raw = self.folder.raw_text(split, *self.direction)
            if ordering.reads_alignments:
                order = self.folder.order(split, *self.direction)
                further = self.folder.further(split, *self.direction)
        elif ordering.reads_alignments or split not in self.folder.splits:
            source, _ = self.folder.parallel(split, *self.direction)  # raises: there is none
        else:
            source = self.folder.mono(split, self.direction[0])
            logger.info("%s: no parallel text %s-%s, so no score", split, *self.direction)
        return self._checked(
            TranslationDataset(
                source, self.max_positions(), target, order, self.cfg.sort_window, further, raw
            ),
            split,
        )

    def _checked(self, dataset: TranslationDataset, name: str) -> TranslationDataset:
        cut = dataset.num_truncated()
        if cut and self.cfg.too_long == "refuse":
            raise UserError(
                f"{cut} sentences of {name} are longer than `--max-positions` "
                f"{dataset.max_positions}, and `--too-long` is refuse"
            )
        if cut:
            logger.warning(
                "%s: %d sentences are cut at --max-positions %d", name, cut, dataset.max_positions
            )
        return dataset

    @exits_on_user_error
    def get_batch_iterator(
        self,
        dataset: Any,
        max_tokens: Optional[int] = None,
        max_sentences: Optional[int] = None,
        **kwargs: Any,
    ):
        """Every sentence once for a dataset of translation, even where a batch is not full.

        The shards of `--num-shards` are split further between the processes of one program.

        Raises:
            UserError: if there are fewer batches than shards; fairseq-generate ends in a traceback
                where it has nothing to translate.
        """
        if not isinstance(dataset, TranslationDataset):
            return super().get_batch_iterator(dataset, max_tokens, max_sentences, **kwargs)
        num_shards = kwargs.get("num_shards", 1)
        batches = list(dataset.batches(Limits(max_tokens, max_sentences)))
        if len(batches) < self.cfg.num_shards * num_shards and self.cfg.num_shards > 1:
            raise UserError(
                f"`--num-shards` must be at most {len(batches) // num_shards}, the batches of the "
                f"text (see `--max-tokens` and `--batch-size`), got {self.cfg.num_shards}"
            )
        return EvaluationIterator(
            dataset,
            batches,
            num_shards=num_shards * self.cfg.num_shards,
            shard=kwargs.get("shard_id", 0) + num_shards * self.cfg.shard_id,
            num_workers=kwargs.get("num_workers", 0),
        )

    @exits_on_user_error
    def build_generator(
        self, models: Sequence[Any], args: Any, seq_gen_cls: Any = None, **kwargs: Any
    ) -> NonAutoregressiveGenerator:
        """fairseq's hook; ``args`` are its options of generation."""
        check_request(args)
        emission = shared_emission(models, self.cfg.ordering)
        check_reading(self.cfg, emission)
        ordering = orderings[self.cfg.ordering](self.cfg, models)
        candidates = ordering.candidates * self.cfg.slot_beam
        check_candidates(self.cfg, emission, candidates, getattr(args, "nbest", 1))
        self._convert(models)
        return NonAutoregressiveGenerator(
            ordering,
            emission,
            self.direction,
            self.lang_ids,
            length_weight=self.cfg.length_weight,
            reading=Reading(
                keep_repeats=self.cfg.keep_repeats,
                unk_penalty=getattr(args, "unkpen", 0.0),
                blank_penalty=self.cfg.blank_penalty,
                word_bonus=self.cfg.word_bonus,
                lookahead=self.cfg.lookahead,
                beam=self.cfg.slot_beam,
                scored=candidates > 1 or getattr(args, "scored", True),
            ),
            align=getattr(args, "print_alignment", None) is not None,
            candidate_tokens=self._candidate_tokens if emission.lists else None,
        )

    @cached_property
    def _candidate_tokens(self) -> CandidateTokens | None:
        """Of the file that is given, or that an exported folder has."""
        path, own = self.cfg.shortlist, self.folder.path / name_of(self.direction)
        if path is None and not own.is_file():
            return None
        found, _ = Shortlist.read(own if path is None else path, self.folder, self.direction)
        return CandidateTokens(found)

    def _convert(self, models: Sequence[Any]) -> None:
        """Weights in the precision of translation, and on a CPU laid out for it; autocast, as in
        training, would convert them again for every batch. There a model can only read from then
        on; one in training stays as it is.
        """
        on_cpu = next(models[0].parameters()).device.type == "cpu"
        if on_cpu:
            keep_freed_memory()
            keep_shapes_of_sentences()
        if self.cfg.int8:
            if self.cfg.bf16 or self.cfg.cpu_bf16 or self.cfg.cpu_precision == "bf16":
                raise UserError("`--int8` and bf16 exclude each other; leave one of them out")
            way = "in 8 bits from {} to {}".format(*self.direction)  # whose ranges it has
        else:
            way = "in bf16" if self.cfg.bf16 or computes_in_bf16(self.cfg) else "in fp32"
        for model in models:
            known = getattr(model, "translates", way)
            if known != way:
                raise UserError(
                    f"a model that translates {known} cannot do so {way}; load it again"
                )
            if hasattr(model, "translates"):
                continue
            reads = on_cpu and not model.training
            if self.cfg.int8:
                given = model, self.source_dictionary, self.direction, self.lang_ids
                quantise(model, partial(calibrate, *given))
            elif way == "in bf16":
                model.bfloat16()
            if reads:
                model.translates = way
            if reads and not self.cfg.int8:
                pack(model)

    @exits_on_user_error
    def inference_step(
        self,
        generator: NonAutoregressiveGenerator,
        models: Sequence[Any],
        sample: dict[str, Any],
        prefix_tokens: Any = None,
        constraints: Any = None,
    ):
        if sample.get("references"):
            self._references.expect(sample)
        return generator.generate(models, sample)

    @cached_property
    def _references(self) -> References:
        return References(self.target_dictionary)

    @exits_on_user_error
    def build_bpe(self, args: Any):
        """fairseq's `--bpe` if one is given, else the data folder's own codec."""
        if args is not None:
            return KeepsReferences(super().build_bpe(args))
        return KeepsReferences(self._codec)

    @cached_property
    def _codec(self) -> FolderCodec:
        return FolderCodec(
            self.folder,
            self.direction,
            (self.source_dictionary, self.target_dictionary),
            joined=self.cfg.post_process is not None,
        )

    @exits_on_user_error
    def get_interactive_tokens_and_lengths(
        self, lines: Sequence[str], encode_fn: Callable[[str], str]
    ) -> tuple[list[np.ndarray], list[int]]:
        """Ids of each line, ending in ``</s>``."""
        index = self.source_dictionary.index
        tokens = [
            np.array([*map(index, filter(None, encode_fn(line).split(" "))), SEP], dtype=np.int64)
            for line in lines
        ]
        return tokens, [len(ids) for ids in tokens]

    @exits_on_user_error
    def build_dataset_for_inference(
        self, src_tokens: Sequence[Any], src_lengths: Sequence[int], **kwargs: Any
    ) -> TranslationDataset:
        """What fairseq-interactive translates."""
        tokens = [torch.as_tensor(ids).numpy() for ids in src_tokens]
        return self._checked(TranslationDataset(Sentences(tokens), self.max_positions()), "input")


def calibrate(
    model: Any, dictionary: Dictionary, pair: tuple[str, str], lang_ids: Mapping[str, int]
) -> None:
    """Let a model with a TRILayer read, so that the ranges of its states are known before it
    translates; nothing if it has no words, or no positions for them.

    An exported model has a vocabulary and no text. Words drawn by their frequency, without regard
    to each other, lead to states of nearly the same range as real sentences'.

    Args:
        dictionary: that of the source, with the counts of its words.
        pair: source and target language.
        lang_ids: the number of each language.
    """
    weights = torch.tensor(dictionary.count, dtype=torch.float64).clamp(min=1)
    weights[:SPECIALS] = 0
    generator = torch.Generator().manual_seed(1)
    encoder = model.encoder
    longest = model.max_positions() - 2
    if longest < 1 or not weights.any():
        return
    for length in sorted({min(length, longest) for length in _LENGTHS}):
        drawn = torch.multinomial(weights, _SENTENCES * length, True, generator=generator)
        ends = torch.tensor([[CLS, SEP]]).expand(_SENTENCES, 2)
        tokens = torch.cat([ends[:, :1], drawn.view(_SENTENCES, length), ends[:, 1:]], 1)
        lengths = torch.full((_SENTENCES,), length + 2)
        src = source_side(tokens, lengths, lang_ids[pair[0]])
        middle = encoder.lower(src, pair)[-1]
        langs = torch.full_like(lengths, lang_ids[pair[1]])
        placed = model.emission.place(lengths, None, langs)
        side = encoder.target_side(src, placed.tgt, placed.order)
        encoder.upper(middle, side, placed.order, pair)
