"""Writes `export --format sentence-transformers`: a BERT, and the modules for its mean.

The library's own mean includes special symbols, ours (Conneau et al., 2020, Section 5.1.3) is over
subwords alone: `sentence_vectors`. Between the BERT and the mean stands a module of the library
that gives each token a weight: 0 for special symbols, 1 for all others. The files are in the form
of older releases, which later ones read, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.interop.bert import bert_config, bert_weights
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.interop.export import chosen_language
from fairseq_xling.text.published_tokenizer import differences
from fairseq_xling.text.tokenizers.pieces import load_tokenizer
from fairseq_xling.verbs.parts.export_hf import ROWS, Loading, Published, write_card, write_model

if TYPE_CHECKING:
    from fairseq_xling.verbs.export_formats import Job

_LIBRARY, _FIRST = "sentence_transformers", "Transformer"


def write(job: Job, layer: int | None) -> str:
    """Fill ``job.folder``; returns what was written, in one line.

    Args:
        layer: whose states are averaged, 0 the embeddings' output; None for the last.
    """
    loaded = Encoder.load(job.checkpoint, job.data)
    encoder = loaded.model.encoder
    if hasattr(loaded.task, "head") or encoder.reorders:
        what = "a TRILayer" if encoder.reorders else f"the head {loaded.task.cfg.head!r}"
        raise UserError(
            f"`--format sentence-transformers` needs an encoder alone, got a model with {what}"
        )
    depth = encoder.shape.layers if layer is None else layer
    if depth > encoder.shape.layers:
        raise UserError(f"`--sentence-layer` must lie in [0, {encoder.shape.layers}], got {depth}")
    language = chosen_language(encoder, job.language)
    weights = bert_weights(encoder, language, depth)
    # Unused here; transformers would warn at each start that it draws what is missing.
    weights["bert.pooler.dense.weight"] = torch.zeros(loaded.width, loaded.width)
    weights["bert.pooler.dense.bias"] = torch.zeros(loaded.width)
    config = bert_config(encoder, len(weights[ROWS]))
    config |= {"num_hidden_layers": depth, "tie_word_embeddings": True}  # it has no output layer
    tokenizer = write_model(
        job.folder, loaded.folder, language, Published("BertModel", weights, config)
    )
    limits = {"max_seq_length": encoder.shape.max_positions, "do_lower_case": False}
    write_json(job.folder / "sentence_bert_config.json", limits)
    parts = {
        "1_WordWeights": _word_weights(tokenizer, len(weights[ROWS])),
        "2_Pooling": {"word_embedding_dimension": loaded.width, "pooling_mode_mean_tokens": True},
    }
    for path, content in parts.items():
        write_json(job.folder / path / "config.json", content)
    listed = [
        {"idx": n, "name": str(n), "path": path, "type": f"{_LIBRARY}.models.{path[2:] or _FIRST}"}
        for n, path in enumerate(("", *parts))
    ]
    write_json(job.folder / "modules.json", listed)
    write_card(job, loaded, language, _loading(job, differences(tokenizer)))
    return f"{language}, layer {depth}"


def _word_weights(tokenizer: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The tokens of all ids, of which special symbols have the weight 0."""
    library = load_tokenizer(tokenizer, "tokenizer.json")
    tokens = [library.id_to_token(number) for number in range(rows)]
    left_out = set(tokens[:SPECIALS])
    # A token without an entry gets that of its lower case.
    weights = {
        token: float(token not in left_out)
        for token in tokens
        if token in left_out or token.lower() in left_out
    }
    return {"vocab": tokens, "word_weights": weights, "unknown_word_weight": 1.0}


def _loading(job: Job, notes: list[str]) -> Loading:
    code = f"""from sentence_transformers import SentenceTransformer

model = SentenceTransformer("{job.output.name}")
vectors = model.encode(["A dog runs."])"""
    note = "the vector of a text is the mean over its subwords; special symbols are left out"
    header = "pipeline_tag: sentence-similarity\n"
    return Loading("sentence-transformers", "SentenceTransformer", code, [note, *notes], header)
