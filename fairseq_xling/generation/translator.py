"""Text to text: a trained translation model outside fairseq's programs.

translator = Translator.load("translator/")               # an exported folder, or a checkpoint
translator.translate(["A dog runs.", "Two men talk."])
"""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from fairseq.utils import apply_to_sample

from fairseq_xling.core import arguments
from fairseq_xling.core.errors import UserError, program_error
from fairseq_xling.data.plan import Limits
from fairseq_xling.engine.precision import AUTO, CHOICES, resolve
from fairseq_xling.generation.dataset import TranslationDataset
from fairseq_xling.generation.generator import Hypothesis, words_of
from fairseq_xling.generation.options import TranslationOptions
from fairseq_xling.generation.orderings import orderings
from fairseq_xling.generation.task import Translates
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.text.encoder import TextEncoder

BATCH_TOKENS, BUFFER = 4096, 2048
# A checkpoint keeps what they were when it was trained. Those that refer to others of fairseq's
# programs, which there are none of here, stay.
_DEFAULTS = {
    option.name: option.default
    for option in dataclasses.fields(TranslationOptions)
    if not (option.name == "_name" or str(option.default).startswith("${"))
}


@dataclass(frozen=True)
class Translation:
    """One hypothesis.

    Attributes:
        text: the translation.
        score: the mean log-probability of its tokens, in nats, with its order's if it has one; of
            a search over slots, the log-probability of the translation. NaN if scores were not
            asked for and none had to be compared.
        source, tokens: the pieces of both sides, as the data folder cuts text.
        alignment: links from a piece of ``source`` to one of ``tokens``, from 0; empty unless they
            were asked for.
    """

    text: str
    score: float
    source: list[str]
    tokens: list[str]
    alignment: list[tuple[int, int]]


