"""A checkpoint of fairseq's `translation` task with random weights, for a data folder."""

from argparse import Namespace
from pathlib import Path

import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel, base_architecture

from fairseq_xling.data.folder import DataFolder


def save_autoregressive(
    path: Path,
    data: Path,
    pair: tuple[str, str] = ("en", "de"),
    seed: int = 1,
    mapping: bool = False,
) -> TransformerModel:
    """Write it to ``path``; returns the model.

    Its settings are a namespace as fairseq-train leaves them, or a ``mapping`` as fairseq's
    programs with hydra do.
    """
    folder = DataFolder(data)
    source, target = (Dictionary.load(str(folder.dictionary_path(lang))) for lang in pair)
    args = Namespace(
        arch="transformer",
        **{f"{side}_layers": 1 for side in ("encoder", "decoder")},
        **{f"{side}_embed_dim": 16 for side in ("encoder", "decoder")},
        **{f"{side}_ffn_embed_dim": 16 for side in ("encoder", "decoder")},
        **{f"{side}_attention_heads": 2 for side in ("encoder", "decoder")},
    )
    base_architecture(args)
    torch.manual_seed(seed)
    task = Namespace(source_dictionary=source, target_dictionary=target)
    model = TransformerModel.build_model(args, task).eval()
    settings = {"_name": "translation", "source_lang": pair[0], "target_lang": pair[1]}
    options = {"_name": "transformer", **vars(args)} if mapping else args
    torch.save({"cfg": {"task": settings, "model": options}, "model": model.state_dict()}, path)
    return model
