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
from fairseq_xling.corpus.nli import LABELS, draw_pairs
from fairseq_xling.corpus.realiser import LANGUAGES, Sentence, align
from fairseq_xling.corpus.sampler import DOMAINS
from fairseq_xling.corpus.structures import draw_structure
from fairseq_xling.corpus.structures import line as structure_line

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
) -> Iterator[tuple[int, Meaning, dict[str, Sentence]]]:
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

    def open(self, files: ExitStack, name: str) -> TextIO:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return files.enter_context(open(path, "w", encoding="utf-8", newline="\n"))

    def text(self, sentence: Sentence) -> str:
        return " ".join(sentence.words) if self.settings.spaced else sentence.text

    def write(self) -> None:
        settings = self.settings
        self.hold_out()
        if settings.parallel_sentences and self.pairs:
            stream = fresh(settings, PARALLEL, self.languages, self.held_out)
            self.parallel("train", stream, settings.parallel_sentences)
        for place, code in enumerate(self.languages):
            self.mono(place, code)
        if settings.nli:
            self.pairs_of_meaning()
        if settings.structures:
            self.structures()
        for source, target in self.pairs:
            with ExitStack() as files:
                stem = f"dictionary/{source}-{target}"
                every = self.open(files, f"{stem}.tsv")
                parts = [self.open(files, f"{stem}.{name}.tsv") for name in ("test", "train")]
                for entry in dictionary(source, target):
                    line = "{}\t{}\t{:.6g}\n".format(*entry)
                    every.write(line)
                    parts[drawn(entry[0]) % TEST_WORDS > 0].write(line)

    def hold_out(self) -> None:
        """valid and test: distinct meanings, distinct texts, the same in every language."""
        stream = fresh(self.settings, HELD_OUT, self.languages, self.held_out)
        for split in ("valid", "test"):
            self.parallel(split, stream, self.settings.held_out, keep=True)

    def parallel(
        self,
        split: str,
        stream: Iterator[tuple[int, Meaning, dict[str, Sentence]]],
        count: int,
        keep: bool = False,
    ) -> None:
        """Sentences in all languages; with ``keep`` they are held out, and annotated."""
        with ExitStack() as files:
            sides = {
                (a, b, code): self.open(files, f"parallel/{split}.{a}-{b}.{code}.txt")
                for a, b in self.pairs
                for code in (a, b)
            }
            words = {
                (a, b, code): self.open(files, f"parallel/{split}.{a}-{b}.{code}.words.txt")
                for a, b, code in sides
                if not LANGUAGES[code].spaced
            }
            links = {
                pair: self.open(files, "parallel/{}.{}-{}.pharaoh".format(split, *pair))
                for pair in self.pairs
            }
            word_links = {
                (a, b): self.open(files, f"parallel/{split}.{a}-{b}.words.pharaoh")
                for a, b in self.pairs
                if not all(LANGUAGES[code].spaced for code in (a, b))
            }
            mono, gold = {}, {}
            if keep:
                for code in self.languages:
                    mono[code] = self.open(files, f"mono/{split}.{code}.txt")
                    gold[code] = self.gold(files, split, code)
            for _ in range(count):
                index, meaning, sentences = next(stream)
                for (_, _, code), file in sides.items():
                    file.write(self.text(sentences[code]) + "\n")
                for (_, _, code), file in words.items():
                    file.write(" ".join(sentences[code].words) + "\n")
                for (a, b), file in links.items():
                    pairs = align(sentences[a].tokens, sentences[b].tokens)
                    if (a, b) in word_links:
                        word_links[a, b].write(pharaoh(pairs) + "\n")
                        if not self.settings.spaced:
                            places = [character_places(sentences[code]) for code in (a, b)]
                            pairs = expand(pairs, *places)
                    file.write(pharaoh(pairs) + "\n")
                if keep:
                    self.held_out.add(meaning, sentences)
                    for code in self.languages:
                        mono[code].write(self.text(sentences[code]) + "\n")
                        gold[code](sentences[code], index)
                self.bar.update()
        self.counts[f"parallel/{split}"] = count

    def pairs_of_meaning(self) -> None:
        """Entailment pairs; no premise of valid or test is one of train."""
        settings = self.settings
        seen = HeldOut()
        counts = {"valid": settings.held_out, "test": settings.held_out, "train": settings.nli}
        for place, (split, count) in enumerate(counts.items()):
            stream = draw_pairs(settings.seed, (FIRST_NLI + place) * BLOCK, settings.domain)
            with ExitStack() as files:
                out = {c: self.open(files, f"gold/nli.{split}.{c}.tsv") for c in self.languages}
                for number in range(count):
                    label = LABELS[number % len(LABELS)]
                    for pair in stream:
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

    def structures(self) -> None:
        """Relations and events: valid and test the same in every language, training text not."""
        seen = HeldOut()
        stream = fresh(self.settings, FIRST_STRUCTURES, self.languages, seen, True)
        for split in ("valid", "test"):
            with ExitStack() as files:
                out = {
                    code: self.open(files, f"gold/structures.{split}.{code}.jsonl")
                    for code in self.languages
                }
                for _ in range(self.settings.held_out):
                    index, meaning, sentences = next(stream)
                    seen.add(meaning, sentences)
                    for code, file in out.items():
                        file.write(structure_line(meaning, sentences[code], str(index)))
                    self.bar.update()
            self.counts[f"structures.{split}"] = self.settings.held_out
        for place, code in enumerate(self.languages, start=1):
            stream = fresh(self.settings, FIRST_STRUCTURES + place, (code,), seen, True)
            with ExitStack() as files:
                out = self.open(files, f"gold/structures.train.{code}.jsonl")
                for _ in range(self.settings.structures):
                    index, meaning, sentences = next(stream)
                    out.write(structure_line(meaning, sentences[code], str(index)))
                    self.bar.update()
            self.counts[f"structures.train.{code}"] = self.settings.structures

    def realise(self, meaning: Meaning) -> dict[str, Sentence]:
        return {code: LANGUAGES[code].sentence(meaning) for code in self.languages}

    def gold(self, files: ExitStack, split: str, code: str) -> Callable[[Sentence, int], None]:
        """A function that writes a sentence's annotation in both formats."""
        trees = self.open(files, f"gold/{split}.{code}.conllu")
        tags = self.open(files, f"gold/tags.{split}.{code}.tsv")

        def write(sentence: Sentence, index: int) -> None:
            trees.write(conllu(sentence, str(index)))
            tags.write(tagged(sentence))

        return write

    def mono(self, place: int, code: str) -> None:
        """Training text of one language, and the gold annotation of its first sentences."""
        stream = fresh(self.settings, FIRST_MONO + place, (code,), self.held_out)
        with ExitStack() as files:
            text = self.open(files, f"mono/train.{code}.txt")
            gold = self.gold(files, "train", code)
            for number in range(self.settings.sentences):
                index, _, sentences = next(stream)
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
        _write_and_rename(settings, folder, out, made_with, progress)
    return out


def _write_and_rename(
    settings: Settings, folder: Path, out: Path, made_with: dict[str, Any], progress: bool
) -> None:
    try:
        total = settings.sentences * len(settings.languages) + 2 * settings.held_out
        total += settings.parallel_sentences if len(settings.languages) > 1 else 0
        total += settings.nli + 2 * settings.held_out if settings.nli else 0
        if settings.structures:
            total += settings.structures * len(settings.languages) + 2 * settings.held_out
        with tqdm(total=total, unit=" sentences", desc="synthesize", disable=not progress) as bar:
            writer = _Writer(settings, folder, bar)
            with writing(out):
                writer.write()
        provenance: dict[str, Any] = {**made_with, "counts": writer.counts}
        with open(folder / PROVENANCE, "w", encoding="utf-8") as file:
            json.dump(provenance, file, indent=2, sort_keys=True)
            file.write("\n")
        if out.is_dir():
            out.rmdir()  # empty, or `_is_there` would have refused it
        os.replace(folder, out)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


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