class Translator:
    """A model with a TRILayer, its vocabulary, and one direction."""

    def __init__(self, encoder: Encoder):
        self.task, self.models, self.device = encoder.task, [encoder.model], encoder.device
        self.pair: tuple[str, str] = self.task.direction
        self.source, self.target = (
            TextEncoder.load(self.task.folder.path, lang) for lang in self.pair
        )

    @classmethod
    def load(
        cls,
        model: str | Path,
        data: str | Path | None = None,
        *,
        source: str | None = None,
        target: str | None = None,
        device: str = "cpu",
        precision: str = AUTO,
        int8: bool = False,
        **options: Any,
    ) -> "Translator":
        """The model in ``model``, a checkpoint or a folder of `fairseq-xling export`.

        Args:
            data: the model's data folder, if it has moved.
            source, target: the languages, if the model can translate between several.
            precision: fp32, bf16, fp16 (on a GPU) or auto.
            int8: products in 8 bits, on a CPU.
            options: others of translation, such as ``ordering`` (default: by the model's emission
                and heads) and ``length_candidates``; see `TranslationOptions`.

        Raises:
            UserError: as `Encoder.load`, for a model that cannot translate, and for options that
                have no effect on it, are of another type or out of their range.
        """
        arguments.path("model", model)
        encoder = Encoder.load(model, data, device)
        task = encoder.task
        if not isinstance(task, Translates) or not getattr(encoder.model, "reorders", False):
            raise UserError(
                f"{model}: must be a model with a TRILayer, of `--task cdlm`, to translate"
            )
        for argument, lang in (("source", source), ("target", target)):
            if lang is not None:
                arguments.text(argument, lang)
        arguments.choice("precision", precision, CHOICES)
        kind = encoder.device.type
        number = "fp32" if int8 and precision == AUTO else resolve(precision, kind)
        if number == "fp16":
            encoder.model.half()
        options.setdefault("ordering", _default_ordering(encoder.model))
        settings = {
            **_DEFAULTS,
            "source_lang": source,
            "target_lang": target,
            "int8": int8,
            "cpu": kind == "cpu",
            "bf16": kind != "cpu" and number == "bf16",
            "cpu_bf16": False,
            "cpu_precision": number if kind == "cpu" else "fp32",
            **options,
        }
        task.choose_translation(settings)
        return cls(encoder)

    def translate(self, lines: Sequence[str], batch_tokens: int = BATCH_TOKENS) -> list[str]:
        """The best translation of each line; an empty line's is empty."""
        arguments.count("batch_tokens", batch_tokens)
        rest = arguments.each_line("lines", lines)
        asked = SimpleNamespace(nbest=1, print_alignment=None, scored=False)
        found = self._streamed(rest, asked, batch_tokens, BUFFER)
        return [self.target.decode(words_of(row[0])) for _, row in found]

    def hypotheses(
        self,
        lines: Iterable[str],
        *,
        nbest: int = 1,
        alignment: bool = False,
        scores: bool = True,
        batch_tokens: int = BATCH_TOKENS,
        buffer: int = BUFFER,
    ) -> Iterator[list[Translation]]:
        """The ``nbest`` translations of each line, best first, in the order of the lines.

        Args:
            lines: may be a stream, of which ``buffer`` lines are read at a time.
            alignment: also find which piece of the source each piece comes from.
            scores: False if nobody reads the scores, which saves their time.
            batch_tokens: maximum padded source tokens per batch.
            buffer: how many lines are read, and sorted by length, before they are translated.

        Raises:
            UserError: at once for numbers below 1, or a string in place of lines. Where the next
                translation is asked for: for a line that is no string, for more translations than
                the ordering has candidates, and, with ``too_long`` of ``refuse``, for a line that
                the model has no positions for.
        """
        arguments.count("nbest", nbest)
        arguments.flag("alignment", alignment)
        arguments.flag("scores", scores)
        arguments.count("batch_tokens", batch_tokens)
        arguments.count("buffer", buffer)
        rest = arguments.each_line("lines", lines)
        hard = "hard" if alignment else None
        asked = SimpleNamespace(nbest=nbest, print_alignment=hard, scored=scores)
        found = self._streamed(rest, asked, batch_tokens, buffer)
        return ([self._written(source, one) for one in row] for source, row in found)

    def _streamed(
        self, rest: Iterator[str], asked: SimpleNamespace, batch_tokens: int, buffer: int
    ) -> Iterator[tuple[np.ndarray, list[Hypothesis]]]:
        """The ids of each line, and the ``asked.nbest`` best that are found for it."""
        with _raising():
            generator = self.task.build_generator(self.models, asked)
        while block := list(itertools.islice(rest, buffer)):
            with _raising():
                ids = self.source.encode(block)
                dataset = self.task.build_dataset_for_inference(ids, [len(row) for row in ids])
                every = self._generated(dataset, generator, batch_tokens)
                found = {index: row[: asked.nbest] for index, row in every}
            yield from ((row, found[index]) for index, row in enumerate(ids))

    def _generated(
        self, dataset: TranslationDataset, generator: Any, batch_tokens: int
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        for batch in dataset.batches(Limits(batch_tokens, None)):
            sample = apply_to_sample(lambda tensor: tensor.to(self.device), dataset[batch])
            rows = self.task.inference_step(generator, self.models, sample)
            yield from zip(batch.tolist(), rows, strict=True)

    def _written(self, source: np.ndarray, hypothesis: Hypothesis) -> Translation:
        tokens = words_of(hypothesis)
        return Translation(
            text=self.target.decode(tokens),
            score=float(hypothesis["score"]),
            source=[self.task.source_dictionary[i] for i in source[:-1]],
            tokens=[self.task.target_dictionary[i] for i in tokens],
            alignment=list(hypothesis.get("alignment") or []),
        )


@contextlib.contextmanager
def _raising() -> Iterator[None]:
    """What a task says to fairseq's programs, which it ends, as an error for whoever calls it."""
    try:
        yield
    except SystemExit as error:
        raise program_error(error) from None


def _default_ordering(model: Any) -> str:
    """The ordering that suits a model: the only one of its emission, or that of its head."""
    if only := model.emission.orderings:
        return only[0]
    heads = ((name, getattr(orderings[name], "head", None)) for name in orderings)
    return next((name for name, head in heads if head in model.auxiliary), "identity")
