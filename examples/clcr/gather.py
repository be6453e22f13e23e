"""Put what the models of a study found into one record, RUN/results.json, and print its tables.

    python examples/clcr/gather.py RUN --languages de,zh --seeds 1,2,3

RUN is the folder of a script of this folder. Figures are means over seeds, with their standard
deviation; the paper's numbers are shown next to them. RUN/measures gets a copy of what each verb
found, of the first seed where it reads one model: a report is made of them.
"""

import argparse
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.files import read_json, write_json
from fairseq_xling.papers.clcr.modules.extract import SHARES
from fairseq_xling.provenance import provenance
from fairseq_xling.results.frame import frame_from_json, split
from fairseq_xling.results.statistics import mean_and_spread
from fairseq_xling.results.tables import text_table
from fairseq_xling.runs.training_log import read_curves
from fairseq_xling.studies.examples_page import table_section
from fairseq_xling.verbs.parts.probe_result import scores_of

Table = dict[str, Any]  # title, header, rows, notes; figure: its title, and file within the run
# What a verb found for a pair of languages, by its name in RUN/measures.
MEASURES = {
    "curves": "{lang}/curves.json",
    "conditions": "{lang}/conditions.json",
    "keypoints": "{lang}/seed{seed}/keypoints-confident-labels.json",
    "order": "{lang}/seed{seed}/order-labels.json",
    "roles": "{lang}/roles/results.json",
    "nli": "{lang}/nli/results.json",
    "probe-pos": "probing/{lang}/pos/results.json",
    "probe-deps": "probing/{lang}/deps/results.json",
}
GOLD = {"labels": "pseudo-gold", "gold": "gold"}
PROBED = ("pos", "deps")

# The paper's numbers, of 12-layer BERT models: what is compared is who is above whom. Its table 1
# gives two distances of a row, of its two directions, without their names; the order of columns in
# its table 2 was inferred.
PAPER_D = {"linear": ".055 / .078", "no annealing": ".138 / .207", "annealed": ".025 / .037"}
# By row of table 1 the folder of `clcr run` or `clcr train`, and the training in it.
TRAININGS = {
    "linear": ("linear", "transform"),
    "no annealing": ("soft", "transform"),
    "annealed": ("main", "transform"),
    "annealed, then both encoders": ("main", "lm2-1"),
}
PAPER_KEYPOINTS = (
    "paper, confident: en .864 .875 .959; zh .826 .838 .872",
    "paper, plain: en .859 .886 .936; zh .823 .854 .847",
)
PAPER_ORDER = "the best of the paper, English: BLEU-2 .582, BLEU-3 .419, BLEU-4 .316"
PAPER_TRANSFER = "the paper, T+E+R, MultiNLI to XNLI: en 80.2, zh 71.7, gap 8.5"


