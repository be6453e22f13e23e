"""The autoregressive translation model that TreLM's generation is compared with.

Stock fairseq: a Transformer (Vaswani et al., 2017) on the same token files, of the same width,
trained for as long as the model that it is compared with.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from fairseq_xling import USER_DIR
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_command import resumable_training

_MAX_EPOCHS = 500


def translation_data_step(name: str, data: Path, folder: Path, pair: tuple[str, str]) -> Step:
    """The parallel text of a data folder as fairseq's ``translation`` task expects it, by links."""
    return Step(
        name,
        call=lambda: link_translation_data(data, folder, pair),
        settings={"pair": list(pair)},
        inputs=[data],
        outputs=[folder],
    )


def link_translation_data(data: Path, folder: Path, pair: tuple[str, str]) -> None:
    """Link token files and dictionaries of ``data`` into ``folder`` under fairseq's names.

    Raises:
        UserError: if the folder has no training text of the pair.
    """
    source = DataFolder(data)
    stored = {
        split: "-".join(found)
        for split in source.splits
        for found in source.pairs(split)
        if set(found) == set(pair)
    }
    if "train" not in stored:
        raise UserError(f"{data}: has no parallel 'train' text of {'-'.join(pair)}")
    folder.mkdir(parents=True, exist_ok=True)
    for split, name in stored.items():
        for lang in pair:
            for kind in ("bin", "idx"):
                there = data / "parallel" / f"{split}.{name}.{lang}.{kind}"
                if there.is_file():
                    _link(there, folder / f"{split}.{'-'.join(pair)}.{lang}.{kind}")
    for lang in pair:
        _link(source.dictionary_path(lang), folder / f"dict.{lang}.txt")


def _link(there: Path, here: Path) -> None:
    here.unlink(missing_ok=True)
    here.symlink_to(os.path.relpath(there.resolve(), here.parent.resolve()))


def autoregressive_step(
    name: str,
    folder: Path,
    save: Path,
    log: Path,
    pair: tuple[str, str],
    seconds: Callable[[], float] | None,
    *,
    layers: int,
    dim: int,
    max_tokens: int,
    lr: float,
    seed: int,
    shared: bool = True,
    options: Sequence[str] = (),
    device: str = "cpu",
) -> Step:
    """Train it for ``seconds()``, known when the step begins; or by what ``options`` say.

    Args:
        folder: made by `translation_data_step`.
        save: where checkpoints go.
        layers: of the encoder and of the decoder, each.
        shared: whether both languages have one dictionary.
    """
    command = [
        *("fairseq-train", str(folder), "--task", "translation", "--arch", "transformer"),
        # Nothing of ours trains; it makes checkpoints whole and loadable on today's torch.
        *("--user-dir", str(USER_DIR)),
        *("--source-lang", pair[0], "--target-lang", pair[1]),
        # fairseq refuses a folder with valid1 that is not validated on.
        "--ignore-unused-valid-subsets",
        "--share-all-embeddings" if shared else "--share-decoder-input-output-embed",
        *("--encoder-layers", str(layers), "--decoder-layers", str(layers)),
        *("--encoder-embed-dim", str(dim), "--decoder-embed-dim", str(dim)),
        *("--encoder-ffn-embed-dim", str(4 * dim), "--decoder-ffn-embed-dim", str(4 * dim)),
        *("--encoder-attention-heads", "4", "--decoder-attention-heads", "4", "--dropout", "0.1"),
        *("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1"),
        *("--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--clip-norm", "1.0"),
        *("--lr", str(lr), "--lr-scheduler", "inverse_sqrt", "--warmup-updates", "400"),
        *("--max-tokens", str(max_tokens), "--required-batch-size-multiple", "1"),
        *("--save-dir", str(save), "--no-epoch-checkpoints", "--num-workers", "0"),
        *("--seed", str(seed), "--log-format", "json", "--log-interval", "50"),
        *("--no-progress-bar", *options, *(("--cpu",) if device == "cpu" else ())),
    ]
    return resumable_training(
        name,
        command,
        [folder],
        save,
        log,
        updates=0,
        late=None if seconds is None else lambda: ["--stop-time-hours", str(seconds() / 3600)],
    )


def until_it_stops_improving(epochs: int) -> list[str]:
    """Options that stop a training when BLEU of its beam search on the validation text has not
    risen for ``epochs`` epochs, and keep the best."""
    return [
        *("--patience", str(epochs), "--max-epoch", str(_MAX_EPOCHS)),
        *("--eval-bleu", "--eval-bleu-args", '{"beam": 5}', "--eval-bleu-detok", "space"),
        *("--eval-bleu-remove-bpe", "sentencepiece"),
        *("--best-checkpoint-metric", "bleu", "--maximize-best-checkpoint-metric"),
    ]
