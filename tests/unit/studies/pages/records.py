"""One tiny record of each kind of result, as the verbs write them."""

from collections.abc import Iterator

from fairseq_xling.results.frame import frame_to_json, make_frame
from fairseq_xling.results.statistics import OverSeeds

ORIGIN = {
    "command": "fairseq-xling verb --seeds 1,2",
    "date": "2026-03-04T05:06:07+00:00",
    "machine": "2 processors",
    "versions": {"torch": "2.13.0"},
    "inputs": {"data": {"path": "data/meta.json", "bytes": 3, "sha256": "ab" * 32}},
}


def _over(values: list[float], digits: int) -> dict:
    """A cell of a figure of each seed."""
    return OverSeeds(tuple(values), digits).record()


def _frame(names: tuple[str, ...], *rows: tuple, **common) -> dict:
    """A frame of these columns."""
    return frame_to_json(make_frame((dict(zip(names, row, strict=True)) for row in rows), **common))


def _scores(**by_language: float) -> dict:
    return {lang: {"f1": value} for lang, value in by_language.items()}


_MIGRATION = {
    "target": "de",
    "seed": 1,
    "phases": [
        {"phase": "init", "steps": 0, "bpw": {"en": 9.0, "de": 12.0}},
        {"phase": "language", "steps": 20, "bpw": {"en": 9.5, "de": 3.25}},
    ],
    "uniform_bpw": {"en": 11.0, "de": 11.0},
    "data": {"sentences": {"en": 40, "de": 40}, "pairs": {"en-de": 20}},
    "maps": [],
    "samples": [{"source": "a", "reference": "b", "identity": "a"}],
    "orderings": ["identity"],
    "translation": {
        "identity": {
            "precisions": [60.0, 30.0, 15.0, 7.0],
            "bleu": 20.5,
            "brevity_penalty": 0.9,
            "length_ratio": 0.9,
            "signature": "nrefs:1",
            "chrf": 40.25,
            "chrf_signature": "nrefs:1|nc:6",
            "words": 55.5,
            "order": 90.5,
            "repeated": 1.5,
        }
    },
    "curves": {
        "language": {
            "train": {"loss": [[10, 5.0], [20, 4.0]], "mlm_de_loss": [[10, 5.0], [20, 4.0]]},
            "valid": {"mlm_de_loss": [[20, 4.5]], "best_loss": [[20, 4.5]]},
        }
    },
    "cost": {
        "trainings": [
            {
                "phase": "language",
                "parameters": 100,
                "trained": 50,
                "steps": 20,
                "sentences": 40,
                "tokens": 400,
                "seconds": 3.0,
                "devices": 1,
                "device_days": 0.00003,
            }
        ],
        "sums": {
            **{"steps": 20, "steps_as_the_paper_counts": 20, "tokens": 400},
            **{"seconds": 3.0, "device_days": 0.00003},
        },
    },
}

_ORDERINGS = ("identity", "predicted", "oracle")

_CLASSIFIED = {
    "source": "en",
    "tests": [["en.test", "en"], ["zh.test", "zh"]],
    "majority": {"label": "no", "accuracy": {"en.test": 40.0, "zh.test": 41.0}},
}


def _clcr_study(row: int | str, **figures: float) -> Iterator[tuple]:
    """What is measured of one row of a study of CLCR, with two seeds."""
    for seed in (1, 2):
        known = {"relative": 0.5, "f1": 0.6, "pivots": 30, "seconds of T": 9.0, **figures}
        yield from ((row, seed, name, value, None, None) for name, value in known.items())
        yield row, seed, "accuracy, T, zh.test", 60.0 + seed, "T", "zh.test"


