"""`fairseq-xling prepare --shards N`: a large text as N data folders that share what they learn.

First the *models*, a folder with what is learnt on bounded samples: dictionaries, tokenizers and
the parameters of the word aligner, and where the lines of each shard begin. Then every shard, each
on its own, from the models and its own lines of the text.
"""

import shutil
from pathlib import Path
from typing import Any

from fairseq_xling.data.digests import check_file
from fairseq_xling.errors import MALFORMED, UserError
from fairseq_xling.files import atomic_write, read_json, sha256, write_json
from fairseq_xling.progress import progress
from fairseq_xling.text import state
from fairseq_xling.text.aligners import Aligner, aligners
from fairseq_xling.text.alignment import PairAligner
from fairseq_xling.text.inputs import Inputs, check_inputs, facts_to_json, fingerprint, surfaces
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import FolderMaker, check_settings, to_align, write_folder
from fairseq_xling.text.sample import draw_lines
from fairseq_xling.text.scan import TextFacts, scan_text
from fairseq_xling.text.sections import check_lines, cut_text, section_sources
from fairseq_xling.text.sources import Sources
from fairseq_xling.text.thot_worker import ITERATIONS

MODELS = "models"
_CUTS = "shards.json"


def part_names(shards: int) -> list[str]:
    """The folders of ``shards`` shards, and the one with what they share, which comes first.

    >>> part_names(2)
    ['models', 'shard0', 'shard1']
    """
    return [MODELS, *(f"shard{number}" for number in range(shards))]


def check_shards(sources: Sources, options: PrepareOptions, shards: int) -> None:
    """Refuse what cannot be prepared in shards, before much is read.

    Raises:
        UserError: for settings that `prepare` refuses, no training text or too few lines of it,
            and an aligner that cannot align with what it has learnt from other text.
    """
    if not any(split == "train" for split, _ in (*sources.mono, *sources.parallel)):
        raise UserError("`--shards` needs training text to cut, such as `--mono train.en=FILE`")
    aligner = aligners[options.aligner]()
    if to_align(sources) and aligner.aligns and not aligner.keeps_parameters:
        able = ", ".join(name for name in aligners if aligners[name].keeps_parameters)
        raise UserError(
            f"`--shards` needs an aligner that keeps its parameters ({able}), or none, got "
            f"`--aligner {options.aligner}`"
        )
    check_settings(sources, options)
    check_lines(sources, shards)


def prepare_models(
    out: Path,
    sources: Sources,
    options: PrepareOptions,
    shards: int,
    align_sample: float,
    workers: int,
    overwrite: bool = False,
) -> None:
    """Make, or finish, the folder of the models: a data folder whose text is the aligner's sample.

    Args:
        align_sample: megabytes of each pair's training text (both sides together) to align.

    Raises:
        UserError: for bad input, found before anything is written.
    """
    check_shards(sources, options, shards)
    inputs = fingerprint(sources)
    settings = {**options.to_json(), "shards": shards, "align_sample": align_sample}
    if not overwrite and state.is_finished(out, settings, inputs):
        return
    surface = surfaces(sources)
    checked = check_inputs(sources, options, None if overwrite else state.known_facts(out))
    cuts = cut_text(sources, checked.facts, shards)
    with state.writing(out, overwrite):
        state.start(out, settings, inputs, facts_to_json(checked))
        record = {"cuts": cuts, "facts": facts_to_json(checked), "surfaces": surface}
        write_json(out / _CUTS, record)
        sampled, facts = _sampled(out / state.WORK, sources, checked, options, align_sample)
        here = Inputs({**checked.facts, **facts}, {})
        maker = _ModelMaker(out, sampled, here, options, workers)
        maker.learns_from = sources
        write_folder(out, maker, settings, inputs)
    shutil.rmtree(out / state.WORK, ignore_errors=True)


