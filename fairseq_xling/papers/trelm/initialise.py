"""The initial weights of a migrated model: a source encoder's, and those that it does not have.

TreLM, Section 3.2. Positions, segments, embedding LayerNorm and all layers are the source's; the
TRILayer starts as a copy of the middle layer; embeddings of words come from `word_embeddings`, of
languages from `language_inits`; the LM head is reinitialised or kept. Each part is drawn by
its own generator, so two models that differ in one option are equal in everything else.

N layers, V ids of the new vocabulary, L languages, D width.
"""

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import CLS, MASK, NULL, PAD, SEP, SPECIALS, UNK
from fairseq_xling.interop.sources import SourceModel
from fairseq_xling.mapping.vectors_file import Vectors
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.trilayer import new_copy_table
from fairseq_xling.papers.trelm.word_embeddings import WordRequest, word_inits

# Below the lowest bias of the source: exp(-30) is nothing to a sum in float32, and a gradient can
# still raise it, should the symbol be predicted one day.
_NEVER = 30.0

SPECIAL_ROWS = {"cls": CLS, "pad": PAD, "sep": SEP, "unk": UNK, "mask": MASK, "null": NULL}

# The 0-based number of the layer of N that the TRILayer is copied from.
trilayer_origins: Registry[Callable[[int], int]] = Registry("`--trilayer-from`")
trilayer_origins.register("code")(lambda layers: layers // 2)
trilayer_origins.register("text")(lambda layers: layers // 2 - 1)


class HeadInit(NamedTuple):
    """What is kept of the source's LM head."""

    layers: bool = False  # its dense layer and its LayerNorm
    biases: bool = False  # those of symbols that the source also has


head_inits: Registry[HeadInit] = Registry("`--head`")
head_inits.register("reset")(HeadInit())
head_inits.register("keep")(HeadInit(layers=True))
head_inits.register("whole")(HeadInit(layers=True, biases=True))


LanguageInit = Callable[[Sequence[str], SourceModel, torch.Generator], Tensor]
# Each returns (L, D) for the languages, in their order.
language_inits: Registry[LanguageInit] = Registry("`--language-init`")


@language_inits.register("normal")
def normal(languages: Sequence[str], source: SourceModel, generator: torch.Generator) -> Tensor:
    """Normal with the source's initial deviation, as in the paper's released code."""
    shape = source.shape
    return torch.randn(len(languages), shape.dim, generator=generator) * shape.init_std


@language_inits.register("orthogonal")
def orthogonal(languages: Sequence[str], source: SourceModel, generator: torch.Generator) -> Tensor:
    """Orthogonal to each other, as in TreLM's text, with the average length of `normal`."""
    shape = source.shape
    if len(languages) > shape.dim:
        raise UserError(
            f"`--language-init orthogonal` supports at most {shape.dim} languages, the width of "
            f"the encoder, got {len(languages)}"
        )
    drawn = torch.randn(shape.dim, len(languages), generator=generator, dtype=torch.float64)
    basis = torch.linalg.qr(drawn).Q.T
    return (basis * shape.init_std * math.sqrt(shape.dim)).float()


@language_inits.register("source")
def from_source(
    languages: Sequence[str], source: SourceModel, generator: torch.Generator
) -> Tensor:
    """The source's own for the languages that it names, `orthogonal` ones for the others."""
    known: dict[str, Tensor] = {}
    if source.shape.language_embeddings:
        known = dict(zip(source.languages, source.state["language_table.weight"], strict=True))
    if not set(known) & set(languages):
        raise UserError(
            f"`--language-init source`: {source.origin} has no embedding of any of "
            f"{', '.join(languages)}"
        )
    drawn = orthogonal(languages, source, generator)
    return torch.stack([known.get(lang, row) for lang, row in zip(languages, drawn, strict=True)])


@dataclass(frozen=True)
class InitOptions:
    """How the parts that the source does not have are initialised, as the options of
    `fairseq-xling init`.

    Attributes:
        unchanged: whether a symbol that the source does not have gets a bias so low that the
            probabilities of all others are the source's.
    """

    embeddings: str = "random"
    keep_norms: bool = False
    copy_shared: bool = False
    trilayer_from: str = "code"
    language_init: str = "orthogonal"
    head: str = "reset"
    unchanged: bool = False
    seed: int = 1


def initialise(
    encoder: SeparableEncoder,
    source: SourceModel,
    symbols: Mapping[str, Sequence[str]],
    options: InitOptions,
    vectors: Mapping[str, Vectors] | None = None,
) -> list[str]:
    """Initialise every parameter of ``encoder``.

    Args:
        encoder: with or without a TRILayer, of the source's sizes; its weights are overwritten.
        source: is not changed, and shares no storage with it afterwards.
        symbols: the vocabulary of each of the encoder's languages, by id, word starts marked ``▁``.
        options: see `InitOptions`.
        vectors: given vectors by language, for the methods that read them.

    Returns:
        The source of each part, one line each.
    """
    _check_sizes(encoder.shape, source)
    maker = _Maker(encoder, source, symbols, options, vectors or {})
    state = {name: maker.make(name) for name, _ in encoder.named_parameters()}
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if state[name].shape != parameter.shape:  # a bug: sizes were checked
                raise ValueError(f"{name}: {state[name].shape} for {parameter.shape}")
            parameter.copy_(state[name])
    return maker.report


def _check_sizes(shape: EncoderShape, source: SourceModel) -> None:
    theirs = source.shape
    for name in ("layers", "dim", "ffn_dim", "heads", "norm_eps", "activation"):
        if getattr(shape, name) != getattr(theirs, name):
            raise UserError(
                f"`{name}` of the model must be the source's, {getattr(theirs, name)} in "
                f"{source.origin}, got {getattr(shape, name)}"
            )
    if not theirs.token_positions:
        raise UserError(f"{source.origin}: has no position embeddings to start from")
    if shape.max_positions > theirs.max_positions:
        raise UserError(
            f"`--max-positions` must be at most {theirs.max_positions}, the rows that "
            f"{source.origin} has, got {shape.max_positions}"
        )
    if shape.num_segments < min(1, theirs.num_segments):
        raise UserError(
            f"`--num-segments` must be at least 1, since {source.origin} adds a segment embedding "
            f"to every token, got {shape.num_segments}"
        )


def size_options(shape: EncoderShape, max_positions: int, num_segments: int) -> list[str]:
    """The options of fairseq-train for a model of the source's ``shape`` but for these tables."""
    sizes = {
        "encoder-layers": shape.layers,
        "encoder-embed-dim": shape.dim,
        "encoder-ffn-embed-dim": shape.ffn_dim,
        "encoder-attention-heads": shape.heads,
        "max-positions": max_positions,
        "num-segments": num_segments,
        "lm-head": shape.lm_head,
        "init-std": shape.init_std,
        "norm-eps": shape.norm_eps,
        "activation-fn": shape.activation,
    }
    return [part for name, value in sizes.items() for part in (f"--{name}", str(value))]


class _Maker:
    """Initialises one parameter after another, and records how."""

    def __init__(
        self,
        encoder: SeparableEncoder,
        source: SourceModel,
        symbols: Mapping[str, Sequence[str]],
        options: InitOptions,
        vectors: Mapping[str, Vectors],
    ):
        self.shape, self.languages = encoder.shape, encoder.languages
        self.source, self.symbols = source, symbols
        self.options, self.vectors = options, vectors
        self.middle = trilayer_origins[options.trilayer_from](encoder.shape.layers)
        self.head = head_inits[options.head]
        self._tables: dict[str, Tensor] = {}
        self.report: list[str] = []
        if self.head.layers and not source.has_head:
            raise UserError(
                f"`--head {options.head}` needs a source with an LM head, {source.origin} has none"
            )
        if self.head.layers and self.shape.lm_head != source.shape.lm_head:
            raise UserError(
                f"`--head {options.head}` needs `--lm-head {source.shape.lm_head}`, the "
                f"source's, got {self.shape.lm_head!r}"
            )

    def make(self, name: str) -> Tensor:
        """The initial value of parameter ``name``, with its own memory."""
        match = re.search(r"\.private\.(.+?)\.", name)
        shared = name.replace(match[0], ".shared.") if match else name
        part, _, rest = shared.partition(".")
        rule = getattr(self, f"_{part}")
        return rule(rest, match[1] if match else self.languages[0]).clone()

    def _note(self, line: str) -> None:
        if line not in self.report:
            self.report.append(line)

    def _draw(self, part: str, *shape: int) -> Tensor:
        generator = self._generator(part)
        return torch.randn(*shape, generator=generator) * self.source.shape.init_std

    def _generator(self, part: str) -> torch.Generator:
        digest = hashlib.sha256(f"{self.options.seed} {part}".encode()).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)

    def _tokens(self, rest: str, lang: str) -> Tensor:
        # Languages with one table have one dictionary; those with two may differ in size.
        if lang not in self._tables:
            self._tables[lang] = self._words(lang, self.source)
        return self._tables[lang]

    def _output_tokens(self, rest: str, lang: str) -> Tensor:
        """If the softmax is not tied, it starts as a copy of the input embeddings, unless the
        source's is not tied either."""
        if self.source.tied:
            return self._tokens(rest, lang)
        return self._words(lang, self.source.as_output())

    def _positions(self, rest: str, lang: str) -> Tensor:
        rows = self.shape.max_positions
        self._note(f"positions: {rows} of the source's {self.source.shape.max_positions}")
        return self.source.state["positions.shared.weight"][:rows]

    def _language_table(self, rest: str, lang: str) -> Tensor:
        way = self.options.language_init
        self._note(f"languages {', '.join(self.languages)}: {way}")
        return language_inits[way](self.languages, self.source, self._generator("languages"))

    def _segment_table(self, rest: str, lang: str) -> Tensor:
        """The source's rows; further ones are drawn. If the source has none, the first is 0, so
        that text of one segment is encoded as before."""
        rows, theirs = self.shape.num_segments, self.source.shape.num_segments
        table = self._draw("segments", rows, self.shape.dim)
        if theirs:
            table[:theirs] = self.source.state["segment_table.weight"][:rows]
        else:
            table[0] = 0
        drawn = max(0, rows - max(1, theirs))
        self._note(
            f"segments: {rows - drawn} of the source's {theirs}, {drawn} drawn"
            if theirs
            else f"segments: the first zero, {drawn} drawn"
        )
        return table

    def _embedding_norm(self, rest: str, lang: str) -> Tensor:
        self._note("embedding LayerNorm: the source's")
        return self.source.state[f"embedding_norm.{rest}"]

    def _layers(self, rest: str, lang: str) -> Tensor:
        self._note(f"layers: the source's {self.shape.layers}")
        return self.source.state[f"layers.{rest}"]

    def _trilayer(self, rest: str, lang: str) -> Tensor:
        self._note(f"TRILayer: a copy of layer {self.middle + 1} of {self.shape.layers}")
        return self.source.state[f"layers.{self.middle}.shared.{rest}"]

    def _copy_table(self, rest: str, lang: str) -> Tensor:
        self._note("copies: drawn, the first zero")
        return new_copy_table(self.shape.dim, self._generator("copies"))

    def _softmax(self, rest: str, lang: str) -> Tensor:
        name = rest.removeprefix("shared.")
        theirs = f"softmax.shared.{name}"
        if name == "bias":
            tied = "tied to the embeddings" if self.source.tied else "with its own embeddings"
            if self.head.biases:
                biases, kept = self._biases(lang, self.source.state[theirs])
                self._note(f"head: {tied}, {kept:,} biases are the source's")
            else:
                biases = torch.zeros(len(self.symbols[lang]))
                self._note(f"head: {tied}, biases 0")
            return biases
        if self.head.layers:
            self._note("head: dense and LayerNorm are the source's")
            return self.source.state[theirs]
        self._note("head: dense drawn, LayerNorm new")
        if name.startswith("norm."):
            return torch.full((self.shape.dim,), 1.0 if name.endswith("weight") else 0.0)
        if name.endswith("bias"):
            return torch.zeros(self.shape.dim)
        return self._draw(f"head {name}", self.shape.dim, self.shape.dim)

    def _biases(self, lang: str, theirs: Tensor) -> tuple[Tensor, int]:
        """The biases (V,), and how many of them are the source's ``theirs``."""
        never = float(theirs.min()) - _NEVER
        biases = torch.full((len(self.symbols[lang]),), never if self.options.unchanged else 0.0)
        mine, its = self._in_common(lang)
        # One symbol may be two of ours, as XLM's separator: then it is predicted as the later one.
        special = {
            self.source.special_ids[kind]: row
            for kind, row in SPECIAL_ROWS.items()
            # A source never predicts <null>, but a model of slots that starts from it has to.
            if kind in self.source.special_ids and (kind != "null" or self.options.unchanged)
        }
        mine, its = [*mine, *special.values()], [*its, *special]
        biases[mine] = theirs[its]
        return biases, len(mine)

    def _in_common(self, lang: str) -> tuple[list[int], list[int]]:
        """Ids here and in the source of the words with identical spelling."""
        theirs = {symbol: i for i, symbol in enumerate(self.source.symbols)}
        mine = [i for i, s in enumerate(self.symbols[lang]) if i >= SPECIALS and s in theirs]
        return mine, [theirs[self.symbols[lang][i]] for i in mine]

    def _words(self, lang: str, source: SourceModel) -> Tensor:
        symbols = self.symbols[lang]
        ready, generator = self.vectors.get(lang), self._generator(f"words {lang}")
        request = WordRequest(lang, symbols, source, generator, ready, self.options.keep_norms)
        rows, how = word_inits[self.options.embeddings](request)
        text = f"{len(symbols):,} words: {how}"
        if self.options.copy_shared:
            mine, its = self._in_common(lang)
            rows[mine] = source.embeddings[its]
            text += f"; {len(mine):,} symbols in common have the source's"
        # No particular word: the mean, with noise that distinguishes it from other means.
        null = source.embeddings[source.words()].mean(0) + self._draw("null", self.shape.dim)
        for kind, row in SPECIAL_ROWS.items():
            found = source.special_ids.get(kind)
            rows[row] = null if found is None else source.embeddings[found]
        made = [name for name in SPECIAL_ROWS if name not in source.special_ids]
        text += "; special symbols have the source's"
        if made:
            text += f", {' and '.join(made)} their mean with noise"
        self._note(text)
        return rows
