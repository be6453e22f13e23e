"""The run of `fairseq-xling pieces`."""

import argparse
import itertools
from collections.abc import Iterator

import numpy as np

from fairseq_xling.data.dictionary import read_dictionary
from fairseq_xling.data.folder import DataFolder, text_mask
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.files import check_files, opened_output
from fairseq_xling.progress import progress
from fairseq_xling.sentences import read_sentences
from fairseq_xling.text.encoder import TextEncoder

_BLOCK = 1 << 12  # lines that are cut into pieces together


def write_pieces(args: argparse.Namespace) -> None:
    """Write the text of ``args.split``, or ``args.input``, as pieces.

    Raises:
        UserError: for no such language or split, or a line that is not UTF-8; a file of
            ``args.output`` is not written then.
    """
    check_files(args.input, of="`--input`")
    encoder = TextEncoder.load(args.data, args.language)
    folder = DataFolder(args.data)
    symbols = np.array(read_dictionary(folder.dictionary_path(args.language)))
    if args.input:
        rows, count = _encoded(encoder, args.input), None
    else:
        files = _of_folder(folder, args.split, args.language)
        rows = (tokens[index] for tokens in files for index in range(len(tokens)))
        count = sum(map(len, files))
    with opened_output(args.output) as output, progress(count, "pieces", " lines") as bar:
        for ids in rows:
            output.write(" ".join(symbols[ids[text_mask(ids, unknown=True)]]) + "\n")
            bar.update()


def _encoded(encoder: TextEncoder, path: str) -> Iterator[np.ndarray]:
    lines = read_sentences(path)
    while block := list(itertools.islice(lines, _BLOCK)):
        yield from encoder.encode(block)


def _of_folder(folder: DataFolder, split: str, lang: str) -> list[TokenFile]:
    """Its monolingual text, or where it has none that of its sentence pairs."""
    pairs = [pair for pair in folder.pairs(split) if lang in pair]
    if lang in folder.meta.get("mono", {}).get(split, {}) or not pairs:
        return [folder.mono(split, lang)]
    return [folder.parallel(split, *pair)[pair.index(lang)] for pair in pairs]
