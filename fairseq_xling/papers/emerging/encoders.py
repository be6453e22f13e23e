"""Encoders of two languages, trained jointly or apart, and their states: what the studies of
similarity and of mapped layers compare.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option, reads
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.studies.corpus_steps import check_vocabulary, segment_parts, text_file
from fairseq_xling.studies.encoder_training import (
    EncoderRun,
    EncoderTraining,
    PreparedText,
    StudyText,
    check_text,
)
from fairseq_xling.studies.ready_encoders import Ready, ready_encoders
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.workflow.options import seeds_option, split_words

# Added to seeds. Equal seeds and shapes would give encoders of two languages the same initial
# weights, and so comparable states though they are trained independently.
_LANGUAGE, _SECOND = 1000, 500


@dataclasses.dataclass(frozen=True)
class Encoders:
    """The encoders of two languages: existing ones, and how others are trained."""

    encoder: tuple = reads(
        (),
        "LANG=CHECKPOINT, existing instead of trained; LANG-LANG for a bilingual one; {seed} in it "
        "stands for the seed",
    )
    data: tuple = reads((), "LANG=FOLDER, the data folder of an existing encoder")
    seeds: str = seeds_option("1,2,3")
    vocab: str = option("union", "vocabulary of the bilingual models: joint, union or prefixed")


@dataclasses.dataclass(frozen=True)
class EncoderOptions(EncoderTraining, PreparedText, Encoders, StudyText):
    """What the options of both studies have, besides ``languages``."""

    @property
    def ready(self) -> dict[str, Ready]:
        """The encoders that are not trained here, by language or pair."""
        return ready_encoders(self.encoder, self.data)

    def text(self, name: str) -> Path:
        """A file of the text, plain or gzipped, such as ``mono/train.en``."""
        return text_file(self.data_text, name)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two languages, or one language twice."""

    source: str
    target: str

    @property
    def same(self) -> bool:
        """Whether both sides are the same text."""
        return self.source == self.target

    @property
    def second(self) -> str:
        """The code of the second side, which a model of one language twice has to distinguish."""
        return f"{self.source}_2" if self.same else self.target

    @property
    def name(self) -> str:
        """Its name in files and tables.

        >>> Pair("en", "de").name, Pair("en", "en").name
        ('en-de', 'en-en_2')
        """
        return f"{self.source}-{self.second}"


@dataclasses.dataclass(frozen=True)
class Side:
    """One side of a comparison: an encoder, or fastText vectors."""

    name: str
    checkpoint: Path
    data: Path
    code: str  # the language's, in the encoder
    lang: str  # of the text that it reads
    of: "Side | None" = None  # of fastText vectors, the encoder whose words have one
    seed: int = 0  # of fastText vectors


