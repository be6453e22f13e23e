"""The settings of the data-size and window study."""

import dataclasses
import re
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.studies.encoder_training import EncoderTraining, PreparedText, StudyText
from fairseq_xling.studies.ready_encoders import Ready
from fairseq_xling.studies.task_options import TaskOptions
from fairseq_xling.workflow.options import (
    WithLanguages,
    WithSeeds,
    jobs_option,
    parse_numbers,
    seeds_option,
)
from fairseq_xling.workflow.settled import device_option, precision_option

# The paper's reported settings: languages, subwords (mBERT's are 119,547), texts, widths.
PRESETS = {
    "paper": {
        "languages": "en,ar,bg,de,el,es,fr,hi,ru,sw,th,tr,ur,vi,zh",
        "sizes": "200000,1000000",
        "windows": "512,20",
        "tasks": "nli",
        "vocab": "joint",
        "vocab_type": "wordpiece",
        "vocab_size": 119_547,
        "dim": 768,
        "arch": "separable_transformer_base",
        "layers": 12,
        "max_tokens": 8192,
        "lr": 1e-4,
        "device": "cuda",
    }
}


@dataclasses.dataclass(frozen=True)
class SizeWindowConfig(StudyText, TaskOptions, WithSeeds, WithLanguages):
    """One sentence of help per field; lists are comma-separated text."""

    languages: str = option("en,de", "the first is compared with each of the others")
    dictionary: str = reads("", "TSV or folder of them (default: that of data-text)")
    models: str = option("glove,word2vec,encoder", "rows: glove, word2vec, encoder")
    sizes: str = option("1000,5000", "numbers of first training sentences of each language")
    windows: str = option("64,8", "lengths of the segments that text is cut into, in tokens")
    seeds: str = seeds_option("1")
    vocab: str = option("union", "joint or union")
    vocab_type: str = like(PreparedText, "vocab_type")
    vocab_size: int = like(
        PreparedText,
        "vocab_size",
        help="pieces of the joint vocabulary, or of all languages together",
    )
    segment: str = like(PreparedText, "segment")
    dim: int = option(64, "width of vectors and states", least=1)
    vector_epochs: int = option(10, "passes of Word2Vec and GloVe", least=1)
    word2vec_window: int = option(5, "distance of the farthest neighbour in Word2Vec", least=1)
    glove_window: int = option(10, "distance of the farthest neighbour in GloVe", least=1)
    static_classifier: str = option(
        "means",
        "what reads vectors in a task of pairs of texts: means, of each text's vectors, or esim",
        choices=("means", "esim"),
    )
    arch: str = like(EncoderTraining, "arch")
    layers: int = like(EncoderTraining, "layers", help="depth of the masked LM")
    updates: int = like(
        EncoderTraining, "updates", help="optimiser steps; with --equal passes of the smallest size"
    )
    equal: str = option(
        "updates",
        "what encoders of every size have as many of: updates, or passes over their text",
        choices=("updates", "passes"),
    )
    every: int = like(EncoderTraining, "every")
    max_tokens: int = option(2048, "tokens per step", least=1)
    lr: float = like(EncoderTraining, "lr")
    warmup: int = like(EncoderTraining, "warmup")
    train_args: str = like(EncoderTraining, "train_args")
    contexts: int = option(
        0,
        "sentences of each language used as contexts of the dictionary's words, the same for "
        "every model; 0 is the smallest size",
        least=0,
    )
    ready: tuple = reads(
        (),
        "NAME=CHECKPOINT:DATA, an existing encoder to evaluate, with its data folder; repeatable",
    )
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()

    @property
    def model_list(self) -> list[str]:
        return list(dict.fromkeys(name.strip() for name in self.models.split(",")))

    @property
    def size_list(self) -> list[int]:
        return sorted(parse_numbers("--sizes", self.sizes, int))

    def updates_of(self, size: int) -> int:
        """The optimiser steps of an encoder, a multiple of ``every``."""
        more = size / min(self.size_list) if self.equal == "passes" else 1
        return round(more * self.updates / self.every) * self.every

    @property
    def window_list(self) -> list[int]:
        """Longest first."""
        return sorted(parse_numbers("--windows", self.windows, int), reverse=True)

    @property
    def ready_list(self) -> list[Ready]:
        """Existing encoders, of names that no model of the study has."""
        found: dict[str, Ready] = {}
        for text in self.ready:
            name, sign, paths = str(text).partition("=")
            checkpoint, colon, data = paths.partition(":")
            if not (name and sign and checkpoint and colon and data):
                raise UserError(f"`--ready` must be NAME=CHECKPOINT:DATA, got {text!r}")
            if name in found or name in self.model_list:
                raise UserError(f"`--ready` must give {name!r} to one model, got it twice")
            if not re.fullmatch(r"[\w.-]+", name):
                raise UserError(
                    f"`--ready` must have a name of letters, digits, '.', '_' and '-', got {name!r}"
                )
            found[name] = Ready(name, Path(checkpoint), Path(data))
        return list(found.values())

    @property
    def dictionary_path(self) -> str:
        """The given dictionary, or the folder of the text."""
        return self.dictionary or str(Path(self.data_text) / "dictionary")
