"""`--task bilingual_mlm`: masked language modelling of two or more languages with one encoder.

Conneau et al. (2020), "Emerging Cross-lingual Structure in Pretrained Language Models",
Section 3.1. One language per batch, sampled by size^alpha; with parallel text, also TLM.
`UnifiedTask` is the base of all language-modelling tasks.
"""

import functools
import logging
from typing import Any

import torch
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.data import Dictionary
from fairseq.dataclass import FairseqDataclass
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from fairseq.tasks import register_task

from fairseq_xling.core.errors import UserError, about, exits_on_user_error
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.data.codeswitch import CodeSwitch
from fairseq_xling.data.example import Objective, Vocabulary
from fairseq_xling.data.feeds import Scope, make_feeds, own_ids
from fairseq_xling.data.folder import Shards
from fairseq_xling.data.iterator import BatchDataset
from fairseq_xling.data.plan import Limits, Plan
from fairseq_xling.data.sources import BLOCK
from fairseq_xling.data.unpadded import unpadded_layout
from fairseq_xling.engine.compat import has_flash_attention, require_compiler
from fairseq_xling.models.compiled import compile_encoder, over_rows
from fairseq_xling.models.encoder import SeparableEncoder, parameter_table
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.objectives import objectives
from fairseq_xling.training.base import check_choices
from fairseq_xling.training.config import UnifiedTaskConfig, parse_weights
from fairseq_xling.training.planned import PlannedTask
from fairseq_xling.training.precision import check_precision, in_half

logger = logging.getLogger(__name__)


