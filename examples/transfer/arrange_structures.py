"""Prepare what 5_structures.sh and 6_measures.sh read.

    python examples/transfer/arrange_structures.py vectors TEXT OUT
    python examples/transfer/arrange_structures.py kbp37 DATA OUT --records 4000
    python examples/transfer/arrange_structures.py head RUN OUT --files FILES
    python examples/transfer/arrange_structures.py frames TEXT OUT
    python examples/transfer/arrange_structures.py senses TEXT OUT
    python examples/transfer/arrange_structures.py sense-scores RUN OUT
    python examples/transfer/arrange_structures.py bilstm RUN OUT --files FILES

`vectors` writes word vectors of one space from the dictionaries of the embedded corpus TEXT: a
random vector for each English word; a word of another language has the mean of those of its
translations. It stands for vectors that were mapped by a perfect dictionary. `kbp37` draws records
from each split of DATA/kbp37 (at most that many for training, a quarter for the others, seed 1),
and writes them as they are, and as a text with its label for the head `classification`. `head`
scores the predictions of such a head, the run RUN of `eval transfer` on the folder FILES that
`kbp37` wrote, as `struct matrix` does, and writes them in its form, for its `--compare`. `frames`
writes the events of the embedded corpus TEXT as CoNLL-2009 has predicates: a verb, and its roles at
the head words of those that take part. `senses` writes the same, and as a verb's sense the type of
its agent (PER, VEH, ...; NONE without one): the corpus has no senses, and this one can be read off
the sentence, as those of people and of ships that sail. `sense-scores` counts how many senses the
run RUN of `eval transfer` has found, and how many the most frequent sense of each verb finds.
`bilstm` puts together what `fairseq-xling predict` has scored of baselines on the test files of
RUN, in FILES/SEED/found. Both write results.json of `eval transfer`.
"""

import argparse
import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write, sha256
from fairseq_xling.core.texts import read_lines
from fairseq_xling.papers.transfer.structures import matrix
from fairseq_xling.papers.transfer.structures.data import MatrixConfig, Reader
from fairseq_xling.papers.transfer.structures.fit import micro_scores
from fairseq_xling.papers.transfer.structures.formats import NO_RELATION
from fairseq_xling.papers.transfer.structures.sentence import NONE
from fairseq_xling.papers.transfer.zero_shot import Options, ZeroShot, measurements
from fairseq_xling.reports.page import write_run
from fairseq_xling.reports.record import RESULTS, Record, made, read_record, write_record
from fairseq_xling.reports.rows import GIVEN, distinct, select
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.formats.conll09 import FramesItem
from fairseq_xling.tasks.heads.srl import sense_number
from fairseq_xling.tasks.items import parse_files

Scores = dict[int, dict[str, dict[str, float]]]  # by seed and language

_WHAT = ("vectors", "kbp37", "head", "frames", "senses", "sense-scores", "bilstm")
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
    record, test = finished(run), files / "test.txt"
    gold = Reader("relations", "kbp37", needs_trees=False).read("en", test).gold
    trainings: list[dict[str, Any]] = []
    for path in sorted((run / "predictions").glob("*/*/en.tsv")):
        labels = [line.rsplit("\t", 1)[1] for line in read_lines(path)]
        found = micro_scores([NONE if one == NO_RELATION else one for one in labels], gold)
        seed = int(path.parent.name.rsplit("-", 1)[1])
        trainings.append({"network": "classification head", "variant": "", "row": "en",
                          "seed": seed, "epoch": 0,
                          "scores": {"en.test.txt": found.values()}})  # fmt: skip
    sources, languages = {"en": ["en"]}, {"en.test.txt": "en"}
    read = {"train en0": "train.txt", "valid en0": "dev.txt", "test en.test.txt": "test.txt"}
    inputs = {
        role: {"path": str(files / name), "sha256": sha256(files / name)}
        for role, name in read.items()
    }
    config = record.config
    notes = [
        "micro F1 in percent, pairs without a label not counted, mean ± standard deviation over "
        f"seeds {config['seeds']}"
    ]
    rows = matrix.measurements(trainings, sources, languages, {})
    about = (
        f"Head `{config['head']}` on the text with its marks, the encoder fine-tuned with it; "
        f"learning rate {config['lrs']}, batches of {config['batch_sizes']}, {config['epochs']} "
        "epochs, of which the one with the best accuracy on dev is tested; "
        f"{config['precision']}."
    )
    scored = dataclasses.replace(
        matrix.matrix_record(rows, MatrixConfig(task="relations"), notes),
        title="Classification head: relations",
        config={"task": "relations", "seeds": config["seeds"]},
        facts={"about": about},
        provenance={**record.provenance, "inputs": inputs},
    )
    write_record(output / RESULTS, scored)


def finished(run: Path) -> Record:
    """The record of a run."""
    if not (run / RESULTS).is_file():
        raise UserError(f"{run}: contains no finished run (no {RESULTS})")
    return read_record(run)


def arrange_frames(text: Path, output: Path, senses: bool) -> None:
    """frames.{SPLIT}.{LANG}.conll of each file of structures."""
    for path in sorted((text / "gold").glob("structures.*.jsonl")):
        _, split, lang, _ = path.name.split(".")
        with atomic_write(output / f"frames.{split}.{lang}.conll", "w") as file:
            for line in read_lines(path):
                file.write(frames_of(json.loads(line), senses) + "\n")


