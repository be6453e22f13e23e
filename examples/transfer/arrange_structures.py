"""Prepare what 5_structures.sh and 6_measures.sh read.

    python examples/transfer/arrange_structures.py vectors TEXT OUT
    python examples/transfer/arrange_structures.py kbp37 DATA OUT --records 4000
    python examples/transfer/arrange_structures.py head RUN OUT --files FILES
    python examples/transfer/arrange_structures.py frames TEXT OUT

`vectors` writes word vectors of one space from the dictionaries of the embedded corpus TEXT: a
random vector for each English word; a word of another language has the mean of those of its
translations. It stands for vectors that were mapped by a perfect dictionary. `kbp37` draws records
from each split of DATA/kbp37 (at most that many for training, a quarter for the others, seed 1),
and writes them as they are, and as a text with its label for the head `classification`. `head`
scores the predictions of such a head, the run RUN of `eval transfer` on the folder FILES that
`kbp37` wrote, as `struct matrix` does, and writes them in its form, for its `--compare`. `frames`
writes the events of the embedded corpus TEXT as CoNLL-2009 has predicates: a verb, and its roles at
the head words of those that take part.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.files import atomic_write, read_json, read_lines, sha256, write_json
from fairseq_xling.results.statistics import mean_and_spread
from fairseq_xling.structures.data import Reader
from fairseq_xling.structures.formats.tacred import NO_RELATION
from fairseq_xling.structures.scores import micro_scores
from fairseq_xling.structures.sentence import NONE

_WIDTH = 100


def arrange_vectors(text: Path, output: Path) -> None:
    """{LANG}.vec for English and the language of each dictionary."""
    pairs = {}
    for path in sorted((text / "dictionary").glob("en-*.tsv")):
        pairs[path.stem[3:]] = [line.split("\t")[:2] for line in read_lines(path)]
    english = sorted({source for rows in pairs.values() for source, _ in rows})
    drawn = np.random.default_rng(1).normal(size=(len(english), _WIDTH)) / 10
    vectors = dict(zip(english, drawn, strict=True))
    write_vectors(output / "en.vec", vectors)
    for lang, rows in pairs.items():
        sources: dict[str, list[str]] = {}
        for source, word in rows:
            sources.setdefault(word, []).append(source)
        means = {w: np.mean([vectors[s] for s in own], axis=0) for w, own in sources.items()}
        write_vectors(output / f"{lang}.vec", means)


def write_vectors(path: Path, vectors: dict[str, np.ndarray]) -> None:
    """Words of several words cannot stand in such a file."""
    with atomic_write(path, "w") as file:
        for word, values in vectors.items():
            if " " not in word:
                file.write(f"{word} {' '.join(f'{value:.4f}' for value in values)}\n")


def arrange_kbp37(data: Path, output: Path, records: int) -> None:
    """{train,dev,test}.txt and .tsv."""
    for split, most in (("train", records), ("dev", records // 4), ("test", records // 4)):
        lines = list(read_lines(data / "kbp37" / f"{split}.txt.gz"))
        starts = [n for n, line in enumerate(lines[:-1]) if "\t" in line]
        rng = np.random.default_rng(1)
        chosen = np.sort(rng.choice(len(starts), min(most, len(starts)), replace=False))
        kept = [(lines[starts[n]], lines[starts[n] + 1].strip()) for n in chosen]
        with atomic_write(output / f"{split}.txt", "w") as file:
            file.writelines(f"{text}\n{label}\n\n\n" for text, label in kept)
        with atomic_write(output / f"{split}.tsv", "w") as file:
            texts = (text.split("\t", 1)[1].strip().strip('"').strip() for text, _ in kept)
            file.writelines(f"{x}\t{label}\n" for x, (_, label) in zip(texts, kept, strict=True))


def arrange_head(run: Path, output: Path, files: Path) -> None:
    """results.json of `struct matrix`, of one training set and test file."""
    if not (run / "results.json").is_file():
        raise UserError(f"{run}: contains no finished run (no results.json)")
    record, test = read_json(run / "results.json"), files / "test.txt"
    gold = Reader("relations", "kbp37", needs_trees=False).read("en", test).gold
    structures = []
    for path in sorted((run / "predictions").glob("*/*/en.tsv")):
        labels = [line.rsplit("\t", 1)[1] for line in read_lines(path)]
        found = micro_scores([NONE if one == NO_RELATION else one for one in labels], gold)
        scores = {"en.test.txt": {"language": "en", "sha256": sha256(test), **found.values()}}
        seed = int(path.parent.name.rsplit("-", 1)[1])
        structures.append({"network": "classification head", "variant": "", "row": "en",
                           "seed": seed, "epoch": 0, "scores": scores})  # fmt: skip
    f1 = [100 * one["scores"]["en.test.txt"]["f1"] for one in structures]
    read = {"train en0": "train.txt", "valid en0": "dev.txt", "test en.test.txt": "test.txt"}
    inputs = {
        role: {"path": str(files / name), "sha256": sha256(files / name)}
        for role, name in read.items()
    }
    config = record["config"]
    write_json(output / "results.json", {
        "title": "Classification head: relations",
        "config": {"task": "relations", "seeds": config["seeds"]},
        "facts": f"Head `{config['head']}` on the text with its marks, the encoder fine-tuned with "
                 f"it; learning rate {config['lrs']}, batches of {config['batch_sizes']}, "
                 f"{config['epochs']} epochs, of which the one with the best accuracy on dev is "
                 f"tested; {config['precision']}.",
        "header": ["model", "trained on", "en"],
        "rows": [["classification head", "en", mean_and_spread(f1, 1)]],
        "notes": ["micro F1 in percent, pairs without a label not counted, mean ± standard "
                  f"deviation over seeds {config['seeds']}"],
        "sources": {"en": ["en"]},
        "languages": {"en.test.txt": "en"},
        "structures": structures,
        "majority": {},
        "provenance": {**record["provenance"], "inputs": inputs},
    })  # fmt: skip


def arrange_frames(text: Path, output: Path) -> None:
    """frames.{SPLIT}.{LANG}.conll of each file of structures."""
    for path in sorted((text / "gold").glob("structures.*.jsonl")):
        _, split, lang, _ = path.name.split(".")
        with atomic_write(output / f"frames.{split}.{lang}.conll", "w") as file:
            for line in read_lines(path):
                file.write(frames_of(json.loads(line)) + "\n")


def frames_of(structure: dict[str, Any]) -> str:
    """The lines of a sentence in CoNLL-2009."""
    words, heads = structure["words"], structure["heads"]
    verbs = [trigger["span"][0] for trigger in structure["triggers"]]
    order = sorted(range(len(verbs)), key=verbs.__getitem__)  # columns follow the verbs
    roles = [["_"] * len(verbs) for _ in words]
    for argument in structure["arguments"]:
        first, end = structure["entities"][argument["entity"]]["span"]
        own = range(first, end)
        (head,) = (place for place in own if heads[place] - 1 not in own)
        roles[head][order.index(argument["trigger"])] = argument["role"]
    rows = []
    for place, (word, pos) in enumerate(zip(words, structure["upos"], strict=True)):
        verb = place in verbs
        fill = ["Y", f"{word}.01"] if verb else ["_", "_"]
        row = [str(place + 1), word, word, word, pos, pos, *"______", *fill, *roles[place]]
        rows.append("\t".join(row) + "\n")
    return "".join(rows)


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["vectors", "kbp37", "head", "frames"])
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument("--files", type=Path, help="of `head`")
    args = parser.parse_args()
    if args.what == "vectors":
        arrange_vectors(args.source, args.output)
    elif args.what == "head":
        arrange_head(args.source, args.output, args.files)
    elif args.what == "frames":
        arrange_frames(args.source, args.output)
    else:
        arrange_kbp37(args.source, args.output, args.records)


if __name__ == "__main__":
    main()
