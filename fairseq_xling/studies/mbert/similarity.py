"""The similarity study as steps: encoders, their states, maps, measures, the table.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models", section 5 and
Figure 7: encoders of two languages are compared layer by layer by sentence retrieval, linear CKA
and word translation. The first side, X, is mapped into the space of the second, Y; for an
orthogonal map with cosines the direction makes no difference.
"""

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.options import load_config
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.encoder_training import counted
from fairseq_xling.studies.mbert.similarity_config import PRESETS, SimilarityConfig, check_config
from fairseq_xling.studies.mbert.similarity_lexicon import lexicon_step
from fairseq_xling.studies.mbert.similarity_models import EncoderSide, Models
from fairseq_xling.studies.mbert.similarity_result import Comparison, files_of, write_similarity
from fairseq_xling.studies.mbert.similarity_rows import EncoderKind, Pair


def run_similarity(args: argparse.Namespace) -> None:
    """The verb ``ablate similarity``.

    Raises:
        UserError: for bad options, missing text, or a step that fails.
    """
    config, run = counted(load_config(SimilarityConfig, args, PRESETS)), Path(args.output)
    check_config(config)
    config, settled = settle_config(run, config)
    run_steps(run, similarity_steps(run, config), config.jobs, args, settled)


def similarity_steps(run: Path, config: SimilarityConfig) -> list[Step]:
    """All steps of the study; all files are in ``run``."""
    steps: dict[str, Step] = {}
    models = Models(run, config, steps)
    cells: list[Comparison] = []
    correlations: dict[tuple[str, str], Path] = {}
    for pair in config.pairs:
        for row in config.row_list:
            if not row.fits(pair):
                continue
            sides = {models.sides(row.family, pair, seed): seed for seed in config.seed_list}
            own = [
                _Comparison(models, row, pair, *both, seed).cell() for both, seed in sides.items()
            ]
            cells += own
            if {"cka", "retrieval"} <= set(config.measure_list):
                correlations[row.name, pair.name] = _correlate(steps, run, row, pair, own)
    record = dataclasses.asdict(config)
    steps["table"] = Step(
        "table",
        call=lambda: write_similarity(run, record, cells, correlations, list(steps.values())),
        settings={"config": record, "kind": "similarity"},
        inputs=[*(path for c in cells for path in c.results.values()), *correlations.values()],
        outputs=[run / name for name in files_of(dict.fromkeys(cell.pair for cell in cells))],
    )
    return list(steps.values())


@dataclasses.dataclass(frozen=True)
class _Comparison:
    """Two compared encoders; its methods add the steps that measure them."""

    models: Models
    row: EncoderKind
    pair: Pair
    x: EncoderSide
    y: EncoderSide
    seed: int

    @property
    def name(self) -> str:
        """A name of the two encoders, the same whether they are mapped or not."""
        names = dict.fromkeys([self.x.name, self.y.name])
        return "-".join(names)

    def cell(self) -> Comparison:
        """The input of the table; the steps are added."""
        made: dict[str, Callable[[], Path]] = {
            "retrieval": self._retrieval,
            "cka": self._cka,
            "bli": lambda: self._words("bli", "types"),
            "static": lambda: self._words("static", "static", layers="0"),
        }
        results = {name: made[name]() for name in self.models.config.measure_list}
        return Comparison(self.row.name, self.row.title, self.pair.name, self.seed, results)

    def _sentences(self, split: str) -> list[Path]:
        sides = ((self.x, False), (self.y, True))
        return [self.models.sentences(side, self.pair, split, second) for side, second in sides]

    def _cka(self) -> Path:
        return self._measure("cka", self.name, "cka", self._sentences("test"))

    def _retrieval(self) -> Path:
        learnt = self._sentences("valid") if self.row.mapped else []
        return self._measure(
            "retrieval",
            f"{self.row.name}-{self.name}",
            "tatoeba",
            self._sentences("test"),
            learnt,
            ["--pairs", "rows"],
        )

    def _words(self, what: str, unit: str, layers: str = "") -> Path:
        lexicon = lexicon_step(self.models.steps, self.models.run, self.models.config)
        states = [
            self.models.types(side, unit, lexicon / f"words.{side.lang}.txt", layers)
            for side in (self.x, self.y)
        ]
        own = lexicon / self.pair.name
        return self._measure(
            what,
            f"{self.row.name}-{self.name}",
            "bli",
            states,
            states if self.row.mapped else [],
            ["--pairs", "dictionary", str(own / "train.tsv")],
            ["--dictionary", str(own / "test.tsv")],
            [own],
        )

    def _measure(
        self,
        what: str,
        name: str,
        verb: str,
        folders: Sequence[Path],
        learnt: Sequence[Path] = (),
        pairs: Sequence[str] = (),
        options: Sequence[str] = (),
        inputs: Sequence[Path] = (),
    ) -> Path:
        """Add a step that measures ``folders``, after a map of ``learnt`` if there are any."""
        run, config = self.models.run, self.models.config
        result = run / "results" / f"{what}-{name}.json"
        commands, outputs = [], [result, result.with_suffix(".csv")]
        if learnt:
            fitted = run / "maps" / f"{what}-{name}.safetensors"
            commands.append(
                [
                    *("fairseq-xling", "map", config.method, *map(str, learnt), *pairs),
                    *("--normalize", config.normalize, "--output", str(fitted)),
                ]
            )
            outputs += [fitted, fitted.with_name(f"{fitted.name}.json")]
            options = [*options, "--map", str(fitted)]
        commands.append(
            [
                *("fairseq-xling", "eval", verb, *map(str, folders), *options),
                *("--output", str(result)),
            ]
        )
        self.models.steps.setdefault(
            f"{what}-{name}",
            Step(
                f"{what}-{name}",
                commands=commands,
                inputs=list(dict.fromkeys([*folders, *learnt, *inputs])),
                outputs=outputs,
            ),
        )
        return result


def _correlate(
    steps: dict[str, Step], run: Path, row: EncoderKind, pair: Pair, cells: Sequence[Comparison]
) -> Path:
    """Add the step that correlates CKA with retrieval over the layers, seed by seed; its file."""
    result = run / "results" / f"correlation-{row.name}-{pair.name}.json"
    twos = [cell.results[what] for cell in cells for what in ("cka", "retrieval")]
    command = ["fairseq-xling", "eval", "correlate", *map(str, twos), "--output", str(result)]
    name = result.stem
    outputs = [result, result.with_suffix(".csv")]
    steps[name] = Step(name, commands=[command], inputs=twos, outputs=outputs)
    return result
