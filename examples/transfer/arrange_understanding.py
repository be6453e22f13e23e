"""Write tasks of one language of the embedded corpus in the forms of CLUE.

    python examples/transfer/arrange_understanding.py TEXT OUT --lang zh

TEXT is a folder of `fairseq-xling synthesize` with entailment and tags, in words with spaces. For
each split OUT gets

cmnli.SPLIT.json  (CMNLI) the entailment as it is;
chid.SPLIT.json   (ChID) a sentence with a blank and four words of one part of speech, of which one
                  stood there; the others are drawn as often as they occur, so that frequency does
                  not give the answer away; the answers are in chid.SPLIT_answer.json;
cmrc.SPLIT.json   (CMRC 2018, in SQuAD's form) three sentences, and as a question a statement that
                  follows from one of them, with a blank; the answer is the word in that sentence;
c3.SPLIT.json     (C3) the same questions, with two to four words of the three sentences to choose
                  from, all of a part of speech that the right one has.

Words are drawn with seed 1, and the same TEXT gives the same files.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write, write_json
from fairseq_xling.tasks.formats.conll import Conll
from fairseq_xling.tasks.formats.texts import Tsv

SPLITS = ("train", "valid", "test")
CHOICES, SENTENCES = 4, 3
BLANK = "____"
# Words that carry the content of a sentence.
_CONTENT = ("NOUN", "VERB", "ADJ", "PROPN")

Tagged = list[tuple[str, str]]  # word, part of speech
Pair = tuple[str, str, str]  # premise, hypothesis, label


def arrange(text: Path, output: Path, lang: str) -> None:
    """Write all files."""
    words = _counts_by_tag(read_tagged(text / f"gold/tags.train.{lang}.tsv"))
    content = {word for own in words.values() for word in own}
    for number, split in enumerate(SPLITS):
        rng = np.random.default_rng((1, number))
        found = Tsv.read(text / f"gold/nli.{split}.{lang}.tsv", {})
        pairs = [(*item.texts, item.label) for item in found]
        keys = ("sentence1", "sentence2", "label")
        rows = (dict(zip(keys, pair, strict=True)) for pair in pairs)
        write_json_lines(output / f"cmnli.{split}.json", rows)

        answers: dict[str, int] = {}
        tagged = read_tagged(text / f"gold/tags.{split}.{lang}.tsv")
        blanks = list(fill_in(tagged, words, rng, answers))
        paragraphs = list(questions(pairs, content, rng))
        if not (blanks and paragraphs):
            raise UserError(
                f"{text}: in {split} there is no word to ask for; it must have been made with "
                "`--spaced`"
            )
        write_json(output / f"chid.{split}_answer.json", answers)
        write_json_lines(output / f"chid.{split}.json", blanks)
        write_json(output / f"cmrc.{split}.json", {"data": [{"paragraphs": paragraphs}]})
        # Draws of its own, so that the other files stay as they were.
        offered = list(choose(paragraphs, words, np.random.default_rng((2, number))))
        write_json(output / f"c3.{split}.json", offered)


def read_tagged(path: Path) -> Iterator[Tagged]:
    """Sentences with their parts of speech."""
    for item in Conll.read(path, {"token": "0", "tag": "1"}):
        yield list(zip(item.words, item.tags or (), strict=True))


def write_json_lines(path: Path, rows: Iterable[Any]) -> None:
    with atomic_write(path, "w") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def fill_in(
    sentences: Iterable[Tagged],
    words: Mapping[str, Mapping[str, int]],
    rng: np.random.Generator,
    answers: dict[str, int],
) -> Iterator[dict[str, Any]]:
    """Records of ChID with a blank each; ``answers`` gets the place of each blank's word."""
    for sentence in sentences:
        inside = {word for word, _ in sentence}
        others = [
            {word: count for word, count in words.get(tag, {}).items() if word not in inside}
            for _, tag in sentence
        ]
        usable = [n for n, known in enumerate(others) if len(known) >= CHOICES - 1]
        if not usable:
            continue
        place = int(rng.choice(usable))
        word = sentence[place][0]
        wrong, counts = list(others[place]), np.array(list(others[place].values()))
        drawn = rng.choice(len(wrong), CHOICES - 1, replace=False, p=counts / counts.sum())
        answer = int(rng.integers(CHOICES))
        blank = f"#idiom{len(answers):06}#"
        answers[blank] = answer
        shown = [blank if n == place else one for n, (one, _) in enumerate(sentence)]
        candidates = [wrong[n] for n in drawn]
        candidates.insert(answer, word)
        yield {"content": [" ".join(shown)], "candidates": candidates}


def questions(
    pairs: Sequence[Pair], content: set[str], rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Paragraphs of SQuAD's form with a question each, about a word that is there once, in the
    sentence that the statement follows from."""
    premises = [premise for premise, _, _ in pairs]
    for number, (premise, hypothesis, label) in enumerate(pairs):
        if label != "entailment":
            continue
        others = [premises[n] for n in rng.integers(len(pairs), size=SENTENCES - 1)]
        place = int(rng.integers(SENTENCES))
        context = " ".join([*others[:place], premise, *others[place:]])
        words, asked = context.split(), hypothesis.split()
        known = content.intersection(premise.split())
        usable = [n for n, w in enumerate(asked) if w in known and words.count(w) == 1]
        if not usable:
            continue
        asked_for = int(rng.choice(usable))
        answer = asked[asked_for]
        start = sum(len(one) + 1 for one in words[: words.index(answer)])
        asked[asked_for] = BLANK
        answers = [{"text": answer, "answer_start": start}]
        question = {"id": str(number), "question": " ".join(asked), "answers": answers}
        yield {"context": context, "qas": [question]}


def choose(
    paragraphs: Iterable[Mapping[str, Any]],
    words: Mapping[str, Mapping[str, int]],
    rng: np.random.Generator,
) -> Iterator[list[Any]]:
    """Entries of C3 with a question each; those without a wrong word are left out."""
    for paragraph in paragraphs:
        (asked,) = paragraph["qas"]
        answer = asked["answers"][0]["text"]
        alike = {word for own in words.values() if answer in own for word in own}
        inside = dict.fromkeys(paragraph["context"].split())
        wrong = [word for word in inside if word in alike - {answer, *asked["question"].split()}]
        if not wrong:
            continue
        choices = [*rng.permutation(wrong)[: CHOICES - 1].tolist(), answer]
        question = {
            "question": asked["question"],
            "choice": rng.permutation(choices).tolist(),
            "answer": answer,
        }
        yield [[paragraph["context"]], [question], asked["id"]]


def _counts_by_tag(sentences: Iterable[Tagged]) -> dict[str, Counter[str]]:
    """How often each word has each part of speech, of those that carry content."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for word, tag in sentence:
            if tag in _CONTENT:
                found[tag][word] += 1
    return found


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", metavar="TEXT", type=Path)
    parser.add_argument("output", metavar="OUT", type=Path)
    parser.add_argument("--lang", required=True, help="code of the language")
    args = parser.parse_args()
    arrange(args.text, args.output, args.lang)


if __name__ == "__main__":
    main()
