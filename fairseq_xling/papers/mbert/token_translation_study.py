"""The study of token translation: does the mean difference of two languages make an encoder that
has only seen text of each write the other, and does it help zero-shot transfer?

Liu et al. 2020, sections 4.1 to 4.3. Layer and a positive alpha are chosen on the validation
sentences and scored on those of the test; a random direction of the same length is chosen and
scored in the same way. Half of the layers are frozen where heads are trained, but in the rows that
say otherwise; one of these is an encoder that keeps the weights it was drawn with. Sentences of the
test are looked up among their translations as in Pires et al. 2019, section 5.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.analysis.shift_grid import NO_SHIFT, Shift, best_shift, parse_alphas
from fairseq_xling.core.files import read_json
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.results.page import RESULTS
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.runs.corpus_steps import check_vocabulary, eval_command
from fairseq_xling.runs.options import jobs_option, seeds_option, split_words
from fairseq_xling.runs.settled import device_option, precision_option
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.encoder_training import (
    EncoderPlan,
    EncoderTraining,
    PreparedText,
    check_text,
    counted,
)
from fairseq_xling.studies.gold_tasks import parse_tasks, tested_scores, transfer_step
from fairseq_xling.studies.study import Cell, Study, tabled
from fairseq_xling.studies.task_options import TaskOptions

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

RATE, BLEU, OTHER = "convert rate", "BLEU-1", "third language"
SHIFT, CONTROL, NONE = "mean difference", "random direction", "no shift"
TRANSFER, TRAINED = "zero-shot transfer", "language trained on"
HALF, MOVED, ALL = "lower half frozen", "lower half frozen, shifted", "all layers trained"
NEW = "new weights, all layers trained"
FOUND = "translation found"
BEST = "checkpoint_best.pt"
_MASS = {"langmass_own": "mass on own words", "langmass_others": "mass on others' words"}


@dataclasses.dataclass(frozen=True)
class Config(EncoderTraining, PreparedText):
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


@KINDS.register("token-translation")
@STUDIES.register("token-translation")
class TokenTranslation(Study):
    """A masked language model of several languages, its states shifted by their mean difference."""

    name, paper, config = "token-translation", "mbert", Config
    help = "translation of tokens and transfer by the mean difference of two languages"
    title = "Token translation by the mean difference"
    source = "Liu et al. (2020), section 4"
    lead = "Encoders that have only seen text of each language, trained as masked language models."
    spec_rows = ("S11", "S12", "S13")

    def check(self, config: Config) -> Config:
        config = counted(config)
        check_text(config, "mono", "parallel")
        check_vocabulary(config.vocab_type, config.segment, config.language_list)
        split_words("--prepare-args", config.prepare_args)
        for task in parse_tasks("--tasks", config.tasks).values():
            task.check(Path(config.data_text), config.language_list)
        _ = config.seed_list, config.training, parse_alphas(config.alphas)  # raises for errors
        return config

    def plan(self, run: Path, config: Config) -> tuple[list[Step], list[Cell]]:
        text, (source, *targets) = Path(config.data_text), config.language_list
        plan = EncoderPlan(run, config)
        data = plan.prepare("prepare", run / "data", config.language_list, "joint")
        for seed in config.seed_list:
            best = plan.train(str(seed), data, seed, source) / BEST
            new = plan.untrained(f"new-{seed}", data, seed, source) / BEST
            about, of = {"source": source, "seed": seed}, (config, best, data, seed)
            mass = run / "results" / f"mass-{seed}.json"
            command = ["--measure", "langmass", "--device", config.device, "--output", mass]
            command = eval_command([best], data, source, targets, *command)
            plan.add(Step(f"mass-{seed}", [command], inputs=[data, best.parent], outputs=[mass]))
            plan.cells.append(Cell({**about, "row": NONE}, {"mass": mass}))
            for target in targets:
                for row in (SHIFT, CONTROL):
                    files = {
                        split: plan.add(_grid(run, split, target, row, *of)) / RESULTS
                        for split in ("valid", "test")
                    }
                    plan.cells.append(Cell({**about, "target": target, "row": row}, files))
                lookups = {**about, "target": target, "cell": "sentences"}
                plan.cells.append(Cell(lookups, _look_up(plan, target, best, data, seed)))
            for name, task in parse_tasks("--tasks", config.tasks).items():
                half = config.layers // 2
                for row, frozen, model in ((HALF, half, best), (ALL, 0, best), (NEW, 0, new)):
                    kind = "new" if row == NEW else frozen
                    output = run / "tasks" / f"{name}-{kind}-{seed}"
                    options = ["--freeze-layers", str(frozen), "--device", config.device]
                    options += ["--precision", config.precision]
                    if frozen:  # alpha is chosen on sentences of the target language, as in 4.3
                        options += ["--shift-layer", str(frozen)]
                        dev = (f"{lang}={task.file(text, 'valid', lang)}" for lang in targets)
                        options += [word for file in dev for word in ("--shift-dev", file)]
                    tested = (output.name, task, output, text, config.language_list)
                    plan.add(transfer_step(*tested, {"model": (model, data)}, "1", options))
                    files = {"transfer": output / RESULTS}
                    plan.cells.append(Cell({**about, "row": row, "task": task.title}, files))
        return plan.done()

    def read(self, cell: Cell) -> Iterator[Mapping[str, Any]]:
        found = {name: read_json(path) for name, path in cell.files.items()}
        if "mass" in found:
            (result,) = found["mass"]["results"]
            measured = result["measures"]["langmass"]
            for lang, scores in measured["scores"].items():
                for name, title in _MASS.items():
                    chance = measured["chance"][lang][name]
                    about = {"target": lang, "measure": title, "chance": chance}
                    yield {**about, "value": scores[name]}
        elif "transfer" in found:
            scores = tested_scores(cell.files["transfer"].parent)[["target", "shifted", "value"]]
            for lang, shifted, value in scores.itertuples(index=False, name=None):
                measure = TRAINED if lang == cell.about["source"] else TRANSFER
                row = MOVED if shifted else cell.about["row"]
                yield {"row": row, "target": lang, "measure": measure, "value": value, "unit": "%"}
        elif cell.about.get("cell") == "sentences":
            for row, result in found.items():
                curves = {row: "after", **({NONE: "before"} if row == SHIFT else {})}
                about = {"measure": FOUND, "chance": result["chance"]}
                for name, curve in curves.items():
                    by_layer = zip(result["layers"], result["curves"][curve], strict=True)
                    for layer, value in by_layer:
                        yield {**about, "row": name, "layer": layer, "value": value}
        else:
            valid, test = (
                {Shift(one["layer"], one["alpha"]): one for one in found[split]["cells"]}
                for split in ("valid", "test")
            )
            chosen = best_shift({shift: one for shift, one in valid.items() if shift.alpha > 0})
            where = {"chosen": f"layer {chosen.layer}, alpha {chosen.alpha:g}"}
            yield from _scores(test[chosen], {**where, "cell": "chosen"})
            if cell.about["row"] == SHIFT:
                yield from _scores(test[NO_SHIFT], {"row": NONE, "cell": "chosen"})
            for shift, scores in test.items():
                if shift != NO_SHIFT:
                    about = {"layer": shift.layer, "alpha": shift.alpha, "cell": "grid"}
                    yield from _scores(scores, about)

    def sections(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Iterator[Section]:
        from fairseq_xling.results.frame import pivot

        rows, digits = {"": "row", "language": "target"}, {BLEU: 1, RATE: 3, OTHER: 3}
        chosen = frame[frame["cell"] == "chosen"]
        yield tabled(
            "Token translation",
            pivot(chosen, rows, digits=digits, order=list(digits)),
            "Means and standard deviations over seeds; layer and alpha are chosen by the precision "
            "of words on the validation sentences, the figures are of the test.",
            "Convert rate: share of the target's own words among those of one language alone. "
            "Third language: share of all words that only other languages have.",
        )
        if len(found := frame[frame["measure"] == FOUND]):
            note = "Share of sentences whose translation is the nearest one, a mean over layers."
            yield tabled("Sentences", pivot(found, rows, digits=3), note)
        mass = frame[frame["measure"].isin(_MASS.values())]
        yield tabled("Masked words", pivot(mass, {"language": "target"}, digits=3))
        if len(tuned := frame[frame["measure"].isin([TRANSFER, TRAINED])]):
            yield tabled("Tasks (%)", pivot(tuned, rows, "task", digits=1))
        yield Section("By layer and alpha", figure=partial(draw, frame), name="plot-1")


def draw(frame: "pandas.DataFrame") -> "Figure":
    """A panel for each target and measure: a line for each alpha, by the layer shifted."""
    from fairseq_xling.results.charts import curves

    own = frame[(frame["cell"] == "grid") & (frame["row"] == SHIFT)]
    own = own[own["measure"].isin([RATE, BLEU])]
    panels = own["target"] + ": " + own["measure"]
    lines = [f"alpha {alpha:g}" for alpha in own["alpha"]]
    return curves(
        own.assign(panel=panels, line=lines),
        lambda rows: rows["measure"].iat[0],
        xlabel="layer that is shifted",
        line="line",
        panel="panel",
        title=lambda rows: rows["target"].iat[0],
        common=True,
    )


def _look_up(plan: EncoderPlan, target: str, best: Path, data: Path, seed: int) -> dict[str, Path]:
    """Translations of the test's sentences looked up among their states, with the mean difference
    of one half of them, and with a random direction: the results of both."""
    source, text = plan.config.language_list[0], Path(plan.config.data_text) / "parallel"
    states = []
    for lang in (source, target):
        name = f"{source}-{target}-{lang}-{seed}"
        file = text / f"test.{source}-{target}.{lang}.txt"
        given = (f"states-{name}", plan.run / "states" / name, best, data, lang, file)
        states.append(plan.extract(*given, "sentences"))
    found = {}
    for row, name, control in (
        (SHIFT, "shift", ()),
        (CONTROL, "control", ("--random-direction", str(seed))),
    ):
        result = plan.run / "results" / f"sentences-{name}-{target}-{seed}.json"
        command = ["fairseq-xling", "eval", "meanshift", *map(str, states), *control]
        command += ["--output", str(result)]
        outputs = [result, result.with_suffix(".csv")]
        found[row] = plan.add(Step(result.stem, [command], inputs=states, outputs=outputs))
    return found


def _grid(
    run: Path, split: str, target: str, row: str, config: Config, best: Path, data: Path, seed: int
) -> Step:
    """Translations with every layer and alpha, of one set of sentences."""
    source = config.language_list[0]
    name = f"{'shift' if row == SHIFT else 'control'}-{target}-{split}-{seed}"
    text, reference = (
        Path(config.data_text) / "parallel" / f"{split}.{source}-{target}.{lang}.txt"
        for lang in (source, target)
    )
    command = [
        *("fairseq-xling", "translate", "mds", str(best), "--data", str(data)),
        *("--from", source, "--to", target, "--text", str(text), "--reference", str(reference)),
        *("--layers", f"1-{config.layers}", f"--alphas={config.alphas}"),
        *(("--random-direction", str(seed)) if row == CONTROL else ()),
        *("--device", config.device, "--output", str(run / "grids" / name)),
    ]
    inputs = [best.parent, data, text, reference]
    return Step(name, [command], inputs=inputs, outputs=[run / "grids" / name], resumable=True)


def _scores(scores: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    third = sum(scores["other_languages"].values()) / max(1, scores["tokens"])
    yield {**about, "measure": RATE, "value": scores["convert_rate"]}
    yield {**about, "measure": BLEU, "value": scores["bleu"], "unit": "%"}
    yield {**about, "measure": OTHER, "value": third}
