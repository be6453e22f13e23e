"""`fairseq-xling prepare --shards N`: a large text as N data folders that share what they learn.

First the *models*, a folder with what is learnt on bounded samples: dictionaries, tokenizers and
the parameters of the word aligner, and where the lines of each shard begin. Then every shard, each
on its own, from the models and its own lines of the text.

Every shard has a contiguous range of lines of every training text, as long as the others' but for
one line, so that continuous text stays continuous. Only where the ranges begin is kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, read_json, sha256, write_json
from fairseq_xling.core.progress import progress
from fairseq_xling.core.texts import open_binary
from fairseq_xling.data.meta import check_file
from fairseq_xling.text import state
from fairseq_xling.text.aligners import Aligner, aligners
from fairseq_xling.text.alignment import PairAligner
from fairseq_xling.text.blocks import BLOCK_BYTES, Section
from fairseq_xling.text.inputs import (
    Inputs,
    TextFacts,
    check_inputs,
    facts_to_json,
    fingerprint,
    scan_text,
    surfaces,
)
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import FolderMaker, check_settings, to_align, write_folder
from fairseq_xling.text.sources import Sources
from fairseq_xling.text.thot_worker import ITERATIONS
from fairseq_xling.text.vocabulary import draw_lines

Sections = dict[str, list[list[int]]]  # by role: [number of the file, *fields of `Section`]


def cut_text(sources: Sources, facts: Mapping[Path, TextFacts], shards: int) -> list[Sections]:
    """The sections of each of ``shards`` shards, by the roles of ``sources`` (see `by_role`)."""
    cuts: list[Sections] = [{} for _ in range(shards)]
    # Alignments last: of parallel text with too few lines the text is named.
    roles = sorted(sources.by_role().items(), key=lambda item: item[0].startswith("alignment/"))
    for role, files in roles:
        kind, _, name = role.partition("/")
        if not name.startswith("train.") or kind not in ("mono", "parallel", "alignment"):
            continue
        if kind == "mono":
            _cut(cuts, role, 0, files, [facts[file].lines for file in files], facts)
            continue
        a, b = name.removeprefix("train.").split("-")
        lines = facts[sources.parallel["train", (a, b)][0]].lines
        for number, file in enumerate(files):
            _cut(cuts, role, number, [file], [lines], facts)
    return cuts


def check_lines(sources: Sources, shards: int) -> None:
    """Refuse more ``shards`` than a training text has lines; reads no more lines than that."""
    texts = [files for (split, _), files in sources.mono.items() if split == "train"]
    pairs = [files for (split, _), files in sources.parallel.items() if split == "train"]
    for files in [*texts, *([file] for pair in pairs for file in pair)]:
        lines = 0
        for file in files:
            lines += _first_lines(file, shards - lines)
        _check_lines(lines, shards, files[0])


def _check_lines(lines: int, shards: int, file: Path) -> None:
    if lines < shards:
        raise UserError(
            f"`--shards` must be at most the number of lines of each training text, {lines} in "
            f"{file}, got {shards}"
        )


def _first_lines(path: Path, most: int) -> int:
    """How many lines a file has; ``most`` or more stands for any larger number."""
    lines, last, blocks = 0, b"\n", _blocks(path)
    while lines < most and (block := next(blocks, b"")):
        lines, last = lines + block.count(b"\n"), block[-1:]
    return lines + (last != b"\n")


def _cut(
    cuts: list[Sections],
    role: str,
    number: int,
    files: Sequence[Path],
    lines: Sequence[int],
    facts: Mapping[Path, TextFacts],
) -> None:
    """Add to each of ``cuts`` its part of ``files``, which are one text and have so many lines."""
    total, shards = sum(lines), len(cuts)
    _check_lines(total, shards, files[0])
    borders = [total * k // shards for k in range(shards + 1)]
    before = 0
    for place, (file, count) in enumerate(zip(files, lines, strict=True), start=number):
        inside = [n - before for n in borders if before < n < before + count]
        ends = [0, *inside, count]
        size = facts[file].bytes if file in facts else sum(map(len, _blocks(file)))
        offsets = [0, *line_offsets(file, inside), size]
        for k in range(len(ends) - 1):
            shard = int(np.searchsorted(borders, before + ends[k], side="right")) - 1
            section = [place, offsets[k], offsets[k + 1], ends[k] + 1, ends[k + 1] - ends[k]]
            cuts[shard].setdefault(role, []).append(section)
        before += count


def line_offsets(path: Path, numbers: Sequence[int]) -> list[int]:
    """The bytes of the first n lines of ``path`` (unpacked), for each of ``numbers``, ascending."""
    found: list[int] = []
    wanted, lines, offset, blocks = np.array(numbers, dtype=np.int64), 0, 0, _blocks(path)
    while len(found) < len(wanted):
        if not (block := next(blocks, b"")):
            raise UserError(f"{path}: has only {lines} whole lines; it changed meanwhile")
        count, here = block.count(b"\n"), wanted[len(found) :]
        here = here[here <= lines + count] - lines
        if len(here):
            ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
            found += (ends[here - 1] + 1 + offset).tolist()
        lines, offset = lines + count, offset + len(block)
    return found


def _blocks(path: Path) -> Iterator[bytes]:
    with open_binary(path) as file:
        while block := file.read(BLOCK_BYTES):
            yield block


def section_sources(sources: Sources, cut: Sections, with_rest: bool) -> tuple[Sources, Any]:
    """``sources`` whose training text are the sections of ``cut``, and the facts of these.

    Args:
        with_rest: keep all other splits.
    """
    facts: dict[Section, TextFacts] = {}
    roles = sources.by_role()

    def pick(kind: str, name: str, files: Any) -> Any:
        if not name.startswith("train."):
            return files
        role = f"{kind}/{name}"
        sections = [Section(roles[role][place], *rest) for place, *rest in cut[role]]
        for one in sections:
            facts[one] = TextFacts(one.lines, one.lines, one.stop - one.start)
        return tuple(sections)

    def kept(table: Mapping) -> dict:
        return {key: files for key, files in table.items() if with_rest or key[0] == "train"}

    found = Sources(
        mono={k: pick("mono", f"{k[0]}.{k[1]}", v) for k, v in kept(sources.mono).items()},
        parallel={
            k: pick("parallel", f"{k[0]}.{'-'.join(k[1])}", v)
            for k, v in kept(sources.parallel).items()
        },
        dictionaries=sources.dictionaries,
        tokenizers=sources.tokenizers,
    )
    for (split, pair), file in kept(sources.alignments).items():
        files = pick("alignment", f"{split}.{'-'.join(pair)}", (file,))
        found.alignments[split, pair] = files[0]
    return found, facts


MODELS = "models"
_CUTS = "shards.json"


def part_names(shards: int) -> list[str]:
    """The folders of ``shards`` shards, and the one with what they share, which comes first.

    >>> part_names(2)
    ['models', 'shard0', 'shard1']
    """
    return [MODELS, *(f"shard{number}" for number in range(shards))]


def check_shards(sources: Sources, options: PrepareOptions, shards: int) -> None:
    """Refuse what cannot be prepared in shards, before much is read."""
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
    """
    check_shards(sources, options, shards)
    inputs = fingerprint(sources)
    settings = {**options.to_json(), "shards": shards, "align_sample": align_sample}
    if not overwrite and state.is_finished(out, settings, inputs):
        return
    surface = surfaces(sources)
    checked = check_inputs(sources, options, None if overwrite else state.known_facts(out))
    cuts = cut_text(sources, checked.facts, shards)
    found = facts_to_json(checked)
    with state.writing(out, settings, inputs, found, overwrite):
        write_json(out / _CUTS, {"cuts": cuts, "facts": found, "surfaces": surface})
        sampled, facts = _sampled(out / state.WORK, sources, checked, options, align_sample)
        here = Inputs({**checked.facts, **facts}, {})
        maker = _ModelMaker(out, sampled, here, options, workers)
        maker.learns_from = sources
        write_folder(out, maker, settings, inputs)


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
    with state.writing(out, settings, inputs, None, overwrite):
        maker = _ShardMaker(out, models, mine, here, options, workers)
        write_folder(out, maker, settings, inputs)


def _record(models: Path) -> dict[str, Any]:
    if not (models / "meta.json").is_file():
        raise UserError(f"{models}: is not finished; the step `{MODELS}` makes it")
    record = read_json(models / _CUTS)
    if not isinstance(record, dict) or not {"cuts", "facts", "surfaces"} <= set(record):
        raise UserError(f"{models / _CUTS}: damaged; repeat with `--overwrite`")
    return record


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
