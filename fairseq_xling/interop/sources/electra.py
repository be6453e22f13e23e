"""ELECTRA's discriminator and generator in Hugging Face folders (Clark et al., 2020)."""

from fairseq_xling.core.errors import UserError
from fairseq_xling.interop.sources import folder_families
from fairseq_xling.interop.sources.bert import TABLE, shape_of
from fairseq_xling.interop.sources.folder import EXACT_GELU, Folder, without_prefix
from fairseq_xling.interop.sources.model import SourceModel
from fairseq_xling.interop.sources.table import convert, row
from fairseq_xling.text.tokenizers.vocabulary import BERT_SPECIALS, read_vocabulary

# The encoder's names are BERT's. A discriminator has no LM head: what it predicts of each token,
# whether it was replaced, is left out.
HEAD = (
    row("softmax.shared.dense", "generator_predictions.dense"),
    row("softmax.shared.norm", "generator_predictions.LayerNorm"),
    row("softmax.shared.bias", "generator_lm_head.bias"),
)


@folder_families.register("electra")
def read(folder: Folder) -> SourceModel:
    """The ELECTRA in ``folder``.

    Raises:
        UserError: as `read_source`; also for embeddings of another width than the layers, which
            a linear layer projects: those of all published models but discriminators from base on.
    """
    folder.require_plain_bert()
    # The generator's head has GELU whatever the layers have, and ours has one activation for both.
    folder.require("hidden_act", "gelu", *EXACT_GELU)
    width, layers = folder.size("hidden_size"), folder.size("num_hidden_layers")
    if (embedded := folder.size("embedding_size")) != width:
        raise UserError(
            f"{folder.path / 'config.json'}: unsupported architecture: `embedding_size` must be "
            f"`hidden_size`, {width}, got {embedded}"
        )
    shape = shape_of(folder, folder.size("max_position_embeddings"), norm_eps=1e-12)
    vocabulary = read_vocabulary(folder.path, folder.size("vocab_size"), BERT_SPECIALS)
    tensors = without_prefix(folder.tensors(), "electra.")
    found = convert(tensors, TABLE, HEAD, layers, str(folder.path), r"encoder\.")
    return SourceModel.of_folder(folder, shape, vocabulary, found, segmentation="basic")