class Gathering:
    """Reads the files of a study.

    Attributes:
        read: every file that was read, for the record's provenance.
    """

    def __init__(self, run: Path, seeds: list[str]):
        self.run, self.seeds = run, seeds
        self.read: dict[str, Path] = {}

    def json(self, *parts: str) -> Any:
        path = self.run.joinpath(*parts)
        if not path.is_file():
            raise UserError(f"{path}: no such file; the study is not finished")
        self.read["/".join(parts)] = path
        return read_json(path)

    def tables(self, lang: str) -> Iterator[Table]:
        if (self.run / lang / "results.json").is_file():
            yield from self.of_run(lang)
        else:
            for make in (self.distances, self.pivots, self.keypoints, self.orders):
                yield make(lang)
        for task in ("roles", "nli"):
            if (self.run / lang / task / "results.json").is_file():
                yield self.transfer(lang, task)
        probed = [self.run / "probing" / lang / task / "results.json" for task in PROBED]
        if all(path.is_file() for path in probed):
            yield self.probing(lang)

    def of_run(self, lang: str) -> Iterator[Table]:
        """Tables 1 to 3 of the folder of `clcr run`, where nothing else was trained."""
        found = self.json(lang, "results.json")["seeds"]
        names = [name for name in found[0]["distances"][0] if not name.startswith(("p", "entropy"))]
        rows = []
        for n, row in enumerate(found[0]["distances"]):
            phases = [one["distances"][n] for one in found]
            cells = [self.mean(phases, lambda one, name=name: one[name]) for name in names]
            rows.append([row["phase"], *cells])
        header = [name.replace("_", " ").replace("distance", "D") for name in names]
        tuned = [one["tuned"]["f1"] for one in found if one.get("tuned")]
        notes = ["relative: divided by the spread of the target's states"]
        pivots = round(sum(one["pivots"]["pivots"] for one in found) / len(found))
        pairs = found[0]["pivots"]["pairs"]
        notes.append(f"{pivots:,} pivots in {pairs:,} sentence pairs of train")
        if tuned:
            f1 = mean_and_spread(tuned, 3)
            notes[-1] += f"; F1 {f1} on {found[0]['tuned']['split']}, against fast_align's links"
        yield {
            "title": f"Distance of translations, {lang} to en",
            "header": ["trained", *header],
            "rows": rows,
            "notes": notes,
        }
        for verb, end, paper in (
            ("keypoints", "key-points", PAPER_KEYPOINTS),
            ("order", "cumulative 2", (PAPER_ORDER,)),
        ):
            if verb not in found[0]:
                continue
            table = found[0][verb]
            width = table["header"].index(end)
            rows = []
            for number, row in enumerate(table["rows"]):
                own = [one[verb]["rows"][number] for one in found]
                cells = [self.mean(own, lambda o, p=place: o[p]) for place in range(2, width)]
                rows.append([*row[:2], *cells])
            yield {
                "title": f"{table['title']} (pseudo-gold, {table['split']})",
                "header": table["header"][:width],
                "rows": rows,
                "notes": list(paper),
            }

    def distances(self, lang: str) -> Table:
        """Table 1 and figure 1: D at the end of training, by way to train."""
        both = (f"{lang}_en", f"en_{lang}")
        keys = [f"{kind}_{way}" for kind in ("distance", "hard", "relative") for way in both]
        rows = []
        for name, (folder, training) in TRAININGS.items():
            ends = []
            for seed in self.seeds:
                log = Path(lang, f"seed{seed}", folder, "logs", f"{training}-{seed}.log")
                ends.append(self.last(log, keys))
            cells = [self.mean(ends, lambda one, key=key: one[key]) for key in keys]
            rows.append([name, *cells, PAPER_D.get(name, "")])
        names = [
            key.replace("distance", "D").replace("_", " ", 1).replace("_", "-") for key in keys
        ]
        found: Table = {
            "title": f"Table 1, {lang} to en: distance of translations",
            "header": ["T", *names, "paper D"],
            "rows": rows,
            "notes": [
                "at the end of training, on valid",
                "D: as trained, of mixtures of tokens where nothing was annealed; hard: with the "
                "best partner alone, which is what is handed on",
                "relative: D divided by the spread of the target's states; 1 is chance",
            ],
        }
        if (self.run / lang / "curves.svg").is_file():
            title = f"Figure 1, {lang} and en: D by step, and D by the spread of the target"
            found["figure"] = {"title": title, "file": f"{lang}/curves.svg"}
        return found

    def last(self, log: Path, keys: list[str]) -> dict[str, float | None]:
        """The last values on valid in a log of training."""
        path = self.run / log
        if not path.is_file():
            raise UserError(f"{path}: no such file; the study is not finished")
        self.read[str(log)] = path
        curves = read_curves(path, "valid")
        return {key: curves[key][-1][1] if key in curves else None for key in keys}

    def pivots(self, lang: str) -> Table:
        """Pseudo-gold pivots against the gold granularity, by what was trained."""
        found = [
            self.json(lang, f"seed{seed}", "gold", "test", "meta.json")["pseudo_gold"]
            for seed in self.seeds
        ]
        names = ("precision", "recall", "f1")
        row = ["pseudo-gold pivots", *(self.mean(found, lambda one, n=n: one[n]) for n in names)]
        return {
            "title": f"Pivots, {lang}-en, against the gold alignment of test",
            "header": ["", "precision", "recall", "F1"],
            "rows": [row],
            "notes": [],
        }

    def keypoints(self, lang: str) -> Table:
        """Table 2."""
        rows = []
        for labels, called in GOLD.items():
            for kind in ("plain", "confident"):
                tables = [
                    self.json(lang, f"seed{seed}", f"keypoints-{kind}-{labels}.json")
                    for seed in self.seeds
                ]
                places = [tables[0]["header"].index(name) for name in SHARES]
                for number, row in enumerate(tables[0]["rows"]):
                    own = [one["rows"][number] for one in tables]
                    cells = [
                        self.mean(own, lambda one, place=place: one[place]) for place in places
                    ]
                    rows.append([called, kind, *row[:2], *cells])
        return {
            "title": f"Table 2, {lang}-en: key-points",
            "header": ["labels", "training", "language", "delta", *SHARES],
            "rows": rows,
            "notes": [
                *PAPER_KEYPOINTS,
                "majority: accuracy of always saying what is more frequent",
            ],
        }

    def orders(self, lang: str) -> Table:
        """Table 3."""
        rows = []
        for labels, called in GOLD.items():
            tables = [self.json(lang, f"seed{seed}", f"order-{labels}.json") for seed in self.seeds]
            header = tables[0]["header"]
            for number, row in enumerate(tables[0]["rows"]):
                places = [header.index(f"BLEU-{n}") for n in (2, 3, 4)]
                own = [one["rows"][number] for one in tables]
                cells = [self.mean(own, lambda one, place=place: one[place]) for place in places]
                rows.append([called, *row[:2], *cells])
        return {
            "title": f"Table 3, {lang}-en: order BLEU",
            "header": ["labels", "order", "search", "BLEU-2", "BLEU-3", "BLEU-4"],
            "rows": rows,
            "notes": [PAPER_ORDER],
        }

    def transfer(self, lang: str, task: str) -> Table:
        """Table 4."""
        table = table_section(self.json(lang, task, "results.json"))
        return {
            "title": f"Table 4, en to {lang}: {task}",
            "header": table.header,
            "rows": table.cells,
            "notes": [*table.notes, PAPER_TRANSFER],
        }

    def probing(self, lang: str) -> Table:
        """Table 6: what can be read off vectors before and after each step."""
        rows = []
        for task in PROBED:
            own = scores_of(
                frame_from_json(self.json("probing", lang, task, "results.json")["frame"])
            )
            own = own[own["task"] == f"{lang}.{task}.test.jsonl"]
            own = own.assign(dropped=own["missing"] / own["gold"])
            for variant, found in split(own, "row"):
                names = ("precision", "recall", "f1", "dropped")
                rows.append(
                    [task, variant, *(mean_and_spread(found[x].tolist(), 3) for x in names)]
                )
        return {
            "title": f"Table 6, {lang}: edge probing",
            "header": ["task", "vectors", "precision", "recall", "F1", "dropped"],
            "rows": rows,
            "notes": [
                "micro averages on test; pos: a word's part of speech, deps: the relation of a "
                "word to its head",
                "dropped: share of examples with a word of which E keeps nothing; they count as "
                "missed",
            ],
        }

    @staticmethod
    def mean(found: list[Any], get: Callable[[Any], float | None]) -> str | None:
        values = [get(one) for one in found]
        known = [value for value in values if value is not None and not math.isnan(value)]
        return mean_and_spread(known, 3) if known else None


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--languages", default="de,zh", help="codes of its pairs with English")
    parser.add_argument("--seeds", default="1,2,3")
    args = parser.parse_args()
    study = Gathering(args.run, args.seeds.split(","))
    languages = args.languages.split(",")
    tables = [table for lang in languages for table in study.tables(lang)]
    config = {"seeds": args.seeds, "languages": args.languages}
    record = {"clcr": "study", "config": config, "tables": tables}
    write_json(args.run / "results.json", {**record, "provenance": provenance(study.read)})
    measures = args.run / "measures"
    for old in measures.glob("*.json"):
        old.unlink()
    for (name, file), lang in itertools.product(MEASURES.items(), languages):
        found = args.run / file.format(lang=lang, seed=study.seeds[0])
        if found.is_file():
            write_json(measures / f"{lang}-{name}.json", read_json(found))
    for table in tables:
        print(f"\n{table['title']}\n{text_table(table['header'], table['rows'])}")
        for note in table["notes"]:
            print(f"({note})")
    print(f"\nwritten to {args.run / 'results.json'}")


if __name__ == "__main__":
    main()
