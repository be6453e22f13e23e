"""Writes `export --format hf`: weights, configuration, tokenizer and card of a language's path; and
`--format sentence-transformers`: a BERT, and the modules for its mean.

Heads of our tasks are written as those of BERT in transformers that give equal logits; to add one,
register a function, by the name that it has in `tasks.heads`. The card is ``README.md`` with the
fields that model hubs read.

The mean of sentence-transformers includes special symbols, ours (Conneau et al., 2020, Section
5.1.3) is over subwords alone: `sentence_vectors`. Between the BERT and the mean stands a module of
that library that gives each token a weight: 0 for special symbols, 1 for all others. The files are
in the form of older releases, which later ones read, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from fairseq_xling.checkpoints.files import checkpoint_in
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.files import sha256, write_json
from fairseq_xling.core.provenance import versions
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.interop.bert import bert_config, bert_weights, mlm_head
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.interop.export import chosen_language
from fairseq_xling.interop.remote_model import copy_code, remote_config, remote_weights
from fairseq_xling.interop.sources.bert import SEGMENTATION
from fairseq_xling.models.encoder import SeparableEncoder
from fairseq_xling.models.trilayer import TriEncoder
from fairseq_xling.tasks.heads import Head
from fairseq_xling.text.published_tokenizer import differences, special_tokens, tokenizer_json
from fairseq_xling.text.tokenizers.pieces import load_tokenizer
from fairseq_xling.trained import load_trained

if TYPE_CHECKING:
    from fairseq_xling.api.job import Job

# tanh(x) = x in float32 for |x| < 2 ** -12, so for states below 256; a power of two is exact.
_SMALL = 2.0**-20
ROWS = "bert.embeddings.word_embeddings.weight"


def write_card(
    job: Job,
    loaded: Encoder,
    language: str,
    library: str,
    architecture: str,
    code: str,
    notes: Sequence[str],
    header: str = "",
) -> None:
    """Write the card into ``job.folder``.

    Args:
        loaded: the model; language: whose parts were written.
        library, architecture: what loads the folder, by names on model hubs; code: a few lines of
            Python that load it.
        notes: what a user has to know; header: further lines of the card's metadata.
    """
    file = Path(checkpoint_in(job.checkpoint)[0])
    state, encoder, meta = load_trained(file), loaded.model.encoder, loaded.folder.meta
    shape = encoder.shape
    extra = state.get("extra_state") or {}
    figures: list[tuple[str, Any]] = [
        ("languages of the model", ", ".join(loaded.languages)),
        ("language of this folder", language),
        ("private parts", str(encoder.plan) or "none"),
        (
            "vocabulary",
            f"{meta['vocab']['mode']}, {len(encoder.tokens.select(language).weight)} ids",
        ),
        ("words are cut by", str(meta["segment"][language])),
        ("layers, width, heads", f"{shape.layers}, {shape.dim}, {shape.heads}"),
        ("longest input", f"{shape.max_positions} tokens"),
        ("updates", state["optimizer_history"][-1]["num_updates"]),
        *((f"validation, {name}", extra[name]) for name in ("best", "val_loss") if extra.get(name)),
        ("checkpoint, sha256", sha256(file)),
        *((name, version) for name, version in versions().items()),
    ]
    counts = meta.get("mono") or {}
    for split in counts:
        for lang, entry in counts[split].items():
            figures.append((f"text, {split}, {lang}", f"{entry['sentences']} sentences"))
    rows = "\n".join(f"| {name} | {value} |" for name, value in figures)
    single = encoder.plan.any or shape.language_embeddings  # the other paths are not written
    names = "\n".join(f"- {name}" for name in ([language] if single else loaded.languages))
    remarks = "".join(f"- {note}\n" for note in notes)
    text = f"""---
language:
{names}
license: unknown # to be filled in
library_name: {library}
tags:
- fairseq_xling
{header}---

# {job.output.name}

Written by `fairseq-xling export` for `{architecture}` of {library}.

## Use

```python
{code}
```

{remarks}
## Provenance

| | |
|---|---|
{rows}
"""
    (job.folder / "README.md").write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Published:
    """What becomes of a model; of a head, its ``weights`` and ``config`` are those besides the
    encoder's.

    Attributes:
        architecture: the class of transformers that loads it.
        weights: by their names there.
        config: the entries of ``config.json``.
        notes: what a user has to know.
    """

    architecture: str
    weights: dict[str, Tensor]
    config: dict[str, Any]
    notes: list[str] = field(default_factory=list)


bert_heads: Registry[Callable[[Head, nn.Module], Published]] = Registry(
    "head for BERT in transformers"
)


@bert_heads.register("classification")
def classification(head: Head, network: Any) -> Published:
    """Linear on the first state; BERT's pooler, a tanh, works where it is the identity."""
    size = network.out.in_features
    weights = {
        "bert.pooler.dense.weight": torch.eye(size) * _SMALL,
        "bert.pooler.dense.bias": torch.zeros(size),
        "classifier.weight": network.out.weight / _SMALL,
        "classifier.bias": network.out.bias,
    }
    note = "its logits are right in float32 and bfloat16, wrong in float16"
    return Published(
        "BertForSequenceClassification", weights, _labels(head.labels["label"]), [note]
    )


@bert_heads.register("pos")
@bert_heads.register("ner")
def tagging(head: Head, network: Any) -> Published:
    """Linear on every state; ours reads those of the words' first subwords."""
    weights = {"classifier.weight": network.out.weight, "classifier.bias": network.out.bias}
    note = "the tag of a word is that of its first subword"
    return Published("BertForTokenClassification", weights, _labels(head.labels["tag"]), [note])


