"""`--arch clcr`: two pretrained encoders, and the modules T, E, R that align them.

A checkpoint contains both encoders up to their layer, all modules trained so far, and their
configuration: using it, or starting the next training from it (`--clcr-start`), needs no other
file.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model
from torch import Tensor, nn

from fairseq_xling.checkpoints import check_layers
from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.ranges import NOT_NEGATIVE, SHARE, Range, ranged
from fairseq_xling.data.folder import text_mask
from fairseq_xling.models.identity import KEY, Identified, first_difference
from fairseq_xling.models.layer import recompute_layers
from fairseq_xling.models.separable_transformer import RECOMPUTES
from fairseq_xling.models.trainable import TrainableModel
from fairseq_xling.papers.clcr.encoder import LayerEncoder, read_config
from fairseq_xling.papers.clcr.modules import Loss, PairStates, Sizes, modules
from fairseq_xling.papers.clcr.phases import phases


def described(default: Any, help: str, range: Range | None = None) -> Any:
    """A field of fairseq's options with its help, and the range of its numbers."""
    metadata = {"help": help} if range is None else ranged(help, range)
    return field(default=default, metadata=metadata)


@dataclass
class ClcrModelConfig(FairseqDataclass):
    encoder: str = described(
        "",
        "the two encoders, e.g. en=bert-folder,de=model.pt: Hugging Face folders, or "
        "fairseq checkpoints",
    )
    encoder_data: str = described(
        "",
        "location of an encoder's own data folder or dict.txt, e.g. de=data-bin (default: as in "
        "its training)",
    )
    clcr_layer: str = described(
        "",
        "layer whose states are used, e.g. 9, or en=9,de=4; 0 is the embeddings "
        "(default: three quarters up, 9 of 12)",
    )
    clcr_start: str = described(
        "", "checkpoint of an earlier clcr training to start from, instead of --encoder"
    )
    clcr_config: str = described("", "model configuration, as JSON (default: read from those)")
    transform: str = described("residual", "T: residual, or linear")
    transform_hidden: int = described(
        0, "hidden width of a residual T; 0 is the width of its input", NOT_NEGATIVE
    )
    attention_score: str = described(
        "transformed", "attention score: transformed, exclusive, raw, or keys"
    )
    distance_norm: str = described("l2", "norm of a distance: l2, or l1")
    anneal_beta: float = described(
        0.01, "temperature 1 / (1 + beta * updates) of attention; 0 is no annealing", NOT_NEGATIVE
    )
    anneal_phases: str = described(
        "transform,lm1,lm2",
        "phases whose attention is annealed, and whose updates count; in others the "
        "temperature is 1",
    )
    extract_hidden: int = described(
        0, "hidden width of the key-point classifier; 0 is linear", NOT_NEGATIVE
    )
    extract_encoder: str = described(
        "frozen",
        "states the key-point classifier reads: frozen, the aligned ones, or finetune, "
        "those of its own copy of the encoder, which is trained with it",
    )
    delta: float = described(0.2, "keep tokens with p(key-point) above this", SHARE)
    confident: bool = described(False, "reweight labels that are probably wrong")
    flip_rates: str = described(
        "",
        "shares of wrong labels among key-points and other tokens, e.g. 0.2,0.1 "
        "(default: estimated in training)",
    )
    order: str = described("rel", "head of the module `order`: rel, or abs")
    order_side: str = described(
        "first",
        "language whose key-points are put into the order of the other: first, or "
        "second of --clcr-pair",
    )
    order_positions: int = described(
        0, "rows of the table of `abs`; 0 is the encoders' longest sentence", NOT_NEGATIVE
    )
    checkpoint_activations: bool = described(False, RECOMPUTES)
    module_options: str = described("", "settings of your own module, in its own format")


