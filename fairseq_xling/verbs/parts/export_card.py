"""The model card of an exported folder: ``README.md`` with the fields that model hubs read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.checkpoints.files import load_trained
from fairseq_xling.files import sha256
from fairseq_xling.interop.encoder import MODEL, Encoder
from fairseq_xling.provenance import versions

if TYPE_CHECKING:
    from fairseq_xling.verbs.parts.export_formats import Job


@dataclass(frozen=True)
class Loading:
    """How a folder is loaded.

    Attributes:
        library: that loads it, by its name on model hubs.
        architecture: its class there.
        code: a few lines of Python that load it.
        notes: what a user has to know.
        header: further lines of the card's metadata, for model hubs.
    """

    library: str
    architecture: str
    code: str
    notes: Sequence[str] = ()
    header: str = ""


def write_card(job: Job, loaded: Encoder, language: str, loading: Loading) -> None:
    """Write the card into ``job.folder``.

    Args:
        loaded: the model.
        language: whose parts were written.
    """
    text = _card(job, loaded, language, loading)
    (job.folder / "README.md").write_text(text, encoding="utf-8")


def _card(job: Job, loaded: Encoder, language: str, loading: Loading) -> str:
    file = Path(job.checkpoint, MODEL) if Path(job.checkpoint).is_dir() else Path(job.checkpoint)
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
    remarks = "".join(f"- {note}\n" for note in loading.notes)
    return f"""---
language:
{names}
license: unknown # to be filled in
library_name: {loading.library}
tags:
- fairseq_xling
{loading.header}---

# {job.output.name}

Written by `fairseq-xling export` for `{loading.architecture}` of {loading.library}.

## Use

```python
{loading.code}
```

{remarks}
## Provenance

| | |
|---|---|
{rows}
"""
