"""The length penalty of an autoregressive model's beam search, chosen by BLEU on the valid text.

fairseq divides the log-probability of a translation by its length to this power; above 1 it favours
long ones (Wu et al., 2016, have a similar term).
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path

from fairseq_xling.analysis.sampled_bleu import read_samples, score
from fairseq_xling.files import read_json, write_json
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.runs.step import Step

NAME, SPLIT = "lenpen", "valid"


def add_length_penalty(
    book: Book,
    values: Sequence[float],
    whose: str,
    label: str,
    tokenizer: str,
    search: Callable[[str, Sequence[str], str], Step],
) -> Path:
    """Search with each of ``values``; returns the file that names the best one.

    Args:
        whose: the model, in the names of the steps; label: the row that needs it.
        tokenizer: sacrebleu's, of the language that it writes.
        search: the step of a split, further options and a name.
    """
    names = [
        book.add(
            f"{NAME}-{whose}-{value:g}",
            label,
            functools.partial(search, SPLIT, ("--lenpen", f"{value:g}")),
        )
        for value in values
    ]
    files = [book.run / "translations" / name / f"generate-{SPLIT}.txt" for name in names]

    def choose(name: str) -> Step:
        output = book.run / "results" / f"{name}.json"
        return Step(
            name,
            call=lambda: _choose(values, files, tokenizer, output),
            settings={"values": list(values), "tokenizer": tokenizer},
            inputs=files,
            outputs=[output],
        )

    return book.run / "results" / f"{book.add(f'{NAME}-{whose}', label, choose)}.json"


def chosen_penalty(record: Path) -> list[str]:
    """The option of fairseq-generate that `add_length_penalty` has found."""
    return ["--lenpen", f"{read_json(record)['chosen']:g}"]


def _choose(values: Sequence[float], files: Sequence[Path], tokenizer: str, output: Path) -> None:
    """The value of the highest BLEU, the one nearest to fairseq's 1 among equals."""
    scores = [score(read_samples(file), tokenizer) for file in files]
    found = {value: one["bleu"] for value, one in zip(values, scores, strict=True)}
    best = max(values, key=lambda value: (found[value], -abs(value - 1)))
    tried = [{"lenpen": value, "bleu": bleu} for value, bleu in found.items()]
    write_json(output, {"chosen": best, "tried": tried, "signature": scores[0]["signature"]})
