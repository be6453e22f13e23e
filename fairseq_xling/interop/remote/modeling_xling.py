"""An encoder with a TRILayer for Hugging Face's transformers; needs torch and transformers alone.

Li et al. (2021), "Cross-lingual Transferring of Pre-trained Contextualized Language Models",
Section 3.1: a text is read in one language and its own order. One more layer, the TRILayer, is
between the halves of the others and adds embeddings of language and position; every token of the
lower half may also attend to a null state, which is appended here.

B batch, T tokens, D width, V vocabulary.
"""

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.activations import ACT2FN
from transformers.modeling_outputs import BaseModelOutput, MaskedLMOutput


class XlingConfig(PretrainedConfig):
    """Sizes of an encoder; the language that it reads is part of its weights."""

    model_type = "xling"

    def __init__(
        self,
        vocab_size=30,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        hidden_act="gelu",
        max_position_embeddings=20,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        null_token_id=5,
        lm_head="linear",
        **others,
    ):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.num_attention_heads = num_attention_heads
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.max_position_embeddings = max_position_embeddings
        self.type_vocab_size = type_vocab_size
        self.layer_norm_eps = layer_norm_eps
        self.null_token_id = null_token_id
        self.lm_head = lm_head
        super().__init__(**others)


class XlingLayer(nn.Module):
    """x -> LN(x + Attention(x)) -> LN(x + FFN(x))."""

    def __init__(self, config):
        super().__init__()
        size, inner = config.hidden_size, config.intermediate_size
        self.heads = config.num_attention_heads
        self.qkv = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)
        self.attention_norm = nn.LayerNorm(size, config.layer_norm_eps)
        self.fc1 = nn.Linear(size, inner)
        self.fc2 = nn.Linear(inner, size)
        self.ffn_norm = nn.LayerNorm(size, config.layer_norm_eps)
        self.activation = ACT2FN[config.hidden_act]

    def forward(self, x, mask):
        batch, length, size = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, size // self.heads)
        query, key, value = (part.transpose(1, 2) for part in qkv.unbind(2))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = self.attention_norm(x + self.out(mixed.transpose(1, 2).reshape(x.shape)))
        return self.ffn_norm(x + self.fc2(self.activation(self.fc1(x))))


class XlingPreTrainedModel(PreTrainedModel):
    config_class = XlingConfig
    base_model_prefix = "xling"


class XlingModel(XlingPreTrainedModel):
    """Hidden states: of the embeddings, the lower half, the TRILayer and the upper half."""

    _keys_to_ignore_on_load_unexpected = [r"^head\.", r"^output_tokens\."]  # the output layer's

    def __init__(self, config):
        super().__init__(config)
        size = config.hidden_size
        self.tokens = nn.Embedding(config.vocab_size, size, padding_idx=config.pad_token_id)
        self.positions = nn.Embedding(config.max_position_embeddings, size)
        self.segments = nn.Embedding(config.type_vocab_size, size)
        self.language = nn.Parameter(torch.zeros(size))
        self.embedding_norm = nn.LayerNorm(size, config.layer_norm_eps)
        self.layers = nn.ModuleList(XlingLayer(config) for _ in range(config.num_hidden_layers))
        self.trilayer = XlingLayer(config)
        self.post_init()

    def get_input_embeddings(self):
        return self.tokens

    def set_input_embeddings(self, value):
        self.tokens = value

    def forward(
        self,
        input_ids,
        attention_mask=None,
        token_type_ids=None,
        output_hidden_states=None,
        return_dict=None,
        **others,
    ):
        """States (B, T, D) of ``input_ids`` (B, T); a mask is 1 at tokens and 0 at padding."""
        batch, length = input_ids.shape
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        mask = attention_mask.bool()[:, None, None, :]
        places = self.positions.weight[:length]
        x = self.tokens(input_ids) + places + self.language + self.segments(token_type_ids)
        null = self.tokens.weight[self.config.null_token_id] + self.segments.weight[0]
        null = (null + self.language).expand(batch, 1, -1)
        x = self.embedding_norm(torch.cat([x, null], 1))
        states = [x[:, :length]]
        lower = F.pad(mask, (0, 1), value=True)
        half = len(self.layers) // 2
        for layer in self.layers[:half]:
            x = layer(x, lower)
            states.append(x[:, :length])
        x = self.trilayer(x[:, :length] + places + self.language, mask)
        states.append(x)
        for layer in self.layers[half:]:
            x = layer(x, mask)
            states.append(x)
        found = BaseModelOutput(x, tuple(states) if output_hidden_states else None)
        return found if return_dict is not False else found.to_tuple()


class XlingHead(nn.Module):
    """logits = f(x) E^T + b; f is BERT's dense, activation and LayerNorm, or nothing."""

    def __init__(self, config):
        super().__init__()
        size = config.hidden_size
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.dense = nn.Linear(size, size) if config.lm_head == "bert" else None
        self.norm = nn.LayerNorm(size, config.layer_norm_eps) if self.dense else None
        self.activation = ACT2FN[config.hidden_act]

    def forward(self, x, table):
        if self.dense is not None:
            x = self.norm(self.activation(self.dense(x)))
        return F.linear(x, table, self.bias)


class XlingForMaskedLM(XlingPreTrainedModel):
    """`XlingModel` with its output layer, tied to the token embeddings or with its own table."""

    def __init__(self, config):
        super().__init__(config)
        self.xling = XlingModel(config)
        self.head = XlingHead(config)
        tied = config.tie_word_embeddings
        size = (config.vocab_size, config.hidden_size)
        self.output_tokens = None if tied else nn.Embedding(*size)
        self.post_init()

    def forward(self, input_ids, labels=None, **others):
        """Logits (B, T, V); with ``labels`` (B, T), -100 where nothing is predicted, the loss."""
        found = self.xling(input_ids, **{**others, "return_dict": True})
        table = self.xling.tokens if self.output_tokens is None else self.output_tokens
        logits = self.head(found.last_hidden_state, table.weight)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return MaskedLMOutput(loss, logits, found.hidden_states)
