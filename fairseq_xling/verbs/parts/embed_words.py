"""The verb ``embed words``: word vectors without an encoder, as a folder that `eval bli` reads."""

import argparse
import dataclasses
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.analysis.fasttext import FastTextOptions, WordVectors, train
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, check_files, read_json, sha256, write_json
from fairseq_xling.folders import META, is_finished, new_folder, work_folder
from fairseq_xling.mapping.text_vectors import WORD_MARK, read_text_vectors
from fairseq_xling.progress import progress
from fairseq_xling.provenance import provenance
from fairseq_xling.sentences import read_sentences
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.verbs.units.types import check_most, count_words, words_of_file

_LINES = 10_000  # segmented at a time


def run_words(args: argparse.Namespace) -> str:
    """See `fairseq_xling.verbs.embed`; what to print.

    Raises:
        UserError: for missing files, a language that the folder does not have, invalid options, or
            words without any vector.
    """
    check_files(args.text, args.words, args.vec)
    check_most(args.most)
    names = [field.name for field in dataclasses.fields(FastTextOptions)]
    options = FastTextOptions(**{name: getattr(args, name) for name in names})
    data = DataFolder(args.data)
    encode, output = TextEncoder.load(data.path, args.lang), Path(args.output)
    files = {"text": args.text, "data": data.path / "meta.json"}
    files |= {name: getattr(args, name) for name in ("words", "vec") if getattr(args, name)}
    how = {"vec": sha256(args.vec)} if args.vec else dataclasses.asdict(options)
    settings = {"unit": "static", "layers": [0], "dtype": "float32", "lang": args.lang}
    settings |= {"method": "vec" if args.vec else "fasttext", **how, "most": args.most}
    settings |= {"text": sha256(args.text), "dictionary": data.dictionary_digest(args.lang)}
    settings |= {"words": sha256(args.words)} if args.words else {}
    if not is_finished(output, settings):
        counts, lines = count_words(Path(args.text), encode)
        if not lines:
            raise UserError(f"{args.text}: contains no lines")
        with new_folder(output, settings, "embed words") as folder:
            wanted = words_of_file(args.words) if args.words else list(counts)
            if args.vec:
                found = _read(args, wanted, counts)
            else:
                model = _train(args, encode, counts, options, settings)
                rows = dict(zip(model.words, model.vectors(), strict=True))
                found = {word: rows[word] for word in wanted if word in rows}
            if not found:
                raise UserError(f"{args.words or args.text}: none of its words has a vector")
            if not args.words:
                chosen = sorted(found, key=lambda word: (-counts[word], word))[: args.most]
                found = {word: found[word] for word in chosen}
            _write(folder, found, counts)
            meta = {"settings": settings, "rows": len(found), "row": "line n of words.txt"}
            meta |= {"width": len(next(iter(found.values()))), "provenance": provenance(files)}
            write_json(folder / META, {**meta, "left out": len(wanted) - len(found)})
    meta = read_json(output / META)
    return f"{output}: {meta['rows']:,} words, {meta['width']} wide ({meta['left out']:,} left out)"


def _read(
    args: argparse.Namespace, wanted: list[str], counts: Counter[str]
) -> dict[str, np.ndarray]:
    """The vectors of an existing file, for the words that it has."""
    vectors, known = read_text_vectors(args.vec, [WORD_MARK + word for word in wanted])
    return {word: vectors[n] for n, word in enumerate(wanted) if known[n]}


def _train(
    args: argparse.Namespace,
    encode: TextEncoder,
    counts: Counter[str],
    options: FastTextOptions,
    settings: dict[str, Any],
) -> WordVectors:
    total, model = counts.total(), WordVectors(counts, options)
    with (
        work_folder(args.output, settings) as work,
        progress(total * options.epochs, "fastText", "words") as bar,
    ):

        def sentences() -> Iterator[list[str]]:
            lines = read_sentences(args.text)
            while block := list(islice(lines, _LINES)):
                for line in encode.segment(block):
                    words = line.split()
                    bar.update(len(words))
                    yield words

        def keep(epoch: int, model: WordVectors) -> None:
            if epoch == options.epochs:  # the vectors follow at once
                return
            arrays, random = model.state()
            work.keep("training", arrays, {"epochs": epoch, "random": random})

        found = work.find("training")
        done = found[1]["epochs"] if found else 0
        if found:
            model.restore(found[0], found[1]["random"])
        bar.update(total * done)
        return train(counts, sentences, options, keep, model, done)


def _write(folder: Path, found: dict[str, np.ndarray], counts: Counter[str]) -> None:
    np.save(folder / "layer00.npy", np.array(list(found.values()), dtype=np.float32))
    np.save(folder / "counts.npy", np.array([counts[word] for word in found], dtype=np.int64))
    with atomic_write(folder / "words.txt", "w") as file:
        file.writelines(f"{word}\n" for word in found)
