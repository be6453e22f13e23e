"""The data-size and window study: models x sizes of text x windows (SPEC E11).

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 3.2.
"""

import argparse
import dataclasses
import functools
from pathlib import Path

from fairseq_xling.analysis.slices import write_slices
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.languages import parse_languages
from fairseq_xling.runs.config_file import load_config, option, parse_seeds
from fairseq_xling.runs.corpus_steps import prepare_step
from fairseq_xling.runs.runner import Runner
from fairseq_xling.runs.size_window_models import MODELS, Place
from fairseq_xling.runs.size_window_table import FILES, Cell, write_table
from fairseq_xling.runs.step import Step

# Of the paper's study what it says: its languages, subwords (mBERT's are 119,547), texts, widths.
PRESETS = {
    "paper": {
        "languages": "en,ar,bg,de,el,es,fr,hi,ru,sw,th,tr,ur,vi,zh",
        "sizes": "200000,1000000",
        "windows": "512,20",
        "vocab": "joint",
        "vocab_size": 119_547,
        "dim": 768,
        "arch": "separable_transformer_base",
        "layers": 12,
        "max_tokens": 8192,
        "lr": 1e-4,
    }
}


@dataclasses.dataclass(frozen=True)
class SizeWindowConfig:
    """One sentence of help per field; lists are comma-separated text."""

    preset: str = option("", "values of the published study: paper")
    data_text: str = option("", "text in the layout of `fairseq-xling synthesize`")
    languages: str = option("en,de", "the first is compared with each of the others")
    dictionary: str = option("", "TSV or folder of them; by default that in data-text")
    models: str = option("glove,word2vec,encoder", "rows: glove, word2vec, encoder")
    sizes: str = option("1000,5000", "training sentences of each language, from the first on")
    windows: str = option("64,8", "tokens of the segments that text is cut into")
    seeds: str = option("1", "seeds of training")
    vocab: str = option("union", "joint or union")
    vocab_type: str = option("bpe", "bpe, unigram or word")
    vocab_size: int = option(
        2000, "pieces of the joint vocabulary, or of all languages together", least=1
    )
    segment: str = option("", "LANG=HOW for `fairseq-xling prepare`, comma-separated")
    dim: int = option(64, "width of vectors and states", least=1)
    vector_epochs: int = option(10, "passes of Word2Vec and GloVe", least=1)
    word2vec_window: int = option(5, "farthest neighbour that Word2Vec predicts", least=1)
    glove_window: int = option(10, "farthest neighbour that GloVe counts", least=1)
    arch: str = option("separable_transformer_tiny", "architecture of fairseq-train")
    layers: int = option(4, "depth of the masked LM", least=1)
    updates: int = option(1600, "optimiser steps, the same for every size", least=1)
    every: int = option(200, "steps between validations; a divisor of updates", least=1)
    max_tokens: int = option(2048, "tokens per step", least=1)
    lr: float = option(0.003, "peak learning rate")
    warmup: int = option(100, "steps of warm-up", least=1)
    train_args: str = option("", "more options for every fairseq-train, as one quoted text")
    contexts: int = option(
        0,
        "sentences of each language that give the dictionary's words their contexts, the same for "
        "every model; 0 is the smallest size",
        least=0,
    )
    device: str = option("cpu", "cpu or cuda", choices=("cpu", "cuda"))
    jobs: int = option(1, "steps that run at the same time", least=1)

    @property
    def language_list(self) -> list[str]:
        return parse_languages(self.languages)

    @property
    def model_list(self) -> list[str]:
        return list(dict.fromkeys(name.strip() for name in self.models.split(",")))

    @property
    def size_list(self) -> list[int]:
        return _numbers("--sizes", self.sizes)

    @property
    def window_list(self) -> list[int]:
        """Longest first."""
        return _numbers("--windows", self.windows)[::-1]

    @property
    def seed_list(self) -> list[int]:
        return parse_seeds("--seeds", self.seeds)

    @property
    def dictionary_path(self) -> str:
        """The dictionary given, or the folder beside the text."""
        return self.dictionary or str(Path(self.data_text) / "dictionary")


def run_size_window(args: argparse.Namespace) -> None:
    """The verb ``ablate size-window``.

    Raises:
        UserError: for bad options, text that is missing or too short, or a step that fails.
    """
    config, run = load_config(SizeWindowConfig, args, PRESETS), Path(args.output)
    check_config(config)
    runner = Runner(run, size_window_steps(run, config), config.jobs)
    if args.dry_run:
        runner.print_plan()
        return
    runner.run()
    print("\n" + (run / "table.md").read_text(encoding="utf-8"))
    print(f"report: {run / 'report.html'}")
    print(f"exact commands: {run / 'commands.sh'}")


def check_config(config: SizeWindowConfig) -> None:
    """Refuse settings that cannot work, before anything runs.

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
        MODELS[name]
    if config.vocab not in ("joint", "union"):
        raise UserError(f"`--vocab` must be joint or union, got {config.vocab!r}")
    if not Path(config.dictionary_path).exists():
        raise UserError(f"{config.dictionary_path}: no such dictionary (`--dictionary`)")
    if len(config.window_list) < 2:
        raise UserError(f"`--windows` must name at least two, got {config.windows!r}")
    if config.max_tokens < max(config.window_list) + 2:
        raise UserError(
            f"`--max-tokens` must hold a segment and two symbols, got {config.max_tokens} with a "
            f"window of {max(config.window_list)}"
        )
    if config.updates % config.every:
        raise UserError(
            f"`--updates` must be a multiple of `--every`, got {config.updates} and {config.every}"
        )
    _ = config.seed_list, config.size_list  # an error ends here


def size_window_steps(run: Path, config: SizeWindowConfig) -> list[Step]:
    """One vocabulary for all, slices for each size and window, models, the table."""
    text, full = Path(config.data_text), run / "data" / "full"
    share = 1 if config.vocab == "joint" else len(config.language_list)
    segment = [x for how in filter(None, config.segment.split(",")) for x in ("--segment", how)]
    steps = [
        prepare_step(
            "prepare",
            full,
            config.language_list,
            source=["--from", str(text)],
            inputs=[text / "mono"],
            mode=config.vocab,
            vocab_type=config.vocab_type,
            vocab_size=max(1, config.vocab_size // share),
            options=segment,
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
                    cells.append(Cell(model, MODELS[model].title, size, window, seed, place.result))
    targets = config.language_list[1:]
    steps.append(
        Step(
            "table",
            call=lambda: write_table(run, dataclasses.asdict(config), targets, cells, steps),
            settings={"config": dataclasses.asdict(config)},
            inputs=[cell.result for cell in cells],
            outputs=[run / name for name in FILES],
        )
    )
    return steps


def _slice(full: Path, slices: Path, size: int, window: int) -> None:
    write_slices(DataFolder(full), slices, size, window)


def _numbers(option: str, text: str) -> list[int]:
    """Different positive whole numbers, rising."""
    try:
        found = sorted({int(piece) for piece in text.split(",")})
    except ValueError:
        found = [0]
    if found[0] < 1 or len(found) < len(text.split(",")):
        raise UserError(f"`{option}` must be different whole numbers above 0, got {text!r}")
    return found
