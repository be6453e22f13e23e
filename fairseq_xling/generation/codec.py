"""A data folder's own text codec instead of fairseq's `--bpe`.

fairseq's programs pass text around as symbols joined by spaces. This turns raw text into the
symbols of the source's dictionary, as `prepare` did, and symbols of either side back into text.
"""

from fairseq.data import Dictionary

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.segment import segmentations


class FolderCodec:
    """``encode`` and ``decode`` as fairseq calls them, for one pair of languages.

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
        return text

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
