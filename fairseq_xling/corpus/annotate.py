"""Gold annotation as text: CoNLL-U trees with entities, tags, Pharaoh alignments, dictionaries."""

from collections.abc import Iterable, Sequence

from fairseq_xling.corpus.realiser import LANGUAGES, Sentence
from fairseq_xling.text.segment import char


def conllu(sentence: Sentence, name: str) -> str:
    """A sentence as a CoNLL-U block, its empty line included.

    ``MISC`` holds ``Entity=B-PER`` (IOB2, absent outside entities), ``Concept=`` and, where no
    space follows the word in the text, ``SpaceAfter=No``.
    """
    spaced = LANGUAGES[sentence.language].spaced
    lines = [f"# sent_id = {name}", f"# text = {sentence.text}"]
    last = len(sentence.tokens)
    for number, token in enumerate(sentence.tokens, start=1):
        misc = [] if token.entity == "O" else [f"Entity={token.entity}"]
        misc.append(f"Concept={token.concept}")
        if not spaced and number < last:
            misc.append("SpaceAfter=No")
        head, relation = str(token.head), token.deprel
        fields = (str(number), token.form, token.lemma, token.upos, "_", "_", head, relation)
        lines.append("\t".join((*fields, "_", "|".join(misc))))
    return "\n".join(lines) + "\n\n"


def tagged(sentence: Sentence) -> str:
    """A sentence as lines ``word TAB part of speech TAB entity tag``, its empty line included."""
    rows = ((token.form, token.upos, token.entity) for token in sentence.tokens)
    return "".join("\t".join(row) + "\n" for row in rows) + "\n"


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Alignment links as ``i-j``, sorted.

    >>> pharaoh({(1, 0), (0, 2)})
    '0-2 1-0'
    """
    return " ".join(f"{i}-{j}" for i, j in sorted(pairs))


def character_places(sentence: Sentence) -> list[range]:
    """For each word, the places of its characters in the text cut into characters.

    Segmentation is as in ``prepare --segment char``; words of a language with spaces stay whole.
    """
    if LANGUAGES[sentence.language].spaced:
        return [range(i, i + 1) for i in range(len(sentence.tokens))]
    places, at = [], 0
    for pieces in char(sentence.words):
        length = len(pieces.split())
        places.append(range(at, at + length))
        at += length
    return places


def expand(
    pairs: Iterable[tuple[int, int]], source: Sequence[range], target: Sequence[range]
) -> set[tuple[int, int]]:
    """Links of words as links of all their pieces.

    >>> sorted(expand({(0, 1)}, [range(0, 1)], [range(0, 1), range(1, 3)]))
    [(0, 1), (0, 2)]
    """
    return {(i, j) for a, b in pairs for i in source[a] for j in target[b]}


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
