"""Data folders derived from another: with fewer sentence pairs, with more monolingual text, or with
a teacher's translations.

The vocabulary is unchanged, so models trained on different folders are comparable. Files that do
not change are hard links.
"""

import itertools
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.meta import describe_files
from fairseq_xling.data.mmap import TokenFile, write_items


def keep_pairs(
    data: Path | str,
    output: Path | str,
    pair: Sequence[str],
    count: int,
    seed: int,
    option: str = "--parallel-limit",
) -> None:
    """``data`` with ``count`` training pairs of languages ``pair``, drawn at random.

    A smaller draw is a subset of a larger one, for the same seed.
    """
    data, output, folder = Path(data), Path(output), DataFolder(data)
    sides = folder.parallel("train", *pair)
    total = len(sides[0])
    if count > total:
        raise UserError(f"`{option}` must be at most the {total} pairs of {data}, got {count}")
    kept = _drawn(total, count, seed)
    name = _name(folder, pair)
    stems = [f"parallel/train.{name}.{lang}" for lang in pair]
    stems += [stem for stem in _links(pair) if (data / f"{stem}.idx").is_file()]
    files = {stem: TokenFile(data / stem) for stem in stems}
    meta = _derive(data, output, {stem: _rows(file, kept) for stem, file in files.items()})
    tokens = {lang: int(side.sizes[kept].sum()) for lang, side in zip(pair, sides, strict=True)}
    meta["parallel"]["train"][name] |= {"pairs": count, "tokens": tokens}
    write_json(output / "meta.json", {**meta, "derived": {"pairs": count, "seed": seed}})


def keep_sentences(
    data: Path | str,
    output: Path | str,
    languages: Sequence[str],
    count: int,
    seed: int,
    option: str,
) -> None:
    """``data`` with ``count`` monolingual training sentences of each of ``languages``, drawn at
    random; text of other languages is unchanged.

    A smaller draw is a subset of a larger one, for the same seed.
    """
    data, output, folder = Path(data), Path(output), DataFolder(data)
    files = {lang: folder.mono("train", lang) for lang in languages}
    for lang, file in files.items():
        if count > len(file):
            raise UserError(
                f"`{option}` must be at most the {len(file)} sentences of {lang!r} in {data}, got "
                f"{count}; 0 is all"
            )
    kept = {lang: _drawn(len(file), count, seed) for lang, file in files.items()}
    written = {f"mono/train.{lang}": _rows(file, kept[lang]) for lang, file in files.items()}
    meta = _derive(data, output, written)
    for lang, file in files.items():
        tokens = int(file.sizes[kept[lang]].sum())
        meta["mono"]["train"][lang] |= {"sentences": count, "tokens": tokens}
    write_json(output / "meta.json", {**meta, "derived": {"sentences": count, "seed": seed}})


def _drawn(total: int, count: int, seed: int) -> np.ndarray:
    """``count`` of ``total`` numbers, ascending, (count,) int64."""
    return np.sort(np.random.default_rng(seed).permutation(total)[:count])


def pairs_into_mono(data: Path | str, output: Path | str, pair: Sequence[str], lang: str) -> None:
    """``data`` with the training pairs' ``lang`` side at the end of its monolingual text."""
    data, output, folder = Path(data), Path(output), DataFolder(data)
    mono = folder.mono("train", lang)
    side = folder.parallel("train", *pair)[list(pair).index(lang)]
    items = (file[i] for file in (mono, side) for i in range(len(file)))
    meta = _derive(data, output, {f"mono/train.{lang}": (items, mono.dtype)})
    meta["mono"]["train"][lang]["sentences"] = len(mono) + len(side)
    write_json(output / "meta.json", {**meta, "derived": {"pairs in mono": lang}})


def with_translations(
    data: Path, output: Path, pair: Sequence[str], written: Iterator[np.ndarray], original: bool
) -> None:
    """``data`` with other translations of its training pairs, which have no word alignment.

    Args:
        pair: source and target language.
        written: ids of each, ending in ``</s>``; where there is nothing else, what ``data`` has is
            kept.
        original: have the pairs of ``data`` as well, after the others.

    Raises:
        UserError: whatever ``written`` raises; it must have one item for each pair.
    """
    folder = DataFolder(data)
    source, target = folder.parallel("train", *pair)
    name = _name(folder, pair)
    stems = [f"parallel/train.{name}.{lang}" for lang in pair]
    translations = (
        one if len(one) > 1 else target[i]
        for i, one in zip(range(len(target)), written, strict=True)
    )
    times = 2 if original else 1
    sides = (source[i] for _ in range(times) for i in range(len(source)))
    more = (target[i] for i in range(len(target))) if original else ()
    items = (sides, source.dtype), (itertools.chain(translations, more), target.dtype)
    meta = _derive(data, output, dict(zip(stems, items, strict=True)), without=_links(pair))
    tokens = {
        lang: int(TokenFile(output / stem).sizes.sum())
        for lang, stem in zip(pair, stems, strict=True)
    }
    found = {"pairs": len(target) * times, "tokens": tokens, "orders": []}
    meta["parallel"]["train"][name] |= found
    write_json(output / "meta.json", {**meta, "derived": {"translations of": list(pair)}})


def _links(pair: Sequence[str]) -> list[str]:
    """The files that word alignments of training text are in, if there are any."""
    ways = (tuple(pair), tuple(pair)[::-1])
    return [f"parallel/train.{a}-{b}.{name}" for a, b in ways for name in ("order", "further")]


def _name(folder: DataFolder, pair: Sequence[str]) -> str:
    """How the training text of ``pair`` is named, in either order."""
    return next("-".join(known) for known in folder.pairs("train") if set(known) == set(pair))


def _rows(file: TokenFile, kept: np.ndarray) -> tuple[Iterator[np.ndarray], np.dtype]:
    """The ``kept`` items of a file, and their type."""
    return (file[i] for i in kept.tolist()), file.dtype


def _derive(
    data: Path,
    output: Path,
    files: Mapping[str, tuple[Iterable[np.ndarray], np.dtype]],
    without: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything of ``data`` in ``output``, but with other token ``files``, items and type by name,
    and ``without`` some; returns what is still to be written into its meta.json."""
    changed, gone = (
        [f"{stem}.{end}" for stem in stems for end in ("bin", "idx")] for stems in (files, without)
    )
    left_out = {data / name for name in ("meta.json", *changed, *gone)}
    shutil.copytree(
        data,
        output,
        copy_function=_hard_link,
        ignore=lambda folder, names: [n for n in names if Path(folder) / n in left_out],
        dirs_exist_ok=True,
    )
    for stem, (items, dtype) in files.items():
        write_items(output / stem, items, dtype)
    meta = read_json(data / "meta.json")
    if "files" in meta:  # the digests of all token files
        kept = {name: value for name, value in meta["files"].items() if name not in gone}
        meta["files"] = kept | describe_files(output, changed)
    return meta


def _hard_link(source: str, target: str) -> None:
    Path(target).unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)
