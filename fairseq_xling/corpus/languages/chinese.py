"""Chinese: no spaces, no inflection; classifiers, words around a noun, clauses of cause first."""

from fairseq_xling.corpus import inventory
from fairseq_xling.corpus import meaning as m
from fairseq_xling.corpus.meaning import Clause, Meaning, NounPhrase, Oblique
from fairseq_xling.corpus.realiser import (
    LANGUAGES,
    NOUN_FEATURES,
    VERB_FEATURES,
    Language,
    Node,
    Token,
    attach,
    attached,
    finish,
)

_WORDS = inventory.lexicon("chinese")
_NOUNS = inventory.rows(_WORDS["nouns"])
_ADJECTIVES = _WORDS["adjectives"]
_VERBS = _WORDS["verbs"]
_ADVERBS = _WORDS["adverbs"]
_FUNCTION = _WORDS["function_words"]
_NAMES = _WORDS["people"] | _WORDS["places"] | _WORDS["organisations"]


def _around(text: str) -> tuple[str, str]:
    before, _, after = text.partition("~")
    return before.strip(), after.strip()


_PREPOSITIONS = {key: _around(value) for key, value in _WORDS["prepositions"].items()}
_CONJUNCTIONS = {key: _around(value) for key, value in _WORDS["conjunctions"].items()}


