"""All measurements of a migration, read from its files, as JSON values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.sampled_bleu import read_samples, score, tokenizer_for
from fairseq_xling.analysis.translation_faults import faults
from fairseq_xling.files import read_json
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.cost import cost_record, read_cost
from fairseq_xling.papers.trelm.steps import Outcome
from fairseq_xling.papers.trelm.tasks import task_figures
from fairseq_xling.runs.training_log import read_curves

PAPER = "TreLM (Li et al., 2021)"
SHOWN = 10
Migration = Mapping[str, Any]  # as of `read_outcome`


def read_outcome(config: TrelmConfig, outcome: Outcome) -> dict[str, Any]:
    """The measurements of one migration.

    ``phases``: of each checkpoint in turn, its phase, its training steps and the bits per word of
    both languages; ``orderings``: the names in ``outcome.translations``; ``translation``: by these,
    as `report_bleu.score`; ``samples``: some sentences of the first translated split, with every
    forward ordering's output, and ``samples_backward`` with the backward ones, if there are any;
    ``tasks``: titles and figures; ``distances``: of words, by title, if measured; ``cost``;
    ``maps``: the quality of the map; ``curves``: by phase, split and name, points of update and
    value.
    """
    measured = [entry["measures"]["bpw"] for entry in read_json(outcome.bpw)["results"]]
    phases = [
        {
            "phase": phase,
            "checkpoint": str(path),
            "steps": outcome.updates.get(phase, 0),
            "bpw": {lang: found["bpw"] for lang, found in entry["scores"].items()},
        }
        for (phase, path), entry in zip(outcome.checkpoints.items(), measured, strict=True)
    ]
    there = [name for name in outcome.translations if name not in outcome.backward]
    tokenizer = tokenizer_for(outcome.target, config.bleu_tokenizer)
    scores, samples = _read_translations(config, outcome, there, tokenizer)
    tokenizer = tokenizer_for(config.source_lang)
    back, samples_back = _read_translations(config, outcome, outcome.backward, tokenizer)
    return {
        "target": outcome.target,
        "seed": outcome.seed,
        "label": outcome.label,
        "data": {**_text_sizes(outcome.data), "path": str(outcome.data)},
        "phases": phases,
        "orderings": list(outcome.translations),
        "uniform_bpw": {lang: found["bpw"] for lang, found in measured[0]["chance"].items()},
        "translation": scores | back,
        "samples": samples,
        **({"samples_backward": samples_back} if back else {}),
        "tasks": list(task_figures(config, outcome).items()),
        **({"distances": _read_distances(outcome.distances)} if outcome.distances else {}),
        "cost": cost_record([read_cost(phase, log) for phase, log in outcome.logs.items()]),
        "maps": [found for path in outcome.vectors if (found := _read_map(path))],
        "curves": {phase: _read_curves(log) for phase, log in outcome.logs.items()},
    }


def _read_distances(path: Path) -> dict[str, float]:
    """The mean squared distances of words after the last layer, aligned and at random."""
    curves = read_json(path)["curves"]
    titles = {"aligned": "distance of aligned words", "random": "distance of words at random"}
    return {title: curves[name][-1] for name, title in titles.items()}


def _read_translations(
    config: TrelmConfig, outcome: Outcome, names: Sequence[str], tokenizer: str
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The scores of some of the translations by name, and what they write for some sentences."""
    texts = {name: read_samples(outcome.translations[name]) for name in names}
    scores = {
        name: score(samples, tokenizer) | faults(samples, tokenizer)
        for name, samples in texts.items()
    }
    file = f"generate-{config.translate_list[0]}.txt"
    first = {name: texts[name] for name in names if outcome.translations[name].name == file}
    return scores, _shown(first)


def _text_sizes(data: Path) -> dict[str, Any]:
    meta = read_json(data / "meta.json")
    return {
        "sentences": {
            lang: found.get("sentences") for lang, found in meta["mono"].get("train", {}).items()
        },
        "pairs": {
            pair: found.get("pairs") for pair, found in meta["parallel"].get("train", {}).items()
        },
    }


def _shown(texts: dict[str, Sequence[Any]]) -> list[dict[str, str]]:
    """`SHOWN` sentences, evenly spread over the text."""
    if not texts:
        return []
    first = next(iter(texts.values()))
    by_number = {name: {s.number: s.hypothesis for s in samples} for name, samples in texts.items()}
    places = sorted({round(k * (len(first) - 1) / max(SHOWN - 1, 1)) for k in range(SHOWN)})
    return [
        {
            "source": first[place].source,
            "reference": first[place].reference,
            **{name: found.get(first[place].number, "") for name, found in by_number.items()},
        }
        for place in places
    ]


def _read_map(path: Path) -> dict[str, Any] | None:
    """The report of the map of these vectors; ``None`` if they are not mapped."""
    report = Path(f"{path}.json")
    found = read_json(report) if report.is_file() else {}
    if "criterion" not in found:
        return None
    kept = ("best_seed", "failed", "failed_seeds", "criterion", "criterion_unmapped", "chance")
    # `mapping.job` writes all of them: one that is missing must not become an empty cell.
    return {"vectors": str(path), **{name: found[name] for name in kept}}


def _read_curves(log: Path) -> dict[str, Any]:
    curves = {}
    for split, tag in (("train", "train_inner"), ("valid", "valid")):
        found = read_curves(log, tag)
        curves[split] = {key: points for key, points in found.items() if key.endswith("loss")}
    return curves


def which(one: Migration) -> str:
    return f"to {one['target']}, seed {one['seed']}"


def seeds_of(found: Sequence[Migration]) -> str:
    return f"Seed {', '.join(dict.fromkeys(str(one['seed']) for one in found))}."
