"""Write a corpus folder: text, alignments, dictionaries, gold annotation, provenance.

Sentence numbers are divided into blocks of ``2**40``: block 0 has the held-out sentences, block 1
the parallel training text, the next ones entailment pairs, and block ``FIRST_MONO + k`` the
monolingual text of language k, so no two parts share a sentence number. A meaning can still be
drawn twice, so a held-out sentence is accepted only if its key (``Meaning.key``: the content,
without number, tense, articles) and its text in every language are new, and a training sentence is
skipped if its key or its text is one of theirs. Only the held-out set is kept in memory, whatever
the size of the training text.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import count as count_from
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from tqdm import tqdm

from fairseq_xling import __version__
from fairseq_xling.core.errors import UserError, writing
from fairseq_xling.core.files import exclusive, read_json, remove, remove_links
from fairseq_xling.core.ranges import NOT_NEGATIVE, SEEDS, check_fields, drawn, numbers
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.corpus.annotate import (
    character_places,
    conllu,
    dictionary,
    expand,
    pharaoh,
    tagged,
)
from fairseq_xling.corpus.corpus import draw, resolve
from fairseq_xling.corpus.meaning import Meaning
from fairseq_xling.corpus.nli import LABELS, draw_pair
from fairseq_xling.corpus.realiser import LANGUAGES, Sentence, align
from fairseq_xling.corpus.sampler import DOMAINS
from fairseq_xling.corpus.structures import annotate, draw_structure

BLOCK = 1 << 40
HELD_OUT, PARALLEL, FIRST_NLI, FIRST_MONO, FIRST_STRUCTURES = 0, 1, 2, 16, 32
TEST_WORDS = 3  # one source word in so many is one to test a map of words on
PROVENANCE = "provenance.json"


@dataclass(frozen=True)
class Settings:
    """What to write.

    Attributes:
        languages: codes; the first is paired with each other one.
        sentences: monolingual training sentences per language.
        parallel_sentences: parallel training sentences.
        held_out: sentences of valid, and of test.
        nli: training entailment pairs; valid and test have ``held_out`` each (none if 0).
        structures: training sentences with relations and events in each language; valid and test
            have ``held_out`` each (none if 0).
        annotated: training sentences with gold trees and entities, the first of each language.
        seed: random seed; each gives a different corpus.
        domain: a key of ``DOMAINS``.
        spaced: also write spaces between the words of languages without spaces.
    """

    languages: tuple[str, ...]
    sentences: int = numbers(10_000, NOT_NEGATIVE)
    parallel_sentences: int = numbers(0, NOT_NEGATIVE)
    held_out: int = numbers(1000, NOT_NEGATIVE)
    nli: int = numbers(0, NOT_NEGATIVE)
    structures: int = numbers(0, NOT_NEGATIVE)
    annotated: int = numbers(1000, NOT_NEGATIVE)
    seed: int = numbers(1, SEEDS)
    domain: str = "default"
    spaced: bool = False

    def check(self) -> None:
        """Raise ``UserError`` unless all settings are valid."""
        resolve(self.languages)
        check_fields(type(self), self)
        if self.domain not in DOMAINS:
            raise unknown_name("`--domain`", self.domain, sorted(DOMAINS))

    def to_json(self) -> dict[str, Any]:
        """All settings, for provenance; what older versions lack is left out if unused."""
        found = asdict(self)
        if not self.structures:
            del found["structures"]
        return json.loads(json.dumps(found))


Stream = Iterator[tuple[int, Meaning, dict[str, Sentence]]]


class HeldOut:
    """The held-out sentences' keys and texts, which no training sentence may have."""

    def __init__(self) -> None:
        self._keys: set[tuple[str, ...]] = set()
        self._texts: set[tuple[str, str]] = set()

    def clashes(self, meaning: Meaning, sentences: dict[str, Sentence]) -> bool:
        return meaning.key() in self._keys or any(
            (code, sentence.text) in self._texts for code, sentence in sentences.items()
        )

    def add(self, meaning: Meaning, sentences: dict[str, Sentence]) -> None:
        self._keys.add(meaning.key())
        self._texts |= {(code, sentence.text) for code, sentence in sentences.items()}


def fresh(
    settings: Settings,
    block: int,
    languages: tuple[str, ...],
    held_out: HeldOut,
    structured: bool = False,
) -> Stream:
    """The sentences of a block that clash with nothing held out, endlessly.

    Those that are ``structured`` have more relations and events.
    """
    for index in count_from(block * BLOCK):
        where = settings.seed, index, settings.domain
        english = None
        if structured:
            meaning = draw_structure(*where, LANGUAGES["en"].sentence)
        else:
            _, meaning, english = draw(*where)
        sentences = {
            code: english if english and code == "en" else LANGUAGES[code].sentence(meaning)
            for code in languages
        }
        if not held_out.clashes(meaning, sentences):
            yield index, meaning, sentences


