"""Word vectors, one table for all languages: GloVe, translations of words, pairs of texts.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 3.2, which compares them with mBERT. On frozen vectors, with u and v the means of
those of premise and hypothesis,

    logits = W2 tanh(W1 [u; v; |u - v|; u * v] + b1) + b2

or ESIM, which reads the vectors word by word. Only the first language is trained on.

Symbols: ``N`` pairs, ``B`` of a batch, ``K`` and ``M`` pieces of the longest premise and
hypothesis, ``V`` size of the vocabulary, ``D`` width of its vectors, ``C`` labels.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fairseq_xling.analysis.glove import GloveOptions, cooccurrences, train_glove
from fairseq_xling.analysis.slices import write_slices
from fairseq_xling.analysis.subject import Subject
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.progress import progress
from fairseq_xling.data.folder import CLS, PAD, SPECIALS, DataFolder, read_dictionary, text_mask
from fairseq_xling.mapping.vectors_file import (
    Vectors,
    count_ids,
    fill_missing,
    read_vectors,
    write_vectors,
)
from fairseq_xling.reports.record import RESULTS, Record, made, write_record
from fairseq_xling.tasks.esim import Esim, EsimOptions, fit_pairs, mean
from fairseq_xling.tasks.formats.texts import Tsv
from fairseq_xling.tasks.items import parse_columns
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.verbs.measures import MEASURES


class StaticEncoder:
    """An encoder of one layer, 0, where a token's state is its row of ``table`` (V, D),
    so that the same measures apply to vectors and encoders.

    >>> encoder = StaticEncoder(np.arange(8.0)[:, None], ["en"])
    >>> ((indices, states, words),) = encoder.states([np.array([7, 6, 2])], "en")
    >>> states[0, 0, :, 0].tolist(), words.tolist()
    ([0.0, 7.0, 6.0, 2.0], [[False, True, True, False]])
    """

    num_layers = 0

    def __init__(self, table: np.ndarray, languages: Sequence[str]):
        self._table = torch.from_numpy(np.asarray(table, dtype=np.float32))
        self.languages, self.width = list(languages), table.shape[1]

    def states(
        self,
        sentences: Sequence[np.ndarray],
        lang: str,
        max_tokens: int = 8192,
        unknown: bool = False,
    ) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        """As for an encoder: (indices (B,), states (1, B, T, D), words (B, T))."""
        order = np.argsort([len(ids) for ids in sentences], kind="stable")
        step = max(1, max_tokens // (1 + max(map(len, sentences), default=0)))
        for start in range(0, len(order), step):
            part = order[start : start + step]
            width = 1 + max(len(sentences[i]) for i in part)
            tokens = np.full((len(part), width), PAD)
            tokens[:, 0] = CLS
            for row, i in enumerate(part):
                tokens[row, 1 : 1 + len(sentences[i])] = sentences[i]
            ids = torch.from_numpy(tokens)
            yield part, self._table[ids][None], text_mask(ids, unknown)


class OfMeans(nn.Module):
    """See the module's docstring; the inputs are those of `Esim`."""

    def __init__(self, width: int, labels: int, *, hidden: int = 300, dropout: float = 0.0):
        super().__init__()
        self.hidden = nn.Linear(4 * width, hidden)
        self.dropout = nn.Dropout(dropout)
        self.classify = nn.Linear(hidden, labels)

    def forward(
        self,
        premise: Tensor,
        premise_padding: Tensor,
        hypothesis: Tensor,
        hypothesis_padding: Tensor,
    ) -> Tensor:
        """Logits (B, C) from (B, K, D) and (B, M, D), with masks that are True at padding."""
        u = mean(premise, premise_padding)
        v = mean(hypothesis, hypothesis_padding)
        features = torch.cat([u, v, (u - v).abs(), u * v], dim=-1)
        return self.classify(self.dropout(torch.tanh(self.hidden(features))))


METRIC = "accuracy"  # of the head for pairs of texts
# The networks by name, and how each is trained.
NETWORKS: Mapping[str, tuple[Callable[..., nn.Module], EsimOptions]] = {
    "means": (OfMeans, EsimOptions(dropout=0.0, lr=1e-3)),
    "esim": (Esim, EsimOptions()),
}


class StaticPairs:
    """Labelled pairs of texts as `fit_pairs` reads them.

    Args:
        path, columns: the file, and which of its columns is what.
        table: (V + 1, D) vectors; the last row is zeros, for a text without any known piece.
        labels: the number of each label, to which a training file adds its own.

    Attributes:
        labels: (N,) int64, -1 for a label that is not among those trained on.
        sizes: (N,) pieces of premise and hypothesis together.
    """

    def __init__(
        self,
        path: Path,
        columns: str,
        encoder: TextEncoder,
        table: Tensor,
        labels: dict[str, int],
        training: bool = False,
    ):
        self.path, self._table = path, table
        items = list(Tsv.read(path, parse_columns(columns)))
        for item in items:
            if len(item.texts) != 2 or item.label is None:
                raise UserError(f"{item.place}: must have two texts and a label")
            if training:
                labels.setdefault(item.label, len(labels))
        self.labels = np.array([labels.get(item.label, -1) for item in items], dtype=np.int64)
        self._sides = [
            _Side(encoder, [item.texts[side] for item in items], len(table) - 1) for side in (0, 1)
        ]
        self.sizes = self._sides[0].sizes + self._sides[1].sizes

    def __len__(self) -> int:
        return len(self.labels)

    def inputs(self, chosen: np.ndarray, device: torch.device) -> tuple[Tensor, ...]:
        """Vectors and padding mask of the premises, and those of the hypotheses."""
        found = []
        for side in self._sides:
            ids, padding = side.batch(chosen)
            found += [self._table[ids].to(device), padding.to(device)]
        return tuple(found)


