"""Sentences whose labels follow from their trees, in two languages of different word order."""

import json

import numpy as np

NOUNS, VERBS, WIDTH = 30, 8, 16


def write_jsonl(path, values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def write_vec(path, vectors):
    lines = [f"{word} {' '.join(f'{x:.5f}' for x in values)}" for word, values in vectors.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def vectors_of(lang, noise=0.0, seed=5):
    """Words of language 2 have the vectors of those of language 1, and noise."""
    rng, own = np.random.default_rng(seed), np.random.default_rng([seed, lang])
    names = [f"n{number}" for number in range(NOUNS)] + [f"v{number}" for number in range(VERBS)]
    drawn = rng.normal(size=(len(names), WIDTH))
    moved = drawn + noise * own.normal(size=drawn.shape)
    return {f"{name}l{lang}": row for name, row in zip(names, moved, strict=True)}


def two_clauses(rng, lang):
    """Two clauses: A for nsubj and obj of one verb, B for nsubj and obl of one verb, C if the
    second is nmod of the first, else NONE.

    Language 1 has clause after clause; language 2 all subjects, then the verbs, then all objects.
    """
    nodes = []  # word, upos, head, deprel; heads are nodes
    groups = []
    verbs = rng.choice(VERBS, 2, replace=False)
    for clause in range(2):
        verb = len(nodes)
        first = None if clause == 0 else 0
        nodes.append([f"v{verbs[clause]}", "VERB", first, "root" if clause == 0 else "conj"])
        parts = {"verb": [verb]}
        for name, kind in (("subject", "nsubj"), ("object", rng.choice(["obj", "obl"]))):
            noun = len(nodes)
            nodes.append([f"n{rng.integers(NOUNS)}", "NOUN", verb, str(kind)])
            parts[name] = [noun]
            if rng.random() < 0.5:
                inner = str(rng.choice(["nmod", "appos"]))
                nodes.append([f"n{rng.integers(NOUNS)}", "NOUN", noun, inner])
                parts[name].append(len(nodes) - 1)
        groups.append(parts)
    if lang == 1:
        order = [n for g in groups for part in ("subject", "verb", "object") for n in g[part]]
    else:
        turned = groups if rng.random() < 0.5 else groups[::-1]
        order = [n for part in ("subject", "verb", "object") for g in turned for n in g[part]]
    place = {node: number for number, node in enumerate(order)}
    mentions = [node for node in order if nodes[node][1] == "NOUN"]
    relations = []
    for i, a in enumerate(mentions):
        for j, b in enumerate(mentions):
            kinds, same = (nodes[a][3], nodes[b][3]), nodes[a][2] == nodes[b][2]
            label = {("nsubj", "obj"): "A", ("nsubj", "obl"): "B"}.get(kinds) if same else None
            if nodes[b][3] == "nmod" and nodes[b][2] == a:
                label = "C"
            if label:
                relations.append({"from": i, "to": j, "label": label})
    return {
        "words": [f"{nodes[node][0]}l{lang}" for node in order],
        "upos": [nodes[node][1] for node in order],
        "heads": [0 if nodes[n][2] is None else place[nodes[n][2]] + 1 for n in order],
        "deprels": [nodes[node][3] for node in order],
        "entities": [{"span": [place[n], place[n] + 1], "type": "M"} for n in mentions],
        "relations": relations,
    }


def write_planted(folder, train=1500, held_out=200, noise=0.1):
    """train.1.jsonl, valid.1.jsonl, test.1.jsonl, test.2.jsonl, 1.vec and 2.vec."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    sizes = {("train", 1): train, ("valid", 1): held_out, ("test", 1): held_out}
    for (split, lang), size in {**sizes, ("test", 2): held_out}.items():
        values = [two_clauses(rng, lang) for _ in range(size)]
        write_jsonl(folder / f"{split}.{lang}.jsonl", values)
    write_vec(folder / "1.vec", vectors_of(1))
    write_vec(folder / "2.vec", vectors_of(2, noise))
    return folder
