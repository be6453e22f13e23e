"""Goldens of data: digests of texts, vocabularies, data folders, links and vectors."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.golden.text import digest, normalise
from tests.golden.world import call, inside, world

_TEXT = "w/text/parallel/train.en-de"
_PREPARED = "--from w/text --languages"
PREPARED = {
    **{
        f"{mode}-{kind}": f"{_PREPARED} en,de --vocab {mode} --vocab-type {kind} --vocab-size 120"
        for mode, kind in (
            *(("joint", kind) for kind in ("bpe", "unigram", "word")),
            *((mode, "word") for mode in ("union", "prefixed", "separate")),
            ("union", "bpe"),
        )
    },
    **{
        f"segment-{how}": f"{_PREPARED} en,{lang} --vocab-type word --vocab-size 200 "
        f"--segment {lang}={how},en={how if how != 'char' else 'space'}"
        for how, lang in (("space", "id"), ("char", "zh"), ("basic", "zh"), ("moses-en", "de"))
    },
    "links": f"{_PREPARED} en,de --vocab-type bpe --vocab-size 120 --symmetrise gdfa "
    "--align-unit word --many-to-one mean",
    "anchors": f"{_PREPARED} en,de --vocab-type word --vocab-size 120 "
    "--dictionary en-de=w/text/dictionary/en-de.tsv --shards 2",
}
_QUICK = ("joint-word", "separate-word")
SYNTHESIZED = {
    "other": "--languages en,de --sentences 20 --held-out 4 --domain other --seed 2",
    "artificial": "--languages en,xx --sentences 20 --held-out 4 --parallel-sentences 6",
    "spaced": "--languages en,zh --sentences 20 --held-out 4 --spaced --nli 6 --annotated 4",
}
LINKS = ("fwd", "rev", "intersection", "union", "gdfa")
# Of a run of several steps, with its times.
_OF_A_RUN = {".steps", ".work", "logs", "commands.sh"}
_COMMAND = re.compile(r'"command": "[^"]*",?')  # of the process that the goldens are made in
_VERSIONS = re.compile(r'"versions": \{[^}]*\},?')
# By name, calls whose sums depend on the processor.
VECTORS = {
    "embed-train": "embed train w/data --dim 4 --epochs 1 --output out.safetensors",
    "embed-link": "embed link w/data --pair en-de --source-vectors trained.safetensors "
    "--output out.safetensors",
    "embed-words": f"embed words w/data --lang en --text {_TEXT}.en.txt --dim 4 --epochs 1 "
    "--buckets 100 --min-count 1 --output out",
    "extract": f"extract w/lm.pt --data w/data --lang en --text {_TEXT}.en.txt --output out",
}


def _files(place: Path) -> Iterator[str]:
    """Each file below ``place``, or ``place`` itself, with its digest."""
    paths = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
    for path in paths:
        if not _OF_A_RUN.isdisjoint(path.parts):
            continue
        data = path.read_bytes()
        if path.suffix == ".json":
            said = _COMMAND.sub("", normalise(data.decode(), world()))
            data = _VERSIONS.sub("", said).encode()
        yield f"{path}\t{len(data)}\t{digest(data)}"


def _made(words: str, *places: str) -> Iterator[str]:
    """What a call leaves, and says."""
    status, output, errors = call(words)
    yield f"== {words}"
    yield f"status {status}"
    yield from (normalise(line, world()) for line in output.splitlines())
    yield from (normalise(line, world()) for line in errors.splitlines() if status)
    for place in places:
        yield from _files(Path(place))
        shutil.rmtree(place, ignore_errors=True)
        Path(place).unlink(missing_ok=True)


def _text() -> str:
    with inside(world()):
        lines = ["== text", *_files(Path("w/text"))]
        for words in SYNTHESIZED.values():
            lines += _made(f"synthesize out {words}", "out")
    return "\n".join(lines) + "\n"


def _folder(name: str) -> str:
    with inside(world()):
        return "\n".join(_made(f"prepare out {PREPARED[name]}", "out")) + "\n"


def _links() -> str:
    lines: list[str] = []
    with inside(world()):
        for rule in LINKS:
            lines += _made(f"align {rule} {_TEXT}.en.txt {_TEXT}.de.txt --output out", "out")
    return "\n".join(lines) + "\n"


def _vectors() -> str:
    lines: list[str] = []
    with inside(world()):
        trained = VECTORS["embed-train"].replace("out.", "trained.")
        call(trained)
        for words in VECTORS.values():
            lines += _made(words, "out", "out.safetensors", "out.safetensors.json")
    return "\n".join(lines) + "\n"


def goldens() -> dict[str, Callable[[], str]]:
    """A golden of texts, and of a data folder with one vocabulary and one with several."""
    return {
        "data/text": _text,
        **{f"data/{name}": lambda name=name: _folder(name) for name in _QUICK},
    }


def slow_goldens() -> dict[str, Callable[[], str]]:
    """A golden of each other data folder, and of links."""
    slow = [name for name in PREPARED if name not in _QUICK]
    return {
        **{f"data/{name}": lambda name=name: _folder(name) for name in slow},
        "data/align": _links,
    }


def bound_goldens() -> dict[str, Callable[[], str]]:
    """Goldens of what the processor decides, too."""
    return {"bound/vectors": _vectors}
