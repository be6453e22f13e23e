"""An autoregressive translation model next to a migration: same text, same width, and the same time
or until it no longer improves.

Stock fairseq: a Transformer (Vaswani et al., 2017) on the same token files. TreLM's generation is
compared with its beam search.
"""

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_xling import USER_DIR
from fairseq_xling.analysis.sampled_bleu import read_samples, score, tokenizer_for
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.engine import training_log
from fairseq_xling.papers.trelm.config import AUTOREGRESSIVE
from fairseq_xling.papers.trelm.migration import Migration
from fairseq_xling.workflow.step import seconds_taken

NAME = AUTOREGRESSIVE
_MAX_TOKENS = 4096
_LR = 5e-4
_GENERATE_BATCH = 64
_MAX_EPOCHS = 500
_TUNE_SPLIT = "valid"  # that a length penalty is chosen on


def add_autoregressive(one: Migration) -> None:
    """Train it in each direction; its beam search becomes one of the translations."""
    for back in one.directions:
        folder, model = train_autoregressive(one, back)
        add_beam_search(one, back, folder, model, NAME, f"{NAME}-{'back-' * back}{one.code}")


def add_beam_search(
    one: Migration, back: bool, folder: Path, model: Path, what: str, whose: str
) -> None:
    """What an autoregressive ``model`` writes for every split to translate, with beam 5 and the
    best of `--autoregressive-lenpens`; ``whose`` it is, in the names of their steps.

    fairseq divides the log-probability of a translation by its length to this power; above 1 it
    favours long ones (Wu et al., 2016, have a similar term).
    """
    config = one.config

    def search(split: str, *more: str) -> list[Any]:
        options = ["--remove-bpe", "sentencepiece", "--batch-size", _GENERATE_BATCH, *more]
        return beam_search(one, back, folder, model, split, *options)

    late: dict[str, Any] = {}
    if config.lenpen_list and _TUNE_SPLIT in one.inputs.parallel:
        files = []
        for value in config.lenpen_list:
            command = search(_TUNE_SPLIT, "--lenpen", f"{value:g}")
            tried = one.run(f"lenpen-{whose}-{value:g}", command, to="translations/{name}")
            files.append(tried / f"generate-{_TUNE_SPLIT}.txt")
        tokenizer = tokenizer_for(one.pair(back)[1], "" if back else config.bleu_tokenizer)
        values = {"values": config.lenpen_list, "files": files, "tokenizer": tokenizer}
        record = one.run.function(
            f"lenpen-{whose}",
            choose_penalty,
            values={**values, "output": "{out}"},
            to="results/{name}.json",
        )
        late = {"late": functools.partial(chosen_penalty, record), "inputs": [record]}
    for split in config.translate_list:
        one.translate(back, what, split, search(split), f"{what}, beam 5", **late)


