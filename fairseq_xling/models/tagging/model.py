"""The part of a batch that is of one language, as the tagger reads it.

B sentences, N words, T different words among them, C letters:

    lang      number of the language
    words     (B, N) rows of its table, 0 unknown        lengths  (B,)
    forms     (T, C) letters of the different words      form     (B, N) which of them a word is
    tag       (B, N) numbers of tags, where there are any
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.ranges import BELOW_ONE, COUNT, NOT_NEGATIVE, ranged
from fairseq_xling.models.identity import Identified
from fairseq_xling.models.tagging.layers import BiLstm, CharacterCnn, Discriminator, NoCharacters
from fairseq_xling.models.tagging.outputs import outputs
from fairseq_xling.models.trainable import TrainableModel

Part = dict[str, Any]
PAD, UNKNOWN, FIRST = 0, 1, 2  # numbers of letters


CHARACTERS = ("cnn", "none")
SHARING = ("shared", "language")


@dataclass
class AdversarialTaggerConfig(FairseqDataclass):
    word_dim: int = field(
        default=0,
        metadata=ranged("width of the word vectors; 0 is that of --vectors", NOT_NEGATIVE),
    )
    chars: str = field(default="cnn", metadata={"help": "letters of a word: cnn, or none"})
    char_filters: str = field(
        default="shared",
        metadata={"help": "convolutions over letters: shared by the languages, or language"},
    )
    char_dim: int = field(default=25, metadata=ranged("width of a letter's vector", COUNT))
    char_maps: int = field(default=25, metadata=ranged("filters of each width", COUNT))
    char_widths: str = field(default="2,3,4", metadata={"help": "widths of these filters"})
    encoder_hidden: int = field(
        default=175, metadata=ranged("units of the shared BiLSTM in each direction", COUNT)
    )
    tagger_hidden: int = field(
        default=100, metadata=ranged("units of the tagger's BiLSTM in each direction", COUNT)
    )
    projection: int = field(
        default=100, metadata=ranged("hidden width between it and the tags", COUNT)
    )
    dropout: float = field(
        default=0.5, metadata=ranged("dropout on words and on shared states", BELOW_ONE)
    )
    tagger: str = field(default="crf", metadata={"help": "output: crf, or softmax"})
    discriminator_maps: int = field(
        default=100, metadata=ranged("filters of each width of the discriminator", COUNT)
    )
    discriminator_widths: str = field(default="2,3", metadata={"help": "widths of these filters"})
    discriminator_dropout: float = field(
        default=0.2, metadata=ranged("dropout before its decision", BELOW_ONE)
    )


@dataclass(frozen=True)
class Contents:
    """What a tagger is of: known to the task, and part of its checkpoints.

    Attributes:
        words: of each language, in the order of the rows of its table, from row 1.
        letters: numbered from `FIRST`.
        tags: in their order.
        discriminates: whether there is a discriminator.
    """

    words: Mapping[str, Sequence[str]]
    letters: Sequence[str]
    tags: Sequence[str]
    discriminates: bool


def parse_widths(option: str, text: str) -> list[int]:
    """Different whole numbers from 1, separated by commas.

    >>> parse_widths("--char-widths", "2,3")
    [2, 3]
    """
    try:
        found = [int(piece) for piece in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1 or max(found) > 64 or len(set(found)) < len(found):
        raise UserError(f"`{option}` must be different whole numbers from 1 to 64, got {text!r}")
    return found


@register_model("adversarial_tagger", dataclass=AdversarialTaggerConfig)
class AdversarialTagger(Identified, TrainableModel):
    """`--arch adversarial_tagger`: a BiLSTM over mapped words, a CRF, and a language discriminator.

        x = [W e(word); letters]   h = BiLSTM(dropout(x))
        P = W2 tanh(W1 BiLSTM(dropout(h)) + b1) + b2

    W and the tables of words are buffers: no optimiser sees them. A checkpoint contains them, the
    words and the letters, so a trained tagger needs no other file.

    B sentences, N positions, K tags.
    """

    def __init__(self, cfg: Any, contents: Contents):
        super().__init__()
        self.languages = list(contents.words)
        self.identity = _identity(contents)
        for number, words in enumerate(contents.words.values()):
            self.register_buffer(f"table_{number}", torch.zeros(1 + len(words), cfg.word_dim))
        self.register_buffer("map", torch.eye(cfg.word_dim))
        self.characters: nn.Module = NoCharacters()
        if cfg.chars == "cnn":
            sets = 1 if cfg.char_filters == "shared" else len(self.languages)
            widths = parse_widths("--char-widths", cfg.char_widths)
            letters = FIRST + len(contents.letters)
            self.characters = CharacterCnn(letters, cfg.char_dim, cfg.char_maps, widths, sets)
        self.dropout = nn.Dropout(cfg.dropout)
        self.encoder = BiLstm(cfg.word_dim + self.characters.width, cfg.encoder_hidden)
        wide = 2 * cfg.encoder_hidden
        self.tagger = BiLstm(wide, cfg.tagger_hidden)
        self.emissions = nn.Sequential(
            nn.Linear(2 * cfg.tagger_hidden, cfg.projection),
            nn.Tanh(),
            nn.Linear(cfg.projection, len(contents.tags)),
        )
        self.output = outputs[cfg.tagger](len(contents.tags))
        self.discriminator = None
        if contents.discriminates:
            widths = parse_widths("--discriminator-widths", cfg.discriminator_widths)
            self.discriminator = Discriminator(
                wide, cfg.discriminator_maps, widths, cfg.discriminator_dropout
            )

    @classmethod
    @exits_on_user_error
    def build_model(cls, cfg: AdversarialTaggerConfig, task: Any) -> "AdversarialTagger":
        """The model for ``task``, an `AdversarialTaggingTask`, which knows its contents."""
        if not hasattr(task, "contents"):
            raise UserError(
                "`--arch adversarial_tagger` needs `--task adversarial_tagging`, got "
                f"{type(task).__name__}"
            )
        for name, allowed in (("chars", CHARACTERS), ("char_filters", SHARING)):
            if getattr(cfg, name) not in allowed:
                option = "--" + name.replace("_", "-")
                raise UserError(
                    f"`{option}` must be {' or '.join(allowed)}, got {getattr(cfg, name)!r}"
                )
        return cls(cfg, task.contents)

    @torch.no_grad()
    def set_words(self, tables: Sequence[Tensor], w: Tensor) -> None:
        """The frozen tables (V + 1, D) of the languages, and W (D, D), for the record."""
        for number, table in enumerate(tables):
            getattr(self, f"table_{number}").copy_(table)
        self.map.copy_(w)

    def forward(
        self,
        parts: Sequence[Part],
        fields: Any = None,
        through: Callable[[Tensor], Tensor] | None = None,
        only_language: bool = False,
    ) -> dict[str, Any]:
        """Scores of tags, and the language of each sentence.

        Args:
            parts: sentences of one language each (see `models.tagging.part`); rows of the outputs
                are those of the parts, one after the other.
            fields: not read; the fields that a head may have.
            through: between the shared states h and the discriminator; in evaluation nothing.
            only_language: h has no gradient, and there are no tags.

        Returns:
            ``states`` h (B, N, 2H), ``lengths`` (B,); ``target`` (B,), whether a sentence is not
            of the first language; ``emissions`` (B, N, K), and in evaluation ``tags`` (B, N);
            ``language`` (B,), logits of the discriminator, if there is one and ``through`` is
            given or the model is in evaluation mode.
        """
        lengths = torch.cat([part["lengths"] for part in parts])
        with torch.set_grad_enabled(torch.is_grad_enabled() and not only_language):
            states = self.encoder(self.dropout(self._words(parts)), lengths)
        langs = [torch.full_like(part["lengths"], part["lang"]) for part in parts]
        found = {"states": states, "lengths": lengths, "target": torch.cat(langs) > 0}
        if self.discriminator is not None and (through is not None or not self.training):
            read = states if through is None else through(states)
            found["language"] = self.discriminator(read, lengths)
        if only_language:
            return found
        upper = self.tagger(self.dropout(states), lengths)
        found["emissions"] = self.emissions(upper)
        if not self.training:
            found["tags"] = self.output.decode(found["emissions"], lengths)
        return found

    def tagging_loss(self, found: Mapping[str, Any], parts: Sequence[Part]) -> Tensor:
        """L_tag, the mean over the sentences of the parts that have tags; 0 without any."""
        losses, start = [], 0
        for part in parts:
            end = start + len(part["lengths"])
            if "tag" in part:
                long = part["tag"].shape[1]
                rows = found["emissions"][start:end, :long]
                losses.append(self.output.loss(rows, part["lengths"], part["tag"]))
            start = end
        return torch.cat(losses).mean() if losses else found["states"].new_zeros(())

    def _words(self, parts: Sequence[Part]) -> Tensor:
        """x (B, N, E) of all parts, zero beyond their sentences' ends."""
        longest, rows = max(part["words"].shape[1] for part in parts), []
        for part in parts:
            table = getattr(self, f"table_{part['lang']}")
            letters = self.characters(part["forms"], part["form"], part["lang"])
            vectors = nn.functional.embedding(part["words"], table)
            x = torch.cat([vectors, letters.to(vectors)], -1)
            rows.append(nn.functional.pad(x, (0, 0, 0, longest - x.shape[1])))
        return torch.cat(rows)


def _identity(contents: Contents) -> dict[str, Any]:
    """What the weights mean; their shapes do not tell words or tags of equal number apart."""

    def digest(names: Sequence[str]) -> str:
        return hashlib.sha256("\n".join(names).encode()).hexdigest()

    return {
        "languages": list(contents.words),
        "dictionaries": {lang: digest(words) for lang, words in contents.words.items()},
        "letters": digest(contents.letters),
        "tags": list(contents.tags),
    }
