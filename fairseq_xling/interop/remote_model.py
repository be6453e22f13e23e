"""Encoders with a TRILayer for transformers, which needs a file of code for them.

``remote/modeling_xling.py`` is not part of this package: it is copied next to the weights.
"""

import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.data.folder import NULL
from fairseq_xling.models.trilayer import TriEncoder

CODE = "modeling_xling.py"  # the file's name in an exported folder
_CLASSES = {"Config": "XlingConfig", "Model": "XlingModel", "ModelForMaskedLM": "XlingForMaskedLM"}


def copy_code(folder: Path) -> None:
    """Put the file of code into ``folder``."""
    shutil.copyfile(Path(__file__).parent / "remote" / CODE, folder / CODE)


def remote_config(encoder: TriEncoder) -> dict[str, Any]:
    """The entries of ``config.json`` by which the file of code is found and built."""
    return {
        "model_type": "xling",
        "auto_map": {f"Auto{kind}": f"{Path(CODE).stem}.{name}" for kind, name in _CLASSES.items()},
        "null_token_id": NULL,
        "lm_head": encoder.shape.lm_head,
    }


def remote_weights(encoder: TriEncoder, language: str) -> dict[str, Tensor]:
    """The weights of an `XlingForMaskedLM`."""
    s, weights = encoder.shape, encoder.path_weights(language)
    found = {
        "xling.language": torch.zeros(s.dim),
        "xling.segments.weight": torch.zeros(1, s.dim),
    }
    for name, tensor in weights.items():
        ours, _, rest = name.replace(".shared.", ".").partition(".")
        if ours == "softmax":
            found[f"head.{rest}"] = tensor
        elif ours == "output_tokens":
            found[f"output_tokens.{rest}"] = tensor
        elif ours == "segment_table":
            found["xling.segments.weight"] = tensor
        elif ours == "language_table":
            found["xling.language"] = tensor[encoder.languages.index(language)].clone()
        elif ours != "copy_table":  # of translations alone
            found[f"xling.{ours}.{rest}"] = tensor
    return found
