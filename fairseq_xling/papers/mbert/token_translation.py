"""The study of token translation: does the mean difference of two languages make an encoder that
has only seen text of each write the other, and does it help zero-shot transfer?

Liu et al. 2020, sections 4.1 to 4.3. Layer and a positive alpha are chosen on the validation
sentences and scored on those of the test; a random direction of the same length is chosen and
scored in the same way. Half of the layers are frozen where heads are trained, but in the rows that
say otherwise; one of these is an encoder that keeps the weights it was drawn with. Sentences of the
test are looked up among their translations as in Pires et al. 2019, section 5.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.shift_grid import NO_SHIFT, Shift, best_shift, parse_alphas
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import RESULTS, Chart, Section, read_record
from fairseq_xling.reports.rows import GIVEN, Row, distinct, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.corpus_steps import check_vocabulary
from fairseq_xling.studies.encoder_training import (
    EncoderRun,
    EncoderTraining,
    PreparedText,
    check_text,
    counted,
)
from fairseq_xling.studies.gold_tasks import parse_tasks, tested_scores
from fairseq_xling.studies.task_options import TaskOptions
from fairseq_xling.verbs.translate_mds import BLEU, OTHERS, PRECISION, RATE
from fairseq_xling.workflow.options import jobs_option, seeds_option
from fairseq_xling.workflow.recipe import Cell, Study, words
from fairseq_xling.workflow.settled import device_option, precision_option

OTHER = "third language"
SHIFT, CONTROL, NONE = "mean difference", "random direction", "no shift"
TRANSFER, TRAINED = "zero-shot transfer", "language trained on"
HALF, MOVED, ALL = "lower half frozen", "lower half frozen, shifted", "all layers trained"
NEW = "new weights, all layers trained"
FOUND = "translation found"
BEST = "checkpoint_best.pt"
OWN_MASS, OTHER_MASS = "mass on own words", "mass on others' words"


@dataclasses.dataclass(frozen=True)
class Options(EncoderTraining, PreparedText):
    data_text: str = reads("", "text in the layout of `fairseq-xling synthesize`")
    languages: str = option("en,de,id", "the first is translated into each other one")
    seeds: str = seeds_option("1,2,3")
    alphas: str = option("-1,1,2,3", "sizes of the shift, in mean differences")
    tasks: str = like(
        TaskOptions, "tasks", "ner,pos,parsing", "zero-shot tasks: nli, ner, pos, parsing"
    )
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()


@STUDIES.register("token-translation")
class TokenTranslation(Study):
    """A masked language model of several languages, its states shifted by their mean difference."""

    name, paper, options = "token-translation", "mbert", Options
    run_type = EncoderRun
    help = "translation of tokens and transfer by the mean difference of two languages"
    title = "Token translation by the mean difference"
    source = "Liu et al. (2020), section 4"
    lead = "Encoders that have only seen text of each language, trained as masked language models."

    def check(self, o: Options) -> Options:
        o = counted(o)
        check_text(o, "mono", "parallel")
        check_vocabulary(o.vocab_type, o.segment, o.language_list)
        parse_alphas(o.alphas)
        for task in parse_tasks("--tasks", o.tasks).values():
            task.check(Path(o.data_text), o.language_list)
        return o

    def plan(self, run: EncoderRun, o: Options) -> None:
        text, (source, *targets) = Path(o.data_text), o.language_list
        data = run.prepare("prepare", "data", o.language_list, "joint")
        for seed in o.seed_list:
            best = run.train(str(seed), data, seed, source) / BEST
            new = run.untrained(f"new-{seed}", data, seed, source) / BEST
            about = {"source": source, "seed": seed}
            mass = run(
                f"mass-{seed}",
                *("fairseq-xling eval", best, "--data", data, "--source", [source]),
                *("--targets", [",".join(targets)], "--measure langmass"),
                *("--device", [o.device], "--output {out}"),
                to="results/{name}.json",
            )
            run.measured({"mass": mass}, **about, row=NONE)
            for target in targets:
                _translate(run, o, best, data, seed, target)
            half = o.layers // 2
            for (name, task), (row, frozen, model) in itertools.product(
                parse_tasks("--tasks", o.tasks).items(),
                ((HALF, half, best), (ALL, 0, best), (NEW, 0, new)),
            ):
                options = ["--freeze-layers", str(frozen)]
                if frozen:  # alpha is chosen on sentences of the target language, as in 4.3
                    dev = [f"{lang}={task.file(text, 'valid', lang)}" for lang in targets]
                    options += words({"--shift-layer": frozen, "--shift-dev": dev})
                step = f"{name}-{'new' if row == NEW else frozen}-{seed}"
                output = run.transfer(
                    step, task, o.language_list, {"model": (model, data)}, options
                )
                run.measured({"transfer": output / RESULTS}, **about, row=row, task=task.title)

    def read(self, cell: Cell) -> Iterator[Row]:
        found = {
            name: read_record(path).rows for name, path in cell.files.items() if name != "transfer"
        }
        if "mass" in found:
            yield from _masses(select(found["mass"], {"task": "langmass"}))
        elif "transfer" in cell.files:
            for one in tested_scores(cell.files["transfer"].parent):
                trained = one["target"] == cell.about["source"]
                row = MOVED if one["shifted"] else cell.about["row"]
                own = {"measure": TRAINED if trained else TRANSFER, "unit": "%"}
                yield {"row": row, "target": one["target"], **own, "value": one["value"]}
        elif cell.about.get("cell") == "sentences":
            for row, rows in found.items():
                curves = {row: "after", **({NONE: "before"} if row == SHIFT else {})}
                for name, curve in curves.items():
                    for one in select(rows, {"measure": curve}):
                        own = {key: one[key] for key in ("layer", "chance", "value")}
                        yield {"row": name, "measure": FOUND, **own}
        else:
            valid, test = (_by_shift(found[split]) for split in ("valid", "test"))
            precisions = {
                shift: {"precision": one[PRECISION]}
                for shift, one in valid.items()
                if shift.alpha > 0
            }
            chosen = best_shift(precisions)
            where = {"chosen": f"layer {chosen.layer}, alpha {chosen.alpha:g}"}
            yield from _scores(test[chosen], {**where, "cell": "chosen"})
            if cell.about["row"] == SHIFT:
                yield from _scores(test[NO_SHIFT], {"row": NONE, "cell": "chosen"})
            for shift, scores in test.items():
                if shift != NO_SHIFT:
                    about = {"layer": shift.layer, "alpha": shift.alpha, "cell": "grid"}
                    yield from _scores(scores, about)

    def sections(self, rows: Sequence[Row], o: Options) -> Iterator[Section]:
        lines, order = {"": "row", "language": "target"}, (BLEU, RATE, OTHER)
        yield Section(
            "Token translation",
            Table(lines, where={"cell": "chosen"}, order=order, digits={BLEU: 1}),
            notes=[
                "Means and standard deviations over seeds; layer and alpha are chosen by the "
                "precision of words on the validation sentences, the figures are of the test.",
                "Convert rate: share of the target's own words among those of one language alone. "
                "Third language: share of all words that only other languages have.",
            ],
            name="table",
        )
        if select(rows, {"measure": FOUND}):
            note = "Share of sentences whose translation is the nearest one, a mean over layers."
            yield Section("Sentences", Table(lines, where={"measure": FOUND}), notes=[note])
        masses = {"measure": [OWN_MASS, OTHER_MASS]}
        yield Section("Masked words", Table({"language": "target"}, where=masses))
        tuned = {"measure": [TRANSFER, TRAINED]}
        if select(rows, tuned):
            yield Section("Tasks (%)", Table(lines, "task", where=tuned, digits=1))
        chart = Chart(
            "curve",
            {"cell": "grid", "row": SHIFT, "measure": [RATE, BLEU]},
            row="alpha {alpha}",
            panel="{target}: {measure}",
            title="{target}",
            xlabel="layer that is shifted",
        )
        yield Section("By layer and alpha", chart=chart, name="plot-1")


def _masses(rows: Sequence[Row]) -> Iterator[Row]:
    """The mass on words of the text's own language alone, and of each of the others."""
    for lang in distinct(rows, "target"):
        of = select(rows, {"target": lang, "of": GIVEN})
        for title, own in ((OWN_MASS, True), (OTHER_MASS, False)):
            side = [row for row in of if (row["of"] == lang) is own]
            value, chance = (sum(row[name] for row in side) for name in ("value", "chance"))
            yield {"target": lang, "measure": title, "value": value, "chance": chance}


