"""A tiny data folder and an encoder whose states are known by construction."""

import argparse
import dataclasses

import numpy as np
import pytest
import torch

from fairseq_xling.analysis.subject import Subject
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import best_dtype, write_items
from fairseq_xling.files import sha256, write_json
from fairseq_xling.verbs.measures import MEASURES

WORDS = {
    "en": ["▁the", "▁house", "s", "▁tree", "▁red", "."],
    "de": ["▁das", "▁haus", "▁baum", "▁rot", "."],
}
# Ids start at 6; en: the 6, house 7, s 8, tree 9, red 10, "." 11; de: das 6, haus 7, baum 8,
# rot 9, "." 10.
MEANING = {"en": {6: 0, 7: 1, 9: 2, 10: 3, 11: 4}, "de": {6: 0, 7: 1, 8: 2, 9: 3, 10: 4}}
EN = [[6, 7], [6, 9, 11], [10, 7], [10, 9], [6, 3, 10, 7, 11]]
DE = [[6, 7], [6, 8, 10], [9, 7], [9, 8], [6, 9, 7, 10]]


class Letters:
    """Text encoder of the tiny vocabulary: known words, with one optional final s."""

    def __init__(self, lang):
        self.ids = {word: n for n, word in enumerate(WORDS[lang], start=6)}

    def _word(self, word):
        mark = "▁" + word
        if mark in self.ids:
            return [self.ids[mark]]
        if mark[:-1] in self.ids and word.endswith("s") and "s" in self.ids:
            return [self.ids[mark[:-1]], self.ids["s"]]
        return [self.ids.get(word, 3)]

    def starts_word(self, ids):
        return np.zeros(len(ids), dtype=bool)  # of special tokens none does

    def encode(self, lines):
        return [
            np.array([i for word in line.split() for i in self._word(word)] + [2]) for line in lines
        ]


class Planted:
    """Layer 0 knows the language only; layer 1 is the meaning, noise-free; specials are huge."""

    languages = ["en", "de"]
    num_layers = 1
    width = 8

    def states(self, sentences, lang, max_tokens=4):
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
        for start in range(0, len(order), 2):
            part = order[start : start + 2]
            width = max(len(sentences[i]) for i in part) + 1
            states = torch.full((2, len(part), width, 8), 1e6)
            words = torch.zeros(len(part), width, dtype=torch.bool)
            for row, i in enumerate(part):
                for t, token in enumerate(sentences[i][:-1].tolist(), start=1):
                    words[row, t] = token >= 6
                    states[0, row, t] = self.languages.index(lang) + 1.0
                    states[1, row, t] = 0.0
                    states[1, row, t, MEANING[lang].get(token, 5)] = 1.0
            yield np.array(part), states, words

    def masked_log_probs(self, sentences, positions, lang, max_tokens=4):
        for sentence, chosen in zip(sentences, positions, strict=True):
            assert all(0 <= t < len(sentence) - 1 for t in chosen)
            yield torch.full((len(chosen),), -np.log(4.0 if lang == "en" else 8.0))


def write_folder(path):
    dictionaries = {}
    for lang, words in WORDS.items():
        lines = ["<mask> 1", "<null> 1", *(f"{word} 1" for word in words)]
        file = path / f"dict.{lang}.txt"
        path.mkdir(exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        dictionaries[file.name] = sha256(file)
    for lang, sentences in (("en", EN), ("de", DE)):
        items = [np.array([*sentence, 2]) for sentence in sentences]
        for name in ("mono/train", "mono/valid", "parallel/test.en-de"):
            write_items(path / f"{name}.{lang}", items, best_dtype(20))
    counts = {lang: {"sentences": 5, "tokens": 18, "unknown": 0} for lang in WORDS}
    write_json(
        path / "meta.json",
        {
            "format": 1,
            "languages": ["en", "de"],
            "vocab": {"mode": "separate", "size": 6, "sizes": {"en": 12, "de": 11}},
            "mono": {"train": counts, "valid": counts},
            "parallel": {"test": {"en-de": {"pairs": 5, "orders": []}}},
            "dictionaries": dictionaries,
        },
    )
    return DataFolder(path)


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "data")


@pytest.fixture
def subject(folder):
    return Subject(Planted(), folder, "en", ["de"], Letters)


@pytest.fixture
def measure(subject):
    """``measure(name, *options)`` runs a measure with the options a user would type."""

    def run(name, *options, **changes):
        parser = argparse.ArgumentParser()
        MEASURES[name]().add_arguments(parser)
        changed = dataclasses.replace(subject, **changes)
        return MEASURES[name]().run(changed, parser.parse_args(list(map(str, options))))

    return run
