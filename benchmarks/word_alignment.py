#!/usr/bin/env python
"""Word alignment against links drawn by hand: encoders, fast_align, and chance.

    python benchmarks/word_alignment.py --gold zhen.src-tgt.gz zhen.gold.gz --pairs pairs.tsv.gz:1,0
    python benchmarks/word_alignment.py ... --updates 50 --seeds 1        # to try it out

Encoders are trained from scratch on ``--pairs`` by MLM alone, and by MLM and TLM. Another is
``--source``, an encoder of English: each piece of Chinese gets the mean of the embeddings that
fast_align links it with in the pairs (`fairseq-xling embed link`), and nothing is trained. Its
layer is the middle one. fast_align learns from the same pairs and the text of the gold links. All
read Chinese characters one by one; a word is linked if one of its characters is. Chance links each
word of the longer side to a random one of the other, and to the one at the same place. AER is
1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|) (Och and Ney, 2003) in percent: S are the sure links, P those
and the possible ones.
"""

import argparse
import gzip
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from common import heading, table

from fairseq_xling import USER_DIR

BIN = Path(sys.executable).parent
HERE = Path(__file__).resolve().parent
LANGUAGES = ("zh", "en")
TRAIN = (
    "--task bilingual_mlm --sample-break-mode sentence --criterion unified_lm --optimizer adam "
    "--adam-betas (0.9,0.98) --lr 1e-3 --lr-scheduler inverse_sqrt --warmup-updates 400 "
    "--arch separable_transformer_tiny --encoder-embed-dim 128 --encoder-ffn-embed-dim 512 "
    "--max-tokens 2048 --no-epoch-checkpoints "
    "--disable-validation --dropout 0.1 --mono-text parallel"
)
OBJECTIVES = {"MLM": "mlm", "MLM and TLM": "mlm,tlm"}
METHODS = ("intersection", "itermax")
Links = set[tuple[int, int]]


def aer(found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links]) -> float:
    """In percent; ``possible`` has the sure links, too.

    >>> aer([{(0, 0), (1, 1)}], [{(0, 0)}], [{(0, 0), (1, 1)}])
    0.0
    >>> aer([{(0, 1)}], [{(0, 0)}], [{(0, 0)}])
    100.0
    """
    right = wanted = 0
    for a, s, p in zip(found, sure, possible, strict=True):
        right += len(a & s) + len(a & p)
        wanted += len(a) + len(s)
    return 100 * (1 - right / wanted)


def characters(words: Iterable[str]) -> tuple[list[str], list[int]]:
    """The Chinese characters and other runs of words, and the word that each stands in.

    >>> characters(["土卫六", "NASA"])
    (['土', '卫', '六', 'NASA'], [0, 0, 0, 1])
    """
    parts, places = [], []
    for place, word in enumerate(words):
        for part in re.findall(r"[\u3400-\u9fff]|[^\u3400-\u9fff]+", word):
            parts.append(part)
            places.append(place)
    return parts, places


def opened(path: str) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def gold(text: str, links: str) -> tuple[list[list[list[str]]], list[Links], list[Links]]:
    """Words of both sides of each pair, its sure links, and its sure and possible ones."""
    pairs = [[side.split() for side in line.split("|||")] for line in opened(text)]
    sure, possible = [], []
    for line in opened(links):
        each = [re.fullmatch(r"(\d+)([-p])(\d+)", link) for link in line.split()]
        every = [(int(m[1]) - 1, int(m[3]) - 1, m[2]) for m in each]
        sure.append({(i, j) for i, j, kind in every if kind == "-"})
        possible.append({(i, j) for i, j, _ in every})
    return pairs, sure, possible


