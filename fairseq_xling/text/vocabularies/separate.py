"""A dictionary per language (Conneau et al. 2020, Section 4.3): ids of different languages have
nothing to do with each other; each language needs embeddings and a softmax of its own."""

from fairseq_xling.text.vocabularies import VocabularyMode, modes


@modes.register("separate")
class Separate(VocabularyMode):
    def dictionary_name(self, lang: str) -> str:
        return f"dict.{lang}.txt"
