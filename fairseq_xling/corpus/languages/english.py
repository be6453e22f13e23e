"""English: subject, verb, object; articles; "did not"; names with a possessive ending."""

from fairseq_xling.corpus import inventory
from fairseq_xling.corpus import meaning as m
from fairseq_xling.corpus.meaning import Clause, Meaning, NounPhrase, Oblique
from fairseq_xling.corpus.realiser import (
    LANGUAGES,
    Language,
    Node,
    Token,
    attach,
    attached,
    joined,
)

_WORDS = inventory.lexicon("english")
_PLURALS = _WORDS["irregular_plurals"]
_PASTS = _WORDS["irregular_pasts"]
_FUNCTION = _WORDS["function_words"]
_COPULAS = {("present", False): "is", ("present", True): "are"}
_COPULAS |= {("past", False): "was", ("past", True): "were"}
_FREQUENCY = frozenset(inventory.FREQUENCY_ADVERBS)
_AN = ("a", "e", "i", "o", "u", "honest")
_NOT_AN = ("us", "uni")


def plural(noun: str) -> str:
    """The plural of a noun; of a compound, that of its head.

    >>> plural("city"), plural("child"), plural("church"), plural("boy")
    ('cities', 'children', 'churches', 'boys')
    """
    return _PLURALS.get(noun) or _with_s(noun)


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "sh", "ch", "x", "z", "ss")) else "s")


def verb_forms(verb: str) -> dict[str, str]:
    """The forms of a verb by feature.

    >>> verb_forms("carry")["present"], verb_forms("bake")["past"], verb_forms("write")["past"]
    ('carries', 'baked', 'wrote')
    """
    regular = verb + ("d" if verb.endswith("e") else "ed")
    past = _PASTS.get(verb, regular)
    return {
        **{"present": _with_s(verb), "present plural": verb},
        **{"past": past, "past plural": past, "infinitive": verb},
    }