@bert_heads.register("span_qa")
def span_qa(head: Head, network: Any) -> Published:
    """Two linear scores; ours are -inf outside the context, where theirs have values."""
    weights = {"qa_outputs.weight": network.out.weight, "qa_outputs.bias": network.out.bias}
    return Published("BertForQuestionAnswering", weights, {})


def _labels(names: list[str]) -> dict[str, Any]:
    return {
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
    }


def write(job: Job) -> str:
    """Fill ``job.folder``; returns what was written, in one line."""
    loaded = Encoder.load(job.checkpoint, job.data)
    module = loaded.model.encoder
    language = chosen_language(module, job.language)
    if hasattr(loaded.task, "head"):
        made = task_model(loaded.model, loaded.task.cfg.head, loaded.task.head, language)
    elif module.reorders:
        made = reordering_model(module, language)
        copy_code(job.folder)
    else:
        made = language_model(module, language)
    notes = [*made.notes, *differences(write_model(job.folder, loaded.folder, language, made))]
    loader, trusted = made.architecture, ""
    if module.reorders:
        loader, trusted = "AutoModelForMaskedLM", ", trust_remote_code=True"
    code = f"""from transformers import AutoTokenizer, {loader}

tokenizer = AutoTokenizer.from_pretrained("{job.output.name}"{trusted})
model = {loader}.from_pretrained("{job.output.name}"{trusted})"""
    write_card(job, loaded, language, "transformers", made.architecture, code, notes)
    return "; ".join([f"{made.architecture}, {language}", *notes])


def write_model(folder: Path, data: DataFolder, language: str, made: Published) -> dict[str, Any]:
    """Write the weights, ``config.json`` and tokenizer of ``made`` into ``folder``.

    Returns:
        The content of ``tokenizer.json``.
    """
    content = _write_tokenizer(folder, data, language, made)
    segment = data.meta["segment"][language]
    config = {**made.config, "architectures": [made.architecture], SEGMENTATION: segment}
    write_json(folder / "config.json", config)
    tensors = {name: tensor.contiguous() for name, tensor in made.weights.items()}
    weights = folder / "model.safetensors"
    try:
        save_file(tensors, weights, metadata={"format": "pt"})
    except SafetensorError as error:  # how the library reports a full disk
        raise UserError(f"{weights}: could not be written ({error})") from None
    weights.chmod(0o644)  # the library lets none but the owner read it
    return content


def language_model(encoder: SeparableEncoder, language: str) -> Published:
    """A BERT with its output layer, or without it if BERT's cannot represent ours."""
    weights, head = bert_weights(encoder, language), mlm_head(encoder, language)
    config = bert_config(encoder, len(weights[ROWS]))
    if head is None:
        # Nothing is left to be tied, and without this the folder could not be imported again.
        config["tie_word_embeddings"] = True
        said = (
            "without the output layer, which BERT's cannot represent: a scale of the last norm is 0"
        )
        return Published("BertModel", weights, config, [said])
    notes = []
    if encoder.shape.lm_head != "bert":
        notes.append(
            "its linear output layer is written as BERT's transform, the identity in float32; in "
            "float16 or bfloat16 masked-word logits are wrong, and hidden states right"
        )
    return Published("BertForMaskedLM", weights | head, config, notes)


def reordering_model(encoder: TriEncoder, language: str) -> Published:
    """A model of our own code, for an encoder with a TRILayer."""
    with about("`--format hf`"):
        weights = remote_weights(encoder, language)
    rows = len(weights["xling.tokens.weight"])
    config = {**bert_config(encoder, rows), **remote_config(encoder)}
    note = "it loads by the Auto classes with trust_remote_code=True, and is not for `import`"
    return Published("XlingForMaskedLM", weights, config, [note])


def task_model(model: Any, name: str, head: Any, language: str) -> Published:
    """A BERT with the head ``name`` of a fine-tuned `TransferEncoder`."""
    if model.joint:
        raise UserError(
            "`--format hf`: a head trained with `--concat-vectors` or `--map` has no counterpart"
        )
    with about("`--format hf`"):
        made = bert_heads[name](head, model.network)
    weights = bert_weights(model.encoder, language, model.read_layer, model.between)
    weights |= {key: value.detach().float().cpu() for key, value in made.weights.items()}
    config = {
        **bert_config(model.encoder, len(weights[ROWS])),
        "num_hidden_layers": model.read_layer + len(model.between),
        "classifier_dropout": head.options.dropout,
        "tie_word_embeddings": True,  # it has no output layer
        **made.config,
    }
    return Published(made.architecture, weights, config, made.notes)


def _write_tokenizer(
    folder: Path, data: DataFolder, language: str, made: Published
) -> dict[str, Any]:
    rows, segments = made.config["vocab_size"], made.config["type_vocab_size"]
    content = tokenizer_json(data, language, rows, segments)
    write_json(folder / "tokenizer.json", content)
    settings = {
        **special_tokens(content),
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": made.config["max_position_embeddings"],
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / "tokenizer_config.json", settings)
    return content


_LIBRARY, _FIRST = "sentence_transformers", "Transformer"


def write_sentences(job: Job, layer: int | None) -> str:
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
    code = f"""from sentence_transformers import SentenceTransformer

model = SentenceTransformer("{job.output.name}")
vectors = model.encode(["A dog runs."])"""
    note = "the vector of a text is the mean over its subwords; special symbols are left out"
    notes = [note, *differences(tokenizer)]
    header = "pipeline_tag: sentence-similarity\n"
    made = ("sentence-transformers", "SentenceTransformer", code, notes, header)
    write_card(job, loaded, language, *made)
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
