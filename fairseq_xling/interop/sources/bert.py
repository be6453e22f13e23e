"""BERT and multilingual BERT in Hugging Face folders (Devlin et al., 2019)."""

from collections.abc import Mapping

from torch import Tensor

from fairseq_xling.core.errors import about
from fairseq_xling.interop.sources import folder_families
from fairseq_xling.interop.sources.folder import Folder, without_prefix
from fairseq_xling.interop.sources.model import SourceModel
from fairseq_xling.interop.sources.table import KeyRow, convert, row
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.text.segment import segmentations
from fairseq_xling.text.tokenizers.vocabulary import BERT_SPECIALS, read_vocabulary

SEGMENTATION = "segmentation"  # in the config.json of `export --format hf`

_SELF = "encoder.layer.{i}.attention.self."
_LAYER = "encoder.layer.{i}."

TABLE = (
    row("tokens.shared.weight", "embeddings.word_embeddings.weight"),
    row("positions.shared.weight", "embeddings.position_embeddings.weight"),
    row("segment_table.weight", "embeddings.token_type_embeddings.weight"),
    row("embedding_norm", "embeddings.LayerNorm"),
    # Query, key and value are one product in our layers, in this order.
    row("layers.{i}.shared.qkv", _SELF + "query", _SELF + "key", _SELF + "value"),
    row("layers.{i}.shared.out", _LAYER + "attention.output.dense"),
    row("layers.{i}.shared.attention_norm", _LAYER + "attention.output.LayerNorm"),
    row("layers.{i}.shared.fc1", _LAYER + "intermediate.dense"),
    row("layers.{i}.shared.fc2", _LAYER + "output.dense"),
    row("layers.{i}.shared.ffn_norm", _LAYER + "output.LayerNorm"),
)
# Absent where only the encoder was published (MiniLM). The decoder's matrix is the token table;
# its bias is saved under two names, of which this one is always there.
HEAD = (
    row("softmax.shared.dense", "cls.predictions.transform.dense"),
    row("softmax.shared.norm", "cls.predictions.transform.LayerNorm"),
    row("softmax.shared.bias", "cls.predictions.bias"),
)
# What the first checkpoints of BERT call a LayerNorm's weight and bias.
_OLD = (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias"))


def shape_of(folder: Folder, positions: int, norm_eps: float) -> EncoderShape:
    """The sizes in a configuration like BERT's; ``norm_eps`` if it names none.

    Raises:
        UserError: for a missing or invalid size.
    """
    return EncoderShape(
        layers=folder.size("num_hidden_layers"),
        dim=folder.size("hidden_size"),
        ffn_dim=folder.size("intermediate_size"),
        heads=folder.size("num_attention_heads"),
        max_positions=positions,
        dropout=folder.rate("hidden_dropout_prob", 0.1),
        attention_dropout=folder.rate("attention_probs_dropout_prob", 0.1),
        num_segments=folder.size("type_vocab_size"),
        lm_head="bert",
        init_std=folder.rate("initializer_range", 0.02),
        norm_eps=folder.rate("layer_norm_eps", norm_eps),
        activation=folder.activation(),
    )


@folder_families.register("bert")
def read(folder: Folder) -> SourceModel:
    """The BERT in ``folder``."""
    folder.require_plain_bert(untied=True)
    layers, size = folder.size("num_hidden_layers"), folder.size("vocab_size")
    shape = shape_of(folder, folder.size("max_position_embeddings"), norm_eps=1e-12)
    vocabulary = read_vocabulary(folder.path, size, BERT_SPECIALS)
    tensors = without_prefix(folder.tensors(), "bert.")
    for old, new in _OLD:
        tensors = {name.replace(old, new): tensor for name, tensor in tensors.items()}
    head = _head(folder, tensors)
    found = convert(tensors, TABLE, head, layers, str(folder.path), r"encoder\.")
    return SourceModel.of_folder(
        folder, shape, vocabulary, found, segmentation=_segmentation(folder)
    )


def _head(folder: Folder, tensors: Mapping[str, Tensor]) -> tuple[KeyRow, ...]:
    """The rows of its output layer: a decoder that is not tied has a matrix, and today a bias, of
    its own."""
    if folder.config.get("tie_word_embeddings", True):
        return HEAD
    bias = "cls.predictions.decoder.bias"
    return (
        *HEAD[:2],
        row("softmax.shared.bias", bias) if bias in tensors else HEAD[2],
        row("output_tokens.shared.weight", "cls.predictions.decoder.weight"),
    )


def _segmentation(folder: Folder) -> str:
    """BERT's own, unless the folder is an export of ours, which names its model's."""
    name = folder.config.get(SEGMENTATION, "basic")
    with about(f"{folder.path / 'config.json'}: `{SEGMENTATION}`"):
        segmentations.check(str(name))
    return str(name)
