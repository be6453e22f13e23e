"""A dictionary's words that occur in a text, with the mean state of each at every layer.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.1: a word is the mean of its
subwords, a word type the mean over its occurrences.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.ranks import nearest
from fairseq_xling.analysis.subject import Subject, TextEncoder
from fairseq_xling.analysis.words import TypeMeans, begins_word, find_words, span_means
from fairseq_xling.core.files import plain_lines
from fairseq_xling.data.folder import SPECIALS, UNK, DataFolder
from fairseq_xling.text.vocabularies import mode_of

_NEAREST = 3


class Lexicon:
    """The entries whose two words both occur, except identical ones.

    Identical words share an embedding in a joint vocabulary and would score by spelling.

    Attributes:
        source_words: N words, the most frequent first.
        target_words: M words.
        pairs: (P, 2) int64, rows of source and target words that translate each other.
        source_vectors: (L+1, N, D); target_vectors: (L+1, M, D).
    """

    def __init__(
        self,
        subject: Subject,
        target: str,
        entries: Sequence[tuple[str, str]],
        split: str,
        limit: int,
    ):
        rows, means = [], []
        for side, lang in enumerate((subject.source, target)):
            words = list(dict.fromkeys(entry[side] for entry in entries))
            spelling = spell(words, subject.text_encoder(lang))
            types = collect_types(subject, lang, list(spelling.values()), split, limit)
            means.append(types)
            rows.append({word: n for n, word in enumerate(spelling) if types.counts[n]})
        usable = [(s, t) for s, t in entries if s in rows[0] and t in rows[1] and s != t]
        counts = means[0].counts
        self.source_words = sorted(
            {s for s, _ in usable}, key=lambda word: (-int(counts[rows[0][word]]), word)
        )
        self.target_words = sorted({t for _, t in usable})
        places = {
            (side, word): n
            for side, words in enumerate((self.source_words, self.target_words))
            for n, word in enumerate(words)
        }
        pairs = sorted({(places[0, s], places[1, t]) for s, t in usable})
        self.pairs = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
        self.source_vectors = means[0].means()[:, [rows[0][word] for word in self.source_words]]
        self.target_vectors = means[1].means()[:, [rows[1][word] for word in self.target_words]]

    def neighbours(self, layer: int, count: int) -> list[dict]:
        """For the ``count`` most frequent source words: the nearest target words with cosines,
        and whether the dictionary contains them."""
        right = {tuple(pair) for pair in self.pairs.tolist()}
        scores, index = nearest(
            self.source_vectors[layer][:count], self.target_vectors[layer], _NEAREST
        )
        return [
            {
                "word": self.source_words[n],
                "nearest": [
                    {"word": self.target_words[j], "cosine": cosine, "right": (n, j) in right}
                    for cosine, j in zip(scores[n].tolist(), index[n].tolist(), strict=True)
                ],
            }
            for n in range(len(scores))
        ]


def spell(words: Sequence[str], encoder: TextEncoder) -> dict[str, tuple[int, ...]]:
    """Subword ids of each word that the vocabulary can spell; of several words with the same ids
    (that differ only in case, for example) only the first is kept."""
    spelling: dict[tuple[int, ...], str] = {}
    for word, ids in zip(words, encoder.encode(words), strict=True):
        inner = tuple(ids[:-1].tolist())
        if inner and UNK not in inner:
            spelling.setdefault(inner, word)
    return {word: ids for ids, word in spelling.items()}


def collect_types(
    subject: Subject, lang: str, words: Sequence[tuple[int, ...]], split: str, limit: int
) -> TypeMeans:
    """Type vectors of ``words`` (subword ids) over the first ``limit`` sentences of ``lang``, all
    if 0; only sentences with one of the words are encoded."""
    file = subject.folder.mono(split, lang)
    starts = word_starts(subject.folder, subject.text_encoder(lang), lang)
    vocabulary = {ids: n for n, ids in enumerate(words)}
    sentences, places = [], []
    for i in range(min(len(file), limit or len(file))):
        inner = file[i][:-1]
        if found := find_words(inner.tolist(), starts[inner].tolist(), vocabulary):
            sentences.append(file[i])
            places.append(found)
    means = TypeMeans(len(words), subject.encoder.num_layers + 1, subject.encoder.width)
    if sentences:
        for indices, states, inside in subject.encoder.states(sentences, lang):
            add_occurrences(means, [places[i] for i in indices], states, inside)
    return means


def word_starts(folder: DataFolder, encoder: TextEncoder, lang: str) -> np.ndarray:
    """(V,) bool: whether each id of ``lang`` begins a word, as punctuation always does."""
    vocabulary = mode_of(folder)
    starts = encoder.starts_word(np.arange(folder.vocab_sizes[lang]))
    for number, line in enumerate(plain_lines(folder.dictionary_path(lang)), start=4):
        if number >= SPECIALS:
            starts[number] = begins_word(vocabulary.piece(line.rsplit(" ", 1)[0]))
    return starts


def add_occurrences(
    means: TypeMeans, places: list[list[tuple[int, int, int]]], states: Tensor, inside: Tensor
) -> None:
    """Add the words at ``places``: per sentence, (type, start, stop) among its subwords, of which
    the first is at position 1, after ``<s>``."""
    types, spans = [], []
    for b, found in enumerate(places):
        for kind, start, stop in found:
            whole = inside[b, start + 1 : stop + 1]
            if len(whole) == stop - start and whole.all():  # not cut at the model's positions
                types.append(kind)
                spans.append((b, start + 1, stop + 1))
    if types:
        means.add(torch.tensor(types), span_means(states.cpu(), spans))
