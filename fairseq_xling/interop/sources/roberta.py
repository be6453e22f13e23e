"""RoBERTa, XLM-R and CamemBERT in Hugging Face folders.

Liu et al. (2019), Conneau et al. (2020), Martin et al. (2020). They differ in their vocabularies.
"""

from fairseq_xling.core.errors import UserError
from fairseq_xling.interop.sources import folder_families
from fairseq_xling.interop.sources.bert import TABLE as BERT_TABLE
from fairseq_xling.interop.sources.bert import shape_of
from fairseq_xling.interop.sources.folder import EXACT_GELU, Folder
from fairseq_xling.interop.sources.model import SourceModel
from fairseq_xling.interop.sources.table import KeyRow, row
from fairseq_xling.text.tokenizers.vocabulary import ROBERTA_SPECIALS, read_vocabulary

_POSITIONS = "positions.shared.weight"

# As BERT's but for its name, and with a table of one segment.
HEAD = (
    row("softmax.shared.dense", "lm_head.dense"),
    row("softmax.shared.norm", "lm_head.layer_norm"),
    row("softmax.shared.bias", "lm_head.bias"),
)


def table(padding_id: int) -> tuple[KeyRow, ...]:
    """BERT's names, without the position rows up to the padding's.

    As in fairseq, row ``padding_id`` is for padding and the first token has the one after it, so
    the rows before it belong to no position of ours.
    """
    return tuple(
        row(line.ours, *line.theirs, skip=padding_id + 1) if line.ours == _POSITIONS else line
        for line in BERT_TABLE
    )


@folder_families.register("camembert")
@folder_families.register("roberta")
@folder_families.register("xlm-roberta")
def read(folder: Folder) -> SourceModel:
    """The RoBERTa, XLM-R or CamemBERT in ``folder``."""
    folder.require_plain_bert()
    # The head has GELU whatever the layers have, and ours has one activation for both.
    folder.require("hidden_act", "gelu", *EXACT_GELU)
    padding_id = folder.size("pad_token_id", 1, least=0)
    rows = folder.size("max_position_embeddings")
    if rows <= padding_id + 1:
        raise UserError(
            f"{folder.file}: `max_position_embeddings` must exceed {padding_id + 1}, the rows of "
            f"the padding, got {rows}"
        )
    shape = shape_of(folder, rows - padding_id - 1, norm_eps=1e-5)
    vocabulary = read_vocabulary(folder.path, folder.size("vocab_size"), ROBERTA_SPECIALS)
    given = folder, shape, vocabulary, folder.tensors("roberta."), table(padding_id), HEAD
    return SourceModel.of_folder(*given, r"encoder\.")
