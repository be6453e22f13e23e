"""The settings of published evaluations, by their name for `--preset`.

``xnli``, ``ner`` and ``parsing`` are those of Conneau et al. (2020), "Emerging Cross-lingual
Structure", Section 3.2, which specifies none for parsing; it has those of NER.

The nine tasks of CLUE (Xu et al., 2020, "CLUE: A Chinese Language Understanding Evaluation
Benchmark", Section 3), as used by TreLM (Appendix A.6), with the published files.
TreLM does not say how it was tuned; learning rates, batches, epochs and warm-up are those of the
benchmark's own BERT baselines, which try one setting.
"""

from collections.abc import Mapping
from typing import Any

_TAGS: Mapping[str, Any] = {
    "lrs": "2e-5,3e-5,5e-5",
    "batch_sizes": "16,32",
    "epochs": 10,
    "warmup": 0.1,
    "schedule": "linear",
    "best": 2,
}


def _clue(lr: str, batch: int, epochs: int, warmup: float, **given: Any) -> dict[str, Any]:
    grid = {"lrs": lr, "batch_sizes": str(batch), "epochs": epochs, "warmup": warmup}
    return {**grid, "schedule": "linear", "best": 1, **given}


def _text(*grid: Any, **columns: str) -> dict[str, Any]:
    """One or two texts in JSON lines, under these keys."""
    keys = ",".join(f"{field}={key}" for field, key in {**columns, "label": "label"}.items())
    return _clue(*grid, 0.1, head="classification", format="json_lines", columns=keys)


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "xnli": {
        "head": "classification",
        "lrs": "1.25e-6,2.5e-6,5e-6",
        "head_lrs": "5e-6,2.5e-5,1.25e-4",
        "batch_sizes": "4,8",
        "epochs": 200,
        "schedule": "constant",
        "warmup": 0.0,
        "best": 2,
    },
    "ner": {"head": "ner", **_TAGS},
    "parsing": {"head": "parsing", **_TAGS},
    "clue-afqmc": _text("3e-5", 16, 2, text="sentence1", pair="sentence2"),
    "clue-cmnli": _text("2e-5", 32, 3, text="sentence1", pair="sentence2"),
    "clue-csl": _text("1e-5", 4, 3, text="keyword", pair="abst"),
    "clue-tnews": _text("3e-5", 16, 2, text="sentence"),
    "clue-iflytek": _text("2e-5", 32, 3, text="sentence"),
    "clue-wsc": _clue("2e-5", 8, 50, 0.1, head="classification", format="clue_wsc"),
    "clue-cmrc2018": _clue(
        *("3e-5", 32, 2, 0.1), head="span_qa", metric="em", head_options="segmentation=mixed"
    ),
    "clue-chid": _clue("2e-5", 24, 3, 0.06, head="multiple_choice", format="chid"),
    "clue-c3": _clue("2e-5", 16, 8, 0.05, head="multiple_choice", format="c3"),
}
SPEC_ROWS = {
    "xnli": ("E2",),
    "ner": ("E3",),
    "parsing": ("E4",),
    **{name: ("E6",) for name in PRESETS if name.startswith("clue-")},
}
