"""Indonesian: adjectives and owners after the noun, no articles, no inflection, no copula."""

from fairseq_xling.corpus import inventory
from fairseq_xling.corpus import meaning as m
from fairseq_xling.corpus.meaning import Clause, Meaning, NounPhrase, Oblique
from fairseq_xling.corpus.realiser import (
    LANGUAGES,
    VERB_FEATURES,
    Language,
    Node,
    Token,
    attach,
    attached,
    joined,
)

_WORDS = inventory.lexicon("indonesian")
_NOUNS = _WORDS["nouns"]
_ADJECTIVES = _WORDS["adjectives"]
_VERBS = _WORDS["verbs"]
_ADVERBS = _WORDS["adverbs"]
_PREPOSITIONS = _WORDS["prepositions"]
_FUNCTION = _WORDS["function_words"]
_NAMES = _WORDS["places"] | _WORDS["organisations"]


class Indonesian(Language):
    """Realises a meaning in Indonesian."""

    code = "id"
    conjunction = "dan"
    adverbs = _ADVERBS

    def phrase(self, phrase: NounPhrase) -> tuple[list[Node], Node]:
        """The words of a noun phrase and the one that heads them."""
        at = phrase.id
        if phrase.kind in inventory.ENTITIES:
            nodes, head = self._name(phrase)
        elif phrase.kind == "pronoun":
            key = phrase.keys[0]
            head = Node(_FUNCTION[key], "PRON", slots=(at,), concept=key)
            nodes = [head]
        elif phrase.kind == "year":
            head = Node("tahun", "NOUN", concept="year")
            nodes = [head, Node(phrase.keys[0], "NUM", "nummod", (at,), head, "year")]
        else:
            nodes, head = self._noun(phrase)
        if phrase.origin is not None:
            nodes += attached(head, "nmod", self.oblique(phrase.origin))
        return self.with_conjunct(nodes, head, phrase), head

    def _name(self, phrase: NounPhrase) -> tuple[list[Node], Node]:
        parts = [(part, key) for key in phrase.keys for part in _NAMES.get(key, key).split("=")]
        return self.name_nodes(phrase, parts, first=True)

    def _noun(self, phrase: NounPhrase) -> tuple[list[Node], Node]:
        at, key = phrase.id, phrase.keys[0]
        first, *rest = _NOUNS[key].split("=")
        form = first
        if phrase.plural and phrase.determiner not in ("count", "many") and "-" not in first:
            form = f"{first}-{first}"
        head = Node(form, "NOUN", slots=(at,), concept=key + ".n", lemma=first)
        nodes = [head]
        for part in rest:
            slots = (at + m.PART,) if "_" in key else (at,)
            nodes.append(Node(part, "NOUN", "compound", slots, head, key + ".n"))
        for i, adjective in enumerate(phrase.adjectives):
            slots = (at + m.ADJECTIVE + i,)
            node, *rest = (
                Node(part, "ADJ", "amod", slots, head, adjective + ".a")
                for part in _ADJECTIVES[adjective].split("=")
            )
            attach(node, "compound", *rest)
            nodes += [node, *rest]
        before, after = self._determiner(phrase, head)
        return [*before, *nodes, *after], head

    def _determiner(self, phrase: NounPhrase, head: Node) -> tuple[list[Node], list[Node]]:
        """What comes before the noun, and what comes after it."""
        kind, slots = phrase.determiner, (phrase.id + m.DETERMINER,)
        if phrase.owner is not None:
            return [], attached(head, "nmod", self.phrase(phrase.owner))
        if kind in ("my", "our"):
            return [], [Node(_FUNCTION[kind], "PRON", "nmod", slots, head, kind)]
        if kind == "this":
            return [], [Node("ini", "DET", "det", slots, head, "this")]
        if kind == "many":
            return [Node("banyak", "ADJ", "amod", slots, head, "many")], []
        if kind == "count":
            form, slots = _FUNCTION.get(phrase.count, phrase.count), (phrase.id + m.COUNT,)
            return [Node(form, "NUM", "nummod", slots, head, phrase.count)], []
        if kind == "indefinite":
            living = {"pm": "a_person", "pf": "a_person", "a": "a_animal"}
            form = _FUNCTION[living.get(inventory.NOUN_KINDS[phrase.keys[0]], "a")]
            return [Node(form, "DET", "det", slots, head, "indefinite")], []
        return [], []

    def oblique(self, oblique: Oblique) -> tuple[list[Node], Node]:
        """A preposition, of one word or two, with its phrase, and the phrase's head."""
        phrase = oblique.phrase
        nodes, head = self.phrase(phrase)
        slots = (phrase.id + m.PREPOSITION,)
        form = _PREPOSITIONS[oblique.preposition]
        if phrase.kind == "year" or inventory.NOUN_KINDS.get(phrase.keys[0]) == "time":
            form = "pada"
        parts = [
            Node(part, "ADP", "case", slots, head, oblique.preposition) for part in form.split("=")
        ]
        return [*parts, *nodes], head

    def clause(self, clause: Clause) -> tuple[list[Node], Node]:
        """The words of a clause and its root."""
        at = clause.id
        subject, noun = self.phrase(clause.subject)
        key = clause.predicate or clause.verb
        table, upos, suffix = (
            (_ADJECTIVES, "ADJ", ".a") if clause.predicate else (_VERBS, "VERB", ".v")
        )
        root, *rest = (
            Node(part, upos, slots=(at,), concept=key + suffix) for part in table[key].split("=")
        )
        attach(root, "compound", *rest)
        attach(root, "nsubj", noun)
        nodes = [*subject, *self._before(clause, root), root, *rest]
        if clause.object is not None:
            nodes += attached(root, "obj", self.phrase(clause.object))
        if clause.adverb and clause.adverb not in inventory.FREQUENCY_ADVERBS:
            nodes += self.adverb(clause.adverb, at + m.ADVERB, root)
        for oblique in clause.obliques:
            nodes += attached(root, "obl", self.oblique(oblique))
        time = self.time(clause, root)
        nodes = [*time, *nodes] if clause.fronted else [*nodes, *time]
        if clause.reported is not None:
            inner, verb = self.clause(clause.reported)
            attach(root, "ccomp", verb)
            nodes.append(Node("bahwa", "SCONJ", "mark", (at + m.MARK,), verb, "that"))
            nodes += inner
        return nodes, root

    def _before(self, clause: Clause, root: Node) -> list[Node]:
        """What comes between subject and verb."""
        at, often = clause.id, clause.adverb in inventory.FREQUENCY_ADVERBS
        nodes: list[Node] = []
        if clause.negated:
            nodes.append(Node("tidak", "PART", "advmod", (at + m.NEGATION,), root, "not"))
        if clause.mood in ("will", "can", "must"):
            form, slots = _FUNCTION[clause.mood], (at + m.AUXILIARY,)
            nodes.append(Node(form, "AUX", "aux", slots, root, clause.mood))
        # Another word may make "telah" unnecessary or impossible.
        elif clause.mood == "past" and clause.verb and not (clause.negated or clause.time or often):
            nodes.append(Node("telah", "AUX", "aux", (), root, "past"))
        if clause.degree:
            form, slots = _FUNCTION[clause.degree], (at + m.DEGREE,)
            nodes.append(Node(form, "ADV", "advmod", slots, root, clause.degree))
        if often:
            nodes += self.adverb(clause.adverb, at + m.ADVERB, root)
        return nodes

    def tokens(self, meaning: Meaning) -> list[Token]:
        return joined(meaning, self.clause, _FUNCTION[meaning.link] if meaning.link else "")

    def lexicon(self) -> dict[tuple[str, str], tuple[str, ...]]:
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        for key, form in _NOUNS.items():
            if "=" not in form:
                many = form if "-" in form else f"{form}-{form}"
                found[key + ".n", "singular"] = (form,)
                found[key + ".n", "plural"] = tuple(dict.fromkeys((many, form)))
        for key, form in _VERBS.items():
            if "=" not in form:
                found |= {(key + ".v", feature): (form,) for feature in VERB_FEATURES}
        adjectives = _ADJECTIVES.items()
        found |= {(key + ".a", ""): (form,) for key, form in adjectives if "=" not in form}
        found |= {(key + ".r", ""): (form,) for key, form in _ADVERBS.items() if "=" not in form}
        for key in inventory.SHARED_NAMES:
            found[key, ""] = (_NAMES.get(key) or _FUNCTION.get(key, key),)
        return found


LANGUAGES.register("id")(Indonesian())
