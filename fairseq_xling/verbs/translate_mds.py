"""Translate token by token using the mean difference of two languages.

  fairseq-xling translate mds checkpoint_best.pt --data data-bin --from en --to de \\
      --layer 10 --alpha 2 --text en.txt --output de.txt
  fairseq-xling translate mds checkpoint_best.pt --data data-bin --from en --to de \\
      --layers 1-12 --alphas 1,2,3,-1 --text en.txt --reference de.txt --output runs/mds

The states of a layer are shifted by alpha times (mean of --to minus mean of --from), pass through
the layers above, and every position outputs its most probable token; nothing is masked (Liu et al.
2020, section 4.2). The first form writes the translation, and OUTPUT.json with the convert rate
and, with a --reference, BLEU-1. The second writes a table of both for every layer and alpha, a
figure, and all translations into the folder OUTPUT; if interrupted, the same command resumes, and
layers and alphas can be added later.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.analysis.shift_grid import (
    NO_SHIFT,
    Scores,
    Shift,
    best_shift,
    parse_alphas,
    parse_shift,
)
from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.core.files import (
    atomic_write,
    check_files,
    exclusive,
    read_json,
    sha256,
    write_json,
)
from fairseq_xling.core.folders import claim
from fairseq_xling.core.languages import check_languages, parse_languages
from fairseq_xling.core.named_files import FILE, OutputFile
from fairseq_xling.core.options import REQUIRED, option
from fairseq_xling.core.progress import progress
from fairseq_xling.core.ranges import COUNT
from fairseq_xling.core.texts import read_sentences
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, made, write_record
from fairseq_xling.reports.rows import distinct
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.verbs.mean import language_mean, read_means

if TYPE_CHECKING:
    from torch import Tensor

    from fairseq_xling.analysis.mean_file import MeanFile

GROUP = "Analyse"
# What is measured of a shift; of figures also the field of the scores, and the unit.
RATE, PRECISION, BLEU = "convert rate", "BLEU-1 precision", "BLEU-1"
OTHERS = "in another language"
_FIGURES = {RATE: ("convert_rate", "share"), PRECISION: ("precision", "%"), BLEU: ("bleu", "%")}
_COUNTS = ("brevity_penalty", "tokens", "shared", "converted", "neither", "cut")


@dataclasses.dataclass(frozen=True)
class Options:
    checkpoint: str = shared.checkpoint()
    data: str = shared.data()
    source: str = option(REQUIRED, "language of the text", metavar="LANG", flag="from")
    target: str = option(REQUIRED, "language to write", metavar="LANG", flag="to")
    text: str = shared.text()
    reference: str | None = option(None, "its translation, line by line, for BLEU-1", metavar=FILE)
    layer: int | None = option(None, "layer to shift, from 1", range=COUNT, metavar="LAYER")
    alpha: float | None = option(
        None,
        "size of the shift, in mean differences; 0 is the unshifted model",
        metavar="ALPHA",
    )
    layers: str | None = option(None, "grid: layers such as 1-12 or 6,8-11", metavar="LAYERS")
    alphas: str | None = option(
        None, "grid: such as 1,2,3 or, with =, --alphas=-1,1", metavar="NUMBERS"
    )
    fixed: str | None = option(
        None,
        "grid: a setting to report next to the best, such as 11,3",
        metavar="LAYER,ALPHA",
    )
    means: tuple[str, ...] | None = option(
        None,
        "means of both languages, of `fairseq-xling mean` (default: those of --means-split)",
        metavar=FILE,
        words=2,
    )
    means_split: str = option("valid", "split of the data folder for the means", metavar="SPLIT")
    random_direction: int | None = shared.random_direction()
    vocabulary_split: str = option(
        "train", "split whose tokens are a language's, for the convert rate", metavar="SPLIT"
    )
    tokenizer: str | None = option(
        None,
        "sacrebleu's (default: 13a; zh for Chinese, char for other languages without spaces)",
        metavar="TOKENIZER",
    )
    max_tokens: int = shared.max_tokens()
    device: str = shared.device()
    output: str = shared.output(
        "file to write, or folder of a grid", OutputFile("OUTPUT", "{}.json")
    )


def run(options: Options) -> None:
    from fairseq_xling.analysis.language_mean import mean_difference, random_direction
    from fairseq_xling.interop.encoder import Encoder
    from fairseq_xling.reports.page import write_run
    from fairseq_xling.verbs.parts.output import as_text

    pair = _pair(options)
    single = _is_single(options)
    if not single:
        check_installed("`fairseq-xling translate mds`", *OF_PAGES)
    means = [*(options.means or [])]
    check_files(options.checkpoint, options.text, options.reference, *means)
    data = DataFolder(options.data)
    if data.separate_vocabularies:
        raise UserError(
            f"{data.path}: each language has its own ids, so a model that reads one cannot "
            "output the other; prepare with another `--vocab`"
        )
    encoder = Encoder.load(options.checkpoint, data=options.data, device=options.device)
    check_languages(options.checkpoint, encoder.languages, pair)
    last = encoder.num_layers
    fixed = None if options.fixed is None else parse_shift(options.fixed, last)
    cells = [Shift(options.layer, options.alpha)] if single else _grid(options, last, fixed)
    if single and not 1 <= options.layer <= last:
        raise UserError(f"`--layer` must lie in [1, {last}], got {options.layer}")
    output, job = Path(options.output), Job(options, encoder, data, pair)
    given = read_means(means, options.checkpoint, pair) if means else None
    for lang in pair if given is None else ():
        data.mono(options.means_split, lang)  # raises before anything is written
    with _work(options, pair, output, single) as work:
        found = given or tuple(_split_mean(options, encoder, data, lang, work) for lang in pair)
        job.difference = mean_difference(found[0].mean, found[1].mean)
        if options.random_direction is not None:
            job.difference = random_direction(job.difference, options.random_direction)
        files = {
            "checkpoint": options.checkpoint,
            "text": options.text,
            "data": data.path / "meta.json",
        }
        files |= {"reference": options.reference} if options.reference else {}
        files |= {f"means {number}": path for number, path in enumerate(means)}
        summary = job.summary(found)
        if single:
            scores = {cells[0]: job.translate(cells[0], output)}
            record = record_of(summary, scores, {"shifted": cells[0]})
            write_record(f"{output}.json", made(record, files))
            left = f"{output}, {output}.json"
        else:
            scores = {cell: job.cell(cell, output / "cells") for cell in cells}
            chosen = {"no shift": NO_SHIFT, "best": best_shift(scores)}
            record = record_of(summary, scores, chosen | ({"fixed": fixed} if fixed else {}))
            write_run(output, made(record, files))
            left = f"{output}: results.json, report.html, table.csv, plot.svg, cells/"
        print(f"{as_text(record)}\nwritten to {left}")


@dataclasses.dataclass
class Job:
    """One text, one language pair, one mean difference."""

    options: Options
    encoder: Any
    data: DataFolder
    pair: tuple[str, str]
    difference: Tensor | None = None  # (L+1, D), set later

    def __post_init__(self) -> None:
        from fairseq_xling.analysis.convert import bleu_1
        from fairseq_xling.analysis.corpus import TextCorpus, token_set
        from fairseq_xling.analysis.sampled_bleu import tokenizer_for

        size = self.data.vocab_sizes[self.pair[0]]
        split = self.options.vocabulary_split
        self.sets = [token_set(self.data.mono(split, lang), size) for lang in self.pair]
        self.others = {
            lang: token_set(self.data.mono(split, lang), size)
            for lang in self.data.languages
            if lang not in self.pair and self.data.has_mono(split, lang)
        }
        reader, self.writer = (TextEncoder.load(self.data.path, lang) for lang in self.pair)
        self.corpus = TextCorpus(Path(self.options.text), reader)
        self.references: list[str] = []
        if self.options.reference:
            self.references = list(read_sentences(self.options.reference))
            if len(self.references) != self.corpus.total:
                raise UserError(
                    f"`--reference` {self.options.reference}: must have the {self.corpus.total} "
                    f"lines of {self.options.text}, got {len(self.references)}"
                )
        self.tokenizer = tokenizer_for(self.pair[1], self.options.tokenizer or "")
        if first := self.references[:1]:
            bleu_1(first, first, self.tokenizer)  # checks that it exists

    def summary(self, found: Sequence[MeanFile]) -> dict[str, Any]:
        """The facts of this job that every result has: ``sizes`` are of the languages' token sets
        in ``split``, ``common`` is that of what both have, ``mean_tokens`` are those of the means.
        """
        return {
            "pair": self.pair,
            "sizes": [int(one.sum()) for one in self.sets],
            "common": int((self.sets[0] & self.sets[1]).sum()),
            "split": self.options.vocabulary_split,
            "mean_tokens": [one.tokens for one in found],
            "lines": self.corpus.total,
            "scored": bool(self.references),
        }

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
        import torch

        from fairseq_xling.analysis.convert import ConvertRate, bleu_1

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
        if cell != NO_SHIFT and self.difference is not None:
            vector = cell.alpha * self.difference[cell.layer]
            if not math.isfinite(vector.float().square().sum()):
                raise UserError(f"`--alpha` {cell.alpha:g} is too large: the states overflow")
            shift = (cell.layer, vector)
        for indices, ids in translate_tokens(
            self.encoder, sentences, self.pair, shift, self.options.max_tokens
        ):
            yield from zip(indices.tolist(), ids, strict=True)


def _pair(options: Options) -> tuple[str, str]:
    sides = {
        "from": parse_languages(options.source, "--from"),
        "to": parse_languages(options.target, "--to"),
    }
    for name, langs in sides.items():
        if len(langs) > 1:
            raise UserError(f"`--{name}` must be one language, got {','.join(langs)!r}")
    (source,), (target,) = sides.values()
    if source == target:
        raise UserError(f"`--from` and `--to` must be two languages, got {source!r} for both")
    return source, target


def record_of(
    summary: Mapping[str, Any], scores: Mapping[Shift, Scores], chosen: Mapping[str, Shift]
) -> Record:
    """What was measured of every shift, and how it is shown.

    The ``row`` of a shift is its alpha; ``chance`` is what the model does without shift. Those that
    were ``chosen`` are there again, with the ``setting`` that they are.

    Args:
        summary: what all have, of `Job.summary`.
    """
    (source, target), (own, other) = summary["pair"], summary["sizes"]
    about: dict[str, Any] = {"study": "mean difference", "source": source, "target": target}
    base = scores.get(NO_SHIFT, {})
    rows = [{**about, **row} for cell, one in scores.items() for row in _rows(cell, one, base)]
    rows += [
        {**about, "setting": name, **row}
        for name, cell in chosen.items()
        for row in _rows(cell, scores[cell], {})
        if row["measure"] in _FIGURES
    ]
    tokens = " and ".join(f"{number:,}" for number in summary["mean_tokens"])
    notes = [
        f"{source} to {target}, {summary['lines']:,} lines; means over {tokens} tokens",
        f"tokens that occur in {summary['split']!r} text: |V_{source}| = {own:,}, "
        f"|V_{target}| = {other:,}, in both {summary['common']:,}",
        "convert rate: share of output tokens that occur in the target's text only, among all "
        "tokens that do not occur in both",
        *(f"{name}: {_third(scores[cell])}" for name, cell in chosen.items()),
    ]
    if signature := next(iter(scores.values())).get("signature"):
        notes.append(
            "BLEU-1 precision is sacrebleu's of single words, without smoothing; BLEU-1 is that "
            f"times the brevity penalty ({signature})"
        )
    if cut := max(one["cut"] for one in scores.values()):
        notes.append(f"{cut:,} lines are longer than the model's positions, and were cut")
    measured = distinct(rows, "measure")
    table = Table(
        {"setting": "setting", "layer": "layer", "alpha": "{alpha}"},
        where={"setting": [*chosen]},
        order=[name for name in _FIGURES if name in measured],
    )
    settings = Section("Chosen settings", table, notes=notes, name="table")
    alphas = [name for name in distinct(rows, "row") if name != "no shift"]
    return Record(
        f"Token translation by the mean difference, {source} to {target}",
        rows,
        (*_grid_sections(alphas, chosen["best"]), settings) if "best" in chosen else (settings,),
        source="Liu et al. (2020), 4.2 and Table 3",
        lead=["States of one layer are shifted; every position then outputs its best token."],
        facts=summary,
    )


def _rows(cell: Shift, scores: Scores, base: Scores) -> Iterator[dict[str, Any]]:
    """The figures of a shift, and of how many tokens they are; what is None has no row."""
    row = "no shift" if cell == NO_SHIFT else f"alpha {cell.alpha:g}"
    about = {"row": row, "layer": cell.layer, "alpha": cell.alpha}
    for name, (key, unit) in _FIGURES.items():
        chance = {} if base.get(key) is None else {"chance": base[key]}
        if scores.get(key) is not None:
            yield {**about, "measure": name, "value": scores[key], "unit": unit, **chance}
    for name in _COUNTS:
        if name in scores:  # no penalty without a reference
            yield {**about, "measure": name.replace("_", " "), "value": scores[name]}
    for lang, count in scores["other_languages"].items():
        yield {**about, "measure": OTHERS, "of": lang, "value": count}


def _grid_sections(alphas: Sequence[str], best: Shift) -> Iterator[Section]:
    where: dict[str, Any] = {"row": alphas, "setting": None}
    place = [best.layer, f"best: layer {best.layer}, alpha {best.alpha:g}"]
    yield Section(
        "By layer and alpha",
        chart=Chart(
            *("curve", {**where, "measure": [RATE, PRECISION]}),
            **{"xlabel": "layer that is shifted", "ylabel": "{unit}", "chance": "no shift"},
            marks={RATE: place, PRECISION: place},
        ),
        notes=[
            "alpha is a multiple of the mean difference of the languages' states; the best cell is "
            "the one with the highest precision on this very text"
        ],
        name="plot",
    )
    for name in (RATE, PRECISION):
        table = Table({"layer": "layer"}, "row", {**where, "measure": name}, alphas)
        yield Section(name[:1].upper() + name[1:], table)


def _third(scores: Scores) -> str:
    """How many tokens are of neither language, and of which others."""
    share = scores["neither"] / max(scores["tokens"], 1)
    found = [f"{lang} {count:,}" for lang, count in scores["other_languages"].items()]
    others = f", of which occur in other languages: {', '.join(found)}" if found else ""
    return f"{share:.1%} of the tokens are of neither language{others}"


def _is_single(options: Options) -> bool:
    one, grid = (options.layer, options.alpha), (options.layers, options.alphas)
    if any(value is not None for value in one):
        if any(value is None for value in one):
            raise UserError("`--layer` and `--alpha` belong together, got one of them")
        if any(value is not None for value in (*grid, options.fixed)):
            raise UserError("`--layer` and `--alpha` are of one translation, `--layers` of a grid")
        return True
    if any(value is None for value in grid):
        raise UserError("give `--layer` and `--alpha`, or `--layers` and `--alphas` for a grid")
    if options.reference is None:
        raise UserError("a grid (`--layers`) needs `--reference`, a translation of the text")
    return False


def _grid(options: Options, last: int, fixed: Shift | None) -> list[Shift]:
    """Every cell once, no shift first."""
    layers, alphas = parse_layers(options.layers, last), parse_alphas(options.alphas)
    cells = [Shift(layer, alpha) for layer in layers if layer for alpha in alphas]
    if not cells:
        raise UserError(f"`--layers` must name one in [1, {last}], got {options.layers!r}")
    return list(dict.fromkeys([NO_SHIFT, *cells, *filter(None, [fixed])]))


@contextlib.contextmanager
def _work(options: Options, pair: tuple[str, str], output: Path, single: bool) -> Iterator[Path]:
    """The folder of the means: for a grid its own, which no other run may use meanwhile."""
    if single:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
        return
    claim(output, _settings(options, pair))
    with exclusive(output, f"`--output` {output}: another run is writing it"):
        yield output / "means"


def _split_mean(
    options: Options, encoder: Any, data: DataFolder, lang: str, folder: Path
) -> MeanFile:
    path = folder / f"{lang}.safetensors"
    return language_mean(
        encoder, options.checkpoint, data, lang, None, options.means_split, path, options.max_tokens
    )


def _settings(options: Options, pair: tuple[str, str]) -> dict[str, Any]:
    """Everything that determines the scores of a cell."""
    from fairseq_xling.analysis.sampled_bleu import tokenizer_for

    control = options.random_direction
    return {
        "pair": list(pair),
        "checkpoint": sha256(options.checkpoint),
        "data": sha256(DataFolder(options.data).path / "meta.json"),
        "text": sha256(options.text),
        "reference": sha256(options.reference),
        "means": [sha256(path) for path in options.means] if options.means else options.means_split,
        "vocabulary": options.vocabulary_split,
        **({} if control is None else {"random direction": control}),
        "tokenizer": tokenizer_for(pair[1], options.tokenizer or ""),
    }
