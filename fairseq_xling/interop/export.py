"""A trained model with its vocabulary, in one folder that needs no data folder.

    model.pt              weights and settings, without the optimiser's state
    dict*.txt, ...        the vocabulary: dictionaries and what cuts text into pieces
    shortlist.*           lists of words to translate with, if there were any
    meta.json             languages and vocabulary, as in a data folder, which has no text

`Encoder.load` and `Translator.load` read it, and it can stand wherever a command takes a checkpoint
and its data folder.
"""

import os
import shutil
from pathlib import Path
from typing import Any

from fairseq_xling.checkpoints.files import MODEL
from fairseq_xling.checkpoints.fresh import NEEDED, trained_by, write_fresh_checkpoint
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import sha256, write_json
from fairseq_xling.core.folders import META
from fairseq_xling.core.provenance import versions
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.meta import describe_files
from fairseq_xling.data.shortlist import Shortlist, name_of
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.models.encoder import SeparableEncoder
from fairseq_xling.text.tokenizers.pieces import pieces_file
from fairseq_xling.text.vocabularies import mode_of
from fairseq_xling.trained import load_trained

_KEPT = ("format", "languages", "segment", "settings", "versions", "vocab", "dictionaries")


def export(
    checkpoint: str | Path,
    folder: Path,
    data: str | Path | None = None,
    shortlist: str | Path | None = None,
) -> str:
    """Write the model in ``checkpoint`` and its vocabulary into ``folder``, which is there.

    Args:
        data: the model's data folder, if it has moved.
        shortlist: a file of `fairseq-xling shortlist`, with which the folder then translates.

    Returns:
        What was written, in one line.
    """
    prepare_engine()
    encoder = Encoder.load(checkpoint, data)  # the vocabulary is the model's
    if shortlist is not None:
        found, pair = Shortlist.read(shortlist, encoder.folder)
        found.write(folder / name_of(pair), encoder.folder, pair)
    state = load_trained(checkpoint, NEEDED)
    source: DataFolder = encoder.folder
    write_fresh_checkpoint(
        folder / MODEL,
        {**_without_places(state["cfg"]), "checkpoint": {}},
        state["model"],
        trained_by(state),
        {"exported": {"versions": versions(), "sha256": sha256(checkpoint)}},
    )
    # What cuts the text of each language and numbers it; `TextEncoder` reads it from there.
    models = map(mode_of(source).model_name, source.languages)
    pieces = dict.fromkeys(pieces_file(source.path, model).name for model in models)
    names = [*source.meta["dictionaries"], *pieces]
    for name in names:
        shutil.copyfile(source.path / name, folder / name)
    kept = {name: source.meta[name] for name in _KEPT if name in source.meta}
    write_json(folder / META, {**kept, "files": describe_files(folder, names)})
    size = sum((folder / name).stat().st_size for name in (MODEL, META, *names)) / 1e6
    return f"{','.join(encoder.languages)}, {size:.1f} MB"


def chosen_language(encoder: SeparableEncoder, language: str | None) -> str:
    """``language`` if the encoder has it; without one its only path, which may be any's.

    Raises:
        UserError: if it does not have it, or does not imply one.
    """
    languages = encoder.languages
    if language is None:
        if len(languages) > 1 and (encoder.plan.any or encoder.shape.language_embeddings):
            what = f"private parts, {encoder.plan}" if encoder.plan.any else "language embeddings"
            raise UserError(
                f"`--language` must name one of {', '.join(languages)}, since the model has {what}"
            )
        return languages[0]
    if language not in languages:
        raise UserError(f"`--language` must name one of {', '.join(languages)}, got {language!r}")
    return language


def _without_places(settings: Any) -> Any:
    """``settings`` without folders of the machine: of a path only its last part stays."""
    if isinstance(settings, dict):
        return {name: _without_places(value) for name, value in settings.items()}
    if isinstance(settings, str) and os.path.isabs(settings):
        return os.path.basename(settings)
    return settings
