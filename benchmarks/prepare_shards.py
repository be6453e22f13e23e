"""Rate, memory and disk of `fairseq-xling prepare --shards`, part by part, and the bill for more.

    python benchmarks/prepare_shards.py [--megabytes 2000] [--shards 8]

Text of two made-up languages is generated: sentences of words with Zipf's frequencies, and a share
of sentence pairs. Every part (the models, then each shard) is one call of `--part`, as the step of
a run makes it, one after the other on one thread. "MB/s" is text by processor seconds of all its
processes; memory is the highest sum of what they hold.

The bill is for `--terabytes` of text in `--languages`, with the same share of sentence pairs, all
with the first language, in shards of `--shard-gigabytes`: what was measured, in proportion to the
text. Of the models only the passes over the text grow with it ("reading", timed alone); what is
learnt on samples does not, but each pair of languages has an aligner of its own.
"""

import argparse
import os
import resource
import tempfile
import time
from itertools import islice
from pathlib import Path

from common import heading, table
from prepare_throughput import BIN, measure, write_corpus, zipf_sentences

from fairseq_xling.core.languages import parse_languages
from fairseq_xling.text.inputs import check_inputs, fingerprint
from fairseq_xling.text.options import PrepareOptions, parse_segmentation
from fairseq_xling.text.shards import cut_text
from fairseq_xling.text.sources import parse_sources
from fairseq_xling.text.vocabulary import draw_lines

PAIR = ("aa", "bb")


def write_text(folder: Path, megabytes: float, parallel: float) -> dict[str, float]:
    """The text as `prepare --from` reads it; its megabytes by kind."""
    for kind in ("mono", "parallel"):
        (folder / kind).mkdir(parents=True)
    for seed, lang in enumerate(PAIR):
        size = megabytes * (1 - parallel) / 2
        write_corpus(folder / "mono" / f"train.{lang}.txt", size, None, seed)
    sides = [folder / "parallel" / f"train.aa-bb.{lang}.txt" for lang in PAIR]
    left, sentences = megabytes * parallel * 1e6, zipf_sentences(len(PAIR))
    with open(sides[0], "w", encoding="utf-8") as a, open(sides[1], "w", encoding="utf-8") as b:
        while left > 0:
            for line in islice(sentences, 1000):
                a.write(line + "\n")
                b.write(" ".join(word[::-1] for word in line.split()) + "\n")
                left -= 2 * (len(line.encode()) + 1)
    return {kind: size_of(folder / kind)[0] / 1e6 for kind in ("mono", "parallel")}


def size_of(folder: Path) -> tuple[int, int]:
    """Bytes and number of the files in a folder."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files), len(files)


def cpu_seconds() -> float:
    """Processor time of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reading_seconds(text: Path, shards: int) -> float:
    """Processor time of the passes of the models over all of the text: digests, checks, where the
    shards begin, and the sample of the vocabulary."""
    languages = parse_languages(",".join(PAIR))
    sources = parse_sources(languages, folder=text)
    options = PrepareOptions(tuple(languages), segment=parse_segmentation([], languages))
    start = time.process_time()
    fingerprint(sources)
    facts = check_inputs(sources, options).facts
    cut_text(sources, facts, shards)
    for lang in languages:
        files = sources.text_of(lang)
        for _ in draw_lines(files, sum(facts[file].lines for file in files), 1, seed=1):
            pass
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--megabytes", type=float, default=8, help="of text to generate (default 8)")
    add("--shards", type=int, default=2, help="(default 2)")
    add("--parallel", type=float, default=0.2, help="share of sentence pairs (default 0.2)")
    add("--vocab-size", type=int, default=8000, help="(default 8000)")
    add("--align-sample", type=float, default=64, help="MB, as of `prepare` (default 64)")
    add("--terabytes", type=float, default=1, help="of the bill (default 1)")
    add("--languages", type=int, default=100, help="of the bill (default 100)")
    add("--shard-gigabytes", type=float, default=2, help="of the bill (default 2)")
    add("--work", type=Path, help="folder for text and shards, which are removed (default: /tmp)")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    print(heading("benchmarks/prepare_shards.py", "cpu"))
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        report(args, Path(folder))


def report(args: argparse.Namespace, work: Path) -> None:
    """Generate, measure and print."""
    text, out = work / "text", work / "out"
    sizes = write_text(text, args.megabytes, args.parallel)
    total = sum(sizes.values())
    command = [str(BIN / "fairseq-xling"), "prepare", str(out), "--languages", ",".join(PAIR)]
    command += ["--from", str(text), "--vocab-size", str(args.vocab_size), "--workers", "1"]
    command += ["--align-sample", str(args.align_sample), "--shards", str(args.shards)]
    rows, spent, peaks, disk = [], [], [], []
    for part in ("models", *(f"shard{number}" for number in range(args.shards))):
        before = cpu_seconds()
        seconds, peak = measure([[*command, "--part", part]])
        cpu = cpu_seconds() - before
        size, count = size_of(out / part)
        mine = total if part == "models" else total / args.shards
        spent.append(cpu)
        peaks.append(peak)
        disk.append(size / 1e6)
        figures = [f"{mine:,.1f}", f"{seconds:.1f}", f"{cpu:.1f}", f"{mine / cpu:.2f}"]
        rows.append([part, *figures, f"{peak:,.0f}", f"{size / 1e6:,.1f}", str(count)])
        print(f"{part} done", flush=True)
    reading = reading_seconds(text, args.shards)
    kinds = ", ".join(f"{size:,.1f} MB {kind}" for kind, size in sizes.items())
    print(f"\n{total:,.1f} MB of text ({kinds}), {args.shards} shards\n")
    header = ["part", "MB of text", "s", "CPU s", "MB/s", "peak MB", "disk MB", "files"]
    rows.append(["reading (of models)", f"{total:,.1f}", "", f"{reading:.1f}"])
    rows[-1] += [f"{total / reading:.2f}", "", "", ""]
    print(table(header, rows))

    scale = args.terabytes * 1e6 / total
    shards = round(args.terabytes * 1e3 / args.shard_gigabytes)
    hours = sum(spent[1:]) * scale / 3600
    learning = max(0.0, spent[0] - reading) / 3600
    passes, pairs = reading * scale / 3600, args.languages - 1
    # Of each language two files of text; of each pair with the first four, and as many of links.
    each = 2 * args.languages + 8 * (args.languages - 1) + 3
    print(
        f"\n{args.terabytes:g} TB of text in {args.languages} languages, {shards:,} shards of "
        f"{args.shard_gigabytes:g} GB:\n\n"
        f"shards: {hours:,.0f} CPU hours, {hours / shards:.2f} each\n"
        f"models: {passes:,.1f} CPU hours of reading, one after the other; at most "
        f"{learning * pairs:,.1f} of learning ({pairs} pairs)\n"
        f"disk: {sum(disk[1:]) * scale / 1e6:,.2f} TB\n"
        f"memory: {max(peaks):,.0f} MB of a step; samples are bounded, and the text is streamed\n"
        f"files: {shards * each:,} ({each:,} of a shard)"
    )


if __name__ == "__main__":
    main()
