"""The verb ``mean``: the mean of a language's states, from a text or a split of the data folder."""

import argparse
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.corpus import Corpus, SplitCorpus, TextCorpus
from fairseq_xling.analysis.mean_file import MeanFile, compute_mean, read_mean
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.files import check_files, sha256
from fairseq_xling.provenance import provenance
from fairseq_xling.verbs.parts.eval import check_languages


def run_mean(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.mean`.

    Raises:
        UserError: for missing files, or a text without tokens.
    """
    check_files(args.checkpoint, args.text)
    data = DataFolder(args.data)
    from fairseq_xling.interop.encoder import Encoder

    encoder = Encoder.load(args.checkpoint, data=args.data, device=args.device)
    check_languages(args.checkpoint, encoder.languages, [args.lang])
    text = Path(args.text) if args.text else None
    found = language_mean(
        encoder, args.checkpoint, data, args.lang, text, args.split, args.output, args.max_tokens
    )
    layers, width = found.mean.shape
    shape = f"layers 0-{layers - 1}, {width} wide"
    print(f"{args.output}: {args.lang}, {found.tokens:,} tokens, {shape}")


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
    """The means of both ``languages``, from files in any order.

    Raises:
        UserError: for a file of another model or language, or a missing one.
    """
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
