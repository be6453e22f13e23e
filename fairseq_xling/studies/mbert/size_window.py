"""The data-size and window study: models x sizes of text x windows.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 3.2.
"""

import argparse
import dataclasses
import functools
from pathlib import Path

from fairseq_xling.analysis.dictionary import dictionary_path, read_dictionary
from fairseq_xling.analysis.slices import write_slices
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.runs.corpus_steps import (
    check_vocabulary,
    prepare_step,
    segment_options,
    text_files,
)
from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.options import load_config, split_words
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.mbert.size_window_config import PRESETS, SizeWindowConfig
from fairseq_xling.studies.mbert.size_window_models import MODELS, Place, ready_steps
from fairseq_xling.studies.mbert.size_window_result import FILES, WindowModel, write_size_window
from fairseq_xling.studies.task_options import check_tasks
from fairseq_xling.text.vocabularies import modes


def run_size_window(args: argparse.Namespace) -> None:
    """The verb ``ablate size-window``.

    Raises:
        UserError: for bad options, missing or too short text, or a step that fails.
    """
    config, run = load_config(SizeWindowConfig, args, PRESETS), Path(args.output)
    check_config(config)
    config, settled = settle_config(run, config)
    run_steps(run, size_window_steps(run, config), config.jobs, args, settled)


def check_config(config: SizeWindowConfig) -> None:
    """Reject settings that cannot work, before anything runs.

    Raises:
        UserError: for the first.
    """
    if not (Path(config.data_text or ".") / "mono").is_dir():
        raise UserError(
            f"`--data-text` must be a folder with text in mono/, got {config.data_text!r}"
        )
    if len(config.language_list) < 2:
        raise UserError(f"`--languages` must name at least two, got {config.languages!r}")
    for name in config.model_list:
        MODELS.check(name)
    if config.vocab not in ("joint", "union"):
        raise UserError(f"`--vocab` must be joint or union, got {config.vocab!r}")
    if not Path(config.dictionary_path).exists():
        raise UserError(f"{config.dictionary_path}: no such dictionary (`--dictionary`)")
    source, *targets = config.language_list
    for target in targets:
        read_dictionary(dictionary_path(config.dictionary_path, source, target))
    check_vocabulary(config.vocab_type, config.segment, config.language_list)
    split_words("--train-args", config.train_args)
    check_tasks(config, Path(config.data_text), config.language_list)
    models = [MODELS[name] for name in config.model_list]
    for name, task in config.task_table.items():
        if not config.ready and not any(model.learns(task) for model in models):
            able = " or ".join(other for other in MODELS if MODELS[other].learns(task))
            raise UserError(
                f"`--tasks` {name} needs the model {able}, got `--models` {config.models}"
            )
    if len(config.window_list) < 2:
        raise UserError(f"`--windows` must name at least two, got {config.windows!r}")
    if config.max_tokens < max(config.window_list) + 2:
        raise UserError(
            f"`--max-tokens` must fit a segment and two symbols, got {config.max_tokens} with a "
            f"window of {max(config.window_list)}"
        )
    if config.updates % config.every:
        raise UserError(
            f"`--updates` must be a multiple of `--every`, got {config.updates} and {config.every}"
        )
    for ready in config.ready_list:
        for seed in config.seed_list:
            _, checkpoint, data = ready.of_seed(seed)
            if not checkpoint.is_file():
                raise UserError(f"`--ready` {ready.name}: {checkpoint}: no such file")
            known = DataFolder(data).languages
            for lang in config.language_list:
                if lang not in known:
                    raise UserError(
                        f"`--ready` {ready.name}: {data} has no language {lang!r}; it has "
                        f"{', '.join(known)}"
                    )
    _ = config.seed_list, config.size_list  # an error ends here


def size_window_steps(run: Path, config: SizeWindowConfig) -> list[Step]:
    """One vocabulary for all, slices for each size and window, models, the table."""
    text, full = Path(config.data_text), run / "data" / "full"
    share = len(modes[config.vocab]().groups(config.language_list))
    steps = [
        prepare_step(
            "prepare",
            full,
            config.language_list,
            source=["--from", str(text)],
            inputs=text_files(text, config.language_list),
            mode=config.vocab,
            vocab_type=config.vocab_type,
            vocab_size=max(1, config.vocab_size // share),
            options=segment_options(config.segment, config.language_list),
        )
    ]
    cells = []
    seen = config.contexts or min(config.size_list)
    cut: dict[tuple[int, int], Step] = {}
    for size in dict.fromkeys([seen, *config.size_list]):
        for window in config.window_list:
            slices = run / "data" / f"size{size}-window{window}"
            cut[size, window] = Step(
                f"slice-{size}-{window}",
                call=functools.partial(_slice, full, slices, size, window),
                settings={"size": size, "window": window},
                inputs=[full],
                outputs=[slices],
            )
    steps += cut.values()
    for size in config.size_list:
        for window in config.window_list:
            (slices,), (contexts,) = cut[size, window].outputs, cut[seen, window].outputs
            for model in config.model_list:
                for seed in config.seed_list:
                    name = f"{model}-{size}-{window}-{seed}"
                    place = Place(name, run, slices, contexts, seed)
                    steps += MODELS[model]().steps(config, place)
                    learnt = MODELS[model].learns
                    found = {n: place.task(n) for n, t in config.task_table.items() if learnt(t)}
                    title = MODELS[model].title
                    cells.append(WindowModel(model, title, size, window, seed, place.result, found))
    evaluated: set[str] = set()
    for ready in config.ready_list:
        for seed in config.seed_list:
            name, _, data = ready.of_seed(seed)
            place = Place(name, run, data, data, seed)
            if name not in evaluated:  # one file for all seeds is evaluated once
                steps += ready_steps(config, place, ready)
            evaluated.add(name)
            found = {task: place.task(task) for task in config.task_table}
            cells.append(WindowModel(ready.name, ready.name, None, None, seed, place.result, found))
    targets = config.language_list[1:]
    record = dataclasses.asdict(config)
    titles = {name: task.title for name, task in config.task_table.items()}
    steps.append(
        Step(
            "table",
            call=lambda: write_size_window(run, record, targets, cells, steps, titles),
            settings={"config": record, "kind": "size-window"},
            inputs=[path for cell in cells for path in (cell.result, *cell.tasks.values())],
            outputs=[run / name for name in FILES],
        )
    )
    return steps


def _slice(full: Path, slices: Path, size: int, window: int) -> None:
    write_slices(DataFolder(full), slices, size, window)