def frames_of(structure: dict[str, Any], senses: bool) -> str:
    """The lines of a sentence in CoNLL-2009; all verbs have one sense unless ``senses``."""
    words, heads = structure["words"], structure["heads"]
    verbs = [trigger["span"][0] for trigger in structure["triggers"]]
    order = sorted(range(len(verbs)), key=verbs.__getitem__)  # columns follow the verbs
    roles, acting = [["_"] * len(verbs) for _ in words], dict.fromkeys(verbs, "NONE")
    for argument in structure["arguments"]:
        entity = structure["entities"][argument["entity"]]
        if argument["role"] == "Agent":
            acting[verbs[argument["trigger"]]] = entity["type"]
        first, end = entity["span"]
        own = range(first, end)
        (head,) = (place for place in own if heads[place] - 1 not in own)
        roles[head][order.index(argument["trigger"])] = argument["role"]
    rows = []
    for place, (word, pos) in enumerate(zip(words, structure["upos"], strict=True)):
        fill = ["_", "_"]
        if place in verbs:
            fill = ["Y", f"{word}.{acting[place] if senses else '01'}"]
        row = [str(place + 1), word, word, word, pos, pos, *"______", *fill, *roles[place]]
        rows.append("\t".join(row) + "\n")
    return "".join(rows)


def arrange_sense_scores(run: Path, output: Path) -> None:
    """Two rows: the senses that were predicted, and the most frequent one of each verb."""
    record = finished(run)
    read = {option: dict(parse_files(option, ",".join(record.config[option])))
            for option in ("train", "test")}  # fmt: skip
    seen = [one for path in read["train"].values() for one in senses_in(Path(path))]
    common = Counter(number for _, number in seen).most_common(1)[0][0]
    of_verb = {
        verb: Counter(number for other, number in seen if other == verb).most_common(1)[0][0]
        for verb in {verb for verb, _ in seen}
    }
    gold = {lang: senses_in(Path(path)) for lang, path in read["test"].items()}
    usual = {
        lang: accuracy([of_verb.get(verb, common) for verb, _ in own], own)
        for lang, own in gold.items()
    }
    found: dict[str, Scores] = {"predicted": {}, "most frequent": {}}
    for folder in sorted((run / "predictions").glob("*/*")):
        seed = int(folder.name.rsplit("-", 1)[1])
        found["most frequent"][seed] = usual
        found["predicted"][seed] = {
            lang: accuracy([number for _, number in senses_in(folder / f"{lang}.conll09")], own)
            for lang, own in gold.items()
        }
    config = {**record.config, "metric": "accuracy"}
    record = dataclasses.replace(record, title="Senses of predicates", config=config)
    write_scores(record, output, found, {"run": run / RESULTS})


def senses_in(path: Path) -> list[tuple[str, str]]:
    """The verb and the sense number of each predicate."""
    items = (item for item in formats["conll09"].read(path, {}) if isinstance(item, FramesItem))
    return [
        (verb, sense_number(sense))
        for item in items
        for verb, sense in zip(item.lemmas, item.senses, strict=True)
    ]


def accuracy(found: list[str], gold: list[tuple[str, str]]) -> dict[str, float]:
    """In percent."""
    right = sum(a == b for a, (_, b) in zip(found, gold, strict=True))
    return {"accuracy": 100 * right / len(gold)}


def arrange_bilstm(run: Path, output: Path, files: Path, epochs: int) -> None:
    """One row, of all seeds in ``files``."""
    record, found, inputs = finished(run), {}, {}
    for path in sorted(files.glob("*/found/scores.json")):
        seed = path.parts[-3]
        rows = read_record(path).rows
        found[int(seed)] = {
            lang: {row["measure"]: row["value"] for row in select(rows, {"target": lang})}
            for lang in distinct(rows, "target")
        }
        inputs[f"scores of seed {seed}"] = path
    kept = {name: record.config[name] for name in ("head", "train", "valid", "test", "seeds")}
    given = {"lrs": "2e-3", "batch_sizes": "32", "epochs": epochs, "precision": "fp32"}
    record = dataclasses.replace(record, config={**kept, **given})
    write_scores(record, output, {"BiLSTM": found}, inputs)


def write_scores(
    like: Record, output: Path, found: dict[str, Scores], inputs: dict[str, Path]
) -> None:
    """A record in the form of that of a run, with its title and files."""
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in like.config.items()}
    config = Options(**settings)
    languages = distinct(select(like.rows, {"part": "test", "target": GIVEN}), "target")
    results = [
        {
            "name": name,
            "encoder": name,
            "sources": like.rows[0]["source"].split("+"),
            "how": "",
            "trained": "zero-shot",
            "languages": languages,
            "metric": config.figure,
            "dev": [],
            "tests": [
                {"seed": seed, "setting": "", "scores": scores}
                for seed, scores in sorted(by_seed.items())
            ],
        }
        for name, by_seed in found.items()
    ]
    rows = [row for one in results for row in measurements(one)]
    record = dataclasses.replace(ZeroShot().record(rows, config), title=like.title)
    output.mkdir(parents=True, exist_ok=True)
    write_run(output, made(record, inputs))


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=_WHAT)
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument("--files", type=Path, help="of `head` and `bilstm`")
    parser.add_argument("--epochs", type=int, help="of `bilstm`", default=16)
    args = parser.parse_args()
    if args.what == "vectors":
        arrange_vectors(args.source, args.output)
    elif args.what == "head":
        arrange_head(args.source, args.output, args.files)
    elif args.what in ("frames", "senses"):
        arrange_frames(args.source, args.output, args.what == "senses")
    elif args.what == "sense-scores":
        arrange_sense_scores(args.source, args.output)
    elif args.what == "bilstm":
        arrange_bilstm(args.source, args.output, args.files, args.epochs)
    else:
        arrange_kbp37(args.source, args.output, args.records)


if __name__ == "__main__":
    main()