def train_autoregressive(one: Migration, back: bool) -> tuple[Path, Path]:
    """Its data folder and its checkpoint.

    It is trained for as long as everything took that the model of this direction is built on,
    except the data folder, or until it no longer improves (`--autoregressive-patience`). It has
    half of the source's layers in its encoder and half in its decoder.
    """
    config, shape, validates = one.config, one.inputs.shape, "valid" in one.inputs.parallel
    folder = linked_data(one, one.data, back)
    how: dict[str, Any] = {}
    if config.autoregressive_patience:  # by BLEU of its beam search on the validation text
        options = [
            *("--patience", config.autoregressive_patience, "--max-epoch", _MAX_EPOCHS),
            *("--eval-bleu", "--eval-bleu-args", '{"beam": 5}', "--eval-bleu-detok", "space"),
            *("--eval-bleu-remove-bpe", "sentencepiece"),
            *("--best-checkpoint-metric", "bleu", "--maximize-best-checkpoint-metric"),
        ]
    else:
        ours, run = one.checkpoints["backward" if back else "forward"], one.run.folder
        spent = [step for step in one.run.needed([ours]) if not step.name.startswith("prepare-")]
        options = [] if validates else ["--disable-validation"]

        def time_limit() -> list[str]:
            return ["--stop-time-hours", str(seconds_taken(run, spent) / 3600)]

        how = {"late": time_limit, "inputs": [ours]}
    trained = one.run(
        f"{NAME}-{'back-' * back}{one.code}",
        autoregressive_command(
            *(folder, one.pair(back), max(1, shape.layers // 2), shape.dim),
            *(config.max_tokens or _MAX_TOKENS, one.seed, len(one.inputs.dictionaries) == 1),
        ),
        options,
        config.words("autoregressive_args"),
        ["--cpu"] if config.device == "cpu" else [],
        to="models/{name}",
        also=["logs/{name}.log"],
        resumable=True,
        progress=functools.partial(training_log.progress, updates=0),
        **how,
    )
    return folder, trained / f"checkpoint_{'best' if validates else 'last'}.pt"


def linked_data(one: Migration, data: Path, back: bool) -> Path:
    """The parallel text of ``data`` as fairseq's ``translation`` task expects it, by links."""
    kind = f"{NAME}-data-{'back-' * back}".removesuffix("-")
    return one.derived(kind, data, link_translation_data, pair=one.pair(back))


def beam_search(
    one: Migration, back: bool, folder: Path, model: Path, split: str, *options: Any
) -> list[Any]:
    """fairseq-generate with beam 5."""
    source, target = one.pair(back)
    return [
        *("fairseq-generate", folder, "--user-dir", USER_DIR, "--path", model),
        *("--task", "translation", "-s", source, "-t", target, "--gen-subset", split),
        *("--beam", 5, "--required-batch-size-multiple", 1, "--results-path", "{out}", *options),
        *(("--cpu",) if one.config.device == "cpu" else ()),
    ]


def link_translation_data(data: Path | str, output: Path | str, pair: Sequence[str]) -> None:
    """Link token files and dictionaries of ``data`` into ``output`` under fairseq's names."""
    data, folder, source = Path(data), Path(output), DataFolder(data)
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


def autoregressive_command(
    folder: Path,
    pair: tuple[str, str],
    layers: int,
    dim: int,
    max_tokens: int,
    seed: int,
    shared: bool = True,
) -> list[Any]:
    """Train it into ``{out}``, without a limit.

    Args:
        folder: made by `link_translation_data`.
        layers: of the encoder and of the decoder, each.
        shared: whether both languages have one dictionary.
    """
    return [
        *("fairseq-train", folder, "--task", "translation", "--arch", "transformer"),
        # Nothing of ours trains; it makes checkpoints whole and loadable on today's torch.
        *("--user-dir", USER_DIR, "--source-lang", pair[0], "--target-lang", pair[1]),
        # fairseq refuses a folder with valid1 that is not validated on.
        "--ignore-unused-valid-subsets",
        "--share-all-embeddings" if shared else "--share-decoder-input-output-embed",
        *("--encoder-layers", layers, "--decoder-layers", layers),
        *("--encoder-embed-dim", dim, "--decoder-embed-dim", dim),
        *("--encoder-ffn-embed-dim", 4 * dim, "--decoder-ffn-embed-dim", 4 * dim),
        *("--encoder-attention-heads", 4, "--decoder-attention-heads", 4, "--dropout", 0.1),
        *("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", 0.1),
        *("--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--clip-norm", 1.0),
        *("--lr", _LR, "--lr-scheduler", "inverse_sqrt", "--warmup-updates", 400),
        *("--max-tokens", max_tokens, "--required-batch-size-multiple", 1),
        *("--save-dir", "{out}", "--no-epoch-checkpoints", "--num-workers", 0),
        *("--seed", seed, "--log-format", "json", "--log-interval", 50, "--no-progress-bar"),
    ]


def chosen_penalty(record: Path) -> list[str]:
    """The option of fairseq-generate that `choose_penalty` has found."""
    return ["--lenpen", f"{read_json(record)['chosen']:g}"]


def choose_penalty(
    values: Sequence[float], files: Sequence[Path | str], tokenizer: str, output: Path | str
) -> None:
    """Write the value of the highest BLEU, the one nearest to fairseq's 1 among equals."""
    scores = [score(read_samples(file), tokenizer) for file in files]
    found = {value: one["bleu"] for value, one in zip(values, scores, strict=True)}
    best = max(values, key=lambda value: (found[value], -abs(value - 1)))
    tried = [{"lenpen": value, "bleu": bleu} for value, bleu in found.items()]
    write_json(output, {"chosen": best, "tried": tried, "signature": scores[0]["signature"]})
