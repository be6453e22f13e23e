"""A text cut into segments of N tokens, so that models differ only in the length of context.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 3.2: sentences are concatenated and cut every N subwords, regardless of boundaries.
Nothing is lost or added, so texts for any N have the same tokens in the same order.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, write_json
from fairseq_xling.core.progress import progress
from fairseq_xling.data.folder import SEP, DataFolder
from fairseq_xling.data.meta import describe_files
from fairseq_xling.data.mmap import TokenFile, best_dtype, write_index

SPLITS = ("train", "valid")
_BLOCK = 1 << 14  # sentences read at a time


def segments(file: TokenFile, window: int, sentences: int) -> Iterator[np.ndarray]:
    """The first ``sentences`` of a file as segments, without any ``</s>``.

    Yields:
        (n, window) int64, n segments at a time; the last array may be one shorter segment (1, m).
    """
    rest = np.empty(0, dtype=np.int64)
    for start in range(0, sentences, _BLOCK):
        tokens, sizes = file.block(start, min(start + _BLOCK, sentences))
        inside = np.ones(len(tokens), dtype=bool)
        inside[np.cumsum(sizes) - 1] = False
        stream = np.concatenate([rest, tokens[inside]])
        whole = len(stream) // window * window
        if whole:
            yield stream[:whole].reshape(-1, window)
        rest = stream[whole:]
    if len(rest):
        yield rest[None]


def write_slices(source: DataFolder, output: Path, sentences: int, window: int) -> None:
    """A data folder of the same vocabulary, whose text is that of ``source`` in segments.

    ``train`` is cut from its first ``sentences`` of each language, ``valid`` from all. There is no
    parallel text. The folder is valid only when it is complete.

    Raises:
        UserError: if a language has fewer sentences, or ``window`` is not positive.
    """
    if window < 1:
        raise UserError(f"a window must be at least 1 token, got {window}")
    files = {}
    for lang in source.languages:
        for split in SPLITS:
            file = source.mono(split, lang)
            wanted = sentences if split == "train" else len(file)
            if wanted > len(file):
                raise UserError(
                    f"{source.path}: has {len(file)} training sentences of {lang!r}, not {wanted}"
                )
            files[split, lang] = file, wanted
    output.mkdir(parents=True, exist_ok=True)
    for path in source.path.iterdir():
        cuts_text = path.suffix == ".model" or path.match("tokenizer*.json")
        if path.name in source.meta["dictionaries"] or cuts_text:
            shutil.copyfile(path, output / path.name)
    dtype = best_dtype(max(source.vocab_sizes.values()))
    mono: dict[str, dict[str, Any]] = {split: {} for split in SPLITS}
    with progress(sum(count for _, count in files.values()), "slice", "sentences") as bar:
        for (split, lang), (file, count) in files.items():
            stem = output / "mono" / f"{split}.{lang}"
            mono[split][lang] = _write(stem, file, window, count, dtype)
            bar.update(count)
    slices = {"window": window, "sentences": sentences}
    meta = {**source.meta, "mono": mono, "parallel": {}, "anchors": {}, "slices": slices}
    if "files" in meta:
        names = (f"mono/{split}.{lang}.{end}" for split, lang in files for end in ("bin", "idx"))
        kept = {name: one for name, one in meta["files"].items() if (output / name).is_file()}
        meta["files"] = kept | describe_files(output, names)
    write_json(output / "meta.json", meta)


def _write(
    stem: Path, file: TokenFile, window: int, sentences: int, dtype: np.dtype
) -> dict[str, int]:
    """Write one token file; returns its numbers of segments and tokens."""
    whole = rest = 0
    with atomic_write(f"{stem}.bin") as target:
        for block in segments(file, window, sentences):
            ended = np.pad(block, ((0, 0), (0, 1)), constant_values=SEP)
            target.write(ended.astype(dtype).tobytes())
            if block.shape[1] == window:
                whole += len(block)
            else:
                rest = block.shape[1]
    sizes = np.full(whole + bool(rest), window + 1, dtype="<i4")
    if rest:
        sizes[-1] = rest + 1
    write_index(stem, sizes, dtype)
    return {"sentences": len(sizes), "tokens": whole * window + rest}
