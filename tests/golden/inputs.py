"""What measures read, in ``m/`` beside the world's ``w/``: states of planted languages, vectors,
sequences, logs, a model of CLCR and a tuned head. Each part is made once, when it is asked for.
"""

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling import USER_DIR
from tests.extracted_folder import write_extracted
from tests.golden.world import call, inside, world
from tests.sequence_folder import OrderTask, write_folder

WIDTH, SENTENCES, TYPES = 8, 40, 24
TUNING = (
    f"w/data --user-dir {USER_DIR} --cpu --num-workers 0 --max-update 2 --optimizer adam "
    "--lr 1e-2 --no-epoch-checkpoints --disable-validation --no-progress-bar --log-format json "
    "--seed 3 --task cross_lingual_transfer --arch cross_lingual_transfer --criterion "
    "cross_lingual_transfer --encoder w/lm.pt --batch-size 8 --head pos --columns token=0,tag=1 "
    "--train-file en=w/text/gold/tags.train.en.tsv --read-layer 1 --head-layers 1 "
    "--freeze-encoder --unknown-labels wrong --valid-file en=w/text/gold/tags.valid.en.tsv "
    "--save-dir m/pos"
)
_KINDS = {"NOUN": ("dog", "cat", "house"), "VERB": ("sees", "runs"), "DET": ("the", "a")}


