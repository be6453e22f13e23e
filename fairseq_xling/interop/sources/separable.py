"""Our own encoders without a TRILayer, trained with `--arch separable_transformer*`."""

from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.folder import CLS, MASK, NULL, PAD, SEP, SPECIALS, UNK
from fairseq_xling.interop.sources import checkpoint_families
from fairseq_xling.interop.sources.model import SourceModel
from fairseq_xling.text.vocabularies import mode_of

_SPECIALS = {"cls": CLS, "pad": PAD, "sep": SEP, "unk": UNK, "mask": MASK, "null": NULL}


@checkpoint_families.register("separable_transformer")
class Separable:
    """Reads checkpoints of this project; of private parts, those of one language."""

    @staticmethod
    def matches(weights: dict[str, Any]) -> bool:
        return any(name.startswith("encoder.tokens.") for name in weights)

    @staticmethod
    def read(
        path: Path, state: dict[str, Any], data: str | Path | None, language: str | None
    ) -> SourceModel:
        from fairseq_xling.interop.encoder import Encoder

        if any(name.startswith("encoder.trilayer.") for name in state["model"]):
            raise UserError(
                f"{path}: has a TRILayer already; a migration starts from an encoder without one"
            )
        loaded = Encoder.load(path, data)
        encoder = loaded.model.encoder
        if encoder.plan.any and language is None:
            raise UserError(
                f"{path}: has private parts, {encoder.plan}; `--source-language` must name one of "
                f"{', '.join(encoder.languages)}"
            )
        if language is not None and language not in encoder.languages:
            raise unknown_name("`--source-language`", language, encoder.languages)
        chosen = language or encoder.languages[0]
        weights = encoder.path_weights(chosen)
        embedded = encoder.shape.language_embeddings
        return SourceModel(
            "separable_transformer",
            str(path),
            encoder.shape,
            weights,
            _plain_symbols(loaded, chosen),
            dict(_SPECIALS),
            languages=tuple(encoder.languages) if embedded else ("source",),
            counts=tuple(loaded.task.dictionaries[chosen].count),
        )


def _plain_symbols(loaded: Any, language: str) -> list[str]:
    """The dictionary of ``language``, its own symbols without the mark of their language."""
    mode = mode_of(loaded.folder)
    symbols = list(loaded.task.dictionaries[language].symbols)
    for number, symbol in enumerate(symbols[SPECIALS:], start=SPECIALS):
        piece = mode.piece(symbol)
        if mode.symbol(language, piece) == symbol:
            symbols[number] = piece
    return symbols
