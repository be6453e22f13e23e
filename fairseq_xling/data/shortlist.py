"""A short list of target tokens for each source token, from the word alignments of training text.

An output layer that knows the sentence needs only the words that its words are translated by, and
the most frequent ones (Jean et al., 2015, "On Using Very Large Target Vocabulary for Neural Machine
Translation", Section 3.2).

V source tokens, N target tokens for each.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from fairseq_xling.core.array_file import ArrayFile, described_well
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.progress import progress
from fairseq_xling.data.folder import PAD, SPECIALS, DataFolder, read_dictionary

_FILE = ArrayFile(
    "fairseq_xling.shortlist",
    "a shortlist (as `fairseq-xling shortlist` writes it)",
    needs=("linked", "frequent"),
)
_BLOCK = 1 << 14  # sentences whose links are counted together


@dataclass(frozen=True)
class Shortlist:
    """What may be written for a source token.

    Attributes:
        linked: (V, N) int32, the target tokens that each source token is most often linked with,
            padded by `PAD`; none of them is frequent.
        frequent: (F,) int32, the most frequent target tokens, which may be written for any.
    """

    linked: np.ndarray
    frequent: np.ndarray

    def write(self, path: str | Path, folder: DataFolder, pair: tuple[str, str]) -> None:
        """Write it atomically, with the dictionaries that its numbers refer to."""
        arrays = {"linked": self.linked, "frequent": self.frequent}
        _FILE.write(path, arrays, _about(folder, pair))

    @classmethod
    def read(
        cls, path: str | Path, folder: DataFolder, pair: tuple[str, str] | None = None
    ) -> tuple["Shortlist", tuple[str, str]]:
        """One for the dictionaries of ``folder``, and its direction.

        Args:
            pair: what the direction must be (default: any of the folder's languages).
        """
        arrays, about = _FILE.read(path)
        linked, frequent = arrays["linked"], arrays["frequent"]
        with described_well(path):
            theirs = {name: about[name] for name in ("pair", "dictionaries")}
            source, target = map(str, theirs["pair"])
        got = source, target
        if pair is None and {source, target} <= set(folder.languages):
            pair = got
        if got != pair:
            known = ",".join(folder.languages)
            wanted = f"two languages of {known}" if pair is None else "-".join(pair)
            raise UserError(f"`--shortlist` {path}: must be of {wanted}, got {source}-{target}")
        if theirs != _about(folder, pair):
            raise UserError(
                f"`--shortlist` {path}: must be made with the dictionaries of {folder.path}, got "
                "others; write it again"
            )
        sizes = [folder.vocab_sizes[lang] for lang in pair]
        fits = linked.ndim == 2 and frequent.ndim == 1 and len(linked) == sizes[0]
        for array in (linked, frequent):
            fits = fits and array.dtype == np.int32
            fits = fits and bool(((array >= 0) & (array < sizes[1])).all())
        if not fits or (frequent < SPECIALS).any() or np.isin(linked, frequent).any():
            raise UserError(f"`--shortlist` {path}: damaged; write it again")
        return cls(linked, frequent), pair


def name_of(pair: tuple[str, str]) -> str:
    """The file that a folder of `fairseq-xling export` has for direction ``pair``."""
    return f"shortlist.{'-'.join(pair)}.safetensors"


def make_shortlist(
    folder: DataFolder, pair: tuple[str, str], linked: int, frequent: int, split: str = "train"
) -> Shortlist:
    """Count the links of ``split``.

    A source token that the target's dictionary has as well, such as a part of a name, is the first
    of its own list. Of equally frequent tokens those with the smaller number are taken.

    Args:
        linked: N; frequent: F.
    """
    links, counts = _counted(folder, pair, split)
    order = np.lexsort((np.arange(len(counts)), -counts))
    common = np.sort(order[counts[order] > 0][:frequent]).astype(np.int32)
    links = links.tocoo()
    own, copies = _spelt_alike(folder, pair)
    source = np.concatenate([links.row, own])
    target = np.concatenate([links.col, copies])
    number = np.concatenate([links.data, np.full(len(own), np.iinfo(np.int64).max)])
    kept = ~np.isin(target, common) & (target >= SPECIALS)
    source, target, number = source[kept], target[kept], number[kept]
    order = np.lexsort((target, -number, source))
    source, target = source[order], target[order]
    # The copy stands first; a link to the same token says nothing new.
    _, first = np.unique(source.astype(np.int64) * len(counts) + target, return_index=True)
    first.sort()
    source, target = source[first], target[first]
    sizes = np.bincount(source, minlength=folder.vocab_sizes[pair[0]])
    rank = np.arange(len(source)) - np.repeat(sizes.cumsum() - sizes, sizes)
    table = np.full((len(sizes), linked), PAD, dtype=np.int32)
    within = rank < linked
    table[source[within], rank[within]] = target[within]
    return Shortlist(table, common)


def _counted(
    folder: DataFolder, pair: tuple[str, str], split: str
) -> tuple[sparse.csr_array, np.ndarray]:
    """How often each source token (rows) has each target token, and how often the latter occur."""
    source, target = folder.parallel(split, *pair)
    order = folder.order(split, *pair)
    shape = tuple(folder.vocab_sizes[lang] for lang in pair)
    links = sparse.csr_array(shape, dtype=np.int64)
    counts = np.zeros(shape[1], dtype=np.int64)
    with progress(len(order), "shortlist", " sentences") as bar:
        for start in range(0, len(order), _BLOCK):
            tokens, sizes = source.block(start, start + _BLOCK)
            words, lengths = target.block(start, start + _BLOCK)
            partners, _ = order.block(start, start + _BLOCK)
            place = partners - 1 + np.repeat(sizes.cumsum() - sizes, lengths)
            linked = partners > 0
            ones = np.ones(int(linked.sum()), dtype=np.int64)
            cells = (tokens[place[linked]], words[linked])
            links = links + sparse.coo_array((ones, cells), shape).tocsr()
            counts += np.bincount(words, minlength=shape[1])
            bar.update(len(sizes))
    counts[:SPECIALS] = 0
    return links, counts


def _spelt_alike(folder: DataFolder, pair: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """The tokens of the source's dictionary that the target's has too, and their numbers there."""
    source, target = (read_dictionary(folder.dictionary_path(lang)) for lang in pair)
    numbers = {symbol: number for number, symbol in enumerate(target)}
    found = [
        (own, numbers[symbol])
        for own, symbol in enumerate(source)
        if own >= SPECIALS and symbol in numbers
    ]
    own, theirs = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return own, theirs


def _about(folder: DataFolder, pair: tuple[str, str]) -> dict[str, list[str]]:
    digests = [folder.dictionary_digest(lang) for lang in pair]
    return {"pair": list(pair), "dictionaries": digests}