class Models(EncoderRun):
    """The steps that make encoders and their states."""

    options: EncoderOptions

    def apart(self, pair: Pair, seed: int) -> tuple[Side, Side]:
        """Two monolingual encoders; of one language, that of this seed and of the next."""
        first, seeds = self._monolingual(pair.source, seed), self.options.seed_list
        if pair.same and len(seeds) > 1:
            seed = seeds[(seeds.index(seed) + 1) % len(seeds)]
        elif pair.same:
            seed += _SECOND
        return first, self._monolingual(pair.target, seed)

    def random(self, pair: Pair, seed: int) -> tuple[Side, Side]:
        """The same, where the second side keeps the weights it is drawn with."""
        return self._monolingual(pair.source, seed), self._monolingual(pair.target, seed, True)

    def fasttext(self, pair: Pair, seed: int) -> tuple[Side, Side]:
        """fastText vectors of the words of each text that two encoders have vectors of."""
        x, y = self.apart(pair, seed)
        return self._vectors(x, seed), self._vectors(y, seed)

    def joint(self, pair: Pair, seed: int) -> tuple[Side, Side]:
        """One encoder of both, with the requested vocabulary."""
        if pair.name in self.options.ready:
            return _both(pair, *self.options.ready[pair.name].of_seed(seed))
        return self._bilingual(pair, seed, self.options.vocab)

    def separate(self, pair: Pair, seed: int) -> tuple[Side, Side]:
        """One encoder of both, without shared embeddings."""
        own = ("--separate", "emb", "--random-within-language")
        return self._bilingual(pair, seed, "separate", own)

    def states(
        self, side: Side, what: str, text: Path, unit: str, layers: str, *options: Any
    ) -> Path:
        """The states of ``text`` at ``layers``; ``what`` names them."""
        name = f"{side.name}.{side.code}"
        of = (side.checkpoint, side.data, side.code, text, unit, *options, "--layers", [layers])
        return self.extract(f"extract-{name}-{what}", f"states/{name}/{what}", *of)

    def _vectors(self, side: Side, seed: int) -> Side:
        name, own = f"fasttext-{side.lang}-{seed}", self._seed(side.lang, seed)
        return dataclasses.replace(side, name=name, of=side, seed=own)

    def _seed(self, lang: str, seed: int) -> int:
        return seed + _LANGUAGE * self.options.language_list.index(lang)

    def _monolingual(self, lang: str, seed: int, random: bool = False) -> Side:
        kind, train = ("random", self.untrained) if random else ("mono", self.train)
        name = f"{kind}-{lang}-{seed}"
        if ready := self.options.ready.get(lang):
            given = ready.of_seed(seed)
            if not random:
                return Side(*given, lang, lang)
            data = given[2]
        else:
            data = self._data({lang: lang}, "joint", self.options.vocab_size // 2)
        folder = train(name, data, self._seed(lang, seed), lang)
        return Side(name, folder / "checkpoint_best.pt", data, lang, lang)

    def _bilingual(
        self, pair: Pair, seed: int, vocab: str, own: Sequence[str] = ()
    ) -> tuple[Side, Side]:
        o, texts = self.options, {pair.source: pair.source, pair.second: pair.target}
        data = self._data(texts, vocab, o.vocab_size // len(modes[vocab]().groups(list(texts))))
        updates = o.updates * (2 if getattr(o, "equal", "steps") == "text" else 1)
        training = dataclasses.replace(o.training, updates=updates)
        name = f"{vocab}-{pair.name}-{seed}"
        folder = self.train(name, data, seed, pair.source, own, training)
        return _both(pair, name, folder / "checkpoint_best.pt", data)

    def _data(self, langs: Mapping[str, str], vocab: str, size: int) -> Path:
        """The data folder with the text of each language, by the code that it gets."""
        o, name = self.options, f"{vocab}.{'-'.join(langs)}"
        files = [
            f"{split}.{code}={o.text(f'mono/{split}.{lang}')}"
            for code, lang in langs.items()
            for split in ("train", "valid")
        ]
        how = dict(part.split("=", 1) for part in segment_parts(o.segment, o.language_list))
        return self(
            f"prepare-{name}",
            "fairseq-xling prepare {out}",
            {"--languages": ",".join(langs), "--mono": files, "--vocab": vocab},
            {"--vocab-type": o.vocab_type, "--vocab-size": max(1, size), "--aligner": "none"},
            {"--segment": [f"{code}={how[lang]}" for code, lang in langs.items() if lang in how]},
            split_words("--prepare-args", o.prepare_args),
            to=f"data/{name}",
            resumable=True,
        )


def _both(pair: Pair, name: str, checkpoint: Path, data: Path) -> tuple[Side, Side]:
    of = (name, checkpoint, data)
    return Side(*of, pair.source, pair.source), Side(*of, pair.second, pair.target)


@dataclasses.dataclass(frozen=True)
class EncoderKind:
    """One kind of encoders, a row of a study."""

    title: str
    sides: Callable[[Models, Pair, int], tuple[Side, Side]]  # of a seed; the same if bilingual
    mapped: bool  # the first side into the space of the second
    under: str = "bilingual"  # what is below a head on one side
    same: bool = False  # for one language twice
    other: bool = True  # for two languages
    words: bool = False  # only words are compared, since there are no layers

    def fits(self, pair: Pair) -> bool:
        """Whether the row has this pair."""
        return self.same if pair.same else self.other


_SEPARATE, _ONE = "bilingual, Sep Emb", "monolingual"
ROWS = {
    "bilingual": EncoderKind("bilingual", Models.joint, mapped=False),
    "bilingual-mapped": EncoderKind("bilingual, mapped", Models.joint, mapped=True),
    "separate": EncoderKind(_SEPARATE, Models.separate, mapped=False, under=_SEPARATE),
    "sep-emb": EncoderKind(_SEPARATE, Models.separate, False, _SEPARATE, same=True, other=False),
    "mapped": EncoderKind("monolingual, mapped", Models.apart, True, _ONE, same=True),
    "unmapped": EncoderKind("monolingual, unmapped", Models.apart, False, _ONE, same=True),
    "random": EncoderKind("second side random, mapped", Models.random, True, _ONE),
    "fasttext": EncoderKind("fastText, mapped", Models.fasttext, True, _ONE, words=True),
}
LAYERED = [name for name, row in ROWS.items() if not row.words]


def check_encoders(o: EncoderOptions) -> None:
    """Reject missing text, and encoders that are missing or cannot be trained."""
    check_text(o, "mono")
    check_vocabulary(o.vocab_type, o.segment, o.language_list)
    shared = [name for name in modes if modes[name]().shares_ids(o.language_list)]
    if o.vocab not in shared:
        raise UserError(f"`--vocab` must be one of {', '.join(shared)}, got {o.vocab!r}")
    source, *targets = o.language_list
    names = [*o.language_list, *(f"{source}-{target}" for target in targets)]
    for name, ready in o.ready.items():
        if name not in names:
            raise UserError(f"`--encoder`: {unknown_name('language', name, names)}")
        for path in (path for seed in o.seed_list for path in ready.of_seed(seed)[1:]):
            if not path.exists():
                raise UserError(f"{path}: no such file or folder")


def chosen_names(option: str, text: str, known: Collection[str]) -> list[str]:
    """Names separated by commas, each once, of those ``known``."""
    found = list(dict.fromkeys(names_in(text)))
    for name in found:
        if name not in known:
            raise UserError(f"`--{option}`: {unknown_name('name', name, list(known))}")
    if not found:
        raise UserError(f"`--{option}` must name at least one of {', '.join(known)}")
    return found
