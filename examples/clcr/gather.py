"""Put what the models of a study found into one record, RUN/results.json, and print its tables.

    python examples/clcr/gather.py RUN --languages de,zh --seeds 1,2,3

RUN is the folder of a script of this folder. Figures are means over seeds, with their standard
deviation; the paper's numbers are shown next to them. RUN/measures gets a copy of what each verb
found, of the first seed where it reads one model: a report is made of them.
"""

import argparse
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.core.provenance import provenance
from fairseq_xling.papers.clcr.modules.extract import SHARES
from fairseq_xling.papers.clcr.run_result import TABLES
from fairseq_xling.results.frame import frame_from_json, frame_to_json, make_frame, pivot
from fairseq_xling.results.statistics import OverSeeds, mean_and_spread
from fairseq_xling.results.tables import text_table
from fairseq_xling.runs.training_log import read_curves
from fairseq_xling.studies.examples_page import table_section
from fairseq_xling.verbs.parts.probe_result import scores_of

Table = dict[str, Any]  # title, header, rows, notes; figure: its title, and file within the run
# What a verb found for a pair of languages, by its name in RUN/measures.
MEASURES = {
    "curves": "{lang}/curves.json",
    "conditions": "{lang}/seed{seed}/conditions.json",
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
        measured: rows of a frame, one for each figure of each seed.
    """

    def __init__(self, run: Path, seeds: list[str]):
        self.run, self.seeds = run, seeds
        self.read: dict[str, Path] = {}
        self.measured: list[dict[str, Any]] = []

    def table(
        self,
        title: str,
        rows: Iterable[Mapping[str, Any]],
        named: Mapping[str, str],
        notes: Sequence[str] = (),
        order: Sequence[str] = (),
    ) -> Table:
        """Means over seeds of measurements, which are all kept; arguments as of `pivot`."""
        every = [{**row, "table": title} for row in rows]
        order = order or list(dict.fromkeys(row["measure"] for row in every))
        known = [row for row in every if row["value"] is not None and not math.isnan(row["value"])]
        self.measured += known
        header, cells = pivot(make_frame(known), named, order=order)
        shown = [[*map(_shown, row)] for row in cells]
        return {"title": title, "header": header, "rows": shown, "notes": list(notes)}

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
        if (self.run / lang / f"seed{self.seeds[0]}" / "conditions.json").is_file():
            yield self.conditions(lang)
        for task in ("roles", "nli"):
            if (self.run / lang / task / "results.json").is_file():
                yield self.transfer(lang, task)
        probed = [self.run / "probing" / lang / task / "results.json" for task in PROBED]
        if all(path.is_file() for path in probed):
            yield self.probing(lang)

    def of_run(self, lang: str) -> Iterator[Table]:
        """Tables 1 to 3 of the folder of `clcr run`, where nothing else was trained."""
        record = self.json(lang, "results.json")
        found, rows = record["seeds"], frame_from_json(record["frame"]).to_dict("records")
        notes = ["relative: divided by the spread of the target's states"]
        pivots = round(sum(one["pivots"]["pivots"] for one in found) / len(found))
        pairs = found[0]["pivots"]["pairs"]
        notes.append(f"{pivots:,} pivots in {pairs:,} sentence pairs of train")
        if tuned := [one["tuned"]["f1"] for one in found if one.get("tuned")]:
            f1 = mean_and_spread(tuned, 3)
            notes[-1] += f"; F1 {f1} on {found[0]['tuned']['split']}, against fast_align's links"
        distances = [
            _part(row, "row", measure=row["measure"].replace("distance", "D"))
            for row in rows
            if row["table"] == "distances" and not row["measure"].startswith("entropy")
        ]
        yield self.table(
            f"Distance of translations, {lang} to en", distances, {"trained": "row"}, notes
        )
        for verb, columns, paper in (
            ("keypoints", SHARES, PAPER_KEYPOINTS),
            ("order", ("pairs right", "BLEU-2", "BLEU-3", "BLEU-4"), (PAPER_ORDER,)),
        ):
            if first := found[0].get(verb):
                _, named = TABLES[verb]
                own = [_part(row, *named) for row in rows if row["table"] == verb]
                title = f"{first['title']} (pseudo-gold, {first['split']})"
                yield self.table(title, own, {name: name for name in named}, paper, columns)

    def distances(self, lang: str) -> Table:
        """Table 1 and figure 1: D at the end of training, by way to train."""
        both = (f"{lang}_en", f"en_{lang}")
        keys = [f"{kind}_{way}" for kind in ("distance", "hard", "relative") for way in both]
        rows = []
        for name, (folder, training) in TRAININGS.items():
            for seed in self.seeds:
                log = Path(lang, f"seed{seed}", folder, "logs", f"{training}-{seed}.log")
                for key, value in self.last(log, keys).items():
                    measure = key.replace("distance", "D").replace("_", " ", 1).replace("_", "-")
                    about = {"row": name, "seed": int(seed), "measure": measure}
                    rows.append({**about, "target": lang, "value": value})
        found = self.table(
            f"Table 1, {lang} to en: distance of translations",
            rows,
            {"T": "row"},
            [
                "at the end of training, on valid",
                "D: as trained, of mixtures of tokens where nothing was annealed; hard: with the "
                "best partner alone, which is what is handed on",
                "relative: D divided by the spread of the target's states; 1 is chance",
            ],
        )
        found["header"].append("paper D")
        for row in found["rows"]:
            row.append(PAPER_D.get(row[0], ""))
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
        rows = []
        for seed in self.seeds:
            one = self.json(lang, f"seed{seed}", "gold", "test", "meta.json")["pseudo_gold"]
            about = {"row": "pseudo-gold pivots", "target": lang, "seed": int(seed)}
            names = {"precision": "precision", "recall": "recall", "F1": "f1"}
            rows += [{**about, "measure": x, "value": one[key]} for x, key in names.items()]
        title = f"Pivots, {lang}-en, against the gold alignment of test"
        return self.table(title, rows, {"": "row"})

    def scored(self, lang: str, file: str, **about: Any) -> list[dict[str, Any]]:
        """Measurements in the tables of a verb, by what labels were learnt from."""
        found = []
        for labels, called in GOLD.items():
            for seed in self.seeds:
                table = self.json(lang, f"seed{seed}", file.format(labels))
                rows = _scored(table, int(seed))
                found += [{**about, **row, "labels": called, "target": lang} for row in rows]
        return found

    def keypoints(self, lang: str) -> Table:
        """Table 2."""
        parts = [
            self.scored(lang, f"keypoints-{kind}-{{}}.json", training=kind)
            for kind in ("plain", "confident")
        ]
        order = list(GOLD.values())
        rows = sorted((x for part in parts for x in part), key=lambda x: order.index(x["labels"]))
        names = ("labels", "training", "language", "delta")
        notes = [*PAPER_KEYPOINTS, "majority: accuracy of always saying what is more frequent"]
        return self.table(
            f"Table 2, {lang}-en: key-points", rows, {name: name for name in names}, notes, SHARES
        )

    def orders(self, lang: str) -> Table:
        """Table 3."""
        rows = self.scored(lang, "order-{}.json")
        names = {name: name for name in ("labels", "order", "search")}
        shown = [f"BLEU-{n}" for n in (2, 3, 4)]
        return self.table(f"Table 3, {lang}-en: order BLEU", rows, names, [PAPER_ORDER], shown)

    def conditions(self, lang: str) -> Table:
        """Section 2.1: how far apart sequences of translations are, and of other sentences."""
        rows = []
        for seed in self.seeds:
            table = self.json(lang, f"seed{seed}", "conditions.json")
            for line in table["rows"]:
                found = dict(zip(table["header"], line, strict=True))
                about = {"distance": found["distance"], "target": lang, "seed": int(seed)}
                for key, row, measure in (
                    ("translations", "translations", "distance of sequences"),
                    ("random", "random pairs", "distance of sequences"),
                    ("Spearman", "score", "Spearman"),
                ):
                    rows.append({**about, "row": row, "measure": measure, "value": found[key]})
        notes = [
            "Spearman: of the distance and the share of words that two sentences have in common"
        ]
        title = f"Conditions 1 and 2, {lang} and en: distances of sequences, T+E+R"
        return self.table(title, rows, {"distance": "distance", "pairs": "row"}, notes)

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
            record = self.json("probing", lang, task, "results.json")
            own = scores_of(frame_from_json(record["frame"]))
            own = own[own["task"] == f"{lang}.{task}.test.jsonl"]
            own = own.assign(F1=own["f1"], dropped=own["missing"] / own["gold"])
            for one in own.to_dict("records"):
                about = {"row": one["row"], "seed": one["seed"], "target": lang, "task": task}
                names = ("precision", "recall", "F1", "dropped")
                rows += [{**about, "measure": name, "value": one[name]} for name in names]
        return self.table(
            f"Table 6, {lang}: edge probing",
            rows,
            {"task": "task", "vectors": "row"},
            [
                "micro averages on test; pos: a word's part of speech, deps: the relation of a "
                "word to its head",
                "dropped: share of examples with a word of which E keeps nothing; they count as "
                "missed",
            ],
        )


def _part(row: Mapping[str, Any], *names: str, **more: Any) -> dict[str, Any]:
    """What of a row of another frame is kept."""
    return {name: row[name] for name in ("seed", "measure", "value", *names)} | more


def _scored(table: Table, seed: int) -> Iterator[dict[str, Any]]:
    """The figures of a verb's table, whose first two columns name a row."""
    for row in table["rows"]:
        named = dict(zip(table["header"][:2], row, strict=False))
        for name, value in zip(table["header"][2:], row[2:], strict=True):
            yield {**named, "seed": seed, "measure": name, "value": value}


def _shown(cell: Any) -> Any:
    return str(cell) if isinstance(cell, OverSeeds) else cell


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
    record["frame"] = frame_to_json(make_frame(study.measured, paper="clcr"))
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
