"""The source's own embeddings, for a migration that keeps its vocabulary (TreLM, Table 9)."""

from torch import Tensor

from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.errors import UserError
from fairseq_xling.papers.trelm.words import WordRequest, word_ways


@word_ways.register("source")
class OfSource:
    """Every symbol's row in the source, which must have all of them."""

    reads_vectors = False

    @staticmethod
    def rows(request: WordRequest) -> tuple[Tensor, str]:
        """See `Way`.

        Raises:
            UserError: for a symbol that the source does not have.
        """
        source, symbols = request.source, request.symbols
        theirs = {symbol: number for number, symbol in enumerate(source.symbols)}
        missing = [symbol for symbol in symbols[SPECIALS:] if symbol not in theirs]
        if missing:
            raise UserError(
                f"`--embeddings source` needs the vocabulary of {source.origin}, which lacks "
                f"{len(missing):,} symbols of {request.name!r}, such as {missing[0]!r}; prepare "
                "the text with `--tokenizer`"
            )
        rows = request.draw(len(symbols))  # those of special symbols are replaced afterwards
        rows[SPECIALS:] = source.embeddings[[theirs[symbol] for symbol in symbols[SPECIALS:]]]
        return rows, "the source's"
