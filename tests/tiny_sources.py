"""Small pretrained encoders with random weights, in the forms in which real ones are published."""

import argparse
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

WORDS = [f"word{number}" for number in range(14)]
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
CLASSES = {
    "bert": "Bert",
    "camembert": "Camembert",
    "distilbert": "DistilBert",
    "electra": "Electra",
    "roberta": "Roberta",
    "xlm": "XLM",
    "xlm-roberta": "XLMRoberta",
}
# What families call the sizes that they name differently; none for a size that they do not have.
RENAMED = {
    "distilbert": {
        "hidden_size": "dim",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "intermediate_size": "hidden_dim",
    },
    "xlm": {
        "hidden_size": "emb_dim",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "intermediate_size": "",
    },
}


def vocabulary(family: str) -> tuple[str, list[str]]:
    """File name and 20 tokens of ``family``'s own form; all but XLM-R's, which is no text."""
    if family in ("bert", "distilbert", "electra"):
        pieces = [*WORDS, "##s"]
        return "vocab.txt", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]
    if family == "xlm":
        special = ["<s>", "</s>", "<pad>", "<unk>", "<special0>", "<special1>"]
        return "vocab.json", [*special, *(f"{word}</w>" for word in WORDS)]
    marked = [f"Ġ{word}" for word in WORDS]
    return "vocab.json", ["<s>", "<pad>", "</s>", "<unk>", *marked, "s", "<mask>"]


def randomise(model: torch.nn.Module, seed: int) -> torch.nn.Module:
    """Every parameter drawn anew, so that no bias is 0 and no norm 1: nothing can hide."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model.eval()


def write_folder(path: Path, family: str, head: bool = True, seed: int = 1, **changes: Any) -> Any:
    """A Hugging Face folder of a family in `CLASSES`; returns its model.

    ``changes`` are settings of the configuration, under the names of `SIZES`.
    """
    import transformers

    name = CLASSES[family]
    renamed = RENAMED.get(family, {})
    sizes = {**SIZES, "vocab_size": 20, **changes}
    sizes = {renamed.get(k, k): v for k, v in sizes.items() if renamed.get(k, k)}
    config = getattr(transformers, f"{name}Config")(**sizes)
    with_head = "WithLMHeadModel" if family == "xlm" else "ForMaskedLM"
    model = getattr(transformers, name + (with_head if head else "Model"))(config)
    randomise(model, seed).save_pretrained(path)
    write_vocabulary(path, family)
    return model


def write_vocabulary(path: Path, family: str) -> None:
    """The tokens of `vocabulary` as a file of ``family``'s."""
    name, tokens = vocabulary(family)
    if name == "vocab.txt":
        text = "".join(f"{token}\n" for token in tokens)
    else:
        text = json.dumps({token: number for number, token in enumerate(tokens)})
    (path / name).write_text(text, encoding="utf-8")


def write_tokenizer(path: Path) -> Any:
    """A tokenizer.json of BERT's kind for the tokens of `vocabulary`; returns the tokenizer.

    As published ones do, it adds special symbols to sentences, pads them and cuts them.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    ids = {token: number for number, token in enumerate(vocabulary("bert")[1])}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_truncation(6)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(path / "tokenizer.json"))
    return tokenizer


def write_fairseq_roberta(folder: Path, seed: int = 1, **changes: Any) -> Any:
    """``folder``/model.pt with dict.txt, as fairseq's masked_lm saves them; returns the model."""
    from fairseq_xling.engine.prepare import prepare_engine

    prepare_engine()
    from fairseq.data import Dictionary
    from fairseq.models.roberta import RobertaModel

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dict.txt").write_text("".join(f"▁{word} 1\n" for word in WORDS), encoding="utf-8")
    dictionary = Dictionary.load(str(folder / "dict.txt"))
    dictionary.add_symbol("<mask>")
    settings = {
        "arch": "roberta",
        "encoder_layers": 2,
        "encoder_embed_dim": 16,
        "encoder_ffn_embed_dim": 24,
        "encoder_attention_heads": 2,
        "max_positions": 20,
        **changes,
    }
    args = argparse.Namespace(**settings)
    model = RobertaModel.build_model(args, SimpleNamespace(source_dictionary=dictionary))
    randomise(model, seed)
    # As fairseq's trainer: the options of an architecture without a dataclass are a Namespace.
    cfg = {"model": args, "task": {"_name": "masked_lm", "data": "moved/away"}}
    state = {"args": None, "cfg": cfg, "model": model.state_dict(), "extra_state": {}}
    torch.save(state, folder / "model.pt")
    return model


def tiny_source(
    layers: int = 4,
    vocab: int = 20,
    languages: tuple[str, ...] = (),
    null: bool = False,
    head: bool = True,
    seed: int = 1,
    **changes: Any,
) -> Any:
    """A `SourceModel` that was read from nowhere; its special symbols have ids 9, 8, 7, 6, 5.

    ``languages`` gives it language embeddings; ``changes`` are fields of its shape.
    """
    from fairseq_xling.interop.sources import SourceModel
    from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
    from fairseq_xling.models.sharing import SharingPlan

    shape = {"num_segments": 2, "lm_head": "bert", "norm_eps": 1e-12, **changes}
    shape = EncoderShape(layers, 16, 24, 4, 20, language_embeddings=bool(languages), **shape)
    languages = languages or ("source",)
    encoder = SeparableEncoder(shape, dict.fromkeys(languages, vocab), SharingPlan())
    state = {k: v.detach().clone() for k, v in randomise(encoder, seed).state_dict().items()}
    special_ids = dict(zip(("cls", "pad", "sep", "unk", "mask"), (9, 8, 7, 6, 5), strict=True))
    return SourceModel(
        "tiny",
        "tiny",
        shape,
        {name: tensor for name, tensor in state.items() if head or "softmax" not in name},
        [f"▁en{number}" for number in range(vocab)],
        special_ids | ({"null": 4} if null else {}),
        languages,
    )
