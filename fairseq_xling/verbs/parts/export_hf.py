"""Writes `export --format hf`: weights, configuration, tokenizer and card of a language's path."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError, about
from fairseq_xling.files import write_json
from fairseq_xling.interop.bert import bert_config, bert_weights, mlm_head
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.interop.export import chosen_language
from fairseq_xling.interop.remote_model import copy_code, remote_config, remote_weights
from fairseq_xling.interop.sources.bert import SEGMENTATION
from fairseq_xling.models.encoder import SeparableEncoder
from fairseq_xling.models.trilayer import TriEncoder
from fairseq_xling.text.published_tokenizer import differences, special_tokens, tokenizer_json
from fairseq_xling.verbs.parts.export_card import Loading, write_card
from fairseq_xling.verbs.parts.export_hf_heads import bert_heads

if TYPE_CHECKING:
    from fairseq_xling.verbs.parts.export_formats import Job

ROWS = "bert.embeddings.word_embeddings.weight"


@dataclass(frozen=True)
class Published:
    """What becomes of a model.

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


def write(job: Job) -> str:
    """Fill ``job.folder``; returns what was written, in one line.

    Raises:
        UserError: if the checkpoint cannot be read, or cannot be represented.
    """
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
    loading = Loading("transformers", made.architecture, code, notes)
    write_card(job, loaded, language, loading)
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
    """A BERT with the head ``name`` of a fine-tuned `TransferEncoder`.

    Raises:
        UserError: for a head that transformers does not have for BERT, or one that also reads word
            vectors, or states through a map.
    """
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
