"""`--arch cross_lingual_transfer`: a trained encoder with a head on its states.

Fine-tuning follows "Emerging Cross-lingual Structure", section 4.3: private parts are frozen, so
that at test time they can be replaced by another language's; the shared layers and the head are
trained. The encoder's configuration is saved in the checkpoint, which therefore needs no other
file.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model
from omegaconf import II, OmegaConf
from torch import Tensor, nn
from torch.nn.utils import parametrize

from fairseq_xling.checkpoints import check_architecture, check_layers, origin
from fairseq_xling.core.errors import UserError, about, exits_on_user_error
from fairseq_xling.core.ranges import NOT_NEGATIVE, POSITIVE, check_fields, ranged
from fairseq_xling.mapping.fitted import Side
from fairseq_xling.models.encoder import Pair, SeparableEncoder
from fairseq_xling.models.identity import (
    Identified,
    first_difference,
    read_identity,
)
from fairseq_xling.models.layer import attention_mask, recompute_layers
from fairseq_xling.models.separable_transformer import RECOMPUTES
from fairseq_xling.models.trainable import TrainableModel
from fairseq_xling.trained import load_trained


class _Stretched(torch.autograd.Function):
    """``factor * stored``, whose gradient is passed to ``stored`` unscaled."""

    @staticmethod
    def forward(ctx: Any, stored: Tensor, factor: float) -> Tensor:
        return stored * factor

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


class _Times(nn.Module):
    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, stored: Tensor) -> Tensor:
        return _Stretched.apply(stored, self.factor)

    def right_inverse(self, value: Tensor) -> Tensor:
        return value / self.factor


def train_faster(module: nn.Module, factor: float) -> None:
    """Let the optimiser train ``module``'s parameters at ``factor`` times the learning rate.

    fairseq gives all parameters one learning rate. A part that should learn ``r`` times as fast is
    stored as ``w / r`` and used as ``r * (w / r)``, and what is stored gets the gradient of ``w``,
    not ``r`` times as much: for any optimiser, its step ``lr * u`` on ``w / r`` is the step
    ``r * lr * u`` on ``w``. So the gradient norm, and with it `--clip-norm`, is the same as with
    one learning rate. Weight decay is a share of what is stored: its rate stays that of `--lr`.

    Raises:
        UserError: unless the factor is above 0.
    """
    if not factor > 0:
        raise UserError(f"`--head-lr` and `--lr` must be above 0, got a ratio of {factor:g}")
    for part in list(module.modules()):
        for name, parameter in list(part.named_parameters(recurse=False)):
            if parameter.requires_grad:
                parametrize.register_parametrization(part, name, _Times(factor))


@dataclass
class TransferEncoderConfig(FairseqDataclass):
    encoder: str = field(
        default="", metadata={"help": "checkpoint of the encoder that is fine-tuned"}
    )
    encoder_config: str = field(
        default="", metadata={"help": "its configuration, as JSON (default: found in --encoder)"}
    )
    reset_encoder: bool = field(
        default=False,
        metadata={"help": "start from new random weights of the encoder's sizes (a baseline)"},
    )
    freeze_layers: int = field(
        default=0,
        metadata=ranged(
            "freeze embeddings and this many lower layers; 0 freezes nothing", NOT_NEGATIVE
        ),
    )
    freeze_encoder: bool = field(default=False, metadata={"help": "train the head alone"})
    head_lr: Optional[float] = field(
        default=None,
        metadata=ranged(
            "learning rate of the head (default: --lr); its schedule, --clip-norm and "
            "the rate of --weight-decay are those of the encoder",
            POSITIVE,
        ),
    )
    read_layer: Optional[int] = field(
        default=None,
        metadata=ranged(
            "the head reads the states after this layer; 0 is the embeddings (default: the last)",
            NOT_NEGATIVE,
        ),
    )
    head_layers: int = field(
        default=0,
        metadata=ranged("new Transformer layers between those states and the head", NOT_NEGATIVE),
    )
    checkpoint_activations: bool = field(default=False, metadata={"help": RECOMPUTES})
    lr: Any = II("optimization.lr")


@register_model("cross_lingual_transfer", dataclass=TransferEncoderConfig)
class TransferEncoder(Identified, TrainableModel):
    """``encoder`` and the network of the task's head.

    Args:
        identity: what the weights mean; a checkpoint with another one is rejected.
        read_layer: layer whose states the head reads, of those that ``encoder.states`` lists; None
            is the last.
        head_layers: new layers between those states and the head ("Emerging Cross-lingual
        Structure", section 5.1.2).
        sides: by language, the map of what the head reads; see `fairseq_xling.tasks.head_input`.
    """

    fits = "this encoder and head"
    older = True

    def __init__(
        self,
        encoder: SeparableEncoder,
        network: nn.Module,
        identity: Optional[Mapping[str, Any]] = None,
        read_layer: Optional[int] = None,
        head_layers: int = 0,
        sides: Optional[Mapping[str, Side]] = None,
    ):
        super().__init__()
        self.encoder, self.network, self.identity = encoder, network, dict(identity or {})
        self.sides = dict(sides or {})
        self._sides: dict[Any, Side] = {}
        self.read_layer = encoder.depth if read_layer is None else read_layer
        check_reading(encoder, self.read_layer, head_layers)
        self.between = nn.ModuleList(
            encoder.new_layer().apply(encoder.initialise) for _ in range(head_layers)
        )

    @classmethod
    @exits_on_user_error
    def build_model(cls, cfg: TransferEncoderConfig, task: Any) -> "TransferEncoder":
        """The model for ``task``, a `CrossLingualTransferTask`, which finds ``encoder_config``."""
        if not hasattr(type(task), "head"):  # asking the task itself would read its files
            raise UserError(
                "`--arch cross_lingual_transfer` needs `--task cross_lingual_transfer`, got "
                f"{type(task).__name__}"
            )
        check_fields(TransferEncoderConfig, cfg)
        encoder = build_encoder(json.loads(cfg.encoder_config), task)
        # Validated here, since for its labels the head reads the training file.
        check_layer("--freeze-layers", cfg.freeze_layers, encoder.shape.layers)
        # An older checkpoint has neither option.
        reads = getattr(cfg, "read_layer", None), getattr(cfg, "head_layers", 0)
        check_reading(encoder, *reads)
        faster = None if cfg.head_lr is None else _ratio(cfg.head_lr, cfg.lr)
        # Without it, labels in another order or another dictionary of the same size would go
        # unnoticed.
        identity = {
            "languages": list(task.languages),
            "dictionaries": dict(task.dictionary_digests),
            "head": task.cfg.head,
            **{f"{kind}s": names for kind, names in task.head.labels.items()},
            **task.head_input.digests,
        }
        layer = encoder.depth if reads[0] is None else reads[0]
        sides = task.head_input.sides(layer, encoder.shape.dim)
        width = encoder.shape.dim + task.head_input.width
        width = next((side.output_width for side in sides.values()), width)
        model = cls(encoder, task.head.network(width), identity, *reads, sides=sides)
        model.freeze(cfg.freeze_layers, cfg.freeze_encoder)
        if getattr(cfg, "checkpoint_activations", False):
            recompute_layers(model)
        if faster is not None:
            train_faster(nn.ModuleList([model.between, model.network]), faster)
        return model

    def freeze(self, layers: int, everything: bool) -> None:
        """Freeze private parts and what the options say."""
        encoder = self.encoder
        check_layer("--freeze-layers", layers, encoder.shape.layers)
        frozen = [p for group in encoder.private_parameters().values() for p in group]
        frozen += encoder.softmax.parameters()  # no head reads the language model's output
        for unread in stages(encoder)[self.read_layer + 1 :]:
            frozen += unread.parameters()
        if encoder.shape.language_embeddings:  # each row belongs to one language alone
            frozen += encoder.language_table.parameters()
        if layers:
            above = {*encoder.layers[layers:].parameters()}
            if hasattr(encoder, "trilayer") and layers <= encoder.shape.layers // 2:
                above |= {*encoder.trilayer.parameters()}
            frozen += [p for p in encoder.parameters() if p not in above]
        for parameter in encoder.parameters() if everything else frozen:
            parameter.requires_grad_(False)

    def forward(
        self, src: Mapping[str, Tensor], pair: Pair, fields: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The outputs of the head's network over the encoder's states (R, T, D), with ``vectors``
        (R, T, E) of ``src`` if it has any, mapped if there is a map.

        An encoder with only one segment, such as RoBERTa, gets both texts of a pair in it.
        """
        last = max(self.encoder.shape.num_segments - 1, 0)
        src = {**src, "segments": src["segments"].clamp(max=last)}
        states = self.encoder.states(src, pair)[self.read_layer]
        mask = attention_mask(src.get("padding_mask"))
        for layer in self.between:
            states = layer(states, mask)
        if "vectors" in src:
            states = torch.cat([states, src["vectors"].to(states)], -1)
        if self.sides:
            rows = self._side(pair[0], states)(states.flatten(0, 1))
            states = rows.view(*states.shape[:2], -1).to(states.dtype)
        return self.network(states, fields)

    def _side(self, lang: str, states: Tensor) -> Side:
        """The map of ``lang`` where ``states`` are, to which it is copied once."""
        key = lang, states.device, states.dtype
        if key not in self._sides:
            self._sides[key] = self.sides[lang].like(states)
        return self._sides[key]

    @property
    def joint(self) -> bool:
        """Whether the head reads anything but the encoder's states."""
        return bool({"vectors", "map"} & self.identity.keys())

    def load_encoder(self, weights: Mapping[str, Tensor], path: str) -> None:
        """Start from the weights that `read_encoder` found in ``path``."""
        try:
            self.encoder.load_state_dict(weights)
        except RuntimeError as error:
            raise UserError(
                f"`--encoder` {path}: does not fit the data folder and its languages "
                f"({first_difference(error)})"
            ) from None

    def max_positions(self) -> int:
        return self.encoder.shape.max_positions


def read_encoder(path: str, task: Any) -> tuple[str, Mapping[str, Tensor]]:
    """The model configuration in an encoder's checkpoint, as JSON, and its weights.

    Raises:
        UserError: if there is no such checkpoint, or its model is of another kind, or has other
            languages or dictionaries than ``task``.
    """
    if not path:
        raise UserError("`--encoder` must name the checkpoint of a trained encoder")
    config, weights, identity = _parts(path)
    for name, mine in (
        ("languages", list(task.languages)),
        ("dictionaries", task.dictionary_digests),
    ):
        if identity.get(name) != mine:
            raise UserError(
                f"`--encoder` {path}: was trained with other {name} than those of "
                f"{task.folder.path}"
                + (f": {','.join(identity[name])} (`--languages`)" if name == "languages" else "")
            )
    return json.dumps(config), weights


def encoder_layers(path: str | Path) -> int:
    """How many layers the encoder in a checkpoint has.

    Raises:
        UserError: if there is no such checkpoint, or its model is of another kind.
    """
    config, _, _ = _parts(str(path))
    return int(config["encoder_layers"])


def encoder_depth(path: str | Path) -> int:
    """How many layers a token's state goes through, a TRILayer among them; errors as above."""
    config, weights, _ = _parts(str(path))
    return int(config["encoder_layers"]) + any(name.startswith("trilayer.") for name in weights)


def encoder_width(path: str | Path) -> int:
    """The size of an encoder's states; errors as above."""
    return int(_parts(str(path))[0]["encoder_embed_dim"])


def _parts(path: str) -> tuple[dict[str, Any], dict[str, Tensor], dict[str, Any]]:
    """Model configuration, weights and identity of the encoder in a checkpoint."""
    state = load_trained(path)
    try:
        config = dict(state["cfg"]["model"])
        weights = {
            name.removeprefix("encoder."): tensor
            for name, tensor in state["model"].items()
            if name.startswith("encoder.")
        }
        identity = read_identity(state["model"])
        if not identity or not {"separate", "encoder_layers", "encoder_embed_dim"} <= {*config}:
            raise KeyError("encoder")
    except (KeyError, TypeError, ValueError):
        raise UserError(f"`--encoder` {path}: contains no encoder of this project") from None
    check_architecture(config, f"`--encoder` {path}")
    return config, weights, dict(identity)


def check_layer(option: str, layer: int, layers: int) -> None:
    """Reject a layer number, from 1, that the encoder does not have; 0 means none."""
    if not 0 <= layer <= layers:
        raise UserError(f"`{option}` must lie in [0, {layers}], got {layer}")


def check_reading(encoder: SeparableEncoder, read_layer: Optional[int], head_layers: int) -> None:
    """Reject a layer to read that does not exist, and a negative number of head layers."""
    check_layer("--read-layer", encoder.depth if read_layer is None else read_layer, encoder.depth)
    NOT_NEGATIVE.check("--head-layers", head_layers)


def stages(encoder: SeparableEncoder) -> list[nn.Module]:
    """The modules, or slots of them, whose outputs ``encoder.states`` lists in evaluation."""
    found = [encoder.embedding_norm, *encoder.layers]
    if hasattr(encoder, "trilayer"):
        found.insert(encoder.half + 1, encoder.trilayer)
    return found


def build_encoder(config: Mapping[str, Any], task: Any) -> SeparableEncoder:
    """An encoder of that configuration for the languages of ``task``, with new weights."""
    chosen = check_architecture(config, origin())
    check_layers(config)
    surroundings = SimpleNamespace(
        vocab_sizes=task.vocab_sizes,
        dictionary_digests=task.dictionary_digests,
        check_plan=lambda plan: None,
    )
    cfg = SimpleNamespace(**{**config, "auxiliary": "", "checkpoint_activations": False})
    with about(origin(), from_file=True):
        return chosen.build_model(cfg, surroundings).encoder


def _ratio(head_lr: float, lr: Any) -> float:
    first = float(lr[0] if isinstance(lr, (list, tuple)) or OmegaConf.is_list(lr) else lr)
    if not first > 0:
        raise UserError(f"`--head-lr` needs an `--lr` above 0, got {first:g}")
    return head_lr / first
