"""German: verb second in main clauses and last in subordinate ones; gender, case, compounds."""

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
    finish,
)

_WORDS = inventory.lexicon("german")
NOUNS = inventory.rows(_WORDS["nouns"])
VERBS = inventory.rows(_WORDS["verbs"])
ADJECTIVES = {key: value.split("/") for key, value in _WORDS["adjectives"].items()}
_ADVERBS = _WORDS["adverbs"]
_PREPOSITIONS = inventory.rows(_WORDS["prepositions"])
_CONTRACTIONS = _WORDS["contractions"]
_FUNCTION = _WORDS["function_words"]
_PLACES = _WORDS["places"]
_ORGANISATIONS = inventory.rows(_WORDS["organisations"])
_MODALS = {key: tuple(_FUNCTION[key].split()) for key in ("will", "can", "must")}
_COPULAS = {("present", False): "ist", ("present", True): "sind"}
_COPULAS |= {("past", False): "war", ("past", True): "waren"}
ARTICLES = {  # (case, gender or p for plural) -> definite article; also the endings of "dieser"
    ("nom", "m"): "der", ("nom", "f"): "die", ("nom", "n"): "das", ("nom", "p"): "die",
    ("acc", "m"): "den", ("acc", "f"): "die", ("acc", "n"): "das", ("acc", "p"): "die",
    ("dat", "m"): "dem", ("dat", "f"): "der", ("dat", "n"): "dem", ("dat", "p"): "den",
}  # fmt: skip
STRONG = {
    key: {"der": "er", "die": "e", "das": "es", "den": "en", "dem": "em"}[form]
    for key, form in ARTICLES.items()
}
EIN = STRONG | {("nom", "m"): "", ("nom", "n"): "", ("acc", "n"): ""}
EIN_WORDS = {"indefinite": "ein", "my": "mein", "our": "unser"}


def _weak(case: str, gender: str) -> str:
    """The ending of an adjective behind a definite article."""
    return "e" if gender != "p" and (case == "nom" or (case == "acc" and gender != "m")) else "en"


def adjective_ending(determiner: str, case: str, gender: str) -> str:
    """The ending of an adjective after a kind of determiner.

    >>> [adjective_ending(kind, "nom", "m") for kind in ("definite", "indefinite", "bare")]
    ['e', 'er', 'er']
    """
    if determiner in ("definite", "this"):
        return _weak(case, gender)
    if determiner in EIN_WORDS:
        return STRONG[case, gender] if not EIN[case, gender] else _weak(case, gender)
    return STRONG[case, gender]


def noun_form(key: str, determiner: str, case: str, plural: bool) -> str:
    """A noun in its case and number.

    >>> noun_form("dog", "definite", "dat", True), noun_form("soldier", "definite", "acc", False)
    ('Hunden', 'Soldaten')
    >>> noun_form("bear", "definite", "dat", False)
    'Bären'
    >>> noun_form("prisoner", "indefinite", "nom", False)
    'Gefangener'
    """
    singular, gender, many = NOUNS[key]
    if gender == "m=":
        return singular[:-1].removesuffix("e") + adjective_ending(
            determiner, case, "p" if plural else "m"
        )
    if plural:
        return many + ("n" if case == "dat" and not many.endswith(("n", "s")) else "")
    if gender == "m*" and case != "nom":
        return singular + ("n" if singular.endswith(("e", "er", "ar")) else "en")
    return singular


def verb_forms(verb: str) -> dict[str, str]:
    """The forms of a verb by feature, without a separable prefix; and that prefix.

    >>> forms = verb_forms("offer")
    >>> forms["present"], forms["past plural"], forms["infinitive"], forms["prefix"]
    ('bietet', 'boten', 'anbieten', 'an')
    """
    infinitive, present, past, *rest = VERBS[verb]
    prefix = rest[0] if rest and rest[0] != "dat" else ""
    return {
        "present": present,
        "present plural": infinitive.removeprefix(prefix),
        "past": past,
        "past plural": past + ("n" if past.endswith("e") else "en"),
        "infinitive": infinitive,
        "prefix": prefix,
    }


