"""Words of the similarity study: the split of a dictionary, the words to find, their contexts."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.analysis.dictionary import read_dictionary
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, read_lines
from fairseq_xling.papers.emerging.similarity_config import Pair
from fairseq_xling.workflow.recipe import Run
from fairseq_xling.workflow.step import Step

Entries = list[tuple[str, str]]


def split_entries(entries: Entries, share: float, seed: int) -> tuple[Entries, Entries]:
    """Entries to fit maps on and entries to score; all of a source word are on one side.

    >>> train, test = split_entries([("a", "x"), ("a", "y"), ("b", "z")], 0.5, 1)
    >>> len({word for word, _ in train}), len({word for word, _ in test})
    (1, 1)

    Args:
        share: share of the source words that are scored; at least one word is on each side.

    Raises:
        UserError: for fewer than two source words.
    """
    words = list(dict.fromkeys(word for word, _ in entries))
    if len(words) < 2:
        raise UserError(f"a dictionary to split needs 2 source words, got {len(words)}")
    count = min(max(1, round(share * len(words))), len(words) - 1)
    order = np.random.default_rng(seed).permutation(len(words))
    held = {words[n] for n in order[:count]}
    train = [entry for entry in entries if entry[0] not in held]
    return train, [entry for entry in entries if entry[0] in held]


def write_lexicon(
    folder: Path,
    source: str,
    files: Mapping[str, Sequence[Path]],
    share: float,
    seed: int,
    same: bool,
) -> None:
    """``PAIR/train.tsv``, ``PAIR/test.tsv`` and ``words.LANG.txt`` in ``folder``.

    Args:
        files: by target language, a dictionary, or its two parts.
        same: whether the source language is also compared with itself, where a word translates
            itself.
    """
    parts: dict[str, tuple[Entries, Entries]] = {}
    words: dict[str, dict[str, None]] = {source: {}}
    for target, paths in files.items():
        found = [read_dictionary(path) for path in paths]
        train, test = found if len(found) == 2 else split_entries(found[0], share, seed)
        parts[Pair(source, target).name] = train, test
        for a, b in (*train, *test):
            words[source][a] = None
            words.setdefault(target, {})[b] = None
    if same:
        alike = [(word, word) for word in words[source]]
        parts[Pair(source, source).name] = split_entries(alike, share, seed)
    for pair, both in parts.items():
        (folder / pair).mkdir(parents=True, exist_ok=True)
        for name, entries in zip(("train", "test"), both, strict=True):
            _write(folder / pair / f"{name}.tsv", (f"{a}\t{b}" for a, b in entries))
    for lang, found in words.items():
        _write(folder / f"words.{lang}.txt", found)


def lexicon_step(plan: Run) -> Path:
    """Add the step that writes the lexicon; its folder."""
    folder, config = plan.folder / "lexicon", plan.options
    source, *targets = config.language_list
    files = {target: config.dictionaries(target) for target in targets}
    settings = {"share": config.test_share, "seed": config.split_seed, "same": config.same}
    return plan.add(
        Step(
            "lexicon",
            call=functools.partial(write_lexicon, folder, source, files, **settings),
            settings={**settings, "languages": config.language_list},
            inputs=[path for paths in files.values() for path in paths],
            outputs=[folder],
        )
    )


def contexts_step(plan: Run, lang: str) -> Path:
    """Add the step that cuts the training text of ``lang``; the file to read."""
    count, text = plan.options.contexts, plan.options.text(f"mono/train.{lang}")
    if not count:
        return text
    output = plan.folder / "text" / f"contexts.{lang}.txt"
    return plan.add(
        Step(
            f"contexts-{lang}",
            call=lambda: _write(output, itertools.islice(read_lines(text), count)),
            settings={"sentences": count},
            inputs=[text],
            outputs=[output],
        )
    )


def _write(path: Path, lines) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "w") as file:
        file.writelines(f"{line}\n" for line in lines)
