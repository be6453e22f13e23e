"""Gold annotation as text: CoNLL-U trees with entities, Pharaoh alignments."""

from collections.abc import Iterable

from fairseq_xling.text.synthetic.tokens import Sentence


def conllu(sentence: Sentence, name: str, spaced: bool = True) -> str:
    """A sentence as a CoNLL-U block, its empty line included.

    ``MISC`` holds ``Entity=B-PER`` (IOB2, absent outside entities), ``Concept=`` and, where no
    space follows the word in the text, ``SpaceAfter=No``.
    """
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


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Alignment links as ``i-j``, sorted.

    >>> pharaoh({(1, 0), (0, 2)})
    '0-2 1-0'
    """
    return " ".join(f"{i}-{j}" for i, j in sorted(pairs))
