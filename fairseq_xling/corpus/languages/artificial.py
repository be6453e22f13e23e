"""Languages made from English: relabelled, permuted, split or merged words.

All of them rename every word of English, one to one, by made-up words of this module, punctuation
and digits included, so they share no word with it (see ``rename``).

- ``xx``, ``yy``: relabelled, nothing else; two different renamings.
- ``xp``: relabelled, and every head follows all of its dependents (``permute``).
- ``xs``: relabelled, nouns and verbs are two words each (``split``): one to many.
- ``xm``: relabelled, function words are merged with the word they precede (``merge``): many to one.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from fairseq_xling.corpus.languages.english import English, word_forms
from fairseq_xling.corpus.meaning import Meaning
from fairseq_xling.corpus.realiser import LANGUAGES, Language, Token

_ONSETS = [*"bdfghjklmnprstvwz", "br", "dr", "gl", "kr", "pl", "st", "tr", "sh", "ch"]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ou"]
_CODAS = ["", "", "n", "r", "l", "s", "k"]
_MARKS = {".": "!", ",": ";"}
_GLUED = frozenset({"DET", "ADP", "AUX", "PART"})


def rename(words: Iterable[str], seed: int) -> dict[str, str]:
    """A made-up word for each of ``words``: a bijection, and no made-up word is one of ``words``.

    Capitals are kept (English names stay recognisable as names). Length and spelling reveal nothing
    about the original.

    >>> renamed = rename(["cat", "cats", "Anna", "."], seed=1)
    >>> len(set(renamed.values())), renamed["Anna"][0].isupper(), renamed["."]
    (4, True, '!')
    """
    words = sorted(set(words))
    generator = np.random.default_rng((seed, 77))
    taken = {word.lower() for word in words}
    found = {}
    for word in words:
        if word in _MARKS:
            found[word] = _MARKS[word]
            continue
        made = word.lower()
        while made in taken:
            made = _made_up(generator)
        taken.add(made)
        found[word] = made.capitalize() if word[0].isupper() else made
    return found


def _made_up(generator: np.random.Generator) -> str:
    def pick(parts: list[str]) -> str:
        return parts[int(generator.integers(len(parts)))]

    syllables = int(generator.integers(2, 4))
    return "".join(pick(_ONSETS) + pick(_VOWELS) + pick(_CODAS) for _ in range(syllables))


class Relabelled(Language):
    """English with every word renamed.

    Args:
        code: the language's code.
        seed: random seed; each gives a different renaming.
    """

    def __init__(self, code: str, seed: int):
        self.code = code
        self.seed = seed
        self._english = English()

    @cached_property
    def names(self) -> dict[str, str]:
        """The made-up word of each English form."""
        return rename(word_forms(), self.seed)

    def tokens(self, meaning: Meaning) -> list[Token]:
        names = self.names
        return self.arrange(
            [
                token._replace(form=names[token.form], lemma=names[token.lemma])
                for token in self._english.tokens(meaning)
            ]
        )

    def arrange(self, tokens: list[Token]) -> list[Token]:
        """Further changes to the renamed words; here none."""
        return tokens

    def lexicon(self) -> dict[tuple[str, str], tuple[str, ...]]:
        return {
            key: tuple(self.names[form] for form in forms)
            for key, forms in self._english.lexicon().items()
        }


def reorder(tokens: list[Token], order: list[int]) -> list[Token]:
    """``tokens[order[0]], tokens[order[1]], ...`` with heads that follow their words."""
    place = {old + 1: new + 1 for new, old in enumerate(order)} | {0: 0}
    span, spans = 0, []  # which name each word is part of: its first word must become the B-
    for token in tokens:
        span += token.entity.startswith("B-")
        spans.append(span if token.entity != "O" else 0)
    found, before = [], 0
    for old in order:
        token = tokens[old]._replace(head=place[tokens[old].head])
        if spans[old]:
            first = "B" if spans[old] != before else "I"
            token = token._replace(entity=first + token.entity[1:])
        before = spans[old]
        found.append(token)
    return found


class Permuted(Relabelled):
    """Relabelled, and head-final throughout, later dependents first; the full stop stays last."""

    def arrange(self, tokens: list[Token]) -> list[Token]:
        children: dict[int, list[int]] = {}
        for number, token in enumerate(tokens, start=1):
            children.setdefault(token.head, []).append(number)
        order: list[int] = []

        def visit(number: int) -> None:
            for child in reversed(children.get(number, ())):
                visit(child)
            if number:
                order.append(number - 1)

        visit(0)
        last = len(tokens) - 1
        order.remove(last)
        return reorder(tokens, [*order, last])


class Split(Relabelled):
    """Relabelled, and every noun and verb is two words: a stem followed by an ending.

    The second word depends on the first (``fixed``), and both have the alignment of the whole.
    """

    def parts(self, form: str) -> tuple[str, str]:
        """The two words of a renamed form; different forms give different pairs.

        No word of English ends in q or begins with x, so neither half is one of its words.
        """
        cut = max(1, len(form) // 2)
        return form[:cut] + "q", "x" + form[cut:]

    def arrange(self, tokens: list[Token]) -> list[Token]:
        divided = [token.upos in ("NOUN", "VERB") for token in tokens]
        place, at = {0: 0}, 1
        for number, twice in enumerate(divided, start=1):
            place[number] = at
            at += 1 + twice
        found = []
        for number, (token, twice) in enumerate(zip(tokens, divided, strict=True), start=1):
            head = place[token.head]
            if not twice:
                found.append(token._replace(head=head))
                continue
            first, second = self.parts(token.form)
            found.append(token._replace(form=first, head=head))
            found.append(token._replace(form=second, head=place[number], deprel="fixed"))
        return found

    def lexicon(self) -> dict[tuple[str, str], tuple[str, ...]]:
        return {
            key: forms
            for key, forms in super().lexicon().items()
            if not key[0].endswith((".n", ".v"))
        }


class Merged(Relabelled):
    """Relabelled, and determiners, prepositions, auxiliaries and particles are merged with the
    next word: one word then corresponds to several."""

    def arrange(self, tokens: list[Token]) -> list[Token]:
        groups: list[list[int]] = [[]]
        for number, token in enumerate(tokens, start=1):
            groups[-1].append(number)
            if token.upos not in _GLUED and number < len(tokens):
                groups.append([])
        place = {0: 0} | {number: at for at, group in enumerate(groups, 1) for number in group}
        found = []
        for group in groups:
            members = [tokens[number - 1] for number in group]
            last = members[-1]  # merged words are leaves, so the last one keeps the group's head
            form = "q".join(member.form for member in members)  # made-up words have no q
            slots = tuple(slot for member in members for slot in member.slots)
            found.append(last._replace(form=form, head=place[last.head], slots=slots))
        return found


LANGUAGES.register("xx")(Relabelled("xx", 1))
LANGUAGES.register("yy")(Relabelled("yy", 2))
LANGUAGES.register("xp")(Permuted("xp", 3))
LANGUAGES.register("xs")(Split("xs", 4))
LANGUAGES.register("xm")(Merged("xm", 5))
