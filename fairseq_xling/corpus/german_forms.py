"""German declension and conjugation."""

from fairseq_xling.corpus.lexicon import german as words
from fairseq_xling.corpus.lexicon.reader import entries

NOUNS = {key: tuple(value.split()) for key, value in entries(words.NOUNS).items()}
VERBS = {key: tuple(value.split()) for key, value in entries(words.VERBS).items()}
ADJECTIVES = {key: value.split("/") for key, value in entries(words.ADJECTIVES).items()}
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
