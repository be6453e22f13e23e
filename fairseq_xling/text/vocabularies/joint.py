"""One vocabulary learnt on the text of all languages together (Conneau & Lample 2019)."""

from fairseq_xling.text.vocabularies import VocabularyMode, modes


@modes.register("joint")
class Joint(VocabularyMode):
    def model_name(self, lang: str) -> str:
        return "sentencepiece.model"