@register_model("clcr", dataclass=ClcrModelConfig)
class ClcrModel(Identified, TrainableModel):
    """Encoders of a language pair, and modules; one of them, possibly an encoder, is trained.

    Args:
        config: JSON values: ``pair``, ``encoders`` by language, ``modules`` by key, each with its
            ``kind`` and ``settings``.
        identity: what the weights mean; a checkpoint with another one is rejected.
    """

    def __init__(self, config: Mapping[str, Any], identity: Mapping[str, Any]):
        check_layers(config)
        super().__init__()
        self.config, self.identity = config, dict(identity)
        self.pair: tuple[str, str] = tuple(config["pair"])
        sides = [config["encoders"][lang] for lang in self.pair]
        self.encoders = nn.ModuleList(LayerEncoder(side) for side in sides)
        widths = tuple(encoder.width for encoder in self.encoders)
        self.positions = min(side["shape"]["max_positions"] for side in sides)
        sizes = Sizes(widths, self.positions, tuple(sides))
        parts = config["modules"].items()
        self.parts = nn.ModuleDict(
            {key: modules[part["kind"]](part["settings"], sizes) for key, part in parts}
        )
        self.trained, self.moving = "", None

    @classmethod
    @exits_on_user_error
    def build_model(cls, cfg: ClcrModelConfig, task: Any) -> "ClcrModel":
        """The model for ``task``, a `ClcrTask`, which finds ``clcr_config``."""
        if not hasattr(task, "clcr_module"):
            raise UserError(f"`--arch clcr` needs `--task clcr`, got {type(task).__name__}")
        config = read_config(cfg.clcr_config, "this model")
        shapes = [config["encoders"][lang]["shape"] for lang in config["pair"]]
        identity = {
            "pair": config["pair"],
            "dictionaries": dict(task.dictionary_digests),
            "layers": [shape["layers"] for shape in shapes],
            # The weights' shapes do not reveal these, and other values would be silently wrong.
            "modules": config["modules"],
            "heads": [shape["heads"] for shape in shapes],
        }
        model = cls(config, identity)
        key = task.clcr_module.key(task.cfg.clcr_module, cfg)
        model.train_only(key, task.cfg.clcr_phase)
        model.parts[key].for_training(cfg, task.cfg.clcr_phase)
        if getattr(cfg, "checkpoint_activations", False):
            recompute_layers(model)
        return model

    def train_only(self, key: str, phase: str) -> None:
        """Make only the module ``key``, and the phase's encoder, trainable."""
        self.trained, self.moving = key, phases[phase]
        for parameter in self.parameters():
            parameter.requires_grad_(False)
        moving = [] if self.moving is None else [self.encoders[self.moving]]
        for module in (self.parts[key], *moving):
            for parameter in module.parameters():
                parameter.requires_grad_(True)

    def train(self, mode: bool = True) -> "ClcrModel":
        """Frozen parts are in evaluation mode: their states do not change from step to step."""
        super().train(False)
        self.training = mode
        if mode and self.trained:
            self.parts[self.trained].train()
            if self.moving is not None:
                self.encoders[self.moving].train()
        return self

    def encode(self, side: int, src: Mapping[str, Tensor]) -> Tensor:
        """The states (B, T, D) of a batch's side 0 or 1."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and side == self.moving):
            return self.encoders[side](src)

    def forward(
        self,
        src: Mapping[str, Tensor],
        tgt: Mapping[str, Tensor],
        order: Tensor | None = None,
        pair: Any = None,
        extra: Mapping[str, Tensor] | None = None,
    ) -> Loss:
        """The loss of the module that is trained; ``order`` (B, N) holds pseudo-gold pivots, and
        ``pivots`` (B, K) of ``extra`` says by its width how many a sentence has at most."""
        batch, part = self._encode_pair(src, tgt), self.parts[self.trained]
        partner = None if order is None else order.masked_fill(~batch.masks[1], -1)
        with torch.no_grad():
            space = self.transform(0, batch.states[0]) if part.after else None
        most = extra["pivots"].shape[1] if extra else None
        return part(replace(batch, partner=partner, most=most, space=space))

    def _encode_pair(self, src: Mapping[str, Tensor], tgt: Mapping[str, Tensor]) -> PairStates:
        states = self.encode(0, src), self.encode(1, tgt)
        masks = (text_mask(side["tokens"], unknown=True) for side in (src, tgt))
        return PairStates(states, tuple(masks), sources=(src, tgt))

    def transform(self, side: int, states: Tensor) -> Tensor:
        """T12 of the first side's states (side 0), T21 of the second's."""
        matching = self.parts["transform"].forth if side == 0 else self.parts["transform"].back
        return matching.move(states)

    def require(self, key: str, checkpoint: str | Path, name: str = "") -> nn.Module:
        """The module ``key``."""
        if key not in self.parts:
            raise UserError(
                f"{checkpoint}: has no trained module {name or key!r}, only "
                f"{', '.join(self.parts)}; train it with `--clcr-module` and `--clcr-start`"
            )
        return self.parts[key]

    def set_num_updates(self, num_updates: int) -> None:
        """fairseq's hook, before each training step."""
        if self.trained:
            self.parts[self.trained].at_update(num_updates)

    def end_update(self) -> None:
        """After each optimiser step."""
        if self.trained:
            self.parts[self.trained].end_update()

    def start_from(
        self, weights: Mapping[str, Tensor], path: str, first: Iterable[Mapping[str, Any]]
    ) -> None:
        """Start from the weights that `gather` found; a new module keeps its initial ones.

        Args:
            first: the first batches of the training text (``src`` and ``tgt``), for a new module
                that needs to see some states before training; read only by such a module.
        """
        own = self.state_dict()
        known = {name: tensor for name, tensor in weights.items() if name in own and name != KEY}
        part = f"parts.{self.trained}."
        begun = any(name.startswith(part) for name in known)
        for name in own:
            drawn = not begun and name.startswith(part)
            if not (name in known or name == KEY or drawn):
                raise UserError(f"{path}: has no weight {name!r}; it is damaged, train it again")
        for name in weights:  # a module that is left out keeps its weights in the file
            if name not in own and not name.startswith("parts."):
                raise UserError(f"{path}: has a weight {name!r} that no encoder of its has")
        try:
            super().load_state_dict({**own, **known}, strict=True)
        except RuntimeError as error:
            raise UserError(f"{path}: does not fit ({first_difference(error)})") from None
        if begun:
            self.parts[self.trained].go_on()
        elif self.trained:
            self.eval()
            with torch.no_grad():
                states = (self._encode_pair(batch["src"], batch["tgt"]) for batch in first)
                self.parts[self.trained].begin(states, self.encoders)

    def max_positions(self) -> int:
        return self.positions