def prepare_shard(
    out: Path,
    models: Path,
    sources: Sources,
    options: PrepareOptions,
    number: int,
    workers: int,
    overwrite: bool = False,
) -> None:
    """Make, or finish, shard ``number`` with the finished ``models``.

    The splits to validate and test on are in shard 0.

    Raises:
        UserError: if the models are missing or of other text, or the shard has a text of blank
            lines alone.
    """
    record = _record(models)
    if record["surfaces"] != surfaces(sources):
        raise UserError(f"{models}: was made of text that has changed; repeat with `--overwrite`")
    settings = {**options.to_json(), "shard": number, "shards": len(record["cuts"])}
    inputs = {"models": [{"sha256": sha256(models / "meta.json")}]}
    if not overwrite and state.is_finished(out, settings, inputs):
        return
    checked = check_inputs(sources, options, record["facts"])
    mine, facts = section_sources(sources, record["cuts"][number], with_rest=number == 0)
    here = Inputs({**checked.facts, **facts}, checked.dictionaries)
    with state.writing(out, overwrite):
        state.start(out, settings, inputs, None)
        maker = _ShardMaker(out, models, mine, here, options, workers)
        write_folder(out, maker, settings, inputs)
    shutil.rmtree(out / state.WORK, ignore_errors=True)


def _record(models: Path) -> dict[str, Any]:
    if not (models / "meta.json").is_file():
        raise UserError(f"{models}: is not finished; the step `{MODELS}` makes it")
    record = read_json(models / _CUTS)
    try:
        if {"cuts", "facts", "surfaces"} <= set(record):
            return record
    except MALFORMED:
        pass
    raise UserError(f"{models / _CUTS}: damaged; repeat with `--overwrite`")


def _sampled(
    work: Path, sources: Sources, checked: Inputs, options: PrepareOptions, megabytes: float
) -> tuple[Sources, dict[Path, TextFacts]]:
    """Text to learn word alignment from: a sample of the training text, and all other splits, with
    which it is aligned without shards, too."""
    result, facts = Sources(), {}
    pairs = to_align(sources)
    for (split, pair), sides in sources.parallel.items():
        if pair not in pairs:
            continue
        if split != "train":
            result.parallel[split, pair] = sides
            continue
        lines = checked.facts[sides[0]].lines
        size = sum(checked.facts[side].bytes for side in sides)
        wanted = max(1, min(lines, round(megabytes * 1e6 / size * lines)))
        paths = tuple(work / f"sample.{'-'.join(pair)}.{lang}" for lang in pair)
        for side, path in zip(sides, paths, strict=True):
            with atomic_write(path, "w") as file:
                for line in draw_lines([side], lines, wanted, options.seed, salt="-".join(pair)):
                    file.write(line + "\n")
            facts[path] = scan_text(path)
        result.parallel[split, pair] = paths
    return result, facts


class _ModelMaker(FolderMaker):
    """Trains aligners and writes no links."""

    def links(self, job: PairAligner, aligner: Aligner, key: str) -> None:
        parameters, done = self.out / "aligner" / key, self.work / f"align.{key}" / "trained"
        if not done.is_file():
            with progress(2 * ITERATIONS, f"learning to align {key}", unit="iteration") as bar:
                job.train(aligner, parameters, self.workers, lambda text: bar.update(1))
            done.touch()


class _ShardMaker(FolderMaker):
    """Takes vocabulary and aligners from the finished folder ``models``."""

    def __init__(self, out: Path, models: Path, *rest: Any):
        super().__init__(out, *rest)
        self._models, self._meta = models, read_json(models / "meta.json")

    def vocabulary(self) -> dict[str, dict[str, float]]:
        for name, recorded in self._meta["files"].items():
            if "/" not in name and name != _CUTS:
                check_file(self._models / name, recorded, fully=True)
                with atomic_write(self.out / name) as file:
                    file.write((self._models / name).read_bytes())
        return self._meta["vocab"]["sample_shares"]

    def blank(self, name: str) -> str:
        return f"{self.out}: its lines of {name} are all blank; choose fewer `--shards`"

    def links(self, job: PairAligner, aligner: Aligner, key: str) -> tuple[Path, Path]:
        parameters = self._models / "aligner" / key
        return job.links(aligner, self.workers, lambda text: None, parameters)
