"""Write the pairs of the embedded corpus whose label hangs on the order of words.

    python examples/clcr/write_roles.py FOLDER --languages en,de,zh --train 6000 --held-out 500
    python examples/clcr/write_roles.py FOLDER ... --corpus CORPUS --mixed OUT --sentences 5000

The second also writes the corpus OUT, which is CORPUS with sentences of that form in its training
text.

Pairs whose label depends on word order: who gives, what is given, and who gets it.

The premise has three people or animals, "the waiter will show the dog to the judge"; the hypothesis
says something about one of them, "the judge is old", and the label is that one's role, or `absent`.
Anyone can have any role, so no word reveals it. English puts what is given before who gets it,
German and Chinese the reverse, and German has no word for "to": a model that reads German or
Chinese words in English order, or the reverse, confuses the two (CLCR, section 4.2).

Pair i has the label ``ROLES[i % 4]``. The hypothesis alone does not reveal it: whom it is about,
and what it says, are drawn before the role.
"""

import argparse
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write, remove
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.corpus import inventory
from fairseq_xling.corpus.annotate import character_places, expand, pharaoh
from fairseq_xling.corpus.corpus import resolve
from fairseq_xling.corpus.meaning import STRIDE, Clause, Meaning, NounPhrase, Oblique
from fairseq_xling.corpus.nli import Pair
from fairseq_xling.corpus.realiser import align

ROLES = ("giver", "given", "getter", "absent")
SPLITS = ("test", "valid", "train")  # test and valid first: no premise of theirs is one of train
_TEXT = 1_000_000  # added to the seed of text without labels, so it is drawn independently
_VERBS = ("show", "bring", "sell", "offer", "promise")
_MOODS = ("will", "can")
_BEINGS = [key for key, kind in inventory.NOUN_KINDS.items() if kind in ("pm", "pf", "a")]


def draw_role(seed: int, index: int) -> Pair:
    """Pair ``index``; it depends on (seed, index) alone.

    >>> pair = draw_role(1, 2)
    >>> pair.label, pair.hypothesis.main.subject.keys == pair.premise.main.obliques[0].phrase.keys
    ('getter', True)
    """
    rng = np.random.default_rng((seed, index))
    role = index % len(ROLES)
    about, *others = (_BEINGS[n] for n in rng.permutation(len(_BEINGS))[:4])
    actors = [*others[:role], about, *others[role:]][:3]
    giver, given, getter = (_being(place + 2, key) for place, key in enumerate(actors))
    premise = Clause(
        STRIDE,
        giver,
        verb=_pick(rng, _VERBS),
        object=given,
        obliques=[Oblique("tor", getter)],
        mood=_pick(rng, _MOODS),
    )
    property_ = _pick(rng, inventory.NOUN_ADJECTIVES[about])
    hypothesis = Clause(STRIDE, _being(2, about), predicate=property_)
    return Pair(Meaning(premise), Meaning(hypothesis), ROLES[role])


def _being(place: int, key: str) -> NounPhrase:
    return NounPhrase(place * STRIDE, "noun", (key,), determiner="definite")


def _pick(rng: np.random.Generator, values: Sequence[str]) -> str:
    return values[int(rng.integers(len(values)))]


def write_roles(
    folder: str | Path, languages: Sequence[str], train: int, held_out: int, seed: int = 1
) -> None:
    """``roles.SPLIT.LANG.tsv`` in ``folder``: premise, hypothesis, label; line by line the same
    pairs in every language.

    Args:
        train: pairs to train on; valid and test have ``held_out`` each.
    """
    known = resolve(languages)
    counts = {"test": held_out, "valid": held_out, "train": train}
    for split, count in counts.items():
        if count < 1:
            raise UserError(f"roles.{split}: must have at least 1 pair, got {count}")
    held: set[tuple[str, ...]] = set()
    index = 0
    for split in SPLITS:
        chosen: list[Pair] = []
        while len(chosen) < counts[split]:
            pair = draw_role(seed, index)
            index += 1
            key = pair.premise.key()
            if pair.label == ROLES[len(chosen) % len(ROLES)] and key not in held:
                chosen.append(pair)
                if split != "train":
                    held.add(key)
        for code, language in known.items():
            with atomic_write(Path(folder, f"roles.{split}.{code}.tsv"), "w") as file:
                for pair in chosen:
                    both = (pair.premise, pair.hypothesis)
                    texts = [language.sentence(one).text for one in both]
                    file.write("\t".join([*texts, pair.label]) + "\n")


def mix_text(corpus: str | Path, languages: Sequence[str], count: int, output: str | Path) -> Path:
    """A copy of the folder ``corpus`` with ``count`` such sentences added to its training text.

    The corpus itself has hardly any sentence with a recipient, so neither encoders nor transforms
    could learn them. It contains no labels, and its sentences are drawn independently of the
    labelled ones. ``output`` is written atomically; if it exists, nothing is done.

    Args:
        languages: of the corpus, in its order.
    """
    known, output = resolve(languages), Path(output)
    if output.is_dir():
        return output
    partial = output.with_name(f".{output.name}.partial")
    remove(partial)
    for part in ("mono", "parallel"):
        shutil.copytree(Path(corpus, part), partial / part)
    added: dict[str, list[str]] = {}

    def add(name: str, line: str) -> None:
        added.setdefault(name, []).append(line + "\n")

    first = languages[0]
    for index in range(count):
        meaning = draw_role(_TEXT, index).premise
        said = {code: language.sentence(meaning) for code, language in known.items()}
        for code in languages:
            add(f"mono/train.{code}.txt", said[code].text)
        for code in languages[1:]:
            stem = f"parallel/train.{first}-{code}"
            pairs = align(said[first].tokens, said[code].tokens)
            if not known[code].spaced:
                pairs = expand(pairs, *(character_places(said[x]) for x in (first, code)))
            add(f"{stem}.pharaoh", pharaoh(pairs))
            for side in (first, code):
                add(f"{stem}.{side}.txt", said[side].text)
    for name, lines in added.items():
        with open(partial / name, "a", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
    os.replace(partial, output)
    return output


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="roles.SPLIT.LANG.tsv are written here")
    parser.add_argument("--languages", default="en,de,zh")
    parser.add_argument("--train", type=int, default=6000, help="pairs to train on")
    parser.add_argument("--held-out", type=int, default=500, help="pairs of valid and of test")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", help="folder of `fairseq-xling synthesize`")
    parser.add_argument("--mixed", help="corpus to write")
    parser.add_argument("--sentences", type=int, default=5000, help="to mix into it")
    args = parser.parse_args()
    languages = parse_languages(args.languages)
    write_roles(args.folder, languages, args.train, args.held_out, args.seed)
    if args.corpus and args.mixed:
        mix_text(args.corpus, languages, args.sentences, args.mixed)


if __name__ == "__main__":
    main()
