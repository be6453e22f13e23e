"""The exact bilingual dictionary of two synthetic languages, from their lexicons."""

from fairseq_xling.corpus.realiser import LANGUAGES


def dictionary(source: str, target: str) -> list[tuple[str, str, float]]:
    """(source word, target word, weight) for all concepts that are one word in both languages.

    The target words of one source word have weights that add up to 1: equal shares for each
    meaning of the word, and within a meaning for each form. Inflected forms are paired by feature
    (plural with plural, past with past).

    >>> [entry for entry in dictionary("en", "id") if entry[0] == "dogs"]
    [('dogs', 'anjing-anjing', 0.5), ('dogs', 'anjing', 0.5)]
    """
    targets = LANGUAGES[target].lexicon()
    meanings: dict[str, list[tuple[str, ...]]] = {}
    for key, forms in LANGUAGES[source].lexicon().items():
        if key in targets:
            for form in forms:
                meanings.setdefault(form, []).append(targets[key])
    found = []
    for form, alternatives in meanings.items():
        weights: dict[str, float] = {}
        for words in alternatives:
            for word in words:
                weights[word] = weights.get(word, 0.0) + 1 / len(alternatives) / len(words)
        found.extend((form, word, weight) for word, weight in weights.items())
    return found
