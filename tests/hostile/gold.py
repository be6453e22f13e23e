"""Gold files, and pairs of files and commands, that are hostile by what they say."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.hostile.calls import calls
from tests.hostile.machine import Case
from tests.tiny_world import World


def _conllu(*rows: tuple[str, str, str], blank: bool = True) -> str:
    """Lines of (id, head, relation)."""
    text = "".join(f"{n}\tw\tw\tNOUN\t_\t_\t{head}\t{label}\t_\t_\n" for n, head, label in rows)
    return text + ("\n" if blank else "")


def _tree(words: int) -> str:
    return _conllu(*((str(n), str(n - 1), "dep" if n > 1 else "root") for n in range(1, words + 1)))


# Of `probe convert --task deps`, which reads trees, and of a parser.
CONLLU = {
    "a head out of the sentence": _conllu(("1", "0", "root"), ("2", "9", "dep")),
    "a negative head": _conllu(("1", "0", "root"), ("2", "-1", "dep")),
    "a head that is text": _conllu(("1", "x", "root")),
    "a head of 5,000 digits": _conllu(("1", "1" + "0" * 5000, "root")),
    "a word that is its own head": _conllu(("1", "0", "root"), ("2", "2", "dep")),
    "a circle": _conllu(("1", "0", "root"), ("2", "3", "dep"), ("3", "2", "dep")),
    "no root": _conllu(("1", "2", "dep"), ("2", "1", "dep")),
    "two roots": _conllu(("1", "0", "root"), ("2", "0", "root")),
    "an id out of order": _conllu(("2", "0", "root"), ("1", "2", "dep")),
    "an id twice": _conllu(("1", "0", "root"), ("1", "1", "dep")),
    "an id of 5,000 digits": _conllu(("1" + "0" * 5000, "0", "root")),
    "a range backwards": "2-1\tw\t_\t_\t_\t_\t_\t_\t_\t_\n" + _tree(2),
    "a range of 10^9 words": "1-1000000000\tw\t_\t_\t_\t_\t_\t_\t_\t_\n" + _tree(2),
    "nine columns": "1\tw\tw\tNOUN\t_\t_\t0\troot\t_\n\n",
    "eleven columns": "1\tw\tw\tNOUN\t_\t_\t0\troot\t_\t_\t_\n\n",
    "spaces for tabs": "1 w w NOUN _ _ 0 root _ _\n\n",
    "no word": "1\t\tw\tNOUN\t_\t_\t0\troot\t_\t_\n\n",
    "no relation": "1\tw\tw\tNOUN\t_\t_\t0\t\t_\t_\n\n",
    "only comments": "# text = a\n\n",
}
_CONLLU_NO_HARM = {
    "two roots": "some treebanks have them",
    "only comments": "no sentence",
    "no relation": "the task does not need it",
}
_PROBE = "fairseq-xling probe-convert {h}/gold.conllu --task deps --output rows.jsonl"

# Lines of tags, for the fine-tuned model.
TAGS = {
    "one column": "w\nw\n\n",
    "three columns and then two": "w\tNOUN\tO\nw\tNOUN\n\n",
    "no word": "\tNOUN\tO\n\n",
    "a tag of 1 MB": "w\t" + "N" * (1 << 20) + "\tO\n\n",
    "a sentence of 300,000 words": "w\tNOUN\tO\n" * 300_000 + "\n",
}
_TAGS_NO_HARM = {
    "a tag of 1 MB": "a label that training did not have counts as a mistake",
    "a sentence of 300,000 words": "what is too long is cut",
    "no word": "a word of no letters",
}

# Rows of probes.
_ROW = {"text": "a b c", "span1": [0, 1], "label": "x"}
ROWS = {
    "a span out of the text": _ROW | {"span1": [0, 9]},
    "a span backwards": _ROW | {"span1": [2, 1]},
    "an empty span": _ROW | {"span1": [1, 1]},
    "a negative span": _ROW | {"span1": [-2, -1]},
    "a span of text": _ROW | {"span1": ["0", "1"]},
    "a span of fractions": _ROW | {"span1": [0.5, 1.5]},
    "a span of truth values": _ROW | {"span1": [False, True]},
    "a span of 10^30": _ROW | {"span1": [0, 10**30]},
    "a span of three": _ROW | {"span1": [0, 1, 2]},
    "a span that is null": _ROW | {"span1": None},
    "no text": {"span1": [0, 1], "label": "x"},
    "a text that is a number": _ROW | {"text": 7},
    "an empty text": _ROW | {"text": ""},
    "a label that is an object": _ROW | {"label": {"a": 1}},
    "targets that are text": {"text": "a b", "targets": "x"},
    "targets that are numbers": {"text": "a b", "targets": [1]},
}
_PROBES = (
    "fairseq-xling probe {w}/lm.pt --data {w}/data --train en={h}/gold.jsonl "
    "--valid en={h}/gold.jsonl --test en={h}/gold.jsonl --epochs 1 --output out"
)

# Links of lines that translate each other.
LINKS = {
    "a link out of its sentence": "0-999\n",
    "a negative link": "-1-0\n",
    "a link of letters": "a-b\n",
    "a link of 5,000 digits": "0-1" + "0" * 5000 + "\n",
    "a link without its end": "0-\n",
    "a link of three": "0-1-2\n",
}

# Vectors as text.
VECTORS = {
    "a header of 10^12 words": "1000000000000 4\nw 1 2 3 4\n",
    "a width of 10^12": "1 1000000000000\nw 1 2 3 4\n",
    "a negative header": "-1 4\nw 1 2 3 4\n",
    "a row too short": "2 4\nw 1 2 3 4\nx 1 2\n",
    "a row too long": "2 4\nw 1 2 3 4\nx 1 2 3 4 5\n",
    "text for numbers": "1 4\nw a b c d\n",
    "NaN": "1 4\nw nan nan nan nan\n",
    "infinity": "1 4\nw 1e999 2 3 4\n",
    "a word twice": "2 4\nw 1 2 3 4\nw 1 2 3 4\n",
    "fewer words than it says": "5 4\nw 1 2 3 4\n",
    "a width of 0": "1 0\nw\n",
}
_VECTORS_NO_HARM = {"a word twice": "the first counts, as in word2vec's own reader"}


def _write(name: str, text: str, world: World, here: Path) -> None:
    (here / name).write_text(text, encoding="utf-8")


def _file_cases() -> Iterator[Case]:
    for name, text in CONLLU.items():
        make = functools.partial(_write, "gold.conllu", text)
        yield Case(f"CoNLL-U: {name}", _PROBE, make, either=_CONLLU_NO_HARM.get(name, ""))
    tagged = calls()["predict"].replace("{w}/text/gold/tags.test.en.tsv", "{h}/gold.tsv")
    for name, text in TAGS.items():
        make = functools.partial(_write, "gold.tsv", text)
        yield Case(f"tags: {name}", tagged, make, either=_TAGS_NO_HARM.get(name, ""))
    for name, row in ROWS.items():
        make = functools.partial(_write, "gold.jsonl", json.dumps(row) + "\n")
        yield Case(f"rows: {name}", _PROBES, make)
    for name, text in VECTORS.items():
        make = functools.partial(_write, "gold.vec", text)
        call = f"{calls()['embed words']} --vec {{h}}/gold.vec"
        yield Case(f"vectors: {name}", call, make, either=_VECTORS_NO_HARM.get(name, ""))
    for name, line in LINKS.items():
        call = calls()["prepare"] + " --alignment train.en-de={h}/gold.links"
        yield Case(f"links: {name}", call, functools.partial(_links, line))


def _links(line: str, world: World, here: Path) -> None:
    lines = (world.root / "text/parallel/train.en-de.pharaoh").read_text().splitlines(True)
    (here / "gold.links").write_text("".join([line, *lines[1:]]))


# ---- too much of what is right

_SQUAD_CONTEXT = "word " * 400_000


def _long_tree(world: World, here: Path) -> None:
    (here / "gold.conllu").write_text(_tree(20_000))


def _long_question(world: World, here: Path) -> None:
    asked = [{"id": "1", "question": "what", "answers": [{"text": "word", "answer_start": 0}]}]
    paragraph = {"context": _SQUAD_CONTEXT, "qas": asked}
    (here / "gold.json").write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))


def _other_width(world: World, here: Path) -> None:
    """States of another width than the map's."""
    folder = world.copy("sentences-de", here)
    meta = json.loads((folder / "meta.json").read_text())
    for path in folder.glob("*.npy"):
        if (states := np.load(path)).ndim == 2:  # the numbers of the lines are not
            np.save(path, states[:, :8])
    (folder / "meta.json").write_text(json.dumps(meta | {"width": 8}))


_BIG = "too much for what is asked may be read in parts"


def _whole_cases() -> Iterator[Case]:
    """Cases that need the fine-tuned models of the whole world, or two files that do not fit."""
    yield Case(
        "a sentence of 20,000 words for a parser",
        "fairseq-xling predict {w}/parse.pt en={h}/gold.conllu --data {w}/data --output out",
        _long_tree,
        either=_BIG,
    )
    yield Case(
        "a context of 2 MB for a reader of questions",
        "fairseq-xling predict {w}/questions.pt en={h}/gold.json --data {w}/data --output out",
        _long_question,
        either=_BIG,
    )
    yield Case(
        "a map of another width",
        "fairseq-xling map apply {w}/map.safetensors {h}/sentences-de --output out",
        _other_width,
        names=("map.safetensors",),
    )


def cases() -> list[Case]:
    """All of them."""
    return [*_file_cases(), *_whole_cases()]
