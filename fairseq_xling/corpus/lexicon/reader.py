"""Read the tables of a lexicon module."""


def entries(text: str) -> dict[str, str]:
    """The table ``key: value; key: value`` (or one entry a line) as a dict, in order.

    >>> entries("dog: Hund m Hunde; cat: Katze f Katzen")
    {'dog': 'Hund m Hunde', 'cat': 'Katze f Katzen'}

    Raises:
        ValueError: for a duplicate key, or an entry without a value.
    """
    found: dict[str, str] = {}
    for entry in items(text):
        key, _, value = entry.partition(":")
        if not value.strip() or key in found:
            raise ValueError(f"entry {entry!r} has no value, or its key is a duplicate")
        found[key] = value.strip()
    return found


def items(text: str) -> list[str]:
    """The entries of a table, with single spaces.

    >>> items("child children;  knife\\nknives")
    ['child children', 'knife knives']
    """
    parts = text.split(";") if ";" in text else text.splitlines()
    return [" ".join(part.split()) for part in parts if part.strip()]