class _Writer:
    """Writes one corpus into ``folder``."""

    def __init__(self, settings: Settings, folder: Path, bar: tqdm):
        self.settings, self.folder, self.bar = settings, folder, bar
        self.languages = settings.languages
        self.pairs = [(self.languages[0], other) for other in self.languages[1:]]
        self.held_out = HeldOut()
        self.counts: dict[str, int] = {}
        self.files = ExitStack()

    def open(self, name: str) -> TextIO:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return self.files.enter_context(open(path, "w", encoding="utf-8", newline="\n"))

    def text(self, sentence: Sentence) -> str:
        return " ".join(sentence.words) if self.settings.spaced else sentence.text

    def write(self) -> None:
        settings = self.settings
        stream = fresh(settings, HELD_OUT, self.languages, self.held_out)
        for split in ("valid", "test"):
            self.parallel(split, stream, settings.held_out, keep=True)
        if settings.parallel_sentences and self.pairs:
            stream = fresh(settings, PARALLEL, self.languages, self.held_out)
            self.parallel("train", stream, settings.parallel_sentences)
        for place, code in enumerate(self.languages):
            self.mono(place, code)
        if settings.nli:
            self.entailment()
        if settings.structures:
            self.structures()
        for source, target in self.pairs:
            stem = f"dictionary/{source}-{target}"
            every = self.open(f"{stem}.tsv")
            parts = [self.open(f"{stem}.{name}.tsv") for name in ("test", "train")]
            for entry in dictionary(source, target):
                line = "{}\t{}\t{:.6g}\n".format(*entry)
                every.write(line)
                parts[drawn(entry[0]) % TEST_WORDS > 0].write(line)

    def parallel(self, split: str, stream: Stream, count: int, keep: bool = False) -> None:
        """Sentences in all languages; with ``keep`` they are held out, and annotated."""
        writers = [self.pair(split, *pair) for pair in self.pairs]
        mono, gold = {}, {}
        for code in self.languages if keep else ():
            mono[code], gold[code] = self.open(f"mono/{split}.{code}.txt"), self.gold(split, code)
        for index, meaning, sentences in islice(stream, count):
            for write in writers:
                write(sentences)
            if keep:
                self.held_out.add(meaning, sentences)
            for code, file in mono.items():
                file.write(self.text(sentences[code]) + "\n")
                gold[code](sentences[code], index)
            self.bar.update()
        self.counts[f"parallel/{split}"] = count

    def pair(self, split: str, a: str, b: str) -> Callable[[dict[str, Sentence]], None]:
        """A function that writes both sides of a sentence, and the links between them."""
        stem = f"parallel/{split}.{a}-{b}"
        sides = {code: self.open(f"{stem}.{code}.txt") for code in (a, b)}
        unspaced = [code for code in (a, b) if not LANGUAGES[code].spaced]
        words = {code: self.open(f"{stem}.{code}.words.txt") for code in unspaced}
        links = self.open(f"{stem}.pharaoh")
        word_links = self.open(f"{stem}.words.pharaoh") if unspaced else None

        def write(sentences: dict[str, Sentence]) -> None:
            for code, file in sides.items():
                file.write(self.text(sentences[code]) + "\n")
            for code, file in words.items():
                file.write(" ".join(sentences[code].words) + "\n")
            found = align(sentences[a].tokens, sentences[b].tokens)
            if word_links is not None:
                word_links.write(pharaoh(found) + "\n")
                if not self.settings.spaced:
                    found = expand(found, *(character_places(sentences[code]) for code in (a, b)))
            links.write(pharaoh(found) + "\n")

        return write

    def entailment(self) -> None:
        """Entailment pairs; no premise of valid or test is one of train."""
        settings, seen = self.settings, HeldOut()
        counts = {"valid": settings.held_out, "test": settings.held_out, "train": settings.nli}
        for place, (split, count) in enumerate(counts.items()):
            indices = count_from((FIRST_NLI + place) * BLOCK)
            out = {code: self.open(f"gold/nli.{split}.{code}.tsv") for code in self.languages}
            for number in range(count):
                label = LABELS[number % len(LABELS)]
                for index in indices:
                    pair = draw_pair(settings.seed, index, settings.domain)
                    premises = self.realise(pair.premise)
                    if pair.label == label and not seen.clashes(pair.premise, premises):
                        break
                if split != "train":
                    seen.add(pair.premise, premises)
                hypotheses = self.realise(pair.hypothesis)
                for code, file in out.items():
                    row = (self.text(premises[code]), self.text(hypotheses[code]), label)
                    file.write("\t".join(row) + "\n")
                self.bar.update()
            self.counts[f"nli.{split}"] = count

    def realise(self, meaning: Meaning) -> dict[str, Sentence]:
        return {code: LANGUAGES[code].sentence(meaning) for code in self.languages}

    def structures(self) -> None:
        """Relations and events: valid and test the same in every language, training text not."""
        settings, seen = self.settings, HeldOut()
        every = fresh(settings, FIRST_STRUCTURES, self.languages, seen, True)
        parts = [(split, every, self.languages, settings.held_out) for split in ("valid", "test")]
        for place, code in enumerate(self.languages, start=1):
            stream = fresh(settings, FIRST_STRUCTURES + place, (code,), seen, True)
            parts.append(("train", stream, (code,), settings.structures))
        for split, stream, codes, count in parts:
            out = {code: self.open(f"gold/structures.{split}.{code}.jsonl") for code in codes}
            for index, meaning, sentences in islice(stream, count):
                if split != "train":
                    seen.add(meaning, sentences)
                for code, file in out.items():
                    found = annotate(meaning, sentences[code], str(index))
                    file.write(json.dumps(found, ensure_ascii=False) + "\n")
                self.bar.update()
            name = f"train.{codes[0]}" if split == "train" else split
            self.counts[f"structures.{name}"] = count

    def gold(self, split: str, code: str) -> Callable[[Sentence, int], None]:
        """A function that writes a sentence's annotation in both formats."""
        trees = self.open(f"gold/{split}.{code}.conllu")
        tags = self.open(f"gold/tags.{split}.{code}.tsv")

        def write(sentence: Sentence, index: int) -> None:
            trees.write(conllu(sentence, str(index)))
            tags.write(tagged(sentence))

        return write

    def mono(self, place: int, code: str) -> None:
        """Training text of one language, and the gold annotation of its first sentences."""
        stream = fresh(self.settings, FIRST_MONO + place, (code,), self.held_out)
        text, gold = self.open(f"mono/train.{code}.txt"), self.gold("train", code)
        for number, (index, _, sentences) in enumerate(islice(stream, self.settings.sentences)):
            text.write(self.text(sentences[code]) + "\n")
            if number < self.settings.annotated:
                gold(sentences[code], index)
            self.bar.update()
        self.counts[f"mono/train.{code}"] = self.settings.sentences


