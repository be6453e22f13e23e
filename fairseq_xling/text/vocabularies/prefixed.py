"""No anchors (Conneau et al. 2020, Section 4.2): as ``union``, but items are prefixed by language,
so that no id is shared although one softmax still covers all."""

from fairseq_xling.text.vocabularies import VocabularyMode, modes


@modes.register("prefixed")
class Prefixed(VocabularyMode):
    def symbol(self, lang: str, piece: str) -> str:
        return f"{lang}:{piece}"

    def piece(self, symbol: str) -> str:
        # Language codes contain no colon, so the first one ends the prefix.
        return symbol.split(":", 1)[1]
