"""`fairseq-xling map`: two vectors files in, the mapped one out.

Symbols: ``V`` ids of the moving vocabulary, ``N`` of them that occur, ``D`` width.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import sha256
from fairseq_xling.core.folders import work_folder
from fairseq_xling.core.progress import progress
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.engine.devices import usable_device
from fairseq_xling.mapping.evidence import shared_words, split_shared
from fairseq_xling.mapping.methods import METHODS, Fit, Surroundings
from fairseq_xling.mapping.normalize import parse_steps
from fairseq_xling.mapping.search import Search, SearchOptions, best_of
from fairseq_xling.mapping.space import Space
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors

MATCHES = ("none", "moments")


@dataclasses.dataclass(frozen=True)
class MapOptions:
    """The settings of a map, besides the options of its method.

    Attributes:
        source_vectors: file of the fixed vectors, the raw embeddings of the source encoder.
        vectors: file of the vectors to map.
        output: vectors file to write; ``<output>.json``, of the verb, is the record.
        seeds: tried one after another, if the method depends on them.
        normalize: normalisation of both spaces while the map is learnt (default: the method's own).
        match: ``none`` writes ``V W``; ``moments`` gives it the mean and spread of the fixed space.
        keep_failed: whether to write the best map even if every seed failed.
        search: how maps are refined and judged.
        device: where to compute.
    """

    source_vectors: str
    vectors: str
    output: str
    seeds: Sequence[int] = (1, 2, 3, 4, 5)
    normalize: str | None = None
    match: str = "none"
    keep_failed: bool = False
    search: SearchOptions = dataclasses.field(default_factory=SearchOptions)
    device: str = "cpu"


@dataclasses.dataclass(frozen=True)
class Tried:
    """What was found.

    Attributes:
        settings: of the map; words: of either side that occur.
        attempts: by seed the fields of an `Attempt`, without the map.
        best: the seed that was kept.
        chance: the criterion of refined random rotations.
        criterion, evidence: without a map.
        seconds: that it took; files: that were read, by role.
    """

    settings: Mapping[str, Any]
    words: Mapping[str, int]
    attempts: Mapping[int, Mapping[str, Any]]
    best: int
    chance: float
    criterion: float
    evidence: Mapping[str, Any]
    seconds: float
    files: Mapping[str, str]


def map_vectors(
    method: str, options: MapOptions, own: Any, report: Callable[[Tried], object] = lambda _: None
) -> Tried:
    """Find the best orthogonal map by ``method`` and write the mapped vectors.

    A seed that a killed run finished is not repeated, and the result is the same.

    Args:
        own: the method's own options, of its ``options``.
        report: called with what was found, before vectors are written or refused.

    Raises:
        UserError: if the files do not fit together, or every seed failed.
    """
    started = time.monotonic()
    solver = METHODS[method]()
    if Path(options.output).is_dir():
        raise UserError(f"`--output` {options.output}: is a folder, not a file")
    if options.match not in MATCHES:
        raise unknown_name("value of `--match`", options.match, list(MATCHES))
    usable_device(options.device)
    steps = solver.normalize if options.normalize is None else options.normalize
    settings = {
        "method": method,
        **dataclasses.asdict(own),
        "normalize": ",".join(parse_steps(steps)) or "none",
        **dataclasses.asdict(options.search),
    }
    files = {"vectors": options.vectors, "source vectors": options.source_vectors}
    read = {role: read_vectors(path) for role, path in files.items()}
    widths = [vectors.vectors.shape[1] for vectors in read.values()]
    if widths[0] != widths[1]:
        raise UserError(
            f"{options.vectors} and {options.source_vectors}: must have equal width, "
            f"got {widths[0]} and {widths[1]}"
        )
    spaces = []
    for role, path in files.items():
        try:
            spaces.append(Space.of(read[role], settings["normalize"], options.device))
        except UserError as error:
            raise UserError(f"{path}: {error}") from None
    moving, fixed = spaces
    seeds = list(options.seeds) if solver.seeded else [options.seeds[0]]

    def solve(search: Search, seed: int) -> Fit:
        what = f"{method}, seed {seed}" if solver.seeded else method
        with progress(solver.steps(own), what, "steps") as bar:
            around = Surroundings(seed, search.criterion, bar.update)
            return solver.fit(moving, fixed, own, around)

    pairs = shared_words(moving, fixed)
    if solver.from_shared_words:
        pairs = split_shared(pairs)[1]
    identity = [settings, {role: sha256(path) for role, path in files.items()}]
    with work_folder(options.output, identity) as work:
        search = Search(moving, fixed, pairs, options.search, work)
        chance = search.chance()
        attempts = [search.attempt(seed, partial(solve, search, seed), chance) for seed in seeds]
        best, unmapped = best_of(attempts), torch.eye(widths[0]).to(moving.vectors)
        found = Tried(
            {**settings, "seeds": seeds, "match": options.match},
            {"moving": len(moving.ids), "fixed": len(fixed.ids)},
            {
                seed: {name: value for name, value in vars(attempt).items() if name != "w"}
                for seed, attempt in zip(seeds, attempts, strict=True)
            },
            seeds[best],
            chance,
            search.criterion(unmapped),
            dataclasses.asdict(search.evidence(unmapped)),
            round(time.monotonic() - started, 1),
            files,
        )
        report(found)
        if attempts[best].failure is not None and not options.keep_failed:
            raise UserError(
                f"{options.output}: not written, as every seed failed ({attempts[best].failure}); "
                f"see {options.output}.json, or write the best map anyway: --keep-failed"
            )
        w = attempts[best].w.cpu()
        table = apply_map(read["vectors"], read["source vectors"], w, options.match)
        write_vectors(
            options.output,
            dataclasses.replace(
                read["vectors"],
                vectors=table,
                map=w.numpy(),
                settings={**read["vectors"].settings, "mapped": found.settings},
            ),
        )
    return found


def apply_map(moving: Vectors, fixed: Vectors, w: Tensor, match: str = "none") -> np.ndarray:
    """The mapped vectors (V, D) float32, all ids included.

    ``none`` is ``V W``. ``moments`` is ``s (V - m_V) W + m_U``, where ``m`` are the mean vectors of
    the ids that occur and ``s`` makes the mean squared distance from the mean equal to that of the
    fixed space: an encoder expects embeddings with the mean and spread of its own.
    """
    v = torch.from_numpy(moving.vectors).double()
    if match == "none":
        return (v @ w.double()).float().numpy()
    u = torch.from_numpy(fixed.vectors[fixed.counts > 0]).double()
    known = v[torch.from_numpy(moving.counts > 0)]
    spread = [(x - x.mean(0)).square().sum(1).mean().sqrt() for x in (u, known)]
    return (spread[0] / spread[1] * (v - known.mean(0)) @ w.double() + u.mean(0)).float().numpy()
