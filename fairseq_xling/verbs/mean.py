"""Compute the mean of a language's hidden states at every layer.

  fairseq-xling mean checkpoint_best.pt --data data-bin --lang de --text de.txt \\
      --output means/de.safetensors

The mean is over all subwords of the text, special symbols excluded (Liu et al. 2020, section 4.1).
The difference of two languages' means is what `fairseq-xling translate mds` adds. The file holds
`mean` (layers, width), row 0 being the output of the embeddings, the number of tokens, and its
provenance. An interrupted call resumes when repeated.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import NEW_FILE
from fairseq_xling.core.options import option

if TYPE_CHECKING:
    from fairseq_xling.analysis.corpus import Corpus
    from fairseq_xling.analysis.mean_file import MeanFile
    from fairseq_xling.data.folder import DataFolder

GROUP = "States and maps"


@dataclasses.dataclass(frozen=True)
class Options:
    checkpoint: str = shared.checkpoint()
    data: str = shared.data()
    lang: str = shared.lang()
    text: str | None = shared.text(default=None, one_of="text")
    split: str | None = option(
        None,
        "split of the data folder instead of a text: train, valid, test, test1, ...",
        metavar="SPLIT",
        one_of="text",
    )
    max_tokens: int = shared.max_tokens()
    device: str = shared.device()
    output: str = shared.output("safetensors file to write", NEW_FILE)


def run(options: Options) -> None:
    from fairseq_xling.core.files import check_files
    from fairseq_xling.data.folder import DataFolder
    from fairseq_xling.verbs.eval import load_encoder

    check_files(options.checkpoint, options.text)
    data = DataFolder(options.data)
    encoder = load_encoder(options.checkpoint, options.data, options.device, [options.lang])
    found = language_mean(
        encoder,
        options.checkpoint,
        data,
        options.lang,
        Path(options.text) if options.text else None,
        options.split,
        options.output,
        options.max_tokens,
    )
    layers, width = found.mean.shape
    shape = f"layers 0-{layers - 1}, {width} wide"
    print(f"{options.output}: {options.lang}, {found.tokens:,} tokens, {shape}")


def language_mean(
    encoder: Any,
    checkpoint: str | Path,
    data: DataFolder,
    lang: str,
    text: Path | None,
    split: str | None,
    output: str | Path,
    max_tokens: int = 8192,
) -> MeanFile:
    """The mean of ``lang`` over ``text`` or else ``split``, from ``output`` if it exists."""
    from fairseq_xling.analysis.corpus import SplitCorpus, TextCorpus
    from fairseq_xling.analysis.mean_file import compute_mean
    from fairseq_xling.core.files import sha256
    from fairseq_xling.core.provenance import provenance

    files: dict[str, str | Path] = {"checkpoint": checkpoint, "data": data.path / "meta.json"}
    origin: dict[str, Any] = {"checkpoint": sha256(checkpoint), "lang": lang}
    origin["dictionary"] = data.dictionary_digest(lang)
    corpus: Corpus
    if text is not None:
        from fairseq_xling.text.encoder import TextEncoder

        corpus = TextCorpus(text, TextEncoder.load(data.path, lang))
        files["text"], origin["text"] = text, sha256(text)
    else:
        stem = data.mono(str(split), lang)
        corpus = SplitCorpus(stem)
        origin |= {"split": split, "data": sha256(f"{stem.prefix}.bin")}
    about = {"sentences": corpus.total, "provenance": provenance(files)}
    return compute_mean(encoder, corpus, lang, output, origin, about, max_tokens)


def read_means(
    paths: list[str], checkpoint: str | Path, languages: tuple[str, str]
) -> tuple[MeanFile, MeanFile]:
    """The means of both ``languages``, from files in any order."""
    from fairseq_xling.analysis.mean_file import read_mean
    from fairseq_xling.core.errors import UserError
    from fairseq_xling.core.files import sha256

    found = {}
    digest = sha256(checkpoint)
    for path in paths:
        one = read_mean(path)
        if one.identity.get("checkpoint") != digest:
            raise UserError(f"{path}: the mean of another model than {checkpoint}")
        if one.lang not in languages:
            raise UserError(f"{path}: of language {one.lang!r}, not of {' or '.join(languages)}")
        found[one.lang] = one
    for lang in languages:
        if lang not in found:
            raise UserError(f"`--means` must name a file for each language, got none of {lang!r}")
    return found[languages[0]], found[languages[1]]