class Chinese(Language):
    """Realises a meaning in Chinese."""

    code = "zh"
    spaced = False
    conjunction = "和"
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
            head = Node(phrase.keys[0] + "年", "NOUN", slots=(at,), concept="year")
            nodes = [head]
        else:
            nodes, head = self._noun(phrase)
        if phrase.origin is not None:
            place, noun = self.phrase(phrase.origin.phrase)
            attach(head, "nmod", noun)
            slots = (phrase.origin.phrase.id + m.PREPOSITION,)
            come = Node("来自", "ADP", "case", slots, noun, "from")
            nodes = [come, *place, Node("的", "PART", "case", (), noun), *nodes]
        return self.with_conjunct(nodes, head, phrase), head

    def _name(self, phrase: NounPhrase) -> tuple[list[Node], Node]:
        parts = [(part, key) for key in phrase.keys for part in _NAMES[key].split("=")]
        return self.name_nodes(phrase, parts, phrase.kind == "person")

    def _noun(self, phrase: NounPhrase) -> tuple[list[Node], Node]:
        at, key = phrase.id, phrase.keys[0]
        *modifier, form = _NOUNS[key][0].split("=")
        head = Node(form, "NOUN", slots=(at,), concept=key + ".n")
        nodes: list[Node] = []
        for i, adjective in enumerate(phrase.adjectives):
            form = _ADJECTIVES[adjective]
            node = Node(form, "ADJ", "amod", (at + m.ADJECTIVE + i,), head, adjective + ".a")
            nodes.append(node)
            if len(form) > 1:
                nodes.append(Node("的", "PART", "mark", (), node))
        for part in modifier:
            nodes.append(Node(part, "NOUN", "compound", (at + m.PART,), head, key + ".n"))
        return [*self._determiner(phrase, head), *nodes, head], head

    def _determiner(self, phrase: NounPhrase, head: Node) -> list[Node]:
        kind, slots = phrase.determiner, (phrase.id + m.DETERMINER,)
        if phrase.owner is not None:
            nodes, owner = self.phrase(phrase.owner)
            attach(head, "nmod", owner)
            return [*nodes, Node("的", "PART", "case", (phrase.id + m.POSSESSIVE,), owner)]
        if kind in ("my", "our"):
            owner = Node(_FUNCTION[kind], "PRON", "nmod", slots, head, kind)
            return [owner, Node("的", "PART", "case", slots, owner)]
        if kind == "many":
            return [Node(_FUNCTION[kind], "ADJ", "amod", slots, head, kind)]
        if kind in ("count", "indefinite", "this"):
            key, upos, relation = phrase.count, "NUM", "nummod"
            if kind == "count":
                slots = (phrase.id + m.COUNT,)
            elif kind == "this":
                key, upos, relation = "these" if phrase.plural else "this", "DET", "det"
            form = "一" if kind == "indefinite" else _FUNCTION.get(key, key)
            first = Node(form, upos, relation, slots, head, key or "indefinite")
            if kind == "this" and phrase.plural:
                return [first]
            measure = _NOUNS[phrase.keys[0]][1]
            return [first, Node(measure, "NOUN", "clf", (), first)]
        return []

    def oblique(self, oblique: Oblique) -> tuple[list[Node], Node]:
        """A phrase with the word before it, the word after it or both, and its head."""
        phrase = oblique.phrase
        nodes, head = self.phrase(phrase)
        if phrase.kind == "year" or inventory.NOUN_KINDS.get(phrase.keys[0]) == "time":
            return nodes, head
        slots, key = (phrase.id + m.PREPOSITION,), oblique.preposition
        before, after = _PREPOSITIONS[key]
        nodes = [Node(before, "ADP", "case", slots, head, key), *nodes]
        if after and phrase.kind != "place":
            nodes.append(Node(after, "ADP", "case", slots, head, key))
        return nodes, head

    def clause(self, clause: Clause) -> tuple[list[Node], Node]:
        """The words of a clause and its root."""
        at = clause.id
        subject, noun = self.phrase(clause.subject)
        if clause.predicate:
            form = _ADJECTIVES[clause.predicate]
            root = Node(form, "ADJ", slots=(at,), concept=clause.predicate + ".a")
            middle = []
            if clause.negated:
                middle.append(Node("不", "PART", "advmod", (at + m.NEGATION,), root, "not"))
            if clause.degree or not clause.negated:
                form = _FUNCTION[clause.degree] if clause.degree else "很"
                slots = (at + m.DEGREE,) if clause.degree else ()
                middle.append(Node(form, "ADV", "advmod", slots, root, clause.degree))
            attach(root, "nsubj", noun)
            return [*subject, *middle, root], root
        root = Node(_VERBS[clause.verb], "VERB", slots=(at,), concept=clause.verb + ".v")
        attach(root, "nsubj", noun)
        time = self.time(clause, root)
        before: list[Node] = []  # place and manner
        after: list[Node] = []  # direction
        for oblique in clause.obliques:
            side = after if oblique.preposition == "to" else before
            side += attached(root, "obl", self.oblique(oblique))
        nodes = [*time, *subject] if clause.fronted else [*subject, *time]
        nodes += [*self._adverbials(clause, root), *before, root]
        if clause.mood == "past" and not clause.negated and clause.reported is None:
            nodes.append(Node("了", "AUX", "aux", (), root))
        if clause.object is not None:
            nodes += attached(root, "obj", self.phrase(clause.object))
        nodes += after
        if clause.reported is not None:
            nodes += attached(root, "ccomp", self.clause(clause.reported))
        return nodes, root

    def _adverbials(self, clause: Clause, root: Node) -> list[Node]:
        """Adverb of frequency, negation, modal verb and adverb of manner."""
        at = clause.id
        nodes: list[Node] = []
        if clause.negated:
            form = "没有" if clause.mood == "past" else "不"
            nodes.append(Node(form, "PART", "advmod", (at + m.NEGATION,), root, "not"))
        if clause.mood in ("will", "can", "must"):
            form = _FUNCTION[clause.mood]
            nodes.append(Node(form, "AUX", "aux", (at + m.AUXILIARY,), root, clause.mood))
        if clause.adverb:
            words = self.adverb(clause.adverb, at + m.ADVERB, root)
            first = clause.adverb in inventory.FREQUENCY_ADVERBS
            nodes = [*words, *nodes] if first else [*nodes, *words]
        return nodes

    def tokens(self, meaning: Meaning) -> list[Token]:
        nodes, root = self.clause(meaning.main)
        if meaning.second is not None:
            more, verb = self.clause(meaning.second)
            attach(root, "conj" if meaning.coordinated else "advcl", verb)
            at = meaning.second.id
            kind = ("CCONJ", "cc") if meaning.coordinated else ("SCONJ", "mark")
            before, after = (
                [Node(form, *kind, (at + m.MARK,), verb, meaning.link)] if form else []
                for form in _CONJUNCTIONS[meaning.link]
            )
            comma = Node("，", "PUNCT", "punct", (at + m.COMMA,), verb)
            second = [*before, *more, *after]
            nodes = [*nodes, comma, *second] if meaning.coordinated else [*second, comma, *nodes]
        stop = Node("。", "PUNCT", "punct", (meaning.main.id + m.STOP,), root)
        return finish([*nodes, stop])

    def lexicon(self) -> dict[tuple[str, str], tuple[str, ...]]:
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        for key, (form, _) in _NOUNS.items():
            if "_" not in key and "=" not in form:
                found |= {(key + ".n", feature): (form,) for feature in NOUN_FEATURES}
        for key, form in _VERBS.items():
            found |= {(key + ".v", feature): (form,) for feature in VERB_FEATURES}
        found |= {(key + ".a", ""): (form,) for key, form in _ADJECTIVES.items()}
        found |= {(key + ".r", ""): (form,) for key, form in _ADVERBS.items()}
        for key in inventory.SHARED_NAMES:
            found[key, ""] = (_NAMES.get(key) or _FUNCTION.get(key, key),)
        return found


LANGUAGES.register("zh")(Chinese())
