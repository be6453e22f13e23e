"""Predictions of a fine-tuned model for files, with scores if they are annotated; and a `Parser`.

A checkpoint with the head `parsing_pos` gives parts of speech, heads and relations; one with the
head `parsing` gives heads and relations alone. It parses every language that its encoder was
trained on, whatever language its trees were of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from fairseq_xling.core.errors import UserError, program_error
from fairseq_xling.core.progress import progress
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.engine.devices import usable_device
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.interop.encoder import to_device
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.formats.conllu import TreeItem
from fairseq_xling.tasks.heads import total_counts
from fairseq_xling.tasks.heads.parsing import Parsing, ParsingPos
from fairseq_xling.tasks.items import Item
from fairseq_xling.tasks.options import change_options


@dataclass(frozen=True)
class Predicted:
    """The predictions for one file.

    Attributes:
        lang, path: of the file.
        items, predictions: in the order of the file.
        annotated: how many of them count.
        scores: the head's figures over these; none without any.
    """

    lang: str
    path: Path
    items: Sequence[Item]
    predictions: Sequence[Any]
    annotated: int
    scores: dict[str, float]


class Predictor:
    """A checkpoint of a task with a head, such as `cross_lingual_transfer`, in evaluation mode."""

    def __init__(self, model: Any, task: Any, device: str | torch.device = "cpu"):
        self.device = torch.device(device)
        self.model, self.task = model.eval().to(self.device), task
        self.head = task.head

    @classmethod
    def load(
        cls,
        checkpoint: str | Path,
        data: str | Path | None = None,
        device: str = "cpu",
        head_options: str = "",
        format: str = "",
        skip_bad: int = 0,
        **settings: Any,
    ) -> "Predictor":
        """The model in ``checkpoint``; ``data`` if its data folder has moved.

        Args:
            head_options: settings of the head that may change after training.
            format: of the files, if not as in training.
            skip_bad: maximum number of malformed rows of a file that are left out.
            settings: changed options of the task, such as ``columns``.
        """
        prepare_engine()
        from fairseq import checkpoint_utils

        import fairseq_xling.plugin  # noqa: F401

        usable = usable_device(device)
        overrides = {**settings, **({"data": str(data)} if data is not None else {})}
        try:
            models, _, task = checkpoint_utils.load_model_ensemble_and_task(
                [str(checkpoint)], arg_overrides=overrides
            )
        except SystemExit as error:  # one line, meant for fairseq's own programs
            raise program_error(error) from None
        if not hasattr(task, "head"):
            raise UserError(
                f"{checkpoint}: is not of `--task cross_lingual_transfer`, adversarial_tagging or "
                "bilstm_baseline"
            )
        head = task.head
        head.options = change_options(head_options, head.options)
        if format:  # not among the overrides: an older checkpoint has no such option
            task.format = find_format(head.format, format)
        task.skip_bad = skip_bad
        return cls(models[0], task, usable)

    def predict(self, lang: str, path: str | Path, max_tokens: int = 8192) -> Predicted:
        """Read a file, and predict all of it."""
        items = self.task.read(lang, path)
        found = self.predict_items(lang, items, max_tokens)
        annotated = sum(map(self.head.annotated, items))
        sums = total_counts(self.head, items, found) if annotated else {}
        scores = self.head.scores(sums) if annotated else {}
        return Predicted(lang, Path(path), items, found, annotated, scores)

    @torch.no_grad()
    def predict_items(
        self,
        lang: str,
        items: Sequence[Item],
        max_tokens: int = 8192,
        done: Callable[[int], object] = lambda count: None,
    ) -> list[Any]:
        """The predictions for items of the head's kind, in their order.

        Args:
            done: called with the number of items of each batch.
        """
        if lang not in self.task.languages:
            raise unknown_name("language of this model", lang, self.task.languages)
        dataset = self.task.make_dataset([(lang, items)])
        found: list[Any] = [None] * len(items)
        for rows in dataset.batch_by_size(dataset.ordered_indices(), max_tokens):
            batch = to_device(dataset.collater(rows.tolist()), self.device)
            outputs = self.model(**batch["net_input"])
            predictions = self.head.decode(outputs, batch["net_input"]["fields"])
            for index, prediction in zip(rows.tolist(), predictions, strict=True):
                found[index] = prediction
            done(len(rows))
        return found

    def write(self, predicted: Predicted, path: str | Path) -> None:
        """Predictions in the format of the input file."""
        self.task.format.write(
            Path(path), predicted.items, predicted.predictions, self.task.columns
        )


_BLOCK = 2048  # sentences whose scores are held at a time
_UNKNOWN = "_"


class ParsedSentence(NamedTuple):
    """The tree of a sentence: ``heads`` count from 1, 0 is the root; ``upos`` may be empty."""

    upos: list[str]
    heads: list[int]
    deprels: list[str]


class Parser:
    """A checkpoint with a parsing head, in evaluation mode."""

    def __init__(self, predictor: Predictor):
        self._predictor = predictor

    @classmethod
    def load(
        cls,
        checkpoint: str | Path,
        data: str | Path | None = None,
        device: str = "cpu",
        tags: bool = False,
    ) -> "Parser":
        """The parser in ``checkpoint``.

        Args:
            data: its data folder, if it has moved.
            tags: whether parts of speech are needed.
        """
        predictor = Predictor.load(checkpoint, data, device)
        needed, name = (ParsingPos, "parsing_pos") if tags else (Parsing, "parsing_pos or parsing")
        if not isinstance(predictor.head, needed):
            what = "parts of speech" if isinstance(predictor.head, Parsing) else "trees"
            raise UserError(
                f"{checkpoint}: gives no {what}; fine-tune a parser with `--head {name}`"
            )
        return cls(predictor)

    def parse(
        self, sentences: Sequence[Sequence[str]], lang: str, max_tokens: int = 8192
    ) -> list[ParsedSentence]:
        """The trees of ``sentences``, in their order.

        A sentence that is too long for the encoder is read in pieces, with a warning, unless the
        parser was trained with `--too-long refuse`.

        Args:
            max_tokens: maximum padded tokens per batch.

        Raises:
            UserError: for a language that the parser does not know, a sentence without words, or
                one that is too long and refused; names the sentence, counted from 1.
        """
        bare = next((number for number, words in enumerate(sentences, 1) if not words), None)
        if bare is not None:
            raise UserError(f"sentence:{bare}: has no words")
        found: list[ParsedSentence] = []
        with progress(len(sentences), f"parse {lang}", "sentences") as bar:
            for start in range(0, len(sentences), _BLOCK):
                items = []
                for number, words in enumerate(sentences[start : start + _BLOCK], start + 1):
                    tags, rows = (_UNKNOWN,) * len(words), tuple(range(len(words)))
                    items.append(TreeItem("sentence", number, tuple(words), tags, None, (), rows))
                trees = self._predictor.predict_items(lang, items, max_tokens, bar.update)
                for heads, relations, *tags in trees:
                    upos = list(tags[0]) if tags else []
                    found.append(ParsedSentence(upos, list(heads), list(relations)))
        return found