class _Side:
    """The texts of one side, back to back; one without any known piece has ``nothing``."""

    def __init__(self, encoder: TextEncoder, texts: Sequence[str], nothing: int):
        ids, sizes = encoder.encode_block(texts)
        known = ids >= SPECIALS
        line = np.repeat(np.arange(len(sizes)), sizes)[known]
        sizes = np.bincount(line, minlength=len(texts))
        starts = np.cumsum(sizes) - sizes
        empty = np.flatnonzero(sizes == 0)
        self._ids = np.insert(ids[known], starts[empty], nothing)
        self.sizes = np.maximum(sizes, 1)
        self._starts = np.cumsum(self.sizes) - self.sizes

    def batch(self, chosen: np.ndarray) -> tuple[Tensor, Tensor]:
        """(B, K) ids and padding."""
        sizes = self.sizes[chosen]
        places = np.arange(sizes.max())
        padding = places >= sizes[:, None]
        found = self._ids[np.where(padding, 0, self._starts[chosen][:, None] + places)]
        return torch.from_numpy(found), torch.from_numpy(padding)


def classify(
    vectors: str,
    data: str,
    title: str,
    train: str,
    valid: str,
    tests: Mapping[str, str],
    columns: str,
    output: str,
    network: str,
    seed: int,
) -> None:
    """Train on the first language and test on all; write the record ``output/results.json``, which
    is read as that of `fairseq-xling eval transfer`. The vectors stay as they are.

    Args:
        vectors, data: their file, and the folder whose vocabulary they are of.
        train, valid, tests: files of the first language, and of all by language.
        network: one of `NETWORKS`.
    """
    folder, source = DataFolder(data), next(iter(tests))
    table = torch.from_numpy(read_vectors(Path(vectors)).vectors).float()
    if len(table) != folder.vocab_sizes[source]:
        raise UserError(
            f"{vectors}: must have a vector for each of {folder.vocab_sizes[source]} pieces of "
            f"{folder.path}, got {len(table)}"
        )
    table = torch.cat([table, table.new_zeros(1, table.shape[1])])
    labels: dict[str, int] = {}

    def read(path: str, lang: str, training: bool = False) -> StaticPairs:
        encoder = TextEncoder.load(folder.path, lang)
        return StaticPairs(Path(path), columns, encoder, table, labels, training)

    learnt, held = read(train, source, training=True), read(valid, source)
    kind, options = NETWORKS[network]
    options = dataclasses.replace(options, seed=seed)
    sizes = {"hidden": options.hidden, "dropout": options.dropout}
    trained = fit_pairs(lambda: kind(table.shape[1], len(labels), **sizes), learnt, held, options)
    about = {"source": source, "row": network, "seed": seed, "epoch": trained.epoch}
    about |= {"part": "test", "shifted": False, "measure": METRIC}
    rows = []
    for lang, path in tests.items():
        test = read(path, lang)
        right = trained.predict(test) == test.labels
        rows.append({**about, "task": lang, "target": lang, "value": 100 * float(right.mean())})
    facts = {"metric": METRIC, "labels": list(labels)}
    record = Record(f"{title} by vectors", rows, facts=facts, config=dataclasses.asdict(options))
    Path(output).mkdir(parents=True, exist_ok=True)
    inputs = {"vectors": Path(vectors), "data": folder.path / "meta.json"}
    write_record(Path(output) / RESULTS, made(record, inputs))


def cut_segments(data: str, output: str, size: int, window: int) -> None:
    """The first sentences of a data folder, cut into segments."""
    write_slices(DataFolder(data), Path(output), size, window)


def train_vectors(data: str, output: str, **settings: Any) -> None:
    """The file of GloVe vectors (Pennington et al., 2014); settings are those of `GloveOptions`."""
    folder, options = DataFolder(data), GloveOptions(**settings)
    files = [folder.mono("train", lang) for lang in folder.languages]
    lang = folder.languages[0]
    size = folder.vocab_sizes[lang]
    counts = cooccurrences(files, size, options.window)
    with progress(options.epochs, "GloVe", "epochs") as bar:

        def passed(loss: float) -> None:
            bar.set_postfix_str(f"loss {loss:.4f}", refresh=False)
            bar.update()

        vectors = train_glove(counts, options, passed)
    seen = np.asarray(counts.sum(1)).ravel() > 0
    table = fill_missing(vectors, seen, options.seed)
    digests = {lang: folder.dictionary_digest(lang) for lang in folder.languages}
    symbols = read_dictionary(folder.dictionary_path(lang))
    how = {"method": "GloVe", **dataclasses.asdict(options)}
    write_vectors(Path(output), Vectors(table, count_ids(files, size), symbols, digests, how))


def evaluate_vectors(
    data: str, vectors: str, languages: Sequence[str], dictionary: str, output: str
) -> None:
    """The measure ``words`` of a vectors file: the same words and pairs as for an encoder."""
    folder, table = DataFolder(data), read_vectors(Path(vectors)).vectors
    source, *targets = languages
    encoder = StaticEncoder(table, folder.languages)
    subject = Subject(
        encoder, folder, source, targets, lambda lang: TextEncoder.load(folder.path, lang)
    )
    kind = MEASURES["words"]
    found = kind().run(subject, kind.options(dictionary, words_limit=0, neighbours=0))
    about = {"study": "eval", "task": "words", "row": Path(vectors).name}
    record = Record(
        found.title, [{**about, **row} for row in found.rows], (found.section("words"),)
    )
    write_record(
        Path(output), made(record, {"data": folder.path / "meta.json", "vectors": Path(vectors)})
    )
