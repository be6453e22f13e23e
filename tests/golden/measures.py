"""Goldens of measures: what each verb that measures prints, and the tables that it writes.

Inputs are generated: states of planted languages, a model of CLCR with seeded weights, and the
encoder of the world. Figures with more digits than a reader wants are kept to a few of them, which
every processor agrees on; of JSON, only which fields there are.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.golden.inputs import made
from tests.golden.pages import short
from tests.golden.text import digest, normalise
from tests.golden.world import call, inside, world

_LONG = 40  # lines, after which a table is kept as a digest for every ten
_DIGITS = 4  # of a figure that is written with more of them than `_MANY`
_MANY = re.compile(r"(?<![\w.])-?\d+(?:\.\d{5,}(?:e[+-]?\d+)?|(?:\.\d+)?e[+-]?\d+)(?![\w.])")
_DRAWN = re.compile(r"-?\d+\.\d+")
_NAMED = re.compile(r"\b[a-z][0-9a-f]{10}\b")  # what figures call their parts
_TABLES = {".csv", ".md"}
_TEXT = {".tsv", ".txt", ".conll", ".jsonl", ".pharaoh"}  # predictions and such
_RATE = re.compile(r"(?m)^((?:abs|rel) .*?) +[\d,]+$|^((?:abs|rel),.*),\d+$")  # of a search
_PROGRESS = re.compile(r"\[\d+/\d+\] ")  # of steps, as often as they take long
_OF_A_RUN = {".steps", ".work", "logs", "commands.sh"}
_EN, _DE = "w/text/parallel/test.en-de.en.txt", "w/text/parallel/test.en-de.de.txt"
_ENCODER = "w/lm.pt --data w/data"
_GOLD = "w/text/gold"
_TAGS = f"{_GOLD}/tags"
_STATES = "m/en m/de"
_TOKENS = "m/tokens-en m/tokens-de"
_TYPES = "m/types-en m/types-de --dictionary m/dictionary.tsv"
_LABELLED = "m/clcr.pt --labels m/labels --split valid"
_ROWS = "--train en=m/rows.train.en.jsonl --valid en=m/rows.valid.en.jsonl"
_VECTORS = "--source-vectors m/en.safetensors --vectors m/de.safetensors"
_STRUCTURES = (
    "--train en=m/structures.train.jsonl --valid en=m/structures.test.jsonl "
    "--test de=m/structures.test.jsonl --epochs 15 --features pos,entity,relation --width 8 "
    "--hidden 8 --embedding 4 --batch-size 4 --dropout 0 --optimizer adam --lr 0.02"
)
_NLI = (
    "--train en=m/nli.train.en.tsv --valid en=m/nli.dev.en.tsv --test en=m/nli.test.en.tsv "
    "--test xx=m/nli.test.xx.tsv"
)
_TUNING = (
    f"--encoder {_ENCODER} --columns token=0,tag=2 --epochs 1 --lrs 1e-3 "
    f"--train en={_TAGS}.train.en.tsv --valid en={_TAGS}.valid.en.tsv "
    f"--test en={_TAGS}.test.en.tsv --test de={_TAGS}.test.de.tsv"
)

# By name, the part of the inputs that its calls read, and the calls, in this order.
QUICK: dict[str, tuple[str, tuple[str, ...]]] = {
    "eval": (
        "",
        (
            f"eval {_ENCODER} --measure retrieval,words,bpw,langmass --neighbours 5 "
            "--dictionary w/text/dictionary --output o/eval.json",
            f"eval w/lm.pt w/lm.pt --data w/data --retrieval-text {_EN} {_DE} --bpw-limit 5",
        ),
    ),
    "eval-bli": (
        "states",
        (
            f"eval bli {_TYPES} --output o/bli.json --figure o/bli.svg",
            f"eval bli {_TYPES} --map m/map --nearest csls --layers 1 --output o/one.json",
        ),
    ),
    "eval-cka": (
        "states",
        (
            f"eval cka {_STATES} --output o/cka.json --figure o/cka.svg",
            f"eval cka {_STATES} --all-layers --output o/all.json --figure o/all.svg",
        ),
    ),
    "eval-tatoeba": (
        "states",
        (
            f"eval tatoeba {_STATES} --output o/plain.json --figure o/plain.svg",
            f"eval tatoeba {_STATES} --map m/map --k 3 --layers 1-2 --output o/mapped.json",
        ),
    ),
    "eval-meanshift": (
        "states",
        (f"eval meanshift {_STATES} --output o/shift.json --figure o/shift.svg",),
    ),
    "eval-aligned": (
        "states",
        (
            f"eval aligned {_TOKENS} --alignments m/links --output o/aligned.json "
            "--figure o/aligned.svg",
            f"eval aligned {_TOKENS} --alignments m/links --map m/map",
        ),
    ),
    "eval-correlate": (
        "states",
        (
            f"eval cka {_STATES} --output o/cka.json",
            f"eval tatoeba {_STATES} --output o/tatoeba.json",
            "eval correlate o/cka.json o/tatoeba.json --output o/all.json --figure o/all.svg",
        ),
    ),
    "map-states": (
        "states",
        (
            *(
                f"map {method} m/de m/en --pairs rows --output o/{method}"
                for method in ("meeting", "procrustes", "unconstrained")
            ),
            "map procrustes m/types-en m/types-de --pairs dictionary m/dictionary.tsv --layers 1 "
            "--output o/words",
            f"map contextual {_TOKENS} --alignments m/links --output o/tokens",
            "map apply o/procrustes m/de --output o/moved",
        ),
    ),
    "map-vectors": (
        "vectors",
        (
            f"map adversarial {_VECTORS} --epochs 2 --epoch-size 256 --hidden 8 --seeds 1,2 "
            "--chance 2 --keep-failed --output o/adversarial",
            f"map identical {_VECTORS} --seeds 1 --chance 2 --keep-failed --output o/identical",
        ),
    ),
    "translate-mds": (
        "",
        (
            f"translate mds {_ENCODER} --from en --to de --text {_EN} --reference {_DE} "
            "--layer 1 --alpha 2 --output o/de.txt",
            f"translate mds {_ENCODER} --from en --to de --text {_EN} --reference {_DE} "
            "--layers 1-2 --alphas=1,-2 --fixed 2,1 --output o/grid",
        ),
    ),
    "clcr-curves": (
        "logs",
        (
            "clcr measure curves annealed=m/a1.log annealed=m/a2.log plain=m/b1.log,m/b2.log "
            "--output o/curves.json --figure o/curves.svg",
        ),
    ),
    "clcr-keypoints": (
        "clcr",
        (f"clcr measure keypoints {_LABELLED} --delta 0.2,0.5,0.9 --output o/keypoints.json",),
    ),
    "clcr-order": ("clcr", (f"clcr measure order {_LABELLED} --output o/order.json",)),
    "clcr-show": (
        "clcr",
        (f"clcr measure show {_LABELLED} --sentence 4 --output o/show.json --figure o/show.svg",),
    ),
    "clcr-label": ("clcr", ("clcr label m/clcr.pt --splits valid,test --output o/labels",)),
    "clcr-report": (
        "sequences",
        (
            "clcr measure report m/x m/y --scored m/x m/alike --scores m/scores.tsv "
            "--output o/report.json --figure o/report.svg",
        ),
    ),
    "clcr-classify": (
        "pairs",
        (
            f"clcr classify {_NLI} --hidden 8 --lr 0.02 --dropout 0 --epochs 5 --seeds 1,2 "
            "--vectors T+E=m/TE/{file}.{side} --vectors T+E+R=m/TER/{file}.{side} --output o/run",
        ),
    ),
    "clcr-probe": (
        "probing",
        (
            "clcr probe --data m/words/data --train en=m/words/train.jsonl "
            "--valid en=m/words/dev.jsonl --test en=m/words/test.jsonl --projection 4 --hidden 4 "
            "--lr 0.02 --epochs 3 --vectors T=m/words/T/{file} --vectors T+E=m/words/TE/{file} "
            "--output o/run",
        ),
    ),
}
SLOW: dict[str, tuple[str, tuple[str, ...]]] = {
    "embed-inspect": (
        "vectors",
        ("embed inspect m/en.safetensors m/de.safetensors --word ▁the --top 5 --output o/seen",),
    ),
    "probe": (
        "rows",
        (
            f"probe {_ENCODER} {_ROWS} --test en=m/rows.test.en.jsonl --layers all --lr 1e-2 "
            "--epochs 3 --hidden 8 --projection 8 --seeds 1,2 --output o/layers",
            f"probe {_ENCODER} {_ROWS} --test en=m/rows.test.en.jsonl --layers all --mix "
            "--epochs 1 --classifier linear --output o/mix",
        ),
    ),
    "predict": (
        "tuned",
        (
            f"predict m/pos.pt en={_TAGS}.test.en.tsv de={_TAGS}.test.de.tsv "
            "--unknown-labels wrong --output o/found",
            f"predict mapped m/pos.pt de={_TAGS}.test.de.tsv --encoder w/lm.pt --map none "
            "--layer 1 --unknown-labels wrong --output o/mapped",
        ),
    ),
    "eval-transfer": (
        "features",
        (
            f"eval transfer --head ner {_TUNING} --seeds 1,2 --output o/ner",
            "eval overlap o/ner --output o/overlap",
            "eval word-order o/ner --features m/features.tsv --output o/word-order",
        ),
    ),
    "eval-matrix": ("", (f"eval matrix --head ner {_TUNING} --output o/matrix",)),
    "struct": (
        "structures",
        (
            f"struct train {_STRUCTURES} --output o/trained",
            "struct predict o/trained de=m/structures.test.jsonl --output o/found",
            f"struct matrix {_STRUCTURES} --seeds 1,2 --output o/matrix",
        ),
    ),
}


def _few(text: str) -> str:
    """``text`` with figures of many digits cut to `_DIGITS`, dots for those left out, no speeds."""
    if "sentences/s" in text:
        text = _RATE.sub(lambda found: f"{found[1] or found[2]} {{rate}}", text)
    return _MANY.sub(lambda found: f"{float(found[0]):.{_DIGITS}g}…", text)


def _drawn(text: str) -> str:
    """A figure without times, with its places in tenths of a point and its identifiers by number.

    The drawing library makes the identifiers of the places to the last digit.
    """
    text = re.sub(r"<dc:date>.*?</dc:date>", "", text)
    numbers: dict[str, str] = {}
    text = _NAMED.sub(lambda found: numbers.setdefault(found[0], f"id{len(numbers)}"), text)
    return _DRAWN.sub(lambda found: f"{float(found[0]):.1f}", text)


def _file(path: Path) -> Iterator[str]:
    """What is kept of a file that a verb wrote."""
    yield f"-- {path}"
    if path.suffix in _TABLES:
        yield from short(_said(path.read_text(encoding="utf-8")), _LONG)
    elif path.suffix in _TEXT:
        lines = _said(path.read_text(encoding="utf-8"))
        yield f"{len(lines)} lines {digest(chr(10).join(lines))}"
    elif path.suffix == ".svg":
        yield f"figure {digest(_drawn(path.read_text(encoding='utf-8')))}"
    elif path.suffix == ".json":
        found = json.loads(path.read_text(encoding="utf-8"))
        yield f"fields {' '.join(sorted(found)) if isinstance(found, dict) else len(found)}"


def _said(text: str) -> list[str]:
    lines = _few(normalise(text, world())).splitlines()
    return [line for line in lines if not _PROGRESS.match(line)]


def _called(words: str) -> Iterator[str]:
    """What a call prints, and the files that it makes or changes."""
    before = _files()
    status, output, errors = call(words)
    if status:
        raise RuntimeError(f"{words}: {errors}")
    yield f"== {words}"
    yield from _said(output)
    for path, changed in _files().items():
        if before.get(path) != changed:
            yield from _file(path)
    yield ""


def _files() -> dict[Path, int]:
    """The files of verbs, with their times."""
    paths = (path for path in sorted(Path("o").rglob("*")) if path.is_file())
    return {path: path.stat().st_mtime_ns for path in paths if _OF_A_RUN.isdisjoint(path.parts)}


def _measured(part: str, calls: tuple[str, ...]) -> str:
    if part:
        made(part)
    with inside(world()):
        shutil.rmtree("o", ignore_errors=True)
        lines = [line for words in calls for line in _called(words)]
    return "\n".join(lines) + "\n"


def goldens() -> dict[str, Callable[[], str]]:
    """A golden of each verb that measures within two seconds."""
    return {f"measures/{name}": lambda of=of: _measured(*of) for name, of in QUICK.items()}


def slow_goldens() -> dict[str, Callable[[], str]]:
    """A golden of each verb that trains, or draws, for longer."""
    return {f"measures/{name}": lambda of=of: _measured(*of) for name, of in SLOW.items()}
