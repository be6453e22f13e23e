"""`prepare --held-out N`: sentences to validate and to test on, taken out of the training text.

Those of each text whose hashes are smallest (`drawn`), so that the choice depends on neither the
order of a text nor on chance. A training text keeps no sentence that is held out in its language,
be it of another text or one side of another pair, and no sentence of valid is in test; sentences
are equal if their `normal_form` is, in small letters. A language
that has parallel text alone gets its sides as monolingual text, so that all can be trained on.
"""

import dataclasses
import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, read_record, write_json
from fairseq_xling.core.ranges import drawn
from fairseq_xling.core.texts import normal_form
from fairseq_xling.text.blocks import lines_of, mono_blocks, parallel_blocks
from fairseq_xling.text.inputs import Inputs, TextFacts
from fairseq_xling.text.sources import Sources
from fairseq_xling.text.state import WORK

HELD_OUT = ("test", "valid")
_DONE = "held-out.json"
Row = tuple[str, ...]  # a sentence for each language


@dataclasses.dataclass
class _Text:
    """A training text, and what is held out of it.

    Attributes:
        name: such as ``mono/en`` or ``parallel/en-de``.
        languages: of a row's sentences.
        files: to be read one after another, or at the same time if ``parallel``; then a file of
            links may follow.
        chosen: by split, the rows that it gets.
    """

    name: str
    languages: tuple[str, ...]
    files: Sequence[Path]
    parallel: bool
    chosen: dict[str, set[Row]] = dataclasses.field(default_factory=dict)

    def rows(self) -> Iterator[tuple[Row, list[str]]]:
        """Each row's sentences in their `normal_form`, and its lines as they are."""
        blocks = (parallel_blocks if self.parallel else mono_blocks)(self.files, None)
        for block in blocks:
            for lines in zip(*map(lines_of, block.sides), strict=True):
                yield tuple(normal_form(line) for line in lines[: len(self.languages)]), list(lines)

    def choose(self, number: int) -> None:
        """Fill ``chosen`` with so many different rows for each split."""
        wanted = len(HELD_OUT) * number
        smallest: dict[int, Row] = {}
        largest: list[int] = []  # a heap of the same, negated
        more = False
        for row, _ in self.rows():
            key = drawn("\t".join(row))
            if not all(row) or key in smallest:
                continue
            if len(smallest) == wanted:
                more = True
                if key > -largest[0]:
                    continue
                del smallest[-heapq.heappop(largest)]
            smallest[key] = row
            heapq.heappush(largest, -key)
        if not more:
            raise UserError(
                f"`--held-out` {number} must leave something to train on, got "
                f"{len(smallest):,} different lines in {', '.join(map(str, self.files))}"
            )
        rows = [smallest[key] for key in sorted(smallest)]
        for place, split in enumerate(HELD_OUT):
            self.chosen[split] = set(rows[place * number : (place + 1) * number])


def hold_out(
    out: Path, sources: Sources, inputs: Inputs, number: int
) -> tuple[Sources, Inputs, dict[str, dict[str, int]]]:
    """``sources`` with ``number`` sentences for valid, and for test, of each training text.

    Args:
        out: the data folder. The texts of valid and test lie in its ``held-out``; what is left to
            train on is written among its unfinished work. All are written once.

    Returns:
        The sources, what is known of them, and by text the lines of each split, with those that
        are ``left_out`` as repetitions of what is held out.

    Raises:
        UserError: for a text with too few different lines.
    """
    texts = [
        _Text(f"mono/{lang}", (lang,), files, False)
        for (split, lang), files in sources.mono.items()
        if split == "train"
    ]
    for (split, pair), sides in sources.parallel.items():
        if split == "train":
            links = sources.alignments.get((split, pair))
            files = [*sides, *([links] if links else [])]
            texts.append(_Text(f"parallel/{'-'.join(pair)}", pair, files, True))
    counts = read_record(out / WORK / _DONE, {"counts": dict}).get("counts")
    if counts is None:
        counts = _write(out, texts, number)
        write_json(out / WORK / _DONE, {"counts": counts})
    return *_with_splits(out, sources, inputs, texts, counts), counts


