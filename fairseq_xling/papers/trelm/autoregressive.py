"""An autoregressive translation model next to a migration: same text, same width, and the same time
or until it no longer improves.

Stock fairseq: a Transformer (Vaswani et al., 2017) on the same token files. TreLM's generation is
compared with its beam search.
"""

import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from fairseq_xling import USER_DIR
from fairseq_xling.analysis.sampled_bleu import read_samples, score, tokenizer_for
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.papers.trelm.config import AUTOREGRESSIVE
from fairseq_xling.papers.trelm.migration import Direction, add_translation, directions
from fairseq_xling.papers.trelm.plan import MigrationPlan
from fairseq_xling.studies.training_command import resumable_training
from fairseq_xling.workflow.step import Step, seconds_taken

NAME = AUTOREGRESSIVE
_MAX_TOKENS = 4096
_LR = 5e-4
_GENERATE_BATCH = 64
_MAX_EPOCHS = 500
_TUNE_SPLIT = "valid"  # that a length penalty is chosen on


def add_autoregressive(plan: MigrationPlan) -> None:
    """Train it in each direction; its beam search becomes one of the translations."""
    for direction in directions(plan):
        folder, model = train_autoregressive(plan, direction)
        whose = f"{NAME}-{direction.prefix}{plan.code}"
        add_beam_search(plan, direction, folder, model, NAME, whose)


def add_beam_search(
    plan: MigrationPlan, direction: Direction, folder: Path, model: Path, what: str, whose: str
) -> None:
    """What an autoregressive ``model`` writes for every split to translate, with beam 5 and the
    best of the length penalties to try; ``whose`` it is, in the names of their steps."""
    config = plan.config
    text = ("--remove-bpe", "sentencepiece", "--batch-size", str(_GENERATE_BATCH))

    def search(split: str, options: Sequence[str], name: str) -> Step:
        return beam_search(plan, folder, model, direction.pair, split, (*text, *options), name)

    record = None
    if config.lenpen_list and _TUNE_SPLIT in plan.inputs.parallel:
        written = direction.pair[1]
        chosen = config.bleu_tokenizer if written == plan.target else ""
        record = add_length_penalty(plan, whose, tokenizer_for(written, chosen), search)

    def translate(split: str, name: str) -> Step:
        step = search(split, (), name)
        if record is None:
            return step
        late = functools.partial(chosen_penalty, record)
        return dataclasses.replace(step, late=late, inputs=[*step.inputs, record])

    for split in config.translate_list:
        build = functools.partial(translate, split)
        add_translation(plan, direction, what, split, build, f"{what}, beam 5")


