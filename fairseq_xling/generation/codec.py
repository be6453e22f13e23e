"""Text in and out of fairseq's programs, which pass it around as symbols joined by spaces.

A data folder has its own codec instead of fairseq's `--bpe`; and references are as they are in the
text, instead of what their tokens decode to. Tokens do not have all of a text: what the vocabulary
lacks is ``<unk>``, which fairseq writes as ``<<unk>>``, and normalisation changes characters. BLEU
counts both as errors, and as more words.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fairseq.data import Dictionary

from fairseq_xling.core.errors import shown, visible
from fairseq_xling.data.folder import UNK, DataFolder
from fairseq_xling.generation.dataset import TranslationDataset
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.segment import segmentations


class FolderCodec:
    """``encode`` and ``decode`` as fairseq calls them, for one pair of languages.

    Raw text becomes the symbols of the source's dictionary, as in `prepare`, and symbols of either
    side text again.

    Args:
        folder: the data folder.
        pair: source and target language.
        dictionaries: theirs.
        joined: symbols reach ``decode`` already joined to words (`--remove-bpe sentencepiece`).
    """

    def __init__(
        self,
        folder: DataFolder,
        pair: tuple[str, str],
        dictionaries: tuple[Dictionary, Dictionary],
        joined: bool = False,
    ):
        self.encoders = tuple(TextEncoder.load(folder.path, lang) for lang in pair)
        self.dictionaries, self.joined = dictionaries, joined
        # `decode` receives both sides' text: it is joined by each language's rule, once each.
        self._joins = dict.fromkeys(segmentations[folder.meta["segment"][x]].join for x in pair)

    def encode(self, text: str) -> str:
        """Raw text as symbols of the source's dictionary."""
        ids = self.encoders[0].encode([text])[0][:-1]
        return " ".join(self.dictionaries[0][i] for i in ids.tolist())

    def decode(self, text: str) -> str:
        """Symbols of the target's dictionary, or else of the source's, as text.

        ``<unk>`` is kept, and so is its escaped form, which fairseq puts into references so that
        no translation can match it.
        """
        if not self.joined:
            text = self._join(text)
        for join in self._joins:
            text = join(text)
        return visible(text)  # fairseq prints it

    def _join(self, text: str) -> str:
        symbols = [symbol for symbol in text.split(" ") if symbol]
        escaped = self.dictionaries[1].unk_string(escape=True)
        known = [symbol for symbol in symbols if symbol != escaped]
        ours = all(symbol in self.dictionaries[1] for symbol in known)
        dictionary, encoder = self.dictionaries[ours], self.encoders[ours]
        decoded = encoder.decode(map(dictionary.index, symbols))
        if len(known) < len(symbols):
            decoded = decoded.replace(dictionary.unk_string(), escaped)
        return decoded


class RawReference(str):
    """A reference that no codec decodes."""


class References:
    """Hands fairseq-generate the raw text where it asks the target's dictionary for a reference.

    fairseq asks for the text of each row of ``target`` in turn, and of nothing else with
    ``escape_unk``. Text is found by its tokens, so that no other row can get it.
    """

    def __init__(self, dictionary: Dictionary):
        self._decode, self._pad = partial(Dictionary.string, dictionary), dictionary.pad()
        self._texts: dict[tuple[int, ...], deque[str]] = {}
        dictionary.string = self._string

    def expect(self, sample: Mapping[str, Any]) -> None:
        """The batch whose references are asked for next."""
        texts: dict[tuple[int, ...], deque[str]] = defaultdict(deque)
        for row, text in zip(sample["target"].tolist(), sample["references"], strict=True):
            texts[tuple(i for i in row if i != self._pad)].append(text)
        self._texts = texts

    def _string(self, tensor: Any, *args: Any, escape_unk: bool = False, **kwargs: Any) -> str:
        texts = self._texts.get(tuple(tensor.tolist())) if escape_unk else None
        if texts:
            return RawReference(texts.popleft())
        return self._decode(tensor, *args, escape_unk=escape_unk, **kwargs)


class KeepsReferences:
    """fairseq's ``codec`` of `--bpe`, which decodes all but a `RawReference`."""

    def __init__(self, codec: Any):
        self._codec = codec

    def encode(self, text: str) -> str:
        return self._codec.encode(text)

    def decode(self, text: str) -> str:
        return str(text) if isinstance(text, RawReference) else self._codec.decode(text)


def difference(dataset: TranslationDataset, load: Callable[[], TextEncoder]) -> str | None:
    """What to say of references that are other text than their tokens; None if all are alike.

    Args:
        load: the target's encoder.
    """
    target, raw, count = dataset.target, dataset.raw, len(dataset)
    if raw is None:
        if unknown := sum(UNK in target[i] for i in range(count)):
            return (
                f"{unknown} of {count} references have unknown tokens, compared as <<unk>>; "
                "prepare the folder again to compare with the text itself"
            )
        return None
    decode = load().decode
    pairs = ((raw[i], decode(target[i])) for i in range(count))
    if others := [pair for pair in pairs if pair[0] != pair[1]]:
        return (
            f"{len(others)} of {count} references are not what their tokens say, such as "
            f"{shown(others[0][0])}, of which the tokens say {shown(others[0][1])}; translations "
            "are compared with the text itself"
        )
    return None
