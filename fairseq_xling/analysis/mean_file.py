"""The means of a language on disk, computed from a text of any length.

A file is safetensors: ``mean`` (L+1, D) float64, ``R^l`` of `language_mean` in row l, row 0 the
embeddings' output, and one metadata entry, JSON text, with everything else.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.analysis.corpus import Corpus
from fairseq_xling.analysis.language_mean import LanguageMean
from fairseq_xling.analysis.subject import Encoder
from fairseq_xling.core.arguments import check_count
from fairseq_xling.core.array_file import ArrayFile, described_well
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.folders import work_folder
from fairseq_xling.core.progress import progress

_FILE = ArrayFile(
    "fairseq_xling.mean", "a file of means (as `fairseq-xling mean` writes it)", needs=("mean",)
)


@dataclasses.dataclass(frozen=True)
class MeanFile:
    """The means of one language at all layers of one model.

    Attributes:
        mean: (L+1, D) float64.
        lang: the language; tokens: how many of its tokens were counted.
        identity: what determines the mean, such as checksums of model and text (JSON values).
        about: further information, such as provenance (JSON values).
    """

    mean: Tensor
    lang: str
    tokens: int
    identity: Mapping[str, Any]
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def write_mean(path: str | Path, found: MeanFile) -> None:
    """Write the file atomically."""
    about = {"lang": found.lang, "tokens": found.tokens}
    about |= {"identity": found.identity, "about": found.about}
    _FILE.write(path, {"mean": found.mean.double().cpu().numpy()}, about)


def read_mean(path: str | Path) -> MeanFile:
    """Read a file of `write_mean`."""
    arrays, about = _FILE.read(path)
    mean = torch.from_numpy(arrays["mean"])
    with described_well(path):
        tokens = check_count(path, about["tokens"], "tokens", 1)
        found = MeanFile(mean, about["lang"], tokens, about["identity"], about["about"])
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
    """The means of ``corpus``, written to ``output`` block by block, resumable after a kill.

    An existing file with the same ``identity`` is left unchanged.

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
                f"{corpus.name}: has no subword of {lang!r} that the vocabulary contains, in "
                f"{done} sentences"
            )
        result = MeanFile(mean.value().cpu(), lang, mean.count, dict(identity), dict(about))
        write_mean(output, result)
    return result
