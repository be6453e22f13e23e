"""A small checkpoint of this project, and the same one changed by hand."""

import copy
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fairseq_xling.checkpoints.fresh import write_fresh_checkpoint
from fairseq_xling.engine.prepare import prepare_engine


@pytest.fixture(scope="session")
def whole_state(tiny_corpus) -> dict[str, Any]:
    """What a training of a small encoder writes before its first update."""
    from fairseq import options, tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from omegaconf import OmegaConf

    import fairseq_xling.plugin  # noqa: F401

    line = "--task bilingual_mlm --arch separable_transformer_tiny --criterion unified_lm"
    line += " --encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32 --cpu"
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, [str(tiny_corpus.path), *line.split()])
    cfg = convert_namespace_to_omegaconf(args)
    task = tasks.setup_task(cfg.task)
    weights = task.build_model(cfg.model).state_dict()
    path = tiny_corpus.path.parent / "whole.pt"
    plain = OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)
    trained_by = {"criterion_name": "UnifiedCriterion", "optimizer_name": "FairseqAdam"}
    write_fresh_checkpoint(path, plain, weights, trained_by, {})
    return torch.load(path, weights_only=True)


@pytest.fixture
def changed(whole_state, tmp_path) -> Callable[..., Path]:
    """``changed({"cfg.model._name": "x"})``: a checkpoint with other values at these places."""

    def write(values: dict[str, Any], name: str = "changed.pt") -> Path:
        state = copy.deepcopy(whole_state)
        for place, value in values.items():
            *steps, last = place.split("/") if "/" in place else place.split(".")
            entry = state
            for step in steps:
                entry = entry[int(step) if isinstance(entry, list) else step]
            if value is KeyError:
                del entry[last]
            else:
                entry[int(last) if isinstance(entry, list) else last] = value
        torch.save(state, tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def marker(tmp_path) -> SimpleNamespace:
    """``code`` is Python that makes the file ``path``."""
    path = tmp_path / "marker"
    return SimpleNamespace(path=path, code=f"__import__('pathlib').Path({str(path)!r}).touch()")


@pytest.fixture
def loaded() -> Callable[..., tuple]:
    """fairseq's own way to a model, with the plug-in."""
    prepare_engine()
    from fairseq import checkpoint_utils

    import fairseq_xling.plugin  # noqa: F401

    return lambda path: checkpoint_utils.load_model_ensemble_and_task([str(path)])


@pytest.fixture
def peer(tmp_path, changed) -> Callable[..., Path]:
    """``peer(encoder_layers=1)``: a checkpoint of fairseq's own translation model.

    Its settings are those of the model, ``task`` has some of the task's. Its data folder is
    ``peer``, or the one that ``task`` names.
    """

    def make(task: dict[str, Any] | None = None, **options: Any) -> Path:
        from fairseq.data import Dictionary
        from fairseq.models.transformer import TransformerModel

        folder = tmp_path / "peer"
        folder.mkdir(exist_ok=True)
        for lang in ("en", "de"):
            (folder / f"dict.{lang}.txt").write_text("a 1\nb 1\n")
        sides = ("encoder", "decoder")
        sizes = {f"{side}_{name}": 8 for side in sides for name in ("embed_dim", "ffn_embed_dim")}
        sizes |= {f"{side}_{name}": 1 for side in sides for name in ("layers", "attention_heads")}
        symbols = Dictionary.load(str(folder / "dict.en.txt"))
        both = SimpleNamespace(source_dictionary=symbols, target_dictionary=symbols)
        weights = TransformerModel.build_model(Namespace(**sizes), both).state_dict()
        names = {"_name": "transformer", "arch": "transformer"}
        of_task = {"_name": "translation", "data": str(folder), "eval_bleu": False}
        of_task |= {"source_lang": "en", "target_lang": "de"}
        values = {
            "model": weights,
            "cfg.model": Namespace(**{**names, **sizes, **options}),
            "cfg.task": {**of_task, **(task or {})},
            "cfg.criterion": {"_name": "label_smoothed_cross_entropy"},
        }
        return changed(values)

    return make
