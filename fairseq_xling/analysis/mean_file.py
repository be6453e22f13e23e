"""The means of a language on disk, and computing them from a text of any length.

A file is safetensors: ``mean`` (L+1, D) float64, ``R^l`` of `language_mean` in row l, row 0 the
embeddings' output, and one metadata entry, JSON text, with all the rest.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from fairseq_xling.analysis.corpus import Corpus
from fairseq_xling.analysis.language_mean import LanguageMean
from fairseq_xling.analysis.measures import Encoder
from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write
from fairseq_xling.mapping.work import work_folder
from fairseq_xling.text.progress import progress

FORMAT = 1
_ENTRY = "fairseq_xling.mean"


@dataclasses.dataclass(frozen=True)
class MeanFile:
    """The means of one language on all layers of one model.

    Attributes:
        mean: (L+1, D) float64.
        lang: the language; tokens: how many of its tokens were counted.
        identity: what decides the mean, such as checksums of model and text (JSON values).
        about: anything else worth knowing, such as provenance (JSON values).
    """

    mean: Tensor
    lang: str
    tokens: int
    identity: Mapping[str, Any]
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def write_mean(path: str | Path, found: MeanFile) -> None:
    """Write the file whole or not at all."""
    facts = {"format": FORMAT, "lang": found.lang, "tokens": found.tokens}
    facts |= {"identity": found.identity, "about": found.about}
    entry = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    tensors = {"mean": found.mean.double().contiguous().cpu()}
    with atomic_write(path) as file:
        file.write(save(tensors, metadata={_ENTRY: entry}))


def read_mean(path: str | Path) -> MeanFile:
    """What `write_mean` wrote.

    Raises:
        UserError: if the file is missing, damaged, or of another kind or format.
    """
    if not Path(path).is_file():
        what = "is a folder, not a file" if Path(path).is_dir() else "no such file"
        raise UserError(f"{path}: {what}")
    try:
        with safe_open(path, framework="pt") as file:
            entry = (file.metadata() or {}).get(_ENTRY)
            mean = file.get_tensor("mean") if entry is not None else None
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: not a safetensors file, or damaged ({error})") from None
    if mean is None:
        raise UserError(f"{path}: not a file of means (as `fairseq-xling mean` writes it)")
    try:
        facts = json.loads(entry)
        if facts["format"] != FORMAT:
            raise UserError(f"{path}: format must be {FORMAT}, got {facts['format']!r}")
        found = MeanFile(mean, facts["lang"], facts["tokens"], facts["identity"], facts["about"])
    except (KeyError, TypeError, json.JSONDecodeError):
        raise UserError(f"{path}: its description is damaged; write the file again") from None
    if mean.dim() != 2 or mean.dtype != torch.float64 or not torch.isfinite(mean).all():
        raise UserError(f"{path}: `mean` must be (layers, width) float64 and finite")
    return found


def compute_mean(
    encoder: Encoder,
    corpus: Corpus,
    lang: str,
    output: str | Path,
    identity: Mapping[str, Any],
    about: Mapping[str, Any],
    max_tokens: int = 8192,
) -> MeanFile:
    """The means of ``corpus``, written to ``output``; block by block, and on after a kill.

    A file that is there with the same ``identity`` is left as it is.

    Raises:
        UserError: if no token counts, or another run is writing ``output``.
    """
    if Path(output).exists():
        there = read_mean(output)
        if there.identity == dict(identity):
            return there
    with work_folder(output, identity) as work:
        mean, done = LanguageMean(), 0
        if found := work.find("sums"):
            mean.load(torch.from_numpy(found[0]["sums"]), found[1]["tokens"])
            done = found[1]["sentences"]
        with progress(corpus.total, f"mean {lang}", "sentences") as bar:
            bar.update(done)
            for sentences in corpus.blocks(done):
                for _, states, words in encoder.states(sentences, lang, max_tokens):
                    mean.add(states, words)
                done += len(sentences)
                if mean.count:
                    sums, tokens = mean.state()
                    about_sums = {"tokens": tokens, "sentences": done}
                    work.keep("sums", {"sums": sums.cpu().numpy()}, about_sums)
                bar.update(len(sentences))
        if not mean.count:
            raise UserError(
                f"{corpus.name}: has no subword of {lang!r} that the vocabulary knows, in {done} "
                "sentences"
            )
        result = MeanFile(mean.value().cpu(), lang, mean.count, dict(identity), dict(about))
        write_mean(output, result)
    return result