def by_chance(pairs: Iterable[Sequence[Sequence[str]]], rng: random.Random | None) -> list[Links]:
    """Each word of the longer side linked to one of the other: a random one, or by its place."""
    found = []
    for one, other in pairs:
        count, of = max(len(one), len(other)), min(len(one), len(other))
        ends = [rng.randrange(of) if rng else place * of // count for place in range(count)]
        links = enumerate(ends) if len(one) == count else zip(ends, range(count), strict=True)
        found.append(set(links))
    return found


def run(*words: object) -> None:
    command = [str(BIN / str(words[0])), *map(str, words[1:])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")


def read_links(path: Path, places: Sequence[Sequence[int]], last: int) -> list[Links]:
    """The links of the last lines of a file, by words of the first side."""
    lines = path.read_text().splitlines()[-last:]
    return [
        {(where[int(i)], int(j)) for i, j in (link.split("-") for link in line.split())}
        for line, where in zip(lines, places, strict=True)
    ]


def systems(args: argparse.Namespace) -> Iterator[tuple[str, list[float]]]:
    pairs, sure, possible = gold(*args.gold)
    work: Path = args.work
    work.mkdir(parents=True, exist_ok=True)
    split = [characters(one) for one, _ in pairs]
    places, count = [where for _, where in split], len(pairs)
    sides = [[" ".join(parts) for parts, _ in split], [" ".join(other) for _, other in pairs]]
    path, _, columns = args.pairs.rpartition(":")
    first, second = (int(one) for one in columns.split(","))
    rows = [line.split("\t") for line in opened(path)]
    # English of the gold text is in lower case, and its punctuation set off.
    train = [[" ".join(characters("".join(row[first].split()))[0]) for row in rows]]
    train.append([" ".join(re.findall(r"\w+|[^\w\s]", row[second].lower())) for row in rows])
    for lang, text, more in zip(LANGUAGES, train, sides, strict=True):
        (work / f"train.{lang}").write_text("\n".join(text) + "\n", encoding="utf-8")
        (work / f"gold.{lang}").write_text("\n".join(more) + "\n", encoding="utf-8")
        (work / f"all.{lang}").write_text("\n".join([*text, *more]) + "\n", encoding="utf-8")

    def sides_of(name: str) -> list[Path]:
        return [work / f"{name}.{lang}" for lang in LANGUAGES]

    yield (
        "chance: random words",
        [aer(by_chance(pairs, random.Random(seed)), sure, possible) for seed in args.seeds],
    )
    yield "chance: the same place", [aer(by_chance(pairs, None), sure, possible)]
    for kind in ("intersection", "gdfa"):
        output = work / f"fast_align.{kind}"
        run("fairseq-xling", "align", kind, *sides_of("all"), "--output", output)
        yield f"fast_align, {kind}", [aer(read_links(output, places, count), sure, possible)]
    data, both = work / "data", ",".join(LANGUAGES)
    prepare = ["fairseq-xling", "prepare", "--languages", both, "--vocab", "joint"]
    prepare += ["--vocab-size", args.vocab_size, "--parallel"]
    prepare += ["train.zh-en=" + ",".join(str(work / f"train.{lang}") for lang in LANGUAGES)]

    def links_of(model: Path, method: str, layer: int, *more: object) -> float:
        output, texts = work / f"{model.parent.name}.{method}", sides_of("gold")
        command = ("fairseq-xling", "align", method, *texts, "--encoder", model, *more)
        run(*command, "--languages", both, "--layer", layer, "--output", output)
        return aer(read_links(output, places, count), sure, possible)

    if args.source:
        linked = work / "linked"
        vectors, start = linked / "source.safetensors", linked / "init.pt"
        if not start.exists():
            run(*prepare, linked / "data", "--vocab-type", "wordpiece")
            run("fairseq-xling", "init", args.source, "--source-vectors", vectors)
            pair = ("--pair", "en-zh", "--source-vectors", vectors)
            rows = linked / "linked.safetensors"
            run("fairseq-xling", "embed", "link", linked / "data", *pair, "--output", rows)
            options = ("--keep-norms", "--copy-shared", "--no-trilayer", "--max-positions", 256)
            given = ("--data", linked / "data", "--vectors", rows, "--output", start)
            run("fairseq-xling", "init", args.source, *given, *options)
        for method in METHODS:
            found = links_of(start, method, args.source_layer, "--data", linked / "data")
            yield f"{Path(args.source).name}, Chinese linked, {method}", [found]
    if not (data / "meta.json").exists():
        run(*prepare, data, "--aligner", "none")
    for name, objectives in OBJECTIVES.items():
        for method in METHODS:
            scores = []
            for seed in args.seeds:
                model = work / f"{objectives.replace(',', '-')}-{seed}"
                last = model / "checkpoint_last.pt"
                if not last.exists():
                    run(
                        *("fairseq-train", data, "--user-dir", USER_DIR, *TRAIN.split()),
                        *("--objectives", objectives, "--max-update", args.updates),
                        *("--seed", seed, "--save-dir", model),
                    )
                scores.append(links_of(last, method, args.layer))
            yield f"encoder, {name}, {method}", scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gold", nargs=2, required=True, metavar="FILE", help="text, and links")
    parser.add_argument("--pairs", required=True, metavar="FILE:COLUMN,COLUMN", help="TSV")
    parser.add_argument("--source", help="folder of an encoder of English, e.g. MiniLM's")
    parser.add_argument("--source-layer", type=int, default=3, help="the middle one of six")
    parser.add_argument("--updates", type=int, default=3000, help="of each encoder")
    parser.add_argument("--layer", type=int, default=3, help="of the encoder's four")
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--seeds", default="1,2,3", help="of encoders and of chance")
    parser.add_argument("--work", type=Path, default=HERE.parent / "runs" / "word-alignment")
    args = parser.parse_args()
    args.seeds = [int(seed) for seed in args.seeds.split(",")]
    print(heading("word_alignment.py", "cpu"))
    rows = []
    for name, scores in systems(args):
        spread = f" ({min(scores):.1f} to {max(scores):.1f})" if len(scores) > 1 else ""
        rows.append([name, f"{sum(scores) / len(scores):.1f}{spread}"])
        print(*rows[-1], flush=True)
    print(table(["system", "AER, %"], rows))


if __name__ == "__main__":
    main()
