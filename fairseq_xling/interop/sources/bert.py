"""BERT and its relatives in Hugging Face folders.

BERT and multilingual BERT (Devlin et al., 2019); the discriminator and the generator of ELECTRA
(Clark et al., 2020), whose encoders have BERT's names.
"""

from fairseq_xling.core.errors import UserError, about
from fairseq_xling.interop.sources import folder_families
from fairseq_xling.interop.sources.folder import EXACT_GELU, Folder
from fairseq_xling.interop.sources.model import SourceModel
from fairseq_xling.interop.sources.table import row
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
    shape = shape_of(folder, folder.size("max_position_embeddings"), norm_eps=1e-12)
    vocabulary = read_vocabulary(folder.path, folder.size("vocab_size"), BERT_SPECIALS)
    tensors = folder.tensors("bert.")
    for old, new in _OLD:
        tensors = {name.replace(old, new): tensor for name, tensor in tensors.items()}
    head = list(HEAD)
    if not folder.get("tie_word_embeddings", True):
        # A decoder that is not tied has a matrix, and today a bias, of its own.
        if (bias := "cls.predictions.decoder.bias") in tensors:
            head[2] = row("softmax.shared.bias", bias)
        head.append(row("output_tokens.shared.weight", "cls.predictions.decoder.weight"))
    # An export of ours names the segmentation of its model.
    name = str(folder.get(SEGMENTATION, "basic"))
    with about(f"{folder.file}: `{SEGMENTATION}`"):
        segmentations.check(name)
    return SourceModel.of_folder(
        *(folder, shape, vocabulary, tensors, TABLE, head, r"encoder\."), segmentation=name
    )


# A discriminator has no LM head: what it predicts of each token, whether it was replaced, is left
# out.
ELECTRA_HEAD = (
    row("softmax.shared.dense", "generator_predictions.dense"),
    row("softmax.shared.norm", "generator_predictions.LayerNorm"),
    row("softmax.shared.bias", "generator_lm_head.bias"),
)


@folder_families.register("electra")
def read_electra(folder: Folder) -> SourceModel:
    """The ELECTRA in ``folder``.

    Raises:
        UserError: as `read_source`; also for embeddings of another width than the layers, which
            a linear layer projects: those of all published models but discriminators from base on.
    """
    folder.require_plain_bert()
    # The generator's head has GELU whatever the layers have, and ours has one activation for both.
    folder.require("hidden_act", "gelu", *EXACT_GELU)
    width = folder.size("hidden_size")
    if (embedded := folder.size("embedding_size")) != width:
        raise UserError(
            f"{folder.file}: unsupported architecture: `embedding_size` must be `hidden_size`, "
            f"{width}, got {embedded}"
        )
    shape = shape_of(folder, folder.size("max_position_embeddings"), norm_eps=1e-12)
    vocabulary = read_vocabulary(folder.path, folder.size("vocab_size"), BERT_SPECIALS)
    given = folder, shape, vocabulary, folder.tensors("electra."), TABLE, ELECTRA_HEAD
    return SourceModel.of_folder(*given, r"encoder\.", segmentation="basic")
