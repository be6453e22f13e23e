"""DistilBERT in Hugging Face folders (Sanh et al., 2019)."""

from fairseq_xling.interop.sources import folder_families
from fairseq_xling.interop.sources.folder import Folder
from fairseq_xling.interop.sources.model import SourceModel
from fairseq_xling.interop.sources.table import row
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.text.tokenizers.vocabulary import BERT_SPECIALS, read_vocabulary

_LAYER = "transformer.layer.{i}."
_ATTENTION = _LAYER + "attention."

# Of one segment. Sinusoidal positions, where there are any, are saved as a table like learnt ones.
TABLE = (
    row("tokens.shared.weight", "embeddings.word_embeddings.weight"),
    row("positions.shared.weight", "embeddings.position_embeddings.weight"),
    row("embedding_norm", "embeddings.LayerNorm"),
    # Query, key and value are one product in our layers, in this order.
    row("layers.{i}.shared.qkv", *(_ATTENTION + name for name in ("q_lin", "k_lin", "v_lin"))),
    row("layers.{i}.shared.out", _ATTENTION + "out_lin"),
    row("layers.{i}.shared.attention_norm", _LAYER + "sa_layer_norm"),
    row("layers.{i}.shared.fc1", _LAYER + "ffn.lin1"),
    row("layers.{i}.shared.fc2", _LAYER + "ffn.lin2"),
    row("layers.{i}.shared.ffn_norm", _LAYER + "output_layer_norm"),
)
# The projector's matrix is the token table.
HEAD = (
    row("softmax.shared.dense", "vocab_transform"),
    row("softmax.shared.norm", "vocab_layer_norm"),
    row("softmax.shared.bias", "vocab_projector.bias"),
)


@folder_families.register("distilbert")
def read(folder: Folder) -> SourceModel:
    """The DistilBERT in ``folder``."""
    folder.require("tie_word_embeddings", True, True)
    folder.require_multiple("dim", "n_heads")
    shape = EncoderShape(
        layers=folder.size("n_layers"),
        dim=folder.size("dim"),
        ffn_dim=folder.size("hidden_dim"),
        heads=folder.size("n_heads"),
        max_positions=folder.size("max_position_embeddings"),
        dropout=folder.rate("dropout", 0.1),
        attention_dropout=folder.rate("attention_dropout", 0.1),
        lm_head="bert",
        init_std=folder.rate("initializer_range", 0.02),
        norm_eps=1e-12,  # fixed in DistilBERT
        activation=folder.activation("activation"),
    )
    vocabulary = read_vocabulary(folder.path, folder.size("vocab_size"), BERT_SPECIALS)
    given = folder, shape, vocabulary, folder.tensors("distilbert."), TABLE, HEAD
    return SourceModel.of_folder(*given, r"transformer\.", segmentation="basic")
