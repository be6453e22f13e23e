"""A dictionary per language (Conneau et al. 2020, Section 4.3): ids of different languages are
unrelated; each language needs its own embeddings and softmax."""

from fairseq_xling.text.vocabularies import VocabularyMode, modes


@modes.register("separate")
class Separate(VocabularyMode):
    def dictionary_name(self, lang: str) -> str:
        return f"dict.{lang}.txt"
