"""Trees for words that have none, by a fine-tuned parser of this project.

A checkpoint with the head `parsing_pos` gives parts of speech, heads and relations; one with the
head `parsing` gives heads and relations alone. It parses every language that its encoder was
trained on, whatever language its trees were of.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fairseq_xling.errors import UserError
from fairseq_xling.progress import progress
from fairseq_xling.tasks.formats.conllu import TreeItem
from fairseq_xling.tasks.heads.parsing import Parsing
from fairseq_xling.tasks.heads.parsing_pos import ParsingPos
from fairseq_xling.tasks.predict import Predictor

_BLOCK = 2048  # sentences whose scores are held at a time
_UNKNOWN = "_"


class ParsedSentence(NamedTuple):
    """The tree of a sentence: ``heads`` count from 1, 0 is the root; ``upos`` may be empty."""

    upos: list[str]
    heads: list[int]
    deprels: list[str]


class Parser:
    """A checkpoint with a parsing head, in evaluation mode."""

    def __init__(self, predictor: Predictor):
        self._predictor = predictor

    @classmethod
    def load(
        cls,
        checkpoint: str | Path,
        data: str | Path | None = None,
        device: str = "cpu",
        tags: bool = False,
    ) -> "Parser":
        """The parser in ``checkpoint``.

        Args:
            data: its data folder, if it has moved.
            tags: whether parts of speech are needed.

        Raises:
            UserError: if it is missing, damaged, no parser, or gives no parts of speech.
        """
        predictor = Predictor.load(checkpoint, data, device)
        needed, name = (ParsingPos, "parsing_pos") if tags else (Parsing, "parsing_pos or parsing")
        if not isinstance(predictor.head, needed):
            what = "parts of speech" if isinstance(predictor.head, Parsing) else "trees"
            raise UserError(
                f"{checkpoint}: gives no {what}; fine-tune a parser with `--head {name}`"
            )
        return cls(predictor)

    def parse(
        self, sentences: Sequence[Sequence[str]], lang: str, max_tokens: int = 8192
    ) -> list[ParsedSentence]:
        """The trees of ``sentences``, in their order.

        A sentence that is too long for the encoder is read in pieces, with a warning, unless the
        parser was trained with `--too-long refuse`.

        Args:
            max_tokens: maximum padded tokens per batch.

        Raises:
            UserError: for a language that the parser does not know, a sentence without words, or
                one that is too long and refused; names the sentence, counted from 1.
        """
        bare = next((number for number, words in enumerate(sentences, 1) if not words), None)
        if bare is not None:
            raise UserError(f"sentence:{bare}: has no words")
        found: list[ParsedSentence] = []
        with progress(len(sentences), f"parse {lang}", "sentences") as bar:
            for start in range(0, len(sentences), _BLOCK):
                items = [
                    _item(number, words)
                    for number, words in enumerate(sentences[start : start + _BLOCK], start + 1)
                ]
                trees = self._predictor.predict_items(lang, items, max_tokens, bar.update)
                for heads, relations, *tags in trees:
                    upos = list(tags[0]) if tags else []
                    found.append(ParsedSentence(upos, list(heads), list(relations)))
        return found


def _item(number: int, words: Sequence[str]) -> TreeItem:
    words = tuple(words)
    tags = (_UNKNOWN,) * len(words)
    return TreeItem("sentence", number, words, tags, None, (), tuple(range(len(words))))