class German(Language):
    """Realises a meaning in German."""

    code = "de"
    conjunction = "und"
    adverbs = _ADVERBS

    def __init__(self) -> None:
        self._verbs = {verb: verb_forms(verb) for verb in inventory.VERBS}

    def phrase(
        self, phrase: NounPhrase, case: str, denied: int | None = None
    ) -> tuple[list[Node], Node]:
        """The words of a noun phrase in its case, and its head.

        ``denied`` is the slot of a "not" that is merged into the article ("kein").
        """
        at = phrase.id
        if phrase.kind in inventory.ENTITIES:
            nodes, head = self._name(phrase, case)
        elif phrase.kind == "pronoun":
            head = Node(self._pronoun(phrase), "PRON", slots=(at,), lemma=_FUNCTION[phrase.keys[0]])
            head.concept = phrase.keys[0]
            nodes = [head]
        elif phrase.kind == "year":
            head = Node(phrase.keys[0], "NUM", slots=(at,), concept="year")
            nodes = [head]
        else:
            nodes, head = self._noun(phrase, case, denied)
        if phrase.origin is not None:
            place = phrase.origin.phrase
            more, noun = self.phrase(place, "dat")
            attach(head, "nmod", noun)
            slots = (place.id + m.PREPOSITION,)
            nodes += [Node("aus", "ADP", "case", slots, noun, "from"), *more]
        return self.with_conjunct(nodes, head, phrase, case), head

    def _pronoun(self, phrase: NounPhrase) -> str:
        key, known = phrase.keys[0], phrase.antecedent
        if key == "it" and known is not None and known.kind in ("noun", "organisation"):
            table = NOUNS if known.kind == "noun" else _ORGANISATIONS
            row = table.get(known.keys[0])
            gender = (row[1] if known.kind == "noun" else row[-1])[0] if row else "n"
            return {"m": "er", "f": "sie", "n": "es"}[gender]
        return _FUNCTION[key]

    def _name(self, phrase: NounPhrase, case: str) -> tuple[list[Node], Node]:
        at, label, key = phrase.id, inventory.ENTITIES[phrase.kind], phrase.keys[0]
        if key in _ORGANISATIONS:
            form, gender = _ORGANISATIONS[key]
            head = Node(form, "PROPN", slots=(at + m.PART, at), concept=key)
            head.entity = "B-" + label
            return [Node(ARTICLES[case, gender], "DET", "det", (), head, lemma="der"), head], head
        forms = [_PLACES.get(key, key) for key in phrase.keys]
        head = Node(forms[0], "PROPN", slots=(at,), concept=key, entity="B-" + label)
        nodes = [head]
        for key, form in zip(phrase.keys[1:], forms[1:], strict=True):
            slots = (at + m.PART,)
            nodes.append(Node(form, "PROPN", "flat", slots, head, key, "I-" + label))
        return nodes, head

    def _noun(self, phrase: NounPhrase, case: str, denied: int | None) -> tuple[list[Node], Node]:
        at, key, kind = phrase.id, phrase.keys[0], phrase.determiner
        lemma, gender, _ = NOUNS[key]
        gender = "p" if phrase.plural else gender[0]
        declension = "my" if denied is not None else kind  # "kein" declines like "mein"
        slots = (at + m.PART, at) if "_" in key else (at,)
        form = noun_form(key, declension, case, phrase.plural)
        head = Node(form, "NOUN", slots=slots, concept=key + ".n", lemma=lemma)
        ending = adjective_ending(declension, case, gender)
        nodes = []
        for i, adjective in enumerate(phrase.adjectives):
            forms = ADJECTIVES[adjective]
            node = Node(forms[-1].removesuffix("e") + ending, "ADJ", "amod", lemma=forms[0])
            node.slots, node.head, node.concept = (at + m.ADJECTIVE + i,), head, adjective + ".a"
            nodes.append(node)
        nodes.append(head)
        return self._determiner(phrase, head, case, gender, denied) + nodes, head

    def _determiner(
        self, phrase: NounPhrase, head: Node, case: str, gender: str, denied: int | None
    ) -> list[Node]:
        kind, slot = phrase.determiner, phrase.id + m.DETERMINER
        if denied is not None:
            form = "kein" + EIN[case, gender]
            slots = (denied, slot) if kind == "indefinite" else (denied,)
            return [Node(form, "DET", "det", slots, head, lemma="kein")]
        if kind == "bare":
            return []
        if phrase.owner is not None:
            name = phrase.owner.keys[0]
            slots = (phrase.owner.id, phrase.id + m.POSSESSIVE)
            return [Node(name + "s", "PROPN", "nmod", slots, head, name, "B-PER", lemma=name)]
        if kind == "count":
            form = _FUNCTION.get(phrase.count, phrase.count)
            slots = (phrase.id + m.COUNT,)
            return [Node(form, "NUM", "nummod", slots, head, phrase.count)]
        if kind == "many":
            form = "vielen" if case == "dat" else "viele"
            return [Node(form, "ADJ", "amod", (slot,), head, "many", lemma="viel")]
        if kind in EIN_WORDS:
            root = EIN_WORDS[kind]
            upos, relation = ("DET", "det") if kind == "indefinite" else ("PRON", "nmod")
            form = root + EIN[case, gender]
            return [Node(form, upos, relation, (slot,), head, lemma=root)]
        if kind == "this":
            form = "dies" + STRONG[case, gender]
            return [Node(form, "DET", "det", (slot,), head, lemma="dieser")]
        return [Node(ARTICLES[case, gender], "DET", "det", (slot,), head, lemma="der")]

    def oblique(self, oblique: Oblique) -> tuple[list[Node], Node]:
        """A preposition with its phrase ("in dem" is the one word "im"), and the phrase's head."""
        phrase = oblique.phrase
        slot = phrase.id + m.PREPOSITION
        if oblique.preposition == "tor":
            return self.phrase(phrase, "dat")
        form, case = _PREPOSITIONS[oblique.preposition]
        if phrase.kind == "year":
            return self.phrase(phrase, case)
        if phrase.kind == "place" and oblique.preposition == "to":
            form = "nach"
        if phrase.kind == "noun" and inventory.NOUN_KINDS[phrase.keys[0]] == "time":
            form = "an" if phrase.keys[0] in ("morning", "evening", "afternoon") else "in"
        nodes, head = self.phrase(phrase, case)
        node = Node(form, "ADP", "case", (slot,), head, oblique.preposition)
        contracted = _CONTRACTIONS.get(f"{form} {nodes[0].form}")
        if contracted and nodes[0].upos == "DET":
            node.form, node.slots = contracted, (slot, *nodes[0].slots)
            return [node, *nodes[1:]], head
        return [node, *nodes], head

    def _middle(self, clause: Clause, root: Node) -> list[Node]:
        """What comes between the finite verb and the end: objects, "nicht", adverb, places."""
        nodes: list[Node] = []
        last: list[Node] = []
        for oblique in clause.obliques:
            if oblique.preposition == "tor":  # a receiver
                nodes += attached(root, "iobj", self.oblique(oblique))
            else:
                last += attached(root, "obl", self.oblique(oblique))
        denied = clause.id + m.NEGATION if clause.negated else None
        if clause.object is not None:
            determiner = clause.object.determiner if clause.object.kind == "noun" else ""
            plain = determiner in ("indefinite", "bare")
            case = "dat" if "dat" in VERBS[clause.verb] else "acc"
            found = self.phrase(clause.object, case, denied if plain else None)
            nodes += attached(root, "obj", found)
            denied = None if plain else denied
        if denied is not None:
            nodes.append(Node("nicht", "PART", "advmod", (denied,), root, "not"))
        if clause.adverb:
            nodes += self.adverb(clause.adverb, clause.id + m.ADVERB, root)
        return nodes + last

    def clause(
        self, clause: Clause, last: bool = False, inverted: bool = False
    ) -> tuple[list[Node], Node]:
        """The words of a clause and its root.

        ``last`` puts the finite verb at the end (subordinate clause); ``inverted`` puts the
        subject after it (something else comes first).
        """
        many = clause.subject.agrees_plural
        subject, noun = self.phrase(clause.subject, "nom")
        if clause.predicate:
            root, finite, middle, end = self._copular(clause, many)
        else:
            root, finite, end = self._verb(clause, many, last)
            middle = self._middle(clause, root)
        attach(root, "nsubj", noun)
        time = self.time(clause, root)
        if last:
            nodes = [*subject, *time, *middle, *end, *finite]
        elif clause.fronted and time:
            nodes = [*time, *finite, *subject, *middle, *end]
        elif inverted:
            nodes = [*finite, *subject, *time, *middle, *end]
        else:
            nodes = [*subject, *finite, *time, *middle, *end]
        if clause.reported is not None:
            inner, verb = self.clause(clause.reported, last=True)
            attach(root, "ccomp", verb)
            slots = (clause.id + m.MARK,)
            nodes.append(Node(",", "PUNCT", "punct", (), verb))
            nodes.append(Node("dass", "SCONJ", "mark", slots, verb, "that"))
            nodes += inner
        return nodes, root

    def _copular(
        self, clause: Clause, many: bool
    ) -> tuple[Node, list[Node], list[Node], list[Node]]:
        at, form = clause.id, ADJECTIVES[clause.predicate][0]
        root = Node(form, "ADJ", slots=(at,), concept=clause.predicate + ".a")
        form = _COPULAS[clause.mood, many]
        finite = Node(form, "AUX", "cop", (at + m.AUXILIARY,), root, "be", lemma="sein")
        middle = []
        if clause.negated:
            slots = (at + m.NEGATION,)
            middle.append(Node("nicht", "PART", "advmod", slots, root, "not"))
        if clause.degree:
            form, slots = _FUNCTION[clause.degree], (at + m.DEGREE,)
            middle.append(Node(form, "ADV", "advmod", slots, root, clause.degree))
        return root, [finite], middle, [root]

    def _verb(self, clause: Clause, many: bool, last: bool) -> tuple[Node, list[Node], list[Node]]:
        """The root, the finite verb (in one list) and what closes the clause."""
        at, forms = clause.id, self._verbs[clause.verb]
        root = Node("", "VERB", slots=(at,), concept=clause.verb + ".v", lemma=forms["infinitive"])
        if clause.mood in _MODALS:
            plural, singular = _MODALS[clause.mood]
            form, slots = plural if many else singular, (at + m.AUXILIARY,)
            root.form = forms["infinitive"]
            return root, [Node(form, "AUX", "aux", slots, root, clause.mood, lemma=plural)], [root]
        root.form = forms[clause.mood + (" plural" if many else "")]
        prefix = forms["prefix"]
        if prefix and last:
            root.form = prefix + root.form
        elif prefix:
            part = Node(prefix, "ADP", "compound", (at,), root, clause.verb + ".v")
            return root, [root], [part]
        return root, [root], []

    def tokens(self, meaning: Meaning) -> list[Token]:
        first = meaning.second is not None and meaning.second_first
        nodes, root = self.clause(meaning.main, inverted=first)
        if meaning.second is not None:
            more, verb = self.clause(meaning.second, last=not meaning.coordinated)
            attach(root, "conj" if meaning.coordinated else "advcl", verb)
            at = meaning.second.id
            key = meaning.link
            if key == "when" and meaning.second.mood == "past":
                key = "when_past"
            mark = Node(_FUNCTION[key], "SCONJ", "mark", (at + m.MARK,), verb)
            mark.concept = meaning.link
            comma = [Node(",", "PUNCT", "punct", (at + m.COMMA,), verb)]
            if meaning.coordinated:
                mark.upos, mark.deprel = "CCONJ", "cc"
                comma = comma if meaning.link == "but" else []
            nodes = [mark, *more, *comma, *nodes] if first else [*nodes, *comma, mark, *more]
        stop = Node(".", "PUNCT", "punct", (meaning.main.id + m.STOP,), root)
        return finish([*nodes, stop])

    def lexicon(self) -> dict[tuple[str, str], tuple[str, ...]]:
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        cases = ("nom", "acc", "dat")
        for key, kind in inventory.NOUN_KINDS.items():
            if "_" in key:
                continue
            for feature, plural in (("singular", False), ("plural", True)):
                if not (plural and kind == "u"):
                    kinds = ("definite", "indefinite", "bare")
                    forms = [noun_form(key, d, case, plural) for d in kinds for case in cases]
                    found[key + ".n", feature] = tuple(dict.fromkeys(forms))
        for verb, by_feature in self._verbs.items():
            for feature, form in by_feature.items():
                joined = by_feature["prefix"] + form
                if feature == "infinitive" or not by_feature["prefix"]:
                    found[verb + ".v", feature] = (form,)
                elif feature != "prefix":
                    found[verb + ".v", feature] = (joined,)
            found.pop((verb + ".v", "prefix"), None)
        for key in inventory.ADJECTIVES:
            form, stem = ADJECTIVES[key][0], ADJECTIVES[key][-1].removesuffix("e")
            endings = ("e", "en", "er", "es", "em")
            found[key + ".a", ""] = (form, *(stem + ending for ending in endings))
        found |= {(key + ".r", ""): (_ADVERBS[key],) for key in inventory.ADVERBS}
        for key in inventory.SHARED_NAMES:
            found[key, ""] = (_PLACES.get(key) or _FUNCTION.get(key, key),)
        return found


LANGUAGES.register("de")(German())