class UnifiedTask(PlannedTask):
    """A task whose batches are (S, A, W, C) examples of any registered objectives."""

    def __init__(self, cfg: UnifiedTaskConfig, shards: Shards):
        super().__init__(cfg, shards)
        folder = self.folder
        self.languages = parse_languages(cfg.languages) if cfg.languages else list(folder.languages)
        load = functools.cache(Dictionary.load)
        with about("`--languages`"):
            self.dictionaries = {l: load(str(folder.dictionary_path(l))) for l in self.languages}
        self.vocab_sizes = {lang: len(d) for lang, d in self.dictionaries.items()}
        self.dictionary_digests = {l: folder.dictionary_digest(l) for l in self.languages}
        self.objective_names = [name.strip() for name in cfg.objectives.split(",")]
        self.objective_weights = parse_weights(
            "--objective-weights", cfg.objective_weights, self.objective_names
        )
        with about("`--objectives`"):
            self._classes = [objectives[name] for name in self.objective_names]
        self._max_positions: int | None = None
        self._layout: Any = None
        self.auxiliary_names: list[str] = []
        self._check_options()

    @classmethod
    @exits_on_user_error
    def setup_task(cls, cfg: UnifiedTaskConfig, **kwargs: Any) -> "UnifiedTask":
        return cls(cfg, Shards(cfg.data))

    def _check_options(self) -> None:
        cfg = self.cfg
        for name in self.objective_names:
            if self.objective_names.count(name) > 1:
                raise UserError(f"`--objectives` names {name!r} twice, got {cfg.objectives!r}")
        Scope.of(cfg, self.languages, 0)  # refuses languages and directions that are not there
        check_choices(cfg, too_long=("truncate", "refuse"), unpadded=("auto", "on", "off"))
        if cfg.extra_anchors and any(c.needs_order for c in self._classes):
            raise UserError(
                "`--extra-anchors` replaces words, which invalidates word alignments; it cannot be "
                f"used with objective {next(c.name for c in self._classes if c.needs_order)!r}"
            )
        check_precision(cfg)
        if cfg.leave_unmasked + cfg.random_token > 1:
            total = cfg.leave_unmasked + cfg.random_token
            raise UserError(f"`--leave-unmasked` + `--random-token` must not exceed 1, got {total}")

    def check_plan(self, plan: SharingPlan) -> None:
        """Refuse a sharing plan that the vocabularies or objectives do not allow."""
        if self.folder.separate_vocabularies and not {"tokens", "softmax"} <= plan.parts:
            raise UserError(
                f"{self.folder.path} has a vocabulary per language, so `--separate` must name "
                f"'emb' (or tokens and softmax), got {str(plan)!r}"
            )
        if not plan.any:
            return
        mixing = [c.name for c in self._classes if c.mixes_source_languages]
        if mixing:
            raise UserError(
                f"objective {mixing[0]!r} puts two languages into one input, which private parts "
                f"do not support; `--separate` must be empty with it, got {str(plan)!r}"
            )
        if self.cfg.mix_in_batch:
            raise UserError(
                "`--mix-in-batch` needs a model without private parts, got "
                f"`--separate` {str(plan)!r}"
            )

    @exits_on_user_error
    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False):
        # fairseq's own models read batches of another layout.
        name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
        chosen = ARCH_MODEL_REGISTRY.get(name) or MODEL_REGISTRY.get(name)
        if chosen is not None and not hasattr(chosen, "private_parameters"):
            raise UserError(
                "`--arch` must be one that reads this task's batches, such as "
                f"separable_transformer_base, got {name!r}"
            )
        model = super().build_model(cfg, from_checkpoint)
        self._max_positions = model.max_positions()
        self._layout = self._layout_for(model.encoder)
        self.auxiliary_names = list(model.auxiliary)
        if self.cfg.compile:
            require_compiler(torch.cuda.is_available() and not self.cfg.cpu)
            compile_encoder(model.encoder)
        for objective in self._classes:
            if objective.reorders and not model.reorders:
                raise UserError(f"`--objectives` {objective.name} needs a model with a TRILayer")
            if objective.emits:
                self._check_emits(objective, model)
            if objective.asks and objective.asks not in self.auxiliary_names:
                raise UserError(
                    f"objective {objective.name!r} needs `--auxiliary {objective.asks}`, got "
                    f"{','.join(self.auxiliary_names)!r}"
                )
            if objective.segments > model.encoder.shape.num_segments:
                raise UserError(
                    f"objective {objective.name!r} needs `--num-segments {objective.segments}`, "
                    f"got {model.encoder.shape.num_segments}"
                )
        if self.cfg.print_params and not from_checkpoint:
            print(parameter_table(model.encoder), flush=True)
        return model

    def _layout_for(self, encoder: SeparableEncoder) -> Any:
        """How batches say where their real tokens are, if ``encoder`` leaves padding out."""
        cfg = self.cfg
        reads_padding = any(c.criterion for c in self._classes)
        on_gpu = torch.cuda.is_available() and not cfg.cpu
        fits = has_flash_attention(encoder.shape.dim // encoder.shape.heads) and in_half(cfg)
        if cfg.unpadded == "on":
            if reads_padding:
                raise UserError(
                    "`--unpadded` on cannot be used with the objective word-alignment, which reads "
                    "padding"
                )
            if on_gpu and not fits:
                raise UserError(
                    "`--unpadded` on needs `--bf16` or `--fp16` on a GPU, one of NVIDIA's from "
                    "Ampere on, heads of at most 256 units, a multiple of 8, and a torch with "
                    "attention over segments; leave it out"
                )
        elif cfg.unpadded == "off" or reads_padding or not (on_gpu and fits):
            return None
        return functools.partial(unpadded_layout, null=encoder.has_null)

    def _check_emits(self, objective: type[Objective], model: Any) -> None:
        if model.emission.in_order:
            raise UserError(
                f"`--objectives` {objective.name} needs an `--emission` that finds the order "
                f"itself, such as ctc, got {model.emission.shape.emission}"
            )
        for name, head in model.auxiliary.items():
            if head.needs_order:
                raise UserError(
                    f"`--auxiliary {name}` learns from word alignments, which `--objectives` "
                    f"{objective.name} does not have"
                )

    @exits_on_user_error
    def build_criterion(self, cfg: FairseqDataclass, from_checkpoint: bool = False):
        # fairseq's own criterions read batches of another layout.
        if CRITERION_REGISTRY[cfg._name].__module__.startswith("fairseq."):
            raise UserError(
                "`--criterion` must be one that reads this task's batches, such as unified_lm, "
                f"got {cfg._name!r}"
            )
        for objective in self._classes:
            if objective.criterion and objective.criterion != cfg._name:
                raise UserError(
                    f"objective {objective.name!r} needs `--criterion {objective.criterion}`, got "
                    f"{cfg._name!r}"
                )
        criterion = super().build_criterion(cfg, from_checkpoint)
        if self.cfg.compile and hasattr(criterion, "token_nll"):
            criterion.token_nll = over_rows(criterion.token_nll, 2)
        return criterion

    @property
    def lang_ids(self) -> dict[str, int]:
        """The number of each language."""
        return {lang: number for number, lang in enumerate(self.languages)}

    @exits_on_user_error
    def load_dataset(self, split: str, combine: bool = False, **kwargs: Any) -> None:
        """Open the sources of a split; everything about them is checked here."""
        training, folder = split == "train", self.folder_of(split, **kwargs)
        own = {}
        if self.cfg.random_within_language:
            own = {lang: own_ids(folder, lang) for lang in self.languages}
        vocabulary = Vocabulary(self.vocab_sizes, self.lang_ids, own)
        feeds = make_feeds(
            folder,
            split,
            self.languages,
            [cls(self.cfg, vocabulary) for cls in self._classes],
            self.cfg,
            shares=parse_weights(
                "--objective-shares", self.cfg.objective_shares, self.objective_names
            ),
            max_positions=self.max_positions(),
        )
        transforms = []
        if training and self.cfg.extra_anchors:
            transforms.append(
                CodeSwitch.from_folder(
                    folder,
                    self.languages,
                    self.dictionaries,
                    self.cfg.anchor_prob,
                    self.cfg.anchor_cap,
                    self.max_positions(),
                )
            )
        ids = {name: number for number, name in enumerate(self.objective_names)}
        seed = self.seed_of(split, **kwargs)
        self.datasets[split] = BatchDataset(feeds, ids, seed, transforms, self._layout)
        for feed in feeds:
            logger.info(
                "%s %s: %d rows, %d tokens, share %.3f",
                split,
                feed.key,
                len(feed.source),
                feed.source.num_tokens,
                feed.share,
            )

    def make_plan(self, dataset: BatchDataset, limits: Limits) -> Plan:
        cfg = self.cfg
        return Plan(
            dataset.feeds, limits, dataset.seed, cfg.mix_in_batch, cfg.alternate, cfg.sort_window
        )

    def max_positions(self) -> int:
        # A task that has no model yet (fairseq never loads data before it) has no other bound.
        return self._max_positions or self.cfg.tokens_per_sample or BLOCK

    @property
    def source_dictionary(self) -> Dictionary:
        return self.dictionaries[self.languages[0]]

    @property
    def target_dictionary(self) -> Dictionary:
        return self.dictionaries[self.languages[-1]]


@register_task("bilingual_mlm", dataclass=UnifiedTaskConfig)
class BilingualMLMTask(UnifiedTask):
    """Objectives (`--objectives`): ``mlm`` by default; ``tlm`` reads parallel text."""
