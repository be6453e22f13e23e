"""Speed and memory of `fairseq-xling prepare` and of sentencepiece + `fairseq-preprocess`.

    python benchmarks/prepare_throughput.py [--text FILE.gz ...] [--megabytes 40] [--large 200]

The peer is what users of fairseq do: learn one sentencepiece model, encode every file to pieces,
number them with `fairseq-preprocess --workers 2`. Both learn the same kind of model on the same
megabytes of text; times are wall clock, from plain text to binarised files. Peak memory is that of
the whole process tree, for a small and a large corpus.

Without --text, sentences of made-up words with Zipf's frequencies are used.
"""

import argparse
import gzip
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
import psutil

BIN = Path(sys.executable).parent
VOCAB_SIZE, SAMPLE_MB, WORKERS = 8000, 8, 2

# sentencepiece as a user calls it: learn on as much text as `prepare` does, encode line by line.
SPM = """
import sys
import sentencepiece
model, vocab_size, budget, *files = sys.argv[1:]
def sample():
    left = int(budget)
    share = left // (len(files) // 2)
    for name in files[::2]:
        left = share
        with open(name, encoding="utf-8", newline="\\n") as file:
            for line in file:
                left -= len(line.encode())
                if left < 0:
                    break
                yield line.rstrip("\\n")
sentencepiece.SentencePieceTrainer.train(sentence_iterator=sample(), model_prefix=model,
    vocab_size=int(vocab_size), model_type="bpe", character_coverage=1.0, num_threads=2,
    max_sentence_length=1 << 30, minloglevel=2)
processor = sentencepiece.SentencePieceProcessor(model_file=model + ".model")
for name, output in zip(files[::2], files[1::2]):
    out = open(output, "w", encoding="utf-8")
    with out, open(name, encoding="utf-8", newline="\\n") as file:
        for line in file:
            out.write(" ".join(processor.encode(line.rstrip("\\n"), out_type=str)) + "\\n")
"""


def zipf_sentences(seed: int, words: int = 100_000) -> Iterator[str]:
    """Endless sentences of 5 to 40 made-up words whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyzäöüß"))
    lengths = rng.integers(1, 5, words) + rng.integers(0, 8, words)
    lexicon = ["".join(rng.choice(letters, n)) for n in lengths]
    chance = 1 / np.arange(1, words + 1)
    edges = np.cumsum(chance / chance.sum())
    while True:
        sizes = rng.integers(5, 40, 1000)
        picks = np.searchsorted(edges, rng.random(int(sizes.sum())))
        start = 0
        for size in sizes.tolist():
            yield " ".join(lexicon[i] for i in picks[start : start + size].tolist() if i < words)
            start += size


def write_corpus(path: Path, megabytes: float, source: Path | None, seed: int) -> None:
    """``megabytes`` of text, from ``source`` (over and over) or made up."""
    left = megabytes * 1e6
    if source is None:
        lines: Iterator[str] = zipf_sentences(seed)
    else:
        opened = gzip.open if source.suffix == ".gz" else open
        with opened(source, "rt", encoding="utf-8", newline="\n") as file:
            lines = cycle([line.rstrip("\n") for line in file])
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
            left -= len(line.encode()) + 1
            if left <= 0:
                return


def measure(commands: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Seconds and peak megabytes (resident, process tree) of ``commands`` one after the other."""
    start, peak = time.perf_counter(), 0
    for command in commands:
        process = subprocess.Popen(
            list(command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        root = psutil.Process(process.pid)
        while process.poll() is None:
            total = 0
            try:
                for each in (root, *root.children(recursive=True)):
                    total += each.memory_info().rss
            except psutil.NoSuchProcess:
                continue
            peak = max(peak, total)
            time.sleep(0.02)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed: {process.stderr.read()[-500:]}")
    return time.perf_counter() - start, peak / 1e6


def ours(texts: dict[str, Path], out: Path) -> list[list[str]]:
    """The command of `fairseq-xling prepare`."""
    mono = [f"--mono=train.{lang}={path}" for lang, path in texts.items()]
    languages = ",".join(texts)
    command = [str(BIN / "fairseq-xling"), "prepare", str(out), "--languages", languages, *mono]
    command += ["--vocab-size", str(VOCAB_SIZE), "--vocab-sample", str(SAMPLE_MB)]
    return [[*command, "--workers", str(WORKERS)]]


def peer(texts: dict[str, Path], out: Path) -> list[list[str]]:
    """The commands of sentencepiece and fairseq-preprocess."""
    out.mkdir()
    pieces = {lang: out / f"pieces.{lang}" for lang in texts}
    files = [str(x) for lang in texts for x in (texts[lang], pieces[lang])]
    budget = str(int(SAMPLE_MB * 1e6))
    commands = [[sys.executable, "-c", SPM, str(out / "spm"), str(VOCAB_SIZE), budget, *files]]
    dictionary = out / "dict.txt"
    code = (
        "import sys; names = [x.split('\\t')[0] for x in open(sys.argv[1], encoding='utf-8')]; "
        "open(sys.argv[2], 'w', encoding='utf-8').writelines(f'{x} 1\\n' for x in names[3:])"
    )
    commands.append([sys.executable, "-c", code, str(out / "spm.vocab"), str(dictionary)])
    for lang in texts:
        command = [str(BIN / "fairseq-preprocess"), "--only-source", "--workers", str(WORKERS)]
        command += ["--trainpref", str(pieces[lang]), "--srcdict", str(dictionary)]
        commands.append([*command, "--destdir", str(out / lang)])
    return commands


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", nargs="*", type=Path, default=[], help="files, one a language")
    parser.add_argument("--megabytes", type=float, default=40, help="for speed (default 40)")
    parser.add_argument("--small", type=float, default=10, help="MB, for memory (default 10)")
    parser.add_argument("--large", type=float, default=200, help="MB, for memory (default 200)")
    args = parser.parse_args()
    sources = dict(zip(("aa", "bb", "cc"), args.text or [None, None], strict=False))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)

        def corpus(megabytes: float) -> dict[str, Path]:
            texts = {lang: work / f"{lang}.txt" for lang in sources}
            for seed, (lang, source) in enumerate(sources.items()):
                write_corpus(texts[lang], megabytes / len(sources), source, seed)
            return texts

        texts = corpus(args.megabytes)
        print(f"{args.megabytes:g} MB in {len(texts)} languages, {WORKERS} workers, 2 passes")
        print(f"{'':34}{'s':>8}{'MB/s':>8}{'peak MB':>9}")
        for _ in range(2):
            for name, commands in (
                ("fairseq-xling prepare", ours),
                ("sentencepiece + fairseq-preprocess", peer),
            ):
                out = work / "out"
                seconds, peak = measure(commands(texts, out))
                shutil.rmtree(out)
                print(f"{name:34}{seconds:8.1f}{args.megabytes / seconds:8.2f}{peak:9.0f}")
        peaks = []
        for megabytes in (args.small, args.large):
            out = work / "out"
            seconds, peak = measure(ours(corpus(megabytes), out))
            shutil.rmtree(out)
            peaks.append(peak)
            print(f"prepare of {megabytes:4g} MB: {seconds:6.1f} s, peak {peak:.0f} MB")
        print(f"peak memory, large over small: {peaks[1] / peaks[0]:.3f}")


if __name__ == "__main__":
    main()