def write_corpus(settings: Settings, out: str | Path, progress: bool = True) -> Path:
    """Write the corpus of ``settings`` to the folder ``out``, atomically.

    A folder that already contains this very corpus is left unchanged.
    """
    settings.check()
    out = Path(out)
    made_with = {"settings": settings.to_json(), "version": __version__}
    if out.resolve() == Path.cwd():
        raise UserError("`OUT` must not be the current folder, which cannot be written atomically")
    if _is_there(out, made_with):
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = out.parent / f".{out.name}.partial"
    remove_links(folder)
    folder.mkdir(exist_ok=True)
    with exclusive(folder, f"`OUT` {out}: another `synthesize` is writing it"):
        for path in folder.iterdir():  # of a call that was killed
            remove(path)
        try:
            counts = _write(settings, folder, out, progress)
            with open(folder / PROVENANCE, "w", encoding="utf-8") as file:
                json.dump({**made_with, "counts": counts}, file, indent=2, sort_keys=True)
                file.write("\n")
            if out.is_dir():
                out.rmdir()  # empty, or `_is_there` would have refused it
            os.replace(folder, out)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return out


def _write(settings: Settings, folder: Path, out: Path, progress: bool) -> dict[str, int]:
    """Write all but the provenance; returns how many sentences each text has."""
    total = settings.sentences * len(settings.languages) + 2 * settings.held_out
    total += settings.parallel_sentences if len(settings.languages) > 1 else 0
    total += settings.nli + 2 * settings.held_out if settings.nli else 0
    if settings.structures:
        total += settings.structures * len(settings.languages) + 2 * settings.held_out
    with tqdm(total=total, unit=" sentences", desc="synthesize", disable=not progress) as bar:
        writer = _Writer(settings, folder, bar)
        with writing(out), writer.files:
            writer.write()
    return writer.counts


def _is_there(out: Path, made_with: dict[str, Any]) -> bool:
    if not out.exists():
        return False
    if not out.is_dir():
        raise UserError(f"`OUT` must be a folder, got the file {out}")
    if not any(out.iterdir()):
        return False
    if not (out / PROVENANCE).is_file():
        raise UserError(f"`OUT` must be a new or empty folder, {out} contains other files")
    there = read_json(out / PROVENANCE)
    if not isinstance(there, dict) or {key: there.get(key) for key in made_with} != made_with:
        raise UserError(f"`OUT` must be a new folder, {out} contains a corpus with other settings")
    return True
