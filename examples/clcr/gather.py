"""Put what the models of a study found into one record, RUN/results.json, and print its tables.

    python examples/clcr/gather.py RUN --languages de,zh --seeds 1,2,3

RUN is the folder of a script of this folder. Figures are means over seeds, with their standard
deviation; the paper's numbers are shown next to them. RUN/measures gets a copy of what each verb
found, of the first seed where it reads one model: a report is made of them.
"""

import argparse
import dataclasses
import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import read_json
from fairseq_xling.engine.training_log import read_curves
from fairseq_xling.papers.clcr.modules.extract import SHARES
from fairseq_xling.papers.clcr.run import DISTANCES, PIVOTS
from fairseq_xling.reports.pivot import OverSeeds, Table
from fairseq_xling.reports.record import Chart, Record, Section, made, read_record, write_record
from fairseq_xling.reports.rows import GIVEN, Row, figures, select
from fairseq_xling.verbs.parts.output import as_text

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
        measured: rows, one for each figure of each seed.
    """

    def __init__(self, run: Path, seeds: list[str]):
        self.run, self.seeds = run, seeds
        self.read: dict[str, Path] = {}
        self.measured: list[Row] = []

    def table(
        self,
        title: str,
        rows: Iterable[Row],
        named: Mapping[str, str],
        notes: Sequence[str] = (),
        order: Sequence[str] = (),
    ) -> Section:
        """Means over seeds of measurements, which are all kept.

        Args:
            named: columns that tell lines apart, by heading; order: of the measures.
        """
        known = [
            {**row, "table": title}
            for row in rows
            if row.get("value") is not None and not math.isnan(row["value"])
        ]
        self.measured += known
        return gathered_table(title, known, named, notes, order)

    def file(self, *parts: str) -> Path:
        """A file of the run, which is one of those that were read."""
        path = self.run.joinpath(*parts)
        if not path.is_file():
            raise UserError(f"{path}: no such file; the study is not finished")
        self.read["/".join(parts)] = path
        return path

    def rows(self, *parts: str) -> Sequence[Row]:
        """Those of a record."""
        return read_record(self.file(*parts)).rows

    def tables(self, lang: str) -> Iterator[Section]:
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

    def of_run(self, lang: str) -> Iterator[Section]:
        """Tables 1 to 3 of the folder of `clcr run`, where nothing else was trained."""
        record = read_record(self.file(lang, "results.json"))
        notes = ["relative: divided by the spread of the target's states"]
        found = figures(select(record.rows, {"task": PIVOTS}), "measure")
        pairs, pivots = found["pairs",][0], round(statistics.fmean(found["pivots",]))
        notes.append(f"{pivots:,} pivots in {pairs:,} sentence pairs of train")
        for (measure,), values in found.items():
            if measure.startswith("F1"):
                f1 = OverSeeds(tuple(values))
                notes[-1] += f"; F1 {f1}{measure[2:]}, against fast_align's links"
        distances = [
            _part(row, "row", measure=row["measure"].replace("distance", "D"))
            for row in select(record.rows, {"task": DISTANCES})
            if not row["measure"].startswith("entropy")
        ]
        yield self.table(
            f"Distance of translations, {lang} to en", distances, {"trained": "row"}, notes
        )
        bleu = ("pairs right", "BLEU-2", "BLEU-3", "BLEU-4")
        shown = {"keypoints": (SHARES, PAPER_KEYPOINTS), "order": (bleu, (PAPER_ORDER,))}
        for kind, (columns, paper) in shown.items():
            own = select(record.rows, {"study": f"clcr-{kind}"})
            for section in record.sections if own else ():
                if section.table and section.table.where.get("study") == f"clcr-{kind}":
                    named = section.table.rows
                    rows = [_part(row, *named.values()) for row in own]
                    yield self.table(
                        f"{section.title} (pseudo-gold, valid)", rows, named, paper, columns
                    )

    def distances(self, lang: str) -> Section:
        """Table 1 and figure 1: D at the end of training, by way to train."""
        both = (f"{lang}_en", f"en_{lang}")
        keys = [f"{kind}_{way}" for kind in ("distance", "hard", "relative") for way in both]
        rows = []
        for name, (folder, training) in TRAININGS.items():
            for seed in self.seeds:
                log = self.file(lang, f"seed{seed}", folder, "logs", f"{training}-{seed}.log")
                curves = read_curves(log, "valid")
                for key in filter(curves.__contains__, keys):
                    measure = key.replace("distance", "D").replace("_", " ", 1).replace("_", "-")
                    about = {"row": name, "seed": int(seed), "measure": measure, "target": lang}
                    rows.append({**about, "value": curves[key][-1][1]})
        found = self.table(
            f"Table 1, {lang} to en: distance of translations",
            with_paper_d(rows),
            {"T": "row"},
            [
                "at the end of training, on valid",
                "D: as trained, of mixtures of tokens where nothing was annealed; hard: with the "
                "best partner alone, which is what is handed on",
                "relative: D divided by the spread of the target's states; 1 is chance",
            ],
        )
        drawn = (self.run / lang / "curves.svg").is_file()
        return dataclasses.replace(found, name=f"{lang}/curves" if drawn else "")

    def pivots(self, lang: str) -> Section:
        """Pseudo-gold pivots against the gold granularity, by what was trained."""
        rows = []
        for seed in self.seeds:
            meta = self.file(lang, f"seed{seed}", "gold", "test", "meta.json")
            one = read_json(meta)["pseudo_gold"]
            about = {"row": "pseudo-gold pivots", "target": lang, "seed": int(seed)}
            names = {"precision": "precision", "recall": "recall", "F1": "f1"}
            rows += [{**about, "measure": x, "value": one[key]} for x, key in names.items()]
        title = f"Pivots, {lang}-en, against the gold alignment of test"
        return self.table(title, rows, {"": "row"})

    def scored(self, lang: str, file: str, **about: Any) -> list[Row]:
        """Measurements in the tables of a verb, by what labels were learnt from."""
        found = []
        for labels, called in GOLD.items():
            for seed in self.seeds:
                for row in self.rows(lang, f"seed{seed}", file.format(labels)):
                    of = {"seed": int(seed), "labels": called, "target": lang, **about}
                    of |= {"language": row["target"]} if "delta" in row else {}
                    found.append({**row, **of})
        return found

    def keypoints(self, lang: str) -> Section:
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

    def orders(self, lang: str) -> Section:
        """Table 3."""
        rows = self.scored(lang, "order-{}.json")
        names = {name: name for name in ("labels", "order", "search")}
        shown = [f"BLEU-{n}" for n in (2, 3, 4)]
        return self.table(f"Table 3, {lang}-en: order BLEU", rows, names, [PAPER_ORDER], shown)

    def conditions(self, lang: str) -> Section:
        """Section 2.1: how far apart sequences of translations are, and of other sentences."""
        called = {
            "translations": ("translations", "distance of sequences"),
            "random": ("random pairs", "distance of sequences"),
            "Spearman": ("score", "Spearman"),
        }
        rows = []
        for seed in self.seeds:
            found = self.rows(lang, f"seed{seed}", "conditions.json")
            for row in select(found, {"task": "distances", "measure": [*called]}):
                name, measure = called[row["measure"]]
                about = {"row": name, "target": lang, "seed": int(seed), "measure": measure}
                rows.append({"distance": row["distance"], **about, "value": row.get("value")})
        notes = [
            "Spearman: of the distance and the share of words that two sentences have in common"
        ]
        title = f"Conditions 1 and 2, {lang} and en: distances of sequences, T+E+R"
        return self.table(title, rows, {"distance": "distance", "pairs": "row"}, notes)

    def transfer(self, lang: str, task: str) -> Section:
        """Table 4."""
        record = read_record(self.file(lang, task, "results.json"))
        shown, title = record.sections[0], f"Table 4, en to {lang}: {task}"
        found = self.table(title, select(record.rows, {"column": GIVEN}), {})
        table = dataclasses.replace(shown.table, where=found.table.where)
        return Section(title, table, notes=[*shown.notes, PAPER_TRANSFER])

    def probing(self, lang: str) -> Section:
        """Table 6: what can be read off vectors before and after each step."""
        called = {"P": "precision", "R": "recall", "F1": "F1"}
        rows = []
        for task in PROBED:
            found = self.rows("probing", lang, task, "results.json")
            where = {"task": f"{lang}.{task}.test.jsonl", "seed": GIVEN}
            for row in select(found, {**where, "measure": [*called]}):
                about = {"row": row["row"], "seed": row["seed"], "target": lang, "task": task}
                measure = called[row["measure"]]
                rows.append({**about, "measure": measure, "value": row["value"] / 100})
                if measure == "F1":
                    dropped = row.get("missing", 0) / row["gold"]
                    rows.append({**about, "measure": "dropped", "value": dropped})
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


def _part(row: Row, *names: str, **more: Any) -> dict[str, Any]:
    """What of a row of another record is kept."""
    names = ("seed", "measure", "value", *names)
    return {name: row[name] for name in names if name in row} | more


def with_paper_d(rows: Iterable[Row]) -> list[Row]:
    """Rows of distances with the paper's, where it has one."""
    paper = {name: {"paper D": text} for name, text in PAPER_D.items()}
    return [{**row, **paper.get(row["row"], {})} for row in rows]


