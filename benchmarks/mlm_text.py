"""Text for `mlm_throughput`: one tokenised corpus in the layouts of both fairseq tasks."""

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import sentencepiece

from fairseq_xling.core.files import atomic_write, read_json, sha256, write_json
from fairseq_xling.core.texts import read_lines
from fairseq_xling.data.folder import SEP, SPECIALS
from fairseq_xling.data.meta import FORMAT
from fairseq_xling.data.mmap import TokenFile, best_dtype, write_items

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def generated_lines(count: int, seed: int) -> Iterator[str]:
    """``count`` lines of 3 to 40 made-up words, for trying the benchmark without a corpus."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(LETTERS, k=rng.randint(2, 9))) for _ in range(2000)]
    for _ in range(count):
        yield " ".join(rng.choices(words, k=rng.randint(3, 40)))


def prepare(
    folder: Path, texts: Sequence[tuple[str, Path]], vocab: int, longest: int, lines: int
) -> None:
    """Tokenise ``texts``, (language, file) pairs, with one vocabulary; done once per folder.

    ``<folder>`` becomes a data folder of ours, and ``<folder>/stock`` what fairseq's own
    ``masked_lm`` reads: the same sentences in one file under the same dictionary. Lines are cut at
    ``longest`` tokens with CLS and SEP, so no system has to cut them in its own way.
    """
    settings = {
        "texts": [[lang, file.name, sha256(file)] for lang, file in texts],
        "vocab": vocab,
        "longest": longest,
        "lines": lines,
    }
    if (folder / "meta.json").is_file() and read_json(folder / "meta.json")["settings"] == settings:
        return
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "sentencepiece.model"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(
            line for _, file in texts for line in islice(read_lines(file), min(lines, 40000))
        ),
        model_prefix=str(model.with_suffix("")),
        vocab_size=vocab,
        model_type="bpe",
        hard_vocab_limit=False,
        bos_id=-1,
        eos_id=-1,
        minloglevel=1,
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    symbols = ["<mask>", "<null>", *map(pieces.id_to_piece, range(1, len(pieces)))]
    for place in (folder, folder / "stock"):
        with atomic_write(place / "dict.txt", "w") as file:
            file.writelines(f"{symbol} 1\n" for symbol in symbols)
    dtype = best_dtype(len(symbols) + 4)
    counts = {}
    for lang, source in texts:
        # sentencepiece's 0 is its unknown; fairseq's is 3, and the first piece follows the specials
        encoded = (
            np.array([*(i + SPECIALS - 1 if i else 3 for i in ids), SEP])
            for line in islice(read_lines(source), lines)
            if (ids := pieces.encode(line)[: longest - 2])
        )
        write_items(folder / "mono" / f"train.{lang}", encoded, dtype)
        file = TokenFile(folder / "mono" / f"train.{lang}")
        counts[lang] = {"sentences": len(file), "tokens": len(file.tokens)}
    files = [TokenFile(folder / "mono" / f"train.{lang}") for lang, _ in texts]
    everything = (file[i] for file in files for i in range(len(file)))
    write_items(folder / "stock" / "train", everything, dtype)
    write_json(
        folder / "meta.json",
        {
            "format": FORMAT,
            "languages": [lang for lang, _ in texts],
            "mono": {"train": counts},
            "dictionaries": {"dict.txt": sha256(folder / "dict.txt")},
            "settings": settings,
        },
    )
