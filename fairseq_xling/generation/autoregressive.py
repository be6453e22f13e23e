"""Autoregressive models of fairseq's `translation` task, which teach or correct a translator."""

import logging
import os
from argparse import Namespace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from fairseq import models
from fairseq.data import Dictionary

from fairseq_xling.checkpoints.budget import no_larger_than
from fairseq_xling.checkpoints.files import load_trained
from fairseq_xling.checkpoints.plain import settings_of
from fairseq_xling.data.folder import SEP, DataFolder, read_dictionary
from fairseq_xling.errors import MALFORMED, UserError
from fairseq_xling.files import sha256

logger = logging.getLogger(__name__)


def check_autoregressive(
    model: str | Path, data: str | Path, pair: tuple[str, str], option: str
) -> None:
    """Check that a checkpoint translates in direction ``pair`` with the vocabulary of ``data``.

    Args:
        option: that names the checkpoint, such as ``--teacher``.

    Raises:
        UserError: if it cannot be read, is of another task or direction, or has other words,
            which the folder that it was trained on tells, or the dictionaries next to it; without
            either, only their number counts.
    """
    _checked(model, data, pair, option)


def load_autoregressive(
    model: str | Path, data: str | Path, pair: tuple[str, str], option: str
) -> torch.nn.Module:
    """The model in a checkpoint, in evaluation mode, on the CPU; see `check_autoregressive`."""
    state = _checked(model, data, pair, option)
    folder = DataFolder(data)
    source, target = (Dictionary.load(str(folder.dictionary_path(lang))) for lang in pair)
    # The engine's own task would look for text where the model was trained.
    task = Namespace(source_dictionary=source, target_dictionary=target)
    settings = state["cfg"]["model"]
    if isinstance(settings, dict):
        settings = Namespace(**settings)
    try:
        with no_larger_than(state["model"], model):
            found = models.build_model(settings, task)
            found.load_state_dict(state["model"])
        found.eval()
        _try(found)
    except UserError:
        raise
    except (*MALFORMED, RuntimeError, AssertionError, ZeroDivisionError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(
            f"`{option}` {model}: its weights do not fit its settings ({reason})"
        ) from None
    return found


@torch.no_grad()
def _try(model: torch.nn.Module) -> None:
    """Settings that only a pass shows to be wrong, such as -4 heads, end here."""
    word = torch.tensor([[SEP]])
    encoded = model.encoder(word, src_lengths=torch.tensor([1]))
    model.decoder(word, encoder_out=encoded)


def _checked(model: str | Path, data: str | Path, pair: tuple[str, str], option: str) -> dict:
    state = load_trained(model)
    task, weights = settings_of(state["cfg"]["task"]), state["model"]
    name = task.get("_name", task.get("task"))
    if name != "translation":
        raise UserError(
            f"`{option}` {model}: must be a model of `--task translation`, got {name!r}"
        )
    theirs = (task.get("source_lang"), task.get("target_lang"))
    if theirs != pair:
        raise UserError(
            f"`{option}` {model}: must translate {'-'.join(pair)}, got {'-'.join(map(str, theirs))}"
        )
    folder = DataFolder(data)
    for part, lang in zip(("encoder", "decoder"), pair, strict=True):
        table = weights.get(f"{part}.embed_tokens.weight")
        size = folder.vocab_sizes[lang]
        if table is None or len(table) != size:
            got = "none" if table is None else f"{len(table):,}"
            raise UserError(
                f"`{option}` {model}: must have the vocabulary of {data}, {size:,} words of "
                f"{lang!r}, got {got}"
            )
    _check_words(model, task.get("data"), folder, pair, option)
    return state


def _check_words(
    model: str | Path, trained_on: Any, folder: DataFolder, pair: tuple[str, str], option: str
) -> None:
    """As many words may be others: 8,000 pieces of another text."""
    places = [Path(model).parent]
    if isinstance(trained_on, str):
        places.insert(0, Path(trained_on.split(os.pathsep)[0]))
    for lang in pair:
        name = f"dict.{lang}.txt"
        theirs = next((place / name for place in places if (place / name).is_file()), None)
        if theirs is None:
            logger.warning(
                "`%s` %s: its words cannot be compared with those of %s: put the %s that it was "
                "trained with next to it",
                *(option, model, folder.path, name),
            )
            return
        if sha256(theirs) == folder.dictionary_digest(lang):
            continue
        both = map(read_dictionary, (theirs, folder.dictionary_path(lang)))
        for number, (one, other) in enumerate(zip_longest(*both)):
            if one != other:
                raise UserError(
                    f"`{option}` {model}: must have the vocabulary of {folder.path}; word {number} "
                    f"of {lang!r} is {other!r} there, and {one!r} in {theirs}"
                )
