"""`--arch bilstm_baseline`: words and parts of speech, a BiLSTM, and the network of a head.

The networks without a pretrained encoder that TreLM is compared with in parsing and semantic roles
(Tables 1 to 3, Appendix A.6): Dozat and Manning (2017), "Deep Biaffine Attention for Neural
Dependency Parsing", Section 3 and Table 1, and Cai et al. (2018). Defaults are their sizes. Our
choices: dropout has one mask for all words of a sentence between layers, and none within an LSTM.

B sentences, N words with the root and the end, D width of a vector of a word or a tag, H units.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.ranges import BELOW_ONE, COUNT, check_fields, ranged
from fairseq_xling.data.folder import PAD, SPECIALS
from fairseq_xling.models.dropout import SharedDropout
from fairseq_xling.models.identity import Identified
from fairseq_xling.models.tagging.layers import BiLstm
from fairseq_xling.models.trainable import TrainableModel

# Numbers of tags: FRAME is that of the root and of the end.
NO_TAG, FRAME, UNKNOWN, FIRST_TAG = range(4)


@dataclass
class BilstmBaselineConfig(FairseqDataclass):
    word_dim: int = field(default=100, metadata=ranged("width of a word's vector", COUNT))
    tag_dim: int = field(default=100, metadata=ranged("width of a part of speech's vector", COUNT))
    lstm_layers: int = field(default=3, metadata=ranged("layers of the BiLSTM", COUNT))
    lstm_hidden: int = field(
        default=400, metadata=ranged("units of the BiLSTM in each direction", COUNT)
    )
    dropout: float = field(
        default=0.33,
        metadata=ranged("dropout of whole words, of whole tags, and between layers", BELOW_ONE),
    )


@register_model("bilstm_baseline", dataclass=BilstmBaselineConfig)
class BilstmBaseline(Identified, TrainableModel):
    """See the module's docstring.

    Args:
        words, tags: how many there are, without special ones.
        identity: what the weights mean; a checkpoint with another one is rejected.
    """

    fits = "these words, parts of speech and head"

    def __init__(
        self, cfg: Any, words: int, tags: int, head: Any, identity: Mapping[str, Any] | None = None
    ):
        super().__init__()
        self.identity = dict(identity or {})
        self.words = nn.Embedding(SPECIALS + words, cfg.word_dim, PAD)
        self.tags = nn.Embedding(FIRST_TAG + tags, cfg.tag_dim, NO_TAG)
        self.rate = cfg.dropout
        wide = 2 * cfg.lstm_hidden
        widths = [cfg.word_dim + cfg.tag_dim, *[wide] * (cfg.lstm_layers - 1)]
        self.layers = nn.ModuleList(BiLstm(width, cfg.lstm_hidden) for width in widths)
        self.dropout = SharedDropout(cfg.dropout)
        self.network = head.network(wide)

    @classmethod
    @exits_on_user_error
    def build_model(cls, cfg: BilstmBaselineConfig, task: Any) -> "BilstmBaseline":
        """The model for ``task``, a `BilstmBaselineTask`."""
        if not hasattr(task, "contents"):
            raise UserError(
                "`--arch bilstm_baseline` needs `--task bilstm_baseline`, got "
                f"{type(task).__name__}"
            )
        check_fields(BilstmBaselineConfig, cfg)
        words, tags = task.contents
        identity = {
            "languages": list(task.languages),
            "words": words,
            "tags": tags,
            "head": task.cfg.head,
            **{f"{kind}s": names for kind, names in task.head.labels.items()},
        }
        return cls(cfg, len(words), len(tags), task.head, identity)

    def forward(
        self, src: Mapping[str, Tensor], pair: Any, fields: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The outputs of the head's network over the last layer's states (B, N, 2H).

        Args:
            src: ``tokens`` (B, N), and a ``padding_mask`` where there is padding.
            fields: the head's, with ``tags`` (B, N).
        """
        tokens = src["tokens"]
        lengths = (tokens != PAD).sum(1)
        states = self._vectors(tokens, fields["tags"])
        for layer in self.layers:
            states = layer(self.dropout(states), lengths)
        return self.network(states, fields)

    def _vectors(self, tokens: Tensor, tags: Tensor) -> Tensor:
        """(B, N, 2D) vectors of words and of tags; in training some words and some tags are left
        out, and the other one of such a word counts twice (Dozat and Manning, Section 3)."""
        found = [self.words(tokens), self.tags(tags)]
        if not self.training or not self.rate:
            return torch.cat(found, -1)
        kept = torch.rand((2, *tokens.shape), device=tokens.device) >= self.rate
        scale = 2 / kept.sum(0).clamp(min=1)
        scaled = [
            vector * (mask * scale)[..., None].to(vector.dtype)
            for vector, mask in zip(found, kept, strict=True)
        ]
        return torch.cat(scaled, -1)