def _by_shift(rows: Sequence[Row]) -> dict[Shift, dict[str, float]]:
    """What `translate mds` measured of each shift, summed over languages that it counted."""
    found: dict[Shift, dict[str, float]] = {}
    for row in select(rows, {"alpha": GIVEN, "setting": None}):
        scores = found.setdefault(Shift(row["layer"], row["alpha"]), {})
        scores[row["measure"]] = scores.get(row["measure"], 0) + row["value"]
    return found


def _translate(run: EncoderRun, o: Options, best: Path, data: Path, seed: int, target: str) -> None:
    """Translations of both sets of sentences with every layer and alpha; and those of the test
    looked up among their states, with the mean difference of one half of them."""
    source, random = o.language_list[0], {"--random-direction": str(seed)}
    ways: dict[str, tuple[str, Any]] = {SHIFT: ("shift", {}), CONTROL: ("control", random)}
    about = {"source": source, "seed": seed, "target": target}

    def text(split: str, lang: str) -> Path:
        return Path(o.data_text) / "parallel" / f"{split}.{source}-{target}.{lang}.txt"

    for row, (way, direction) in ways.items():
        files = {}
        for split in ("valid", "test"):
            grid = run(
                f"{way}-{target}-{split}-{seed}",
                *("fairseq-xling translate mds", best, "--data", data, "--from", [source]),
                *("--to", [target], "--text", text(split, source)),
                *("--reference", text(split, target), "--layers", [f"1-{o.layers}"]),
                *([f"--alphas={o.alphas}"], direction, "--device", [o.device], "--output {out}"),
                to="grids/{name}",
                resumable=True,
            )
            files[split] = grid / RESULTS
        run.measured(files, **about, row=row)
    states = []
    for lang in (source, target):
        name = f"{source}-{target}-{lang}-{seed}"
        of = (best, data, lang, text("test", lang), "sentences")
        states.append(run.extract(f"states-{name}", f"states/{name}", *of))
    found = {
        row: run(
            f"sentences-{way}-{target}-{seed}",
            *("fairseq-xling eval meanshift", *states, direction, "--output {out}"),
            to="results/{name}.json",
            also=["results/{name}.csv"],
        )
        for row, (way, direction) in ways.items()
    }
    run.measured(found, **about, cell="sentences")


def _scores(scores: Mapping[str, float], about: Row) -> Iterator[Row]:
    third = scores.get(OTHERS, 0) / max(1, scores["tokens"])
    if RATE in scores:  # of what no language alone has, there is none
        yield {**about, "measure": RATE, "value": scores[RATE]}
    yield {**about, "measure": BLEU, "value": scores[BLEU], "unit": "%"}
    yield {**about, "measure": OTHER, "value": third}
