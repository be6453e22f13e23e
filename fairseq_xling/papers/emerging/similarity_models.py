"""The encoders of the similarity study and the steps that train them and write their states.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5 and Figure 7.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fairseq_xling.papers.emerging.similarity_config import Pair, SimilarityConfig
from fairseq_xling.papers.emerging.similarity_lexicon import contexts_step
from fairseq_xling.studies.corpus_steps import prepare_step, segment_parts
from fairseq_xling.studies.encoder_training import EncoderRun
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.workflow.options import split_words
from fairseq_xling.workflow.step import Step

# Equal seeds and shapes would give encoders of two languages the same initial weights, and so
# comparable states though they are trained independently.
_APART = 1000
_SECOND = 500


@dataclasses.dataclass(frozen=True)
class EncoderSide:
    """One side of a comparison.

    Attributes:
        name: of the encoder.
        checkpoint, data: its file and its data folder.
        code: the language's code in the encoder.
        lang: the language of the text that it reads.
    """

    name: str
    checkpoint: Path
    data: Path
    code: str
    lang: str


@dataclasses.dataclass(frozen=True)
class VectorsSide(EncoderSide):
    """fastText vectors of a text.

    Attributes:
        encoder: whose words have a vector; its file is no input.
        seed: of their training.
    """

    encoder: EncoderSide
    seed: int


class Models(EncoderRun):
    """The steps that make encoders and their states."""

    options: SimilarityConfig

    def sides(self, family: str, pair: Pair, seed: int) -> tuple[EncoderSide, EncoderSide]:
        """The two encoders of a family; the same one if it is bilingual."""
        return FAMILIES[family](self, pair, seed)

    def apart(self, pair: Pair, seed: int) -> tuple[EncoderSide, EncoderSide]:
        """Two monolingual encoders; of one language, that of this seed and of the next."""
        first = self._monolingual(pair.source, seed)
        if not pair.same:
            return first, self._monolingual(pair.target, seed)
        seeds = self.options.seed_list
        other = seeds[(seeds.index(seed) + 1) % len(seeds)] if len(seeds) > 1 else seed + _SECOND
        return first, self._monolingual(pair.source, other)

    def random(self, pair: Pair, seed: int) -> tuple[EncoderSide, EncoderSide]:
        """Only the second side is random."""
        return self._monolingual(pair.source, seed), self._untrained(pair.target, seed)

    def joint(self, pair: Pair, seed: int) -> tuple[EncoderSide, EncoderSide]:
        """One encoder of both, with the requested vocabulary."""
        return self._bilingual(pair, seed, self.options.vocab, ())

    def separate(self, pair: Pair, seed: int) -> tuple[EncoderSide, EncoderSide]:
        """One encoder of both, without shared embeddings."""
        options = ("--separate", "emb", "--random-within-language")
        return self._bilingual(pair, seed, "separate", options)

    def fasttext(self, pair: Pair, seed: int) -> tuple[EncoderSide, EncoderSide]:
        """No encoders: fastText vectors of the words of each text."""
        first, second = self.apart(pair, seed)
        return self._vectors(first, seed), self._vectors(second, seed)

    def _vectors(self, encoder: EncoderSide, seed: int) -> VectorsSide:
        own = self._own_seed(encoder.lang, seed)
        where = (encoder.checkpoint, encoder.data, encoder.code, encoder.lang)
        return VectorsSide(f"fasttext-{encoder.lang}-{seed}", *where, encoder=encoder, seed=own)

    def _own_seed(self, lang: str, seed: int) -> int:
        return seed + _APART * self.options.language_list.index(lang)

    def _monolingual(self, lang: str, seed: int) -> EncoderSide:
        if lang in self.options.ready:
            return EncoderSide(*self.options.ready[lang].of_seed(seed), lang, lang)
        data = self._prepare({lang: lang}, "joint", self.options.vocab_size // 2)
        own = self._own_seed(lang, seed)
        name = f"mono-{lang}-{seed}"
        return EncoderSide(name, self._train(name, data, own, lang), data, lang, lang)

    def _untrained(self, lang: str, seed: int) -> EncoderSide:
        if lang in self.options.ready:
            data = self.options.ready[lang].of_seed(seed)[2]
        else:
            data = self._prepare({lang: lang}, "joint", self.options.vocab_size // 2)
        own = self._own_seed(lang, seed)
        name = f"random-{lang}-{seed}"
        checkpoint = self.untrained(name, data, own, lang) / "checkpoint_best.pt"
        return EncoderSide(name, checkpoint, data, lang, lang)

    def _bilingual(
        self, pair: Pair, seed: int, vocab: str, options: Sequence[str]
    ) -> tuple[EncoderSide, EncoderSide]:
        if pair.name in self.options.ready and not options:
            name, checkpoint, data = self.options.ready[pair.name].of_seed(seed)
        else:
            texts = {pair.source: pair.source, pair.second: pair.target}
            size = self.options.vocab_size // len(modes[vocab]().groups(list(texts)))
            data = self._prepare(texts, vocab, size)
            name = f"{vocab}-{pair.name}-{seed}"
            updates = self.options.updates * (len(texts) if self.options.equal == "text" else 1)
            checkpoint = self._train(name, data, seed, pair.source, options, updates=updates)
        first = EncoderSide(name, checkpoint, data, pair.source, pair.source)
        return first, EncoderSide(name, checkpoint, data, pair.second, pair.target)

    def _prepare(self, langs: Mapping[str, str], vocab: str, size: int) -> Path:
        """The data folder with the text of each language, by the code that it gets."""
        files = {
            f"{split}.{code}": self.options.text(f"mono/{split}.{lang}")
            for code, lang in langs.items()
            for split in ("train", "valid")
        }
        known = self.options.language_list
        segment = dict(part.split("=", 1) for part in segment_parts(self.options.segment, known))
        options = [
            part
            for code, lang in langs.items()
            if lang in segment
            for part in ("--segment", f"{code}={segment[lang]}")
        ]
        data = self.folder / "data" / f"{vocab}.{'-'.join(langs)}"
        return self.add(
            prepare_step(
                f"prepare-{data.name}",
                data,
                list(langs),
                source=[
                    part for key, path in files.items() for part in ("--mono", f"{key}={path}")
                ],
                inputs=list(files.values()),
                mode=vocab,
                vocab_type=self.options.vocab_type,
                vocab_size=max(1, size),
                options=[*options, *split_words("--prepare-args", self.options.prepare_args)],
            )
        )

    def _train(
        self,
        name: str,
        data: Path,
        seed: int,
        choose_by: str,
        options: Sequence[str] = (),
        **changes: float,
    ) -> Path:
        training = dataclasses.replace(self.options.training, **changes)
        folder = self.train(name, data, seed, choose_by, options, training)
        return folder / "checkpoint_best.pt"

    def sentences(self, side: EncoderSide, pair: Pair, split: str, second: bool) -> Path:
        """The states of one side of the parallel text.

        Of one language twice, the first pair's; the second side has its paraphrases if there are.
        """
        if pair.same and second and self.options.paraphrases:
            text = self.options.paraphrases[split]
            return self._extract(side, f"{split}-paraphrase", text, "sentences")
        both = self.options.first_pair if pair.same else pair
        text = self.options.text(f"parallel/{split}.{both.name}.{side.lang}")
        return self._extract(side, f"{split}-{both.name}", text, "sentences")

    def types(self, side: EncoderSide, unit: str, words: Path) -> Path:
        """The vectors of ``words``, of their contexts (``types``) or of none (``static``)."""
        if isinstance(side, VectorsSide):
            return self._embed(side, unit, words)
        text = contexts_step(self, side.lang)
        options, layers = ["--words", str(words)], "0" if unit == "static" else ""
        return self._extract(side, unit, text, unit, options, layers)

    def _embed(self, side: VectorsSide, unit: str, words: Path) -> Path:
        """fastText vectors of those of ``words`` that the encoder has a vector for, too."""
        words = self.types(side.encoder, unit, words) / "words.txt"
        text = self.options.text(f"mono/train.{side.lang}")
        output = self.folder / "states" / f"{side.name}.{side.code}" / unit
        command = [
            *("fairseq-xling", "embed", "words", str(side.data), "--lang", side.code),
            *("--text", str(text), "--words", str(words), "--output", str(output)),
            *("--min-count", "1", "--threads", "1", "--seed", str(side.seed)),
        ]
        name, inputs = f"embed-{side.name}-{unit}", [side.data, text, words]
        return self.add(Step(name, [command], inputs=inputs, outputs=[output]))

    def _extract(
        self,
        side: EncoderSide,
        what: str,
        text: Path,
        unit: str,
        options: Sequence[str] = (),
        layers: str = "",
    ) -> Path:
        name = f"extract-{side.name}.{side.code}-{what}"
        to = f"states/{side.name}.{side.code}/{what}"
        layers = layers or self.options.compare_layers
        encoder = (side.checkpoint, side.data, side.code)
        return self.extract(name, to, *encoder, text, unit, [*options, "--layers", layers])


FAMILIES: dict[str, Callable[[Models, Pair, int], tuple[EncoderSide, EncoderSide]]] = {
    "apart": Models.apart,
    "fasttext": Models.fasttext,
    "joint": Models.joint,
    "random": Models.random,
    "separate": Models.separate,
}
