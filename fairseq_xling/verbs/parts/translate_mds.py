"""The verb ``translate mds``: one translation of a text, or the scores of a grid of them."""

import argparse
import contextlib
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.convert import ConvertRate, bleu_1
from fairseq_xling.analysis.corpus import TextCorpus, token_set
from fairseq_xling.analysis.language_mean import mean_difference
from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.analysis.mean_file import MeanFile
from fairseq_xling.analysis.sampled_bleu import tokenizer_for
from fairseq_xling.analysis.shift_grid import NO_SHIFT, Scores, Shift, parse_alphas, parse_shift
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.files import (
    atomic_write,
    check_files,
    exclusive,
    read_json,
    sha256,
    write_json,
)
from fairseq_xling.languages import parse_languages
from fairseq_xling.progress import progress
from fairseq_xling.provenance import provenance
from fairseq_xling.sentences import read_sentences
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.verbs.eval import check_languages
from fairseq_xling.verbs.mean import (
    language_mean,
    read_means,
)
from fairseq_xling.verbs.parts.mean_difference_result import Summary, write_single, write_table


def run_translate(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.translate_mds`."""
    pair = _pair(args)
    single = _is_single(args)
    means = [*(args.means or [])]
    check_files(args.checkpoint, args.text, args.reference, *means)
    data = DataFolder(args.data)
    if data.separate_vocabularies:
        raise UserError(
            f"{data.path}: each language has its own ids, so a model that reads one cannot "
            "output the other; prepare with another `--vocab`"
        )
    from fairseq_xling.interop.encoder import Encoder

    encoder = Encoder.load(args.checkpoint, data=args.data, device=args.device)
    check_languages(args.checkpoint, encoder.languages, pair)
    last = encoder.num_layers
    cells = [Shift(args.layer, args.alpha)] if single else _grid(args, last)
    if single and not 1 <= args.layer <= last:
        raise UserError(f"`--layer` must lie in [1, {last}], got {args.layer}")
    fixed = _fixed(args, last)
    output, job = Path(args.output), Job(args, encoder, data, pair)
    given = read_means(means, args.checkpoint, pair) if means else None
    for lang in pair if given is None else ():
        data.mono(args.means_split, lang)  # raises before anything is written
    with _work(args, pair, output, single) as work:
        found = given or tuple(_split_mean(args, encoder, data, lang, work) for lang in pair)
        job.difference = mean_difference(found[0].mean, found[1].mean)
        files = {"checkpoint": args.checkpoint, "text": args.text, "data": data.path / "meta.json"}
        files |= {"reference": args.reference} if args.reference else {}
        files |= {f"means {number}": path for number, path in enumerate(means)}
        summary = job.summary(found)
        if single:
            scores = job.translate(cells[0], output)
            write_single(output, summary, cells[0], scores, provenance(files))
            return
        scores = {cell: job.cell(cell, output / "cells") for cell in cells}
        write_table(output, summary, scores, fixed, provenance(files))


@dataclass
class Job:
    """One text, one language pair, one mean difference."""

    args: argparse.Namespace
    encoder: Any
    data: DataFolder
    pair: tuple[str, str]
    difference: Tensor = field(default_factory=lambda: torch.zeros(0, 0))  # (L+1, D), set later

    def __post_init__(self) -> None:
        size = self.data.vocab_sizes[self.pair[0]]
        split = self.args.vocabulary_split
        self.sets = [token_set(self.data.mono(split, lang), size) for lang in self.pair]
        self.others = {
            lang: token_set(self.data.mono(split, lang), size)
            for lang in self.data.languages
            if lang not in self.pair and self.data.has_mono(split, lang)
        }
        reader, self.writer = (TextEncoder.load(self.data.path, lang) for lang in self.pair)
        self.corpus = TextCorpus(Path(self.args.text), reader)
        self.references: list[str] = []
        if self.args.reference:
            self.references = list(read_sentences(self.args.reference))
            if len(self.references) != self.corpus.total:
                raise UserError(
                    f"`--reference` {self.args.reference}: must have the {self.corpus.total} "
                    f"lines of {self.args.text}, got {len(self.references)}"
                )
        self.tokenizer = tokenizer_for(self.pair[1], self.args.tokenizer or "")
        if self.references:
            bleu_1(
                self.references[:1], self.references[:1], self.tokenizer
            )  # checks that it exists

    def summary(self, found: Sequence[MeanFile]) -> Summary:
        """The facts of this job that every result has."""
        return Summary(
            pair=self.pair,
            sizes=tuple(int(one.sum()) for one in self.sets),
            common=int((self.sets[0] & self.sets[1]).sum()),
            split=self.args.vocabulary_split,
            mean_tokens=tuple(one.tokens for one in found),
            lines=self.corpus.total,
            scored=bool(self.references),
        )

    def cell(self, cell: Shift, folder: Path) -> Scores:
        """The scores of ``cell``, from ``folder`` if they exist."""
        path = folder / f"{cell.code}.json"
        if path.is_file():
            return read_json(path)
        scores = self.translate(cell, folder / f"{cell.code}.txt")
        write_json(path, scores)
        return scores

    def translate(self, cell: Shift, output: Path) -> Scores:
        """Write the model's output, line by line, and score it."""
        rate, written, cut = ConvertRate(*self.sets, self.others), [], 0
        with (
            atomic_write(output, "w") as file,
            progress(self.corpus.total, f"translate {cell.code}", "sentences") as bar,
        ):
            for sentences in self.corpus.blocks():
                lines = [""] * len(sentences)
                for index, ids in self._ids(cell, sentences):
                    rate.update(torch.from_numpy(ids))
                    lines[index] = self.writer.decode(ids)
                    cut += len(ids) < len(sentences[index]) - 1
                file.writelines(f"{line}\n" for line in lines)
                written += lines if self.references else []
                bar.update(len(sentences))
        value = rate.value()
        scores: dict[str, Any] = {
            "convert_rate": None if math.isnan(value) else value,
            "tokens": rate.tokens,
            "shared": rate.shared,
            "converted": rate.converted,
            "neither": rate.neither,
            "other_languages": rate.other,
            "cut": cut,
        }
        if self.references:
            bleu = bleu_1(written, self.references, self.tokenizer)
            scores |= {"precision": bleu.precision, "bleu": bleu.score}
            scores |= {"brevity_penalty": bleu.brevity_penalty, "signature": bleu.signature}
        return scores

    def _ids(
        self, cell: Shift, sentences: Sequence[np.ndarray]
    ) -> Iterator[tuple[int, np.ndarray]]:
        from fairseq_xling.interop.token_translation import translate_tokens

        shift = None
        if cell != NO_SHIFT:
            vector = cell.alpha * self.difference[cell.layer]
            if not torch.isfinite(vector.float().square().sum()):
                raise UserError(f"`--alpha` {cell.alpha:g} is too large: the states overflow")
            shift = (cell.layer, vector)
        for indices, ids in translate_tokens(
            self.encoder, sentences, self.pair, shift, self.args.max_tokens
        ):
            yield from zip(indices.tolist(), ids, strict=True)


def _pair(args: argparse.Namespace) -> tuple[str, str]:
    sides = {
        "from": parse_languages(args.source, "--from"),
        "to": parse_languages(args.target, "--to"),
    }
    for option, langs in sides.items():
        if len(langs) > 1:
            raise UserError(f"`--{option}` must be one language, got {','.join(langs)!r}")
    (source,), (target,) = sides.values()
    if source == target:
        raise UserError(f"`--from` and `--to` must be two languages, got {source!r} for both")
    return source, target


def _is_single(args: argparse.Namespace) -> bool:
    one, grid = (args.layer, args.alpha), (args.layers, args.alphas)
    if any(value is not None for value in one):
        if any(value is None for value in one):
            raise UserError("`--layer` and `--alpha` belong together, got one of them")
        if any(value is not None for value in (*grid, args.fixed)):
            raise UserError("`--layer` and `--alpha` are of one translation, `--layers` of a grid")
        if not math.isfinite(args.alpha):
            raise UserError(f"`--alpha` must be finite, got {args.alpha}")
        return True
    if any(value is None for value in grid):
        raise UserError("give `--layer` and `--alpha`, or `--layers` and `--alphas` for a grid")
    if args.reference is None:
        raise UserError("a grid (`--layers`) needs `--reference`, a translation of the text")
    return False


def _grid(args: argparse.Namespace, last: int) -> list[Shift]:
    """Every cell once, no shift first."""
    layers, alphas = parse_layers(args.layers, last), parse_alphas(args.alphas)
    cells = [Shift(layer, alpha) for layer in layers if layer for alpha in alphas]
    if not cells:
        raise UserError(f"`--layers` must name one in [1, {last}], got {args.layers!r}")
    return list(dict.fromkeys([NO_SHIFT, *cells, *filter(None, [_fixed(args, last)])]))


def _fixed(args: argparse.Namespace, last: int) -> Shift | None:
    return None if args.fixed is None else parse_shift(args.fixed, last)


@contextlib.contextmanager
def _work(
    args: argparse.Namespace, pair: tuple[str, str], output: Path, single: bool
) -> Iterator[Path]:
    """The folder of the means: for a grid its own, which no other run may use meanwhile."""
    if single:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
        return
    _claim(output, _settings(args, pair))
    with exclusive(output, f"`--output` {output}: another run is writing it"):
        yield output / "means"


def _split_mean(
    args: argparse.Namespace, encoder: Any, data: DataFolder, lang: str, folder: Path
) -> MeanFile:
    path = folder / f"{lang}.safetensors"
    return language_mean(
        encoder, args.checkpoint, data, lang, None, args.means_split, path, args.max_tokens
    )


def _settings(args: argparse.Namespace, pair: tuple[str, str]) -> dict[str, Any]:
    """Everything that determines the scores of a cell."""
    return {
        "pair": list(pair),
        "checkpoint": sha256(args.checkpoint),
        "data": sha256(DataFolder(args.data).path / "meta.json"),
        "text": sha256(args.text),
        "reference": sha256(args.reference),
        "means": [sha256(path) for path in args.means] if args.means else args.means_split,
        "vocabulary": args.vocabulary_split,
        "tokenizer": tokenizer_for(pair[1], args.tokenizer or ""),
    }


def _claim(output: Path, settings: dict[str, Any]) -> None:
    """Make ``output`` the folder of these settings, or check that it is."""
    path = output / "settings.json"
    if path.is_file() and read_json(path) == settings:
        return
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(f"`--output` {output}: must be a new folder; it contains something else")
    output.mkdir(parents=True, exist_ok=True)
    write_json(path, settings)