class English(Language):
    """Realises a meaning in English."""

    code = "en"

    def __init__(self) -> None:
        self._verbs = {verb: verb_forms(verb) for verb in inventory.VERBS}

    def phrase(self, phrase: NounPhrase) -> tuple[list[Node], Node]:
        """The words of a noun phrase and the one that heads them."""
        at = phrase.id
        if phrase.kind in inventory.ENTITIES:
            nodes, head = self._name(phrase)
        elif phrase.kind == "pronoun":
            head = Node(phrase.keys[0], "PRON", slots=(at,))
            nodes = [head]
        elif phrase.kind == "year":
            head = Node(phrase.keys[0], "NUM", slots=(at,), concept="year")
            nodes = [head]
        else:
            nodes, head = self._noun(phrase)
        if phrase.origin is not None:
            nodes += attached(head, "nmod", self.oblique(phrase.origin))
        return self.with_conjunct(nodes, head, phrase), head

    def _name(self, phrase: NounPhrase) -> tuple[list[Node], Node]:
        parts = [(part, part) for key in phrase.keys for part in key.split("_")]
        nodes, head = self.name_nodes(phrase, parts, phrase.kind == "person")
        if len(nodes) == 1:
            nodes[0].concept = phrase.keys[0]
        return nodes, head

    def _noun(self, phrase: NounPhrase) -> tuple[list[Node], Node]:
        at, key = phrase.id, phrase.keys[0]
        *modifier, noun = key.split("_")
        head = Node(plural(noun) if phrase.plural else noun, "NOUN", slots=(at,), lemma=noun)
        head.concept = key + ".n"
        nodes = [
            Node(adjective, "ADJ", "amod", (at + m.ADJECTIVE + i,), head, adjective + ".a")
            for i, adjective in enumerate(phrase.adjectives)
        ]
        for part in modifier:
            nodes.append(Node(part, "NOUN", "compound", (at + m.PART,), head, key + ".n"))
        nodes.append(head)
        return self._determiner(phrase, head, nodes[0].form) + nodes, head

    def _determiner(self, phrase: NounPhrase, head: Node, following: str) -> list[Node]:
        slot = (phrase.id + m.DETERMINER,)
        kind = phrase.determiner
        if kind == "bare":
            return []
        if phrase.owner is not None:
            name = phrase.owner.keys[0]
            slots = (phrase.owner.id, phrase.id + m.POSSESSIVE)
            return [Node(name + "'s", "PROPN", "nmod", slots, head, name, "B-PER", lemma=name)]
        if kind == "count":
            slot = (phrase.id + m.COUNT,)
            return [Node(phrase.count, "NUM", "nummod", slot, head)]
        if kind in ("my", "our"):
            return [Node(kind, "PRON", "nmod", slot, head)]
        if kind == "many":
            return [Node(kind, "ADJ", "amod", slot, head)]
        form = {"definite": "the", "this": "these" if phrase.plural else "this"}.get(kind, "a")
        if form == "a" and following.startswith(_AN) and not following.startswith(_NOT_AN):
            form = "an"
        lemma = "a" if kind == "indefinite" else "this" if kind == "this" else "the"
        return [Node(form, "DET", "det", slot, head, lemma=lemma)]

    def oblique(self, oblique: Oblique) -> tuple[list[Node], Node]:
        """A preposition with its phrase, and the phrase's head."""
        nodes, head = self.phrase(oblique.phrase)
        form = _FUNCTION[oblique.preposition]
        case = Node(form, "ADP", "case", (oblique.phrase.id + m.PREPOSITION,), head)
        case.concept = oblique.preposition
        return [case, *nodes], head

    def clause(self, clause: Clause) -> tuple[list[Node], Node]:
        """The words of a clause and its root."""
        at = clause.id
        many = clause.subject.agrees_plural
        subject, noun = self.phrase(clause.subject)
        if clause.predicate:
            key = clause.predicate
            root = Node(key, "ADJ", slots=(at,), concept=key + ".a")
            form = _COPULAS[clause.mood, many]
            nodes = [*subject, Node(form, "AUX", "cop", (at + m.AUXILIARY,), root, lemma="be")]
            if clause.negated:
                nodes.append(self._not(clause, root))
            if clause.degree:
                key = clause.degree
                nodes.append(Node(key, "ADV", "advmod", (at + m.DEGREE,), root))
            nodes.append(root)
            attach(root, "nsubj", noun)
            return nodes, root
        root = Node("", "VERB", slots=(at,), concept=clause.verb + ".v", lemma=clause.verb)
        attach(root, "nsubj", noun)
        nodes = subject + self._verb_group(clause, root, many)
        if clause.object is not None:
            nodes += attached(root, "obj", self.phrase(clause.object))
        if clause.adverb and clause.adverb not in _FREQUENCY:
            nodes += self.adverb(clause.adverb, at + m.ADVERB, root)
        for oblique in clause.obliques:
            nodes += attached(root, "obl", self.oblique(oblique))
        time = self.time(clause, root)
        nodes = [*time, *nodes] if clause.fronted else [*nodes, *time]
        if clause.reported is not None:
            inner, verb = self.clause(clause.reported)
            attach(root, "ccomp", verb)
            nodes.append(Node("that", "SCONJ", "mark", (at + m.MARK,), verb))
            nodes += inner
        return nodes, root

    def _verb_group(self, clause: Clause, root: Node, many: bool) -> list[Node]:
        """Auxiliary, "not", adverb of frequency and verb."""
        forms = self._verbs[clause.verb]
        nodes: list[Node] = []
        if clause.mood in ("will", "can", "must"):
            slot = (clause.id + m.AUXILIARY,)
            nodes.append(Node(clause.mood, "AUX", "aux", slot, root))
        elif clause.negated:
            form = "did" if clause.mood == "past" else "do" if many else "does"
            nodes.append(Node(form, "AUX", "aux", (), root, lemma="do"))
        root.form = forms["infinitive" if nodes else clause.mood + (" plural" if many else "")]
        if clause.negated:
            nodes.append(self._not(clause, root))
        if clause.adverb in _FREQUENCY:
            nodes += self.adverb(clause.adverb, clause.id + m.ADVERB, root)
        return [*nodes, root]

    def _not(self, clause: Clause, root: Node) -> Node:
        return Node("not", "PART", "advmod", (clause.id + m.NEGATION,), root)

    def tokens(self, meaning: Meaning) -> list[Token]:
        return joined(meaning, self.clause, meaning.link)

    def lexicon(self) -> dict[tuple[str, str], tuple[str, ...]]:
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        for key, kind in inventory.NOUN_KINDS.items():
            if "_" not in key:
                found[key + ".n", "singular"] = (key,)
                if kind != "u":
                    found[key + ".n", "plural"] = (plural(key),)
        for verb, forms in self._verbs.items():
            found |= {(verb + ".v", feature): (form,) for feature, form in forms.items()}
        found |= {(key + ".a", ""): (key,) for key in inventory.ADJECTIVES}
        found |= {(key + ".r", ""): (key,) for key in inventory.ADVERBS}
        return found | {(key, ""): (key,) for key in inventory.SHARED_NAMES}


def word_forms() -> set[str]:
    """Every form and lemma that English can use: a closed list."""
    found = {form for forms in English().lexicon().values() for form in forms}
    found |= {form for value in _FUNCTION.values() for form in value.split()}
    for key in inventory.NOUN_KINDS:
        if "_" in key:
            *modifier, noun = key.split("_")
            found |= {*modifier, noun, plural(noun)}
    found |= {part for key in inventory.ORGANISATIONS for part in key.split("_")}
    found |= {str(year) for year in inventory.YEARS} | set(_COPULAS.values())
    found |= {name + "'s" for name in inventory.GENDERS}
    return found | {"an", "be", "do", "does", "did", ",", "."}


LANGUAGES.register("en")(English())
