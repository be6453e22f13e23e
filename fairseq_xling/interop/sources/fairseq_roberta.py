"""RoBERTa in checkpoints of fairseq's own `--task masked_lm --arch roberta*`."""

import re
from pathlib import Path
from typing import Any

import torch

from fairseq_xling.checkpoints import settings_of
from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import read_json
from fairseq_xling.core.texts import read_lines
from fairseq_xling.interop.sources import checkpoint_families
from fairseq_xling.interop.sources.folder import Settings
from fairseq_xling.interop.sources.model import SourceModel
from fairseq_xling.interop.sources.table import convert, row
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.text.tokenizers.vocabulary import as_is, byte_level, spell

_LAYER = "sentence_encoder.layers.{i}."
_SELF = _LAYER + "self_attn."
_PADDING = 1  # of every fairseq dictionary
_SPECIALS = {"cls": 0, "pad": _PADDING, "sep": 2, "unk": 3}

TABLE = (
    row("tokens.shared.weight", "sentence_encoder.embed_tokens.weight"),
    # Row 1 is for padding, and the first token has row 2.
    row("positions.shared.weight", "sentence_encoder.embed_positions.weight", skip=_PADDING + 1),
    row("embedding_norm", "sentence_encoder.layernorm_embedding"),
    # Query, key and value are one product in our layers, in this order.
    row("layers.{i}.shared.qkv", _SELF + "q_proj", _SELF + "k_proj", _SELF + "v_proj"),
    row("layers.{i}.shared.out", _SELF + "out_proj"),
    row("layers.{i}.shared.attention_norm", _LAYER + "self_attn_layer_norm"),
    row("layers.{i}.shared.fc1", _LAYER + "fc1"),
    row("layers.{i}.shared.fc2", _LAYER + "fc2"),
    row("layers.{i}.shared.ffn_norm", _LAYER + "final_layer_norm"),
)
# `lm_head.weight` is the token table, saved a second time.
HEAD = (
    row("softmax.shared.dense", "lm_head.dense"),
    row("softmax.shared.norm", "lm_head.layer_norm"),
    row("softmax.shared.bias", "lm_head.bias"),
)
# fairseq's names of the activations that our layers compute; its head has the same one.
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_accurate": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
}
_EMBEDDINGS = re.compile(r"(?:encoder|decoder)\.sentence_encoder\.embed_tokens\.weight")
# What earlier versions of fairseq called these, newest last.
_RENAMED = (
    (r"^(?:encoder|decoder)\.", ""),
    (r"^sentence_encoder\.emb_layer_norm\.", "sentence_encoder.layernorm_embedding."),
    (r"\.self_attn\.in_proj_(weight|bias)$", r".self_attn.in_proj.\1"),
)


@checkpoint_families.register("roberta")
class FairseqRoberta:
    """Reads RoBERTa checkpoints, such as the published ``roberta.base/model.pt``."""

    @staticmethod
    def matches(weights: dict[str, Any]) -> bool:
        return any(map(_EMBEDDINGS.fullmatch, weights))

    @staticmethod
    def read(
        path: Path, state: dict[str, Any], data: str | Path | None, language: str | None
    ) -> SourceModel:
        settings = _Options(path, state)
        for name, only in (
            ("encoder_learned_pos", True),
            ("no_token_positional_embeddings", False),
            ("encoder_layers_to_keep", ""),
            ("adaptive_input", False),
        ):
            settings.require(name, only, only)
        tensors = _todays_names(state["model"])
        if "sentence_encoder.layer_norm.weight" in tensors:
            raise UserError(f"{path}: unsupported architecture: LayerNorm before its sublayers")
        tied = tensors.get("lm_head.weight")
        table = tensors["sentence_encoder.embed_tokens.weight"]
        if tied is not None and not torch.equal(tied, table):
            raise UserError(f"{path}: unsupported architecture: its softmax is not tied")
        layers = settings.size("encoder_layers", 12)
        found = convert(tensors, TABLE, HEAD, layers, str(path), r"sentence_encoder\.layers\.")
        shape = EncoderShape(
            layers=layers,
            dim=settings.size("encoder_embed_dim", 768),
            ffn_dim=settings.size("encoder_ffn_embed_dim", 3072),
            heads=settings.size("encoder_attention_heads", 12),
            max_positions=len(found.state["positions.shared.weight"]),
            dropout=settings.rate("dropout", 0.1),
            attention_dropout=settings.rate("attention_dropout", 0.1),
            lm_head="bert",
            activation=settings.activation(),
        )
        places = [path.parent, *settings.data.split(":")[:1]] if data is None else [data]
        files = [Path(place) / "dict.txt" for place in places]
        file = next(filter(Path.is_file, files), None)
        if file is None:
            looked = " and ".join(map(str, files))
            raise UserError(f"{path}: no dictionary; looked for {looked}")
        symbols, counts, mask = _symbols(file, len(table), path)
        model = SourceModel(
            "fairseq roberta",
            str(path),
            shape,
            found.state,
            symbols,
            {**_SPECIALS, "mask": mask},
            counts=counts,
            left_out=found.left_out,
        )
        return model.checked(found.theirs, "the checkpoint's settings")