RECORDS = {
    "evaluation": {
        "format": 1,
        "results": [
            {
                "checkpoint": "runs/a/checkpoint_best.pt",
                "measures": {
                    "retrieval": {
                        "title": "Sentence retrieval, P@1 by cosine",
                        "header": ["pair", "layer", "forward", "mean", "chance", "sentences"],
                        "rows": [
                            ["en-de", 0, 0.5, 0.25, 0.1, 10],
                            ["en-de", 1, 0.75, 0.625, 0.1, 10],
                        ],
                        "scores": {"de": {"retrieval": 0.625, "retrieval_layer": 1}},
                        "notes": ["a tie counts as wrong"],
                    },
                    "bpw": {
                        "title": "Bits per word",
                        "header": ["language", "bits per word", "uniform model"],
                        "rows": [["en", 5.5, 11.0], ["de", 6.5, 11.0]],
                        "scores": {"en": {"bpw": 5.5}, "de": {"bpw": 6.5}},
                        "notes": [],
                    },
                },
            }
        ],
    },
    "ablation": {
        "kind": "ablation",
        "config": {
            "data_text": "text",
            "languages": "en,de",
            "arch": "separable_transformer_tiny",
            "layers": 4,
            "updates": 1000,
            "max_tokens": 2048,
            "seeds": "1,2",
        },
        "columns": [
            {"title": "sentence P@1", "unit": ", best layer", "compares": True, "digits": 3}
        ],
        "tasks": [],
        "frame": _frame(
            ("row", "name", "target", "measure", "seed", "value", "chance", "parameters", "unit"),
            *(
                (code, name, "de", "sentence P@1", seed, value, 0.01, 1234, ", best layer")
                for code, name, values in (
                    ("A1", "Default", (0.49, 0.51)),
                    ("C", "Control: nothing shared", (0.01, 0.01)),
                )
                for seed, value in enumerate(values, start=1)
            ),
            vocabulary="2,000",
            reported=None,
        ),
    },
    "similarity": {
        "kind": "similarity",
        "config": {
            **{"seeds": "1,2", "equal": "steps", "same": False},
            **{"method": "procrustes", "normalize": "centre"},
        },
        "frame": _frame(
            ("row", "title", "pair", "measure", "seed", "layer", "value"),
            *(
                ("mapped", "monolingual, mapped", "en-de", "CKA", seed, layer, value)
                for seed, layer, value in ((1, 0, 0.25), (1, 1, 0.35), (2, 0, 0.35), (2, 1, 0.45))
            ),
            *(
                ("mapped", "monolingual, mapped", "en-de", "Pearson", seed, None, value)
                for seed, value in ((1, 0.94), (2, 0.96))
            ),
        ),
    },
    "mapped-layers": {
        "kind": "mapped-layers",
        "config": {
            **{"seeds": "1,2", "head_layers": 2, "map_sentences": 9, "map_split": "valid"},
            **{"links": "fast_align", "encoder": []},
        },
        "frame": _frame(
            ("row", "title", "pair", "measure", "seed", "layer", "value"),
            *(
                ("mapped", "monolingual, mapped", "en-de", "NER F1", seed, layer, value)
                for seed, layer, value in ((1, 0, 30.0), (1, 1, 35.0), (2, 0, 40.0), (2, 1, 45.0))
            ),
        ),
    },
    "adversarial-tagging": {
        "kind": "adversarial-tagging",
        "config": {
            **{"languages": "en,de", "seeds": "1,2", "sentences": 9, "epochs": 2, "few": 3},
            **{"valid_sentences": 4, "map": "identical"},
        },
        "metric": "f1",
        "header": [
            *("row", "", "f1, de", "mean of targets", "f1, en", "D (%)", "fresh classifier (%)"),
        ],
        "rows": [
            [
                *("2", "mapped", _over([35.0, 45.0], 1), _over([35.0, 45.0], 1)),
                *(_over([89.0, 91.0], 1), None, _over([98.0, 100.0], 1)),
            ],
            ["6", "supervised", _over([80.0, 80.0], 1), _over([80.0, 80.0], 1), None, None, None],
        ],
        "maps": {
            "de": {
                "seeds": {"1": {"failure": None}},
                **{"best_seed": 1, "criterion": 0.8, "chance": 0.75},
            }
        },
        "comparisons": [{"row": "2", "against": "1", "gaps": [1.0, 2.0], "mean": 1.5, "p": 0.2}],
        "models": [
            {
                **{"row": row, "target": "de", "seed": 1, "epoch": 2, "language": None},
                "scores": {"de": {"f1": 35.0}, "en": {"f1": 91.0}},
                "curve": {"source": [55.0, 91.0], "figures": [10.0, 35.0], "discriminator": said},
            }
            for row, said in (("4", [0.75, 0.5]), ("2", []))
        ],
    },
    "size-window": {
        "config": {"data_text": "text", "windows": "64,8", "languages": "en,de", "seeds": "1,2"},
        "kind": "size-window",
        "commands": ["fairseq-xling prepare data"],
        "frame": _frame(
            ("row", "sentences", "window", "seed", "target", "measure", "task", "value"),
            *(
                ("GloVe", 1000, window, seed, "de", "word_mrr", None, value)
                for window, both in ((64, (0.21, 0.19)), (8, (0.2, 0.18)))
                for seed, value in enumerate(both, start=1)
            ),
            *(("masked LM", 1000, window, 1, "de", "word_mrr", None, 0.0) for window in (64, 8)),
            *(
                ("masked LM", 1000, window, 1, "de", "nli", "NLI", value)
                for window, value in ((64, 80.0), (8, 60.0))
            ),
        ),
    },
    "trelm-study": {
        "kind": "trelm-study",
        "study": "TreLM: how the embeddings of new words begin",
        "source": "TreLM (Li et al., 2021), Table 5",
        "lead": "Two ways.",
        "notes": ["note one"],
        "spec_rows": ["T15"],
        "config": {"seeds": "1,2", "bpw_split": "valid"},
        "variations": [{"row": "random", "name": "random", "changes": {}, "paper": 6.99}],
        "migrations": {"random": [_MIGRATION, _MIGRATION | {"seed": 2}]},
        "axis": {"title": "sentence pairs", "sizes": {"random": 200}},
    },
    "trelm-run": {
        "kind": "trelm-run",
        "config": {"source": "model.pt", "seeds": "1", "bpw_split": "valid"},
        "migrations": [_MIGRATION],
    },
    "transfer": {
        "kind": "transfer",
        "config": {
            **{"head": "ner", "seeds": "1,2", "best": 1, "epochs": 2},
            **{"shift_layer": 1, "shift_alphas": "0.5,1", "shift_alpha": "auto"},
        },
        "title": "Zero-shot transfer",
        "metric": "f1",
        "languages": ["en", "de"],
        "results": [
            {
                "name": "model",
                "encoder": "model",
                "trained": "zero-shot",
                "sources": ["en"],
                "how": "",
                "metric": "f1",
                "dev": [{"setting": "lr0.001-b32", "seed": 1, "value": 91.0}],
                "chosen": {"lr0.001-b32": 91.0},
                "tests": [
                    {
                        "seed": 1,
                        "setting": "lr0.001-b32",
                        "scores": _scores(en=90.0, de=50.5),
                        "shifted": {"de": {"alpha": 0.5, "scores": {"f1": 52.5}}},
                    }
                ],
            }
        ],
    },
    "scatter": {
        "kind": "scatter",
        "property": {
            "title": "Zero-shot transfer and entity overlap",
            **{"lead": "Does it transfer more?", "csv": "overlap", "xlabel": "overlap"},
            **{"row": "E9", "figure": "Figure 2", "whole": False, "notes": ["a note"]},
        },
        "head": "ner",
        "metric": "f1",
        "columns": ["overlap"],
        "points": [
            {
                **{"encoder": "model", "sources": ["en"], "language": lang},
                **{"zero-shot": lang != "en", "x": x, "details": [x]},
                **{"values": [value - 1, value + 1], "mean": value},
            }
            for lang, x, value in (
                *(("en", 0.6, 90.0), ("de", 0.4, 70.0), ("fr", 0.2, 50.0), ("zh", 0.0, 35.0)),
            )
        ],
        "correlations": [{"encoder": "model", "points": 3, "Pearson": 0.9975, "Spearman": 1.0}],
    },
    "demo": {
        "kind": "demo",
        "settings": {"seed of corpus and training": "1"},
        "models": {
            name: {
                "train": {"mlm_en_loss": [[100, 5.0], [200, 4.0]]},
                "valid": {"mlm_en_loss": [[200, 4.5]], "mlm_en_ppl": [[200, 22.6]]},
                "parameters": 1000,
                "chosen_update": 200,
                "chance": {"retrieval": 0.01, "word_mrr": 0.02, "word_p1": 0.01},
                "layers": [[0.1, 0.2], [0.4, 0.6]],
                "over_training": [[100, [[0.1, 0.1]]], [200, [[0.4, 0.6]]]],
                "scores": {
                    **{"retrieval": 0.5, "retrieval_layer": 1},
                    **{"word_mrr": 0.25, "word_p1": 0.2, "word_layer": 1},
                },
                "neighbours": [
                    {
                        "word": "dog",
                        "nearest": [
                            {"word": word, "cosine": 0.5, "right": word == "Hund"}
                            for word in ("Hund", "Katze", "Baum")
                        ],
                    }
                ],
                "notes": ["a tie counts as wrong"],
            }
            for name in ("default", "separate")
        },
        "transfer": {"pos": {name: {"en": 90.0, "de": 60.0} for name in ("default", "separate")}},
        "migration": _MIGRATION
        | {
            "samples": [dict.fromkeys(("source", "reference", *_ORDERINGS), "a")],
            "translation": dict.fromkeys(_ORDERINGS, _MIGRATION["translation"]["identity"]),
        },
    },
    "comparison": {
        "format": 1,
        "measure": "tatoeba",
        "folders": ["states-en", "states-de"],
        "pair": "en-de",
        "title": "Sentence retrieval en-de, P@1 of 8 sentences",
        "layers": [0, 4],
        "curves": {"cosine forward": [0.25, 0.5], "cosine mean": [0.25, 0.75]},
        "headline": "cosine mean",
        "means": {"cosine forward": 0.375, "cosine mean": 0.5},
        "chance": 0.125,
        "matrix": None,
        "notes": ["a tie counts as wrong"],
        "details": {"sentences": 8},
    },
    "correlation": {
        "format": 1,
        "measure": "correlate",
        "x": "CKA",
        "y": "tatoeba cosine mean",
        "correlations": [{"pair": "en-de", "points": 3, "Pearson": 0.96, "Spearman": 1.0}],
        "points": [
            {"pair": "en-de", "layer": layer, "x": 0.1 * layer, "y": 0.2 * layer}
            for layer in range(3)
        ],
    },
    "mean-difference": {
        "summary": {"pair": ["en", "de"], "sizes": [40, 50], "common": 5, "lines": 9},
        "chosen": {
            "no shift": {"layer": 0, "alpha": 0.0, "convert_rate": 0.125, "precision": 1.5},
            "best": {"layer": 2, "alpha": 1.0, "convert_rate": 0.75, "precision": 21.0},
        },
        "cells": [
            {"layer": 0, "alpha": 0.0, "convert_rate": 0.125, "precision": 1.5, "signature": "s"},
            {"layer": 1, "alpha": 1.0, "convert_rate": None, "precision": 11.0, "signature": "s"},
            {"layer": 2, "alpha": 1.0, "convert_rate": 0.75, "precision": 21.0, "signature": "s"},
        ],
        "notes": ["convert rate: see the paper"],
    },
    "neighbourhood": {
        "word": "dog",
        "files": [
            {
                "file": name,
                "symbol": "▁dog",
                "words": 100,
                "histogram": [0] * 40 + [98, 1] + [0] * 37 + [1],
                "neighbours": ["▁cat", "▁dogs", "▁Hund"][:count],
                "cosines": [0.875, 0.5, 0.25][:count],
                "points": [[1.0, 0.5], [-1.0, 0.25], [0.0, -0.75]][:count],
                "own": [0.5, 0.5],
                "variance_shares": [0.75, 0.125],
            }
            for name, count in (("de.vec", 3), ("mapped.vec", 2))
        ],
    },
    "probing": {
        "header": ["probe", "dev F1", "en.test P", "en.test R", "en.test F1"],
        "rows": [
            ["always NOUN", "30.0", "-", "-", "31.0"],
            ["layer00", "60.0", "61.0", "62.0", "63.0"],
            ["layer01", "70.0", "71.0", "72.0", "73.0"],
        ],
        "baseline": {"valid": {"label": "NOUN", "f1": 0.3}},
        "probes": [
            {
                "variant": f"layer0{layer}",
                "layers": [layer],
                "options": {"seed": 1},
                "scores": {
                    file: {
                        "precision": 0.6,
                        "recall": 0.6,
                        "f1": 0.6 + 0.1 * layer,
                        "right": 6,
                        "predicted": 10,
                        "gold": 10,
                    }
                    for file in ("valid", "en.test")
                },
            }
            for layer in (0, 1)
        ],
        "notes": ["micro"],
    },
    "clcr-classify": {
        "kind": "clcr-classify",
        "source": "en",
        "tests": [["en.test", "en"], ["zh.test", "zh"]],
        "config": {"seeds": "0,1"},
        "majority": {
            **{"label": "no", "accuracy": {"valid": 40.0, "en.test": 40.0, "zh.test": 41.0}},
        },
        "beside": [{"row": "mbert", "accuracy": {"zh.test": [71.0, 72.0]}}],
        "classified": [
            {
                "row": "T+E",
                "seed": seed,
                "epoch": 3,
                "accuracy": {"valid": 80.0, "en.test": 80.0 + seed, "zh.test": 69.0 + seed},
                "vectors": {"valid": 7.5, "en.test": 7.0, "zh.test": 8.0},
                "empty": {"valid": 0, "en.test": 0, "zh.test": 1},
            }
            for seed in (0, 1)
        ],
    },
    "clcr-curves": {
        "clcr": "curves",
        "title": "Distance of translations by training",
        "header": ["training", "seeds", "steps", "D en-de"],
        "rows": [["annealed", 1, 20, "0.25"]],
        "notes": ["at the end of training"],
        "trainings": [
            {"name": "annealed", "curves": {"distance en-de": [[10, 1.0], [20, 0.25]]}},
        ],
    },
    "clcr-keypoints": {
        "clcr": "keypoints",
        "title": "Key-points, en-de",
        "pair": "en-de",
        "header": ["language", "delta", "accuracy", "precision", "recall", "key-points", "tokens"],
        "rows": [["en", 0.2, 0.75, 0.5, 1.0, 40, 80], ["de", 0.2, 0.875, 0.5, 1.0, 40, 80]],
        "notes": ["words of valid"],
    },
    "clcr-pairs": {
        "kind": "clcr-pairs",
        "pair": ["zh", "en"],
        "config": {"seeds": "1,2", "threshold": 0.0, "tune_on": "valid"},
        **_CLASSIFIED,
        "frame": _frame(
            ("row", "seed", "measure", "value", "model", "task"),
            *(row for pairs in (10, 40) for row in _clcr_study(pairs, hard=9.0 / pairs)),
        ),
    },
    "clcr-readings": {
        "kind": "clcr-readings",
        "pair": ["zh", "en"],
        "config": {"seeds": "1,2", "delta": 0.2},
        **_CLASSIFIED,
        "readings": [
            {"name": name, "title": title, "changes": {}}
            for name, title in (("defaults", "settings"), ("finetune", "copies"))
        ],
        "frame": _frame(
            ("row", "seed", "measure", "value", "model", "task"),
            *(
                row
                for name, more in (("defaults", 4), ("finetune", 5))
                for row in _clcr_study(
                    name,
                    **{"hard": 3.0, "relative": more / 10, "E, zh (%)": 80.0 + more},
                    **{"order BLEU-2": 0.5},
                )
            ),
        ),
    },
    "clcr-run": {
        "kind": "clcr-run",
        "pair": ["en", "de"],
        "seeds": [
            {
                "seed": seed,
                "distances": [
                    {"phase": "transform", "distance_en_de": 0.5 + seed, "relative_en_de": 0.25},
                    {"phase": "lm1-1", "distance_en_de": 0.25 + seed, "relative_en_de": None},
                ],
                "keypoints": {
                    "title": "Key-points, en-de",
                    "header": ["language", "delta", "accuracy", "precision", "recall", "tokens"],
                    "rows": [["en", 0.2, 0.75, 0.5, 1.0, 80]],
                    "notes": ["words of valid"],
                },
                "order": {
                    "title": "Order BLEU, en-de",
                    "header": ["order", "search", "pairs right", "BLEU-2"],
                    "rows": [["as in the source", "", None, 0.25], ["rel", "beam 10", 0.75, 0.5]],
                    "notes": ["BLEU-n: precision of n-grams"],
                },
                "sequences": [],
            }
            for seed in (1, 2)
        ],
    },
    "clcr-order": {
        "clcr": "order",
        "title": "Order BLEU, en-de",
        "pair": "en-de",
        "header": ["order", "search", "pairs right", "BLEU-2", "BLEU-3"],
        "rows": [
            ["as in the source", "", None, 0.25, None],
            ["rel", "beam 10", 0.75, 0.5, 0.375],
        ],
        "notes": ["BLEU-n: precision of n-grams"],
    },
    "clcr-show": {
        "clcr": "show",
        "title": "Sentence 1 of valid, en-de",
        "pair": "en-de",
        "delta": 0.2,
        "header": ["language", "place", "word", "p plain", "p confident", "pivot"],
        "rows": [["en", 1, "dogs", 0.5, None, "*"], ["de", 1, "Hunde", 0.75, None, "*"]],
        "notes": ["* marks the pivots"],
        "words": [
            {"lang": "en", "words": ["dogs"], "p": {"plain": [0.5]}, "pivots": [True]},
            {"lang": "de", "words": ["Hunde"], "p": {"plain": [0.75]}, "pivots": [True]},
        ],
        "maps": [
            {
                "direction": "en in the order of de",
                "head": "rel",
                "title": title,
                "words": ["dogs", "bark"],
                "pairs": True,
                "matrix": [[0.0, 1.0], [-1.0, 0.0]],
                "scale": [-1.0, 1.0],
                "what": "+1: row before column",
            }
            for title in ("gold order", "p(row before column)")
        ],
    },
    "clcr-report": {
        "clcr": "conditions",
        "title": "Distance of sequences, en-de",
        "folders": ["x", "y"],
        "pair": "en-de",
        "header": ["distance", "translations", "random", "AUC"],
        "rows": [["matched", 1.0, 2.0, 0.875]],
        "notes": ["mean distance"],
        "distances": {
            "matched": {
                "edges": [0.0, 1.0, 2.0],
                "translations": {"pairs": 4, "histogram": [3, 1]},
                "random": {"pairs": 4, "histogram": [1, 3]},
                "auc": 0.875,
                "spearman": -0.5,
                "by_score": [[1.0, 2.0], [4.0, 1.0]],
            },
        },
    },
    "map-states": {
        "method": "procrustes",
        "settings": {
            "pairs": "rows",
            "normalize": "none",
            "moving": {"lang": "de", "unit": "types"},
            "fixed": {"lang": "en", "unit": "types"},
            "layers": [0, 1],
        },
        "pairs": {"pairs": 100},
        "layers": {
            str(n): {"pairs": 100, "cosine_unmapped": 0.125, "cosine": 0.25 + 0.5 * n}
            for n in (0, 1)
        },
        "warnings": [],
        "seconds": 0.5,
    },
    "map-vectors": {
        "settings": {"method": "adversarial", "seeds": [1, 2]},
        "best_seed": 2,
        "failed": False,
        "failed_seeds": [1],
        "chance": 0.2,
        "criterion": 0.6,
        "seeds": {
            "1": {"unrefined": 0.2, "criterion": 0.21, "failure": "no better than chance"},
            "2": {"unrefined": 0.5, "criterion": 0.6, "failure": None},
        },
        "shared_words": {"words": 90, "candidates": 500, "p_at_1": 0.5, "p_at_10": 0.75},
        "shared_words_unmapped": {"words": 90, "candidates": 500, "p_at_1": 0.0, "p_at_10": 0.02},
    },
    "structures": {
        "title": "Structure transfer: roles",
        "sources": {"en": ["en"], "en+zh": ["en", "zh"]},
        "languages": {"test.en.jsonl": "en", "test.zh.jsonl": "zh"},
        "header": ["model", "trained on", "en", "zh"],
        "rows": [
            ["gcn", "en", "70.5 ± 0.7", "60.5 ± 0.7"],
            ["gcn", "en+zh", "70.5 ± 0.7", "60.5 ± 0.7"],
            ["always Agent", "en", "20.0", "30.0"],
            ["always Agent", "en+zh", "20.0", "30.0"],
        ],
        "structures": [
            {
                "row": row,
                "network": "gcn",
                "variant": "",
                "seed": seed,
                "epoch": 3,
                "scores": {
                    f"test.{lang}.jsonl": {
                        "language": lang,
                        "precision": 0.5,
                        "recall": 0.5,
                        "f1": f1 + 0.01 * seed,
                        "right": 5,
                        "predicted": 10,
                        "gold": 10,
                    }
                    for lang, f1 in (("en", 0.69), ("zh", 0.59))
                },
            }
            for row in ("en", "en+zh")
            for seed in (1, 2)
        ],
        "majority": {},
        "notes": ["micro F1 in percent"],
    },
}
for _record in RECORDS.values():
    _record["provenance"] = ORIGIN