def _write(out: Path, texts: Sequence[_Text], number: int) -> dict[str, dict[str, int]]:
    for text in texts:
        text.choose(number)
    held: dict[str, dict[str, set[str]]] = {split: defaultdict(set) for split in HELD_OUT}
    for split in HELD_OUT:
        for text in texts:
            rows = text.chosen[split]
            if split == "valid":
                rows = {row for row in rows if not _any_of(row, text, held["test"])}
            text.chosen[split] = rows
            for row in rows:
                for lang, sentence in zip(text.languages, row, strict=True):
                    held[split][lang].add(sentence.casefold())
    return {text.name: _write_text(out, text, held) for text in texts}


def _any_of(row: Row, text: _Text, held: dict[str, set[str]]) -> bool:
    # In small letters: some vocabularies have no others.
    return any(s.casefold() in held[lang] for lang, s in zip(text.languages, row, strict=True))


def _write_text(out: Path, text: _Text, held: dict[str, dict[str, set[str]]]) -> dict[str, int]:
    counts = dict.fromkeys(("train", *HELD_OUT, "left_out"), 0)
    with ExitStack() as stack:
        files: dict[str, list[IO[str]]] = {
            split: [stack.enter_context(atomic_write(p, "w")) for p in _paths(out, text, split)]
            for split in ("train", *HELD_OUT)
        }
        for row, lines in text.rows():
            split = next((name for name in HELD_OUT if row in text.chosen[name]), "train")
            if split != "train":
                text.chosen[split].remove(row)  # the next equal one is left out
            elif any(_any_of(row, text, held[name]) for name in HELD_OUT):
                split = "left_out"
            counts[split] += 1
            for file, line in zip(files.get(split, ()), lines, strict=False):
                file.write(line + "\n")
    if not counts["train"]:
        raise UserError(
            "`--held-out` must leave something to train on, but every other line of "
            f"{', '.join(map(str, text.files))} repeats a sentence that is held out"
        )
    return counts


def _paths(out: Path, text: _Text, split: str) -> list[Path]:
    """The files of a split, of each side, and of the links, in the layout of `synthesize`."""
    kind, _, name = text.name.partition("/")
    folder = (out / WORK if split == "train" else out) / "held-out" / kind
    if not text.parallel:
        return [folder / f"{split}.{name}.txt"]
    sides = [folder / f"{split}.{name}.{lang}.txt" for lang in text.languages]
    links = [folder / f"{split}.{name}.pharaoh"] * (len(text.files) > len(sides))
    return [*sides, *links]


def _with_splits(
    out: Path,
    sources: Sources,
    inputs: Inputs,
    texts: Sequence[_Text],
    counts: dict[str, dict[str, int]],
) -> tuple[Sources, Inputs]:
    """The files of each split, instead of the training texts, and what is known of them."""
    found = Sources(dictionaries=sources.dictionaries, tokenizers=sources.tokenizers)
    facts: dict[Path, TextFacts] = {}
    for text in texts:
        for split in ("train", *HELD_OUT):
            lines = counts[text.name][split]
            if not lines:  # all that was chosen for valid is in another text's test
                continue
            paths = _paths(out, text, split)
            for path in paths:
                facts[path] = TextFacts(lines, lines, path.stat().st_size)
            if not text.parallel:
                found.mono[split, text.languages[0]] = tuple(paths)
                continue
            pair = (text.languages[0], text.languages[1])
            found.parallel[split, pair] = (paths[0], paths[1])
            if len(paths) > len(pair):
                found.alignments[split, pair] = paths[-1]
            for lang, path in zip(pair, paths, strict=False):
                if f"mono/{lang}" not in counts:
                    found.mono[split, lang] = (*found.mono.get((split, lang), ()), path)
    return found, Inputs(facts, inputs.dictionaries)


def described(counts: dict[str, dict[str, Any]], number: int) -> str:
    """One line about what was held out."""
    left_out = sum(each["left_out"] for each in counts.values())
    names = ", ".join(counts)
    return (
        f"held out by the hash of each sentence: up to {number:,} for valid and {number:,} for "
        f"test of {names}, as text in held-out/; no sentence is on two sides, whatever its case, "
        f"white space and form in Unicode (NFKC; {left_out:,} repetitions left out)"
    )