class _Options(Settings):
    """A checkpoint's options, whether saved as today or as an ``argparse.Namespace``."""

    def __init__(self, path: Path, state: dict[str, Any]):
        self.file = path
        cfg, old = state.get("cfg") or {}, settings_of(state.get("args"))
        self._parts = settings_of(cfg.get("model")), old
        # The folders that it was trained on.
        self.data = str(settings_of(cfg.get("task")).get("data") or old.get("data") or "")

    def get(self, name: str, default: Any = None) -> Any:
        given = (part[name] for part in self._parts if part.get(name) is not None)
        return next(given, default)

    def activation(self) -> str:
        name = self.get("activation_fn", "gelu")
        if not isinstance(name, str) or name not in _ACTIVATIONS:
            raise UserError(
                f"{self.file}: unsupported architecture: `activation_fn` must be one of "
                f"{', '.join(_ACTIVATIONS)}, got {shown(name)}"
            )
        return _ACTIVATIONS[name]


def _todays_names(weights: dict[str, Any]) -> dict[str, Any]:
    tensors = {}
    for name, tensor in weights.items():
        if not torch.is_tensor(tensor) or name.endswith("sentence_encoder.version"):
            continue
        for old, new in _RENAMED:
            name = re.sub(old, new, name)
        if ".in_proj." in name:  # one matrix for query, key and value
            for letter, part in zip("qkv", tensor.chunk(3), strict=True):
                tensors[name.replace("in_proj", f"{letter}_proj")] = part
        else:
            tensors[name] = tensor
    return tensors


def _symbols(file: Path, size: int, path: Path) -> tuple[list[str], tuple[int, ...], int]:
    """The symbols by id, their counts, and the id of the mask, which the task adds at the end."""
    counts = dict.fromkeys(("<s>", "<pad>", "</s>", "<unk>"), 0)
    for number, line in enumerate(read_lines(file), start=1):
        symbol, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
        if not (symbol and count.isascii() and count.isdecimal() and len(count) < 20):
            raise UserError(f"{file}:{number}: must be a symbol and its count, got {line!r}")
        counts[symbol] = int(count)
    counts.setdefault("<mask>", 0)
    if len(counts) != size:
        raise UserError(
            f"{file}: must have as many symbols as {path} has token embeddings, {size}, got "
            f"{len(counts)} with the special ones"
        )
    tokens, how = list(counts), as_is
    mask, special = tokens.index("<mask>"), {token: token for token in (*tokens[:4], "<mask>")}
    # Published English models have numbers of GPT-2's byte pieces, which encoder.json spells out.
    encoder = file.with_name("encoder.json")
    if encoder.is_file():
        pieces = read_json(encoder)
        if not isinstance(pieces, dict):
            raise UserError(f"{encoder}: must be an object, got {shown(pieces)}")
        pieces = {str(number): piece for piece, number in pieces.items()}
        tokens, how = [pieces.get(token, token) for token in tokens], byte_level
    return spell(tokens, how, special), tuple(counts.values()), mask
