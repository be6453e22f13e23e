"""What encoders that cannot be imported have which our layers lack, by their `model_type`."""

_RELATIVE = "it has relative positions"

DIFFERENCES = {
    "albert": "its layers share weights, and its embeddings are projected to their width",
    "deberta": _RELATIVE,
    "deberta-v2": _RELATIVE,
    "eurobert": "it has rotary positions and LayerNorm before its sublayers",
    "modernbert": "it has rotary positions, local attention, gated feed-forward layers, and "
    "LayerNorm before its sublayers",
    "mpnet": _RELATIVE,
    "rembert": "its embeddings are projected to the width of its layers",
    "roformer": "it has rotary positions",
    "xlm-roberta-xl": "it has LayerNorm before its sublayers",
}