def train_autoregressive(plan: MigrationPlan, direction: Direction) -> tuple[Path, Path]:
    """Its data folder and its checkpoint.

    It is trained for as long as everything took that the model of this direction is built on,
    except the data folder, or until it no longer improves (`--autoregressive-patience`). It has
    half of the source's layers in its encoder and half in its decoder.
    """
    config, inputs, run = plan.config, plan.inputs, plan.run
    ours = plan.artifacts.checkpoints[direction.phase]
    spent = [step for step in plan.graph.needed([ours]) if not step.name.startswith("prepare-")]
    folder = linked_data(plan, plan.artifacts.data, direction)

    def train(name: str) -> Step:
        options = () if "valid" in inputs.parallel else ("--disable-validation",)
        if config.autoregressive_patience:
            options = until_it_stops_improving(config.autoregressive_patience)
        step = autoregressive_step(
            name,
            folder,
            run / "models" / name,
            run / "logs" / f"{name}.log",
            direction.pair,
            None if config.autoregressive_patience else lambda: seconds_taken(run, spent),
            layers=max(1, inputs.shape.layers // 2),
            dim=inputs.shape.dim,
            max_tokens=config.max_tokens or _MAX_TOKENS,
            lr=_LR,
            seed=plan.artifacts.seed,
            shared=len(inputs.dictionaries) == 1,
            options=[*options, *config.words("autoregressive_args")],
            device=config.device,
        )
        if config.autoregressive_patience:
            return step
        # It must not start before its time limit is known.
        return dataclasses.replace(step, inputs=[*step.inputs, ours])

    trained = plan.add(f"{NAME}-{direction.prefix}{plan.code}", train)
    best = "best" if "valid" in inputs.parallel else "last"
    return folder, run / "models" / trained / f"checkpoint_{best}.pt"


def linked_data(plan: MigrationPlan, data: Path, direction: Direction) -> Path:
    """The parallel text of ``data`` as fairseq's ``translation`` task expects it, by links."""
    return plan.make(
        f"{NAME}-data-{direction.prefix}{plan.target}",
        "data/{}",
        call=lambda folder: link_translation_data(data, folder, direction.pair),
        settings={"pair": list(direction.pair)},
        inputs=[data],
        plain=True,
    )


def beam_search(
    plan: MigrationPlan,
    folder: Path,
    model: Path,
    pair: tuple[str, str],
    split: str,
    options: Sequence[str],
    name: str,
) -> Step:
    """fairseq-generate with beam 5, into the folder ``translations/name`` of the run."""
    output = plan.run / "translations" / name
    command = [
        *("fairseq-generate", str(folder), "--user-dir", str(USER_DIR), "--path", str(model)),
        *("--task", "translation"),
        *("-s", pair[0], "-t", pair[1], "--gen-subset", split, "--beam", "5"),
        *("--required-batch-size-multiple", "1", "--results-path", str(output), *options),
        *(("--cpu",) if plan.config.device == "cpu" else ()),
    ]
    return Step(name, commands=[command], inputs=[folder, model], outputs=[output])


def link_translation_data(data: Path, folder: Path, pair: tuple[str, str]) -> None:
    """Link token files and dictionaries of ``data`` into ``folder`` under fairseq's names."""
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
        folder: made by `link_translation_data`.
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


def add_length_penalty(
    plan: MigrationPlan,
    whose: str,
    tokenizer: str,
    search: Callable[[str, Sequence[str], str], Step],
) -> Path:
    """Search with each of `--autoregressive-lenpens`; returns the file that names the best one.

    fairseq divides the log-probability of a translation by its length to this power; above 1 it
    favours long ones (Wu et al., 2016, have a similar term).

    Args:
        whose: the model, in the names of the steps.
        tokenizer: sacrebleu's, of the language that it writes.
        search: the step of a split, further options and a name.
    """
    values = plan.config.lenpen_list
    names = [
        plan.add(
            f"lenpen-{whose}-{value:g}",
            functools.partial(search, _TUNE_SPLIT, ("--lenpen", f"{value:g}")),
        )
        for value in values
    ]
    files = [plan.run / "translations" / name / f"generate-{_TUNE_SPLIT}.txt" for name in names]
    return plan.make(
        f"lenpen-{whose}",
        "results/{}.json",
        call=lambda output: choose_penalty(values, files, tokenizer, output),
        settings={"values": list(values), "tokenizer": tokenizer},
        inputs=files,
    )


def chosen_penalty(record: Path) -> list[str]:
    """The option of fairseq-generate that `add_length_penalty` has found."""
    return ["--lenpen", f"{read_json(record)['chosen']:g}"]


def choose_penalty(
    values: Sequence[float], files: Sequence[Path], tokenizer: str, output: Path
) -> None:
    """Write the value of the highest BLEU, the one nearest to fairseq's 1 among equals."""
    scores = [score(read_samples(file), tokenizer) for file in files]
    found = {value: one["bleu"] for value, one in zip(values, scores, strict=True)}
    best = max(values, key=lambda value: (found[value], -abs(value - 1)))
    tried = [{"lenpen": value, "bleu": bleu} for value, bleu in found.items()]
    write_json(output, {"chosen": best, "tried": tried, "signature": scores[0]["signature"]})