def _normal(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def _rotation(width: int = WIDTH) -> np.ndarray:
    return np.linalg.qr(_normal(width, width, seed=5))[0]


def _planted(rows: int) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """States of both languages: unrelated ones, a shift with noise, a rotation with noise."""
    x = {layer: _normal(rows, WIDTH, seed=layer) for layer in range(3)}
    noise = [_normal(rows, WIDTH, seed=20 + layer) for layer in range(3)]
    y = {
        0: _normal(rows, WIDTH, seed=9),
        1: x[1] + 0.7 * noise[1] + 2 * _normal(WIDTH, seed=8),
        2: x[2] @ _rotation() + 0.5 * noise[2],
    }
    return x, y


def _states() -> None:
    """Folders of sentences, types and tokens, maps between them, a dictionary and links."""
    import torch

    from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side, write_map

    x, y = _planted(SENTENCES)
    for lang, layers in (("en", x), ("de", y)):
        write_extracted(Path(f"m/{lang}"), layers, lang=lang, dtype="float64")
    words = [f"en{n}" for n in range(TYPES)], [f"de{n}" for n in range(TYPES)]
    for lang, layers, names in zip(("en", "de"), _planted(TYPES), words, strict=True):
        folder = Path(f"m/types-{lang}")
        write_extracted(folder, layers, words=names, lang=lang, dtype="float64")
    entries = [(n, m) for n in range(TYPES - 4) for m in sorted({n, (7 * n + 3) % TYPES})]
    lines = [f"en{n}\tde{m}\n" for n, m in entries]
    Path("m/dictionary.tsv").write_text("".join([*lines, "en0\tnowhere\n"]))
    matrix = torch.from_numpy(_rotation())
    layers = {n: LayerMap(Side(WIDTH, matrix=matrix), Side(WIDTH)) for n in range(3)}
    sides = {"moving": {"lang": "en"}, "fixed": {"lang": "de"}}
    write_map(Path("m/map"), FittedMap(layers, "procrustes", sides))
    sizes = np.random.default_rng(4).integers(2, 6, 12)
    places = np.concatenate([np.arange(size) for size in sizes])
    for lang, layers in zip(("en", "de"), _planted(len(places)), strict=True):
        folder = Path(f"m/tokens-{lang}")
        write_extracted(folder, layers, unit="tokens", lang=lang, dtype="float64")
        arrays = {"sentences": sizes, "lengths": np.stack([sizes, sizes], 1)}
        for name, array in {**arrays, "words": places, "places": places}.items():
            np.save(folder / f"{name}.npy", array.astype(np.int32))
    links = [" ".join(f"{n}-{n}" for n in range(size)) for size in sizes]
    Path("m/links").write_text("".join(f"{line}\n" for line in links))


def _vectors() -> None:
    """Word vectors of two languages, one rotated."""
    from fairseq_xling.mapping.vectors_file import Vectors, write_vectors

    names = ["▁the", *(f"▁w{n}" for n in range(79))]
    counts = np.arange(len(names), 0, -1, dtype=np.int64)
    x = _normal(len(names), WIDTH, seed=1) * np.linspace(2, 0.5, WIDTH)
    y = x @ _rotation() + 0.1 * _normal(len(names), WIDTH, seed=2)
    for lang, rows in (("en", x), ("de", y)):
        settings = {"languages": [lang]}
        digests = {lang: lang}
        vectors = Vectors(rows.astype(np.float32), counts, names, digests, settings)
        write_vectors(f"m/{lang}.safetensors", vectors)


def _logs() -> None:
    """Logs of trainings of CLCR."""
    for number, name in enumerate(("a1", "a2", "b1", "b2")):
        lines = []
        for epoch in range(1, 4):
            far = round(5 / (epoch + 0.3 * number), 3)
            record = {"epoch": epoch, "valid_num_updates": str(4 * epoch)}
            for pair in ("en_de", "de_en"):
                record |= {f"valid_distance_{pair}": str(far)}
                record |= {f"valid_relative_{pair}": str(round(far / 4, 3))}
            record |= {"valid_spread_en": "2.5", "valid_spread_de": "3.25"}
            lines.append(f"2024-01-01 00:00:00 | INFO | valid | {json.dumps(record)}\n")
        Path(f"m/{name}.log").write_text("".join(lines))


def _clcr() -> None:
    """A model that finds some key-points and orders them by chance, its data and labels."""
    import torch

    from fairseq_xling.data.folder import SPECIALS, DataFolder
    from fairseq_xling.models.identity import encode_identity
    from fairseq_xling.papers.clcr.modules import Sizes
    from fairseq_xling.papers.clcr.modules.order import OrderModule
    from tests.toy_clcr import DIM, PAIR, POSITIONS, WORDS, toy, toy_pairs

    Path("m/toy").mkdir()
    made = "prepare m/toy/data --languages en,de --vocab-type word --vocab-size 60 --aligner none"
    for split, seed in (("train", 3), ("valid", 4), ("test", 5)):
        *texts, links = toy_pairs(30, seed=seed, empty=False)
        for lang, text in zip(PAIR, texts, strict=True):
            lines = [" ".join(f"w{k - SPECIALS}" for k in line[:-1]) for line in text]
            Path(f"m/toy/{split}.{lang}").write_text("".join(f"{line}\n" for line in lines))
        lines = [" ".join(f"{i}-{j}" for i, j in line) for line in links]
        Path(f"m/toy/{split}.links").write_text("".join(f"{line}\n" for line in lines))
        made += f" --parallel {split}.en-de=m/toy/{split}.en,m/toy/{split}.de"
        made += f" --alignment {split}.en-de=m/toy/{split}.links"
    _ends_well(made)
    folder = DataFolder("m/toy/data")
    model = toy().model
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for extractor in model.parts["extract"].sides:
            layer = extractor.scorer.layers[0]
            layer.weight[0] = 0.3 * torch.randn(layer.weight[0].shape, generator=generator)
            layer.weight[0, 0] = 0.15
    config = {**model.config, "modules": dict(model.config["modules"])}
    torch.manual_seed(1)
    for head in ("rel", "abs"):
        settings = {"head": head, "positions": 0, "table": head == "abs"}
        config["modules"][f"order_{head}"] = {"kind": "order", "settings": settings}
        sizes = Sizes((DIM, DIM), POSITIONS)
        model.parts[f"order_{head}"] = OrderModule(settings, sizes).eval()
    # The data folder has ids of its own.
    symbols = (Path("m/toy/data/dict.txt").read_text(encoding="utf-8")).splitlines()
    names = [line.rsplit(" ", 1)[0] for line in symbols]
    first = SPECIALS - names.index("<null>") - 1
    ids = torch.arange(first + len(names))
    for place, name in enumerate(names, start=first):
        if name[:2] == "▁w":
            ids[place] = SPECIALS + int(name[2:])
    ids[(ids >= SPECIALS + WORDS)] = 3
    sides = {lang: {**config["encoders"][lang], "entries": len(ids)} for lang in PAIR}
    config |= {"encoders": sides, "pair": list(PAIR)}
    state = model.state_dict()
    for number in range(2):
        state[f"encoders.{number}.ids"] = ids
    digests = {lang: folder.dictionary_digest(lang) for lang in PAIR}
    identity = {"languages": list(PAIR), "pair": list(PAIR), "dictionaries": digests}
    state["_extra_state"] = encode_identity(identity)
    cfg = {
        "model": {"_name": "clcr", "clcr_config": json.dumps(config)},
        "task": {"_name": "clcr", "data": "m/toy/data"},
    }
    torch.save({"cfg": cfg, "model": state, "args": None, "extra_state": {}}, "m/clcr.pt")
    _ends_well("clcr label m/clcr.pt --threshold 1 --splits train,valid,test --output m/labels")


def _sequences() -> None:
    """Sequences, translations of them that are near, and pairs as alike as their scores."""
    rng = np.random.default_rng(0)
    sentences = [rng.normal(size=(n, 6)) for n in rng.integers(2, 6, 30)]
    near = [one + 0.3 * rng.normal(size=one.shape) for one in sentences]
    scores = rng.uniform(0, 5, len(sentences))
    alike = [
        one + (5 - score) / 5 * rng.normal(size=one.shape)
        for one, score in zip(sentences, scores, strict=True)
    ]
    write_folder(Path("m/x"), sentences)
    write_folder(Path("m/y"), near, "de")
    write_folder(Path("m/alike"), alike)
    lines = [f"text\tpair\t{score:.3f}\n" for score in scores]
    Path("m/scores.tsv").write_text("".join(lines))


def _pairs() -> None:
    """Pairs of sentences whose label is a matter of order, and sequences of both sides."""
    order, drawn = OrderTask(), {}
    for name, count in {"train.en": 60, "dev.en": 20, "test.en": 20, "test.xx": 0}.items():
        drawn[name] = order.draw(count) if count else drawn["test.en"]
        pairs, labels = drawn[name]
        lines = [
            "\t".join([*(" ".join(f"w{n}" for n in words) for words in pair), label])
            for pair, label in zip(pairs, labels, strict=True)
        ]
        Path(f"m/nli.{name}.tsv").write_text("".join(f"{line}\n" for line in lines))
        for row, shuffled in (("TE", 1.0), ("TER", 0.0)):
            for number, side in enumerate(("premise", "hypothesis")):
                moved = shuffled if name.endswith("xx") else 0.0
                vectors = [order.sequence(pair[number], name[-2:], moved) for pair in pairs]
                write_folder(Path(f"m/{row}/nli.{name}.{side}"), vectors, name[-2:])


def _probing() -> None:
    """A data folder of words, rows, and sequences of all words and without determiners."""
    root, rng = Path("m/words"), np.random.default_rng(0)
    root.mkdir()
    kind = {word: name for name, words in _KINDS.items() for word in words}
    lines = [" ".join(rng.choice([*kind], 4)) for _ in range(60)]
    (root / "text").write_text("".join(f"{line}\n" for line in [*lines, *kind]))
    _ends_well(
        f"prepare {root}/data --languages en --mono train.en={root}/text --aligner none "
        "--vocab-type word --vocab-size 50 --segment en=space"
    )
    for name, part in {"train": lines[:30], "dev": lines[30:45], "test": lines[45:]}.items():
        rows = [
            {"text": line, "span1": [n, n + 1], "label": kind[word]}
            for line in part
            for n, word in enumerate(line.split())
        ]
        (root / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        texts = list(dict.fromkeys(part))
        for row, kept in (("T", set(kind)), ("TE", set(kind) - set(_KINDS["DET"]))):
            spans, vectors = [], []
            for text in texts:
                places = [n for n, word in enumerate(text.split()) if word in kept][::-1]
                own = [[*_KINDS].index(kind[text.split()[n]]) for n in places]
                vectors.append(np.eye(3, 5)[own] + 0.5 * rng.normal(size=(len(own), 5)))
                spans.append(np.array([[n, n + 1] for n in places]).reshape(-1, 2))
            lengths = [len(text.split()) for text in texts]
            write_folder(root / row / name, vectors, spans=spans, lengths=lengths)


def _rows() -> None:
    """Rows of the gold files for probing."""
    for split in ("train", "valid", "test"):
        for lang in ("en", "de"):
            gold, output = f"w/text/gold/{split}.{lang}.conllu", f"m/rows.{split}.{lang}.jsonl"
            _ends_well(f"probe convert {gold} --task pos --output {output}")


def _tuned() -> None:
    """A head for parts of speech that has hardly learnt anything."""
    from tests.end_to_end.engine import in_process

    in_process("train", *TUNING.split())
    Path("m/pos/checkpoint_last.pt").rename("m/pos.pt")


def _features() -> None:
    """A feature of the languages' word order."""
    Path("m/features.tsv").write_text("language\tverb\nen\tVO\nde\tVO\n")


def _structures() -> None:
    """Sentences with entities and relations."""
    rng, lines = np.random.default_rng(3), []
    names, verbs = ("Ann", "Bob", "Eve"), ("sees", "pays", "hits")
    for number in range(24):
        one, other = rng.choice(len(names), 2, replace=False)
        verb = int(rng.integers(len(verbs)))
        record: dict[str, Any] = {
            "id": str(number),
            "words": ["the", names[one], verbs[verb], "the", names[other]],
            "upos": ["DET", "NOUN", "VERB", "DET", "NOUN"],
            "heads": [2, 3, 0, 5, 3] if verb else [2, 5, 2, 5, 0],
            "deprels": ["det", "nsubj", "root", "det", "obj"],
            "entities": [
                {"span": span, "type": "AB"[verb == place + 1]}
                for place, span in enumerate(([1, 2], [4, 5]))
            ],
            "triggers": [{"span": [2, 3], "type": verbs[verb]}],
            "relations": [{"from": 0, "to": 1, "label": verbs[verb]}] if verb else [],
            "arguments": [{"trigger": 0, "entity": 0, "role": "Agent"}],
        }
        lines.append(f"{json.dumps(record)}\n")
    Path("m/structures.train.jsonl").write_text("".join(lines[:16]))
    Path("m/structures.test.jsonl").write_text("".join(lines[16:]))


PARTS: Mapping[str, Callable[[], None]] = {
    "states": _states,
    "vectors": _vectors,
    "logs": _logs,
    "clcr": _clcr,
    "sequences": _sequences,
    "pairs": _pairs,
    "probing": _probing,
    "rows": _rows,
    "tuned": _tuned,
    "features": _features,
    "structures": _structures,
}


def _ends_well(words: str) -> None:
    status, _, errors = call(words)
    if status:
        raise RuntimeError(f"{words}: {errors}")


@functools.cache
def made(part: str) -> None:
    """The files of a part of `PARTS` are there."""
    with inside(world()):
        Path("m").mkdir(exist_ok=True)
        PARTS[part]()