def gathered_table(
    title: str,
    rows: Sequence[Row],
    named: Mapping[str, str],
    notes: Sequence[str] = (),
    order: Sequence[str] = (),
) -> Section:
    """The table of the rows that have its title; arguments as of `Gathering.table`."""
    after = {"paper D": "paper D"} if any("paper D" in row for row in rows) else {}
    return Section(
        title, Table(named, where={"table": title}, order=order, after=after), notes=notes
    )


def gathered_record(
    rows: Sequence[Row], tables: Sequence[Section], config: Mapping[str, Any]
) -> Record:
    """The tables, and each seed of the first one's first measure."""
    first = {"table": tables[0].title, "measure": rows[0]["measure"]}
    single = Section(f"{first['measure']}: single seeds", chart=Chart("dots", first))
    return Record(
        "CLCR: every table of a study",
        [{"paper": "clcr", **row} for row in rows],
        (*tables, single),
        source="CLCR, Tables 1 to 4",
        lead=[f"To English from {config['languages']}."],
        config=config,
    )


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
    record = made(gathered_record(study.measured, tables, config), study.read)
    write_record(args.run / "results.json", record)
    measures = args.run / "measures"
    for old in measures.glob("*.json"):
        old.unlink()
    for (name, file), lang in itertools.product(MEASURES.items(), languages):
        found = args.run / file.format(lang=lang, seed=study.seeds[0])
        if found.is_file():
            measures.mkdir(exist_ok=True)
            write_record(measures / f"{lang}-{name}.json", read_record(found))
    print(f"{as_text(record)}\n\nwritten to {args.run / 'results.json'}")


if __name__ == "__main__":
    main()
