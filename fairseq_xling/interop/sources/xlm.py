"""XLM in Hugging Face folders (Lample and Conneau, 2019)."""

from fairseq_xling.core.errors import UserError
from fairseq_xling.interop.sources import folder_families
from fairseq_xling.interop.sources.folder import Folder
from fairseq_xling.interop.sources.model import SourceModel
from fairseq_xling.interop.sources.table import row
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.text.tokenizers.vocabulary import read_vocabulary

# A sentence of XLM begins with the separator, and its mask is the second of ten special tokens.
_SPECIALS = {
    "cls": "</s>",
    "pad": "<pad>",
    "sep": "</s>",
    "unk": "<unk>",
    "mask": "<special1>",
}
_ATTENTION = "attentions.{i}."

TABLE = (
    row("tokens.shared.weight", "embeddings.weight"),
    row("positions.shared.weight", "position_embeddings.weight"),
    row("embedding_norm", "layer_norm_emb"),
    # Query, key and value are one product in our layers, in this order.
    row("layers.{i}.shared.qkv", *(_ATTENTION + name for name in ("q_lin", "k_lin", "v_lin"))),
    row("layers.{i}.shared.out", _ATTENTION + "out_lin"),
    row("layers.{i}.shared.attention_norm", "layer_norm1.{i}"),
    row("layers.{i}.shared.fc1", "ffns.{i}.lin1"),
    row("layers.{i}.shared.fc2", "ffns.{i}.lin2"),
    row("layers.{i}.shared.ffn_norm", "layer_norm2.{i}"),
)
# Only where there are several languages and `use_lang_emb` is on.
LANGUAGES = (row("language_table.weight", "lang_embeddings.weight"),)
# The projection's matrix is the token table.
HEAD = (row("softmax.shared.bias", "pred_layer.proj.bias"),)


@folder_families.register("xlm")
def read(folder: Folder) -> SourceModel:
    """The XLM in ``folder``."""
    folder.require("gelu_activation", True, True, False)
    folder.require("asm", False, False)
    folder.require("causal", False, False)
    folder.require("is_encoder", True, True)
    folder.require("tie_word_embeddings", True, True)
    folder.require_multiple("emb_dim", "n_heads")
    layers, width, heads = (folder.size(name) for name in ("n_layers", "emb_dim", "n_heads"))
    size = folder.size("n_words" if "vocab_size" not in folder.config else "vocab_size")
    count = folder.size("n_langs", 1)
    embedded = count > 1 and folder.get("use_lang_emb", True)
    languages = _languages(folder, count) if embedded else ("source",)
    shape = EncoderShape(
        layers=layers,
        dim=width,
        ffn_dim=4 * width,  # fixed in XLM
        heads=heads,
        max_positions=folder.size("max_position_embeddings"),
        dropout=folder.rate("dropout", 0.1),
        attention_dropout=folder.rate("attention_dropout", 0.1),
        language_embeddings=embedded,
        lm_head="linear",
        init_std=folder.rate("init_std", 0.02),
        norm_eps=folder.rate("layer_norm_eps", 1e-12),
        activation="gelu" if folder.get("gelu_activation", True) else "relu",
    )
    vocabulary = read_vocabulary(folder.path, size, _SPECIALS)
    table = (*TABLE, *LANGUAGES) if embedded else TABLE
    inside = r"attentions|encoder_attn|ffns|layer_norm"
    given = folder, shape, vocabulary, folder.tensors("transformer."), table, HEAD, inside
    return SourceModel.of_folder(*given, languages=languages)


def _languages(folder: Folder, count: int) -> tuple[str, ...]:
    """The codes of the rows of the language table; numbers where the configuration has none."""
    names = [str(number) for number in range(count)]
    for name, number in (folder.get("lang2id") or {}).items():
        if not isinstance(number, int) or not 0 <= number < count:
            raise UserError(
                f"{folder.file}: ids in `lang2id` must lie below {count}, got {number!r}"
            )
        names[number] = str(name)
    return tuple(names)
