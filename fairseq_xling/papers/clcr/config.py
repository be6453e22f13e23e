"""The settings of `clcr train` and `clcr run`, from a YAML file and the command line.

Defaults suit small encoders on a CPU. ``preset: paper`` has the paper's settings (Sections 3 and 4,
Appendix C): layer 9 of 12, beta 0.01 and its own attention. It uses 250,000 sentence pairs, and
reports neither steps nor learning rates.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.core.ranges import option_name
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.papers.clcr.phases import ENCODERS, FROZEN, annealed_phases
from fairseq_xling.studies.optimiser import Optimiser, check_optimiser
from fairseq_xling.workflow.options import WithSeeds, seeds_option, split_words
from fairseq_xling.workflow.settled import device_option, precision_option

CHECKPOINTS = ("last", "best")

PRESETS = {
    "paper": {
        "layer": "9",
        "transform": "residual",
        "attention_score": "transformed",
        "distance_norm": "l2",
        "anneal_beta": 0.01,
        "anneal_phases": "lm1,lm2",
        "rounds": 1,
        "delta": 0.2,
        "extract_hidden": 0,
        "confident": True,
        "orders": "rel,abs",
        "beam": 10,
        "weigh": "sign",
        "rows": "T+pGA,T,T+E,T+E+R",
    }
}
# By preset, the rows of the specification that it implements.


@dataclasses.dataclass(frozen=True)
class Text:
    """A text to encode: its name, language and file, and the file of its translation."""

    name: str
    lang: str
    file: str
    translation: str = ""


def texts(config: Any, pair: tuple[str, str]) -> list[Text]:
    """All texts to encode."""
    found = []
    for item in config.encode_pairs:
        name, _, files = item.partition("=")
        both = files.split(",")
        if not name or len(both) != 2 or not all(both):
            raise UserError(f"`--encode-pairs` must look like NAME=FILE_A,FILE_B, got {item!r}")
        found += [Text(name, pair[0], *both), Text(name, pair[1], *both[::-1])]
    for item in config.encode_text:
        place, _, file = item.partition("=")
        name, _, lang = place.rpartition(".")
        if not (name and lang and file):
            raise UserError(f"`--encode-text` must look like NAME.LANG=FILE, got {item!r}")
        if lang not in pair:
            raise UserError(f"`--encode-text` must be of {' or '.join(pair)}, got {item!r}")
        found.append(Text(name, lang, file))
    for text in found:
        if Path(text.name).name != text.name or text.name == "..":
            raise UserError(
                f"the name of a text to encode must be one that a folder can have, got "
                f"{text.name!r}"
            )
        check_files(text.file)
        if sum((other.name, other.lang) == (text.name, text.lang) for other in found) > 1:
            raise UserError(f"two texts to encode are called {text.name}.{text.lang}")
    return found


def rows_of(config: Any, text: Text) -> list[str]:
    """The rows that can be written for a text: those that need a translation only if it has one."""
    from fairseq_xling.papers.clcr.sequence_variants import rows

    return [r for r in config.row_list if text.translation or not rows[r].reads_translation]


@dataclasses.dataclass(frozen=True)
class ClcrRunConfig(WithSeeds):
    """One sentence of help per field."""

    preset: str = option("", "values of the published system: paper")
    data: str = reads("", "data folder with parallel text, whose ids both encoders share")
    pair: str = option("", "the two languages, e.g. en,de (default: the folder's only pair)")
    encoder: tuple[str, ...] = reads((), "LANG=PATH of a pretrained encoder; one for each language")
    encoder_data: tuple[str, ...] = reads(
        (), "LANG=DIR, an encoder's own data folder, if not as in its training"
    )
    layer: str = option("", "layer to use, e.g. 9 or en=9,de=4 (default: three quarters up)")

    transform: str = option("residual", "T: residual or linear")
    attention_score: str = option(
        "transformed", "attention score: transformed, exclusive, raw, keys"
    )
    distance_norm: str = option("l2", "norm of a distance: l2 or l1")
    anneal_beta: float = option(
        0.01, "temperature 1 / (1 + beta * updates); 0 disables it", least=0
    )
    anneal_phases: str = option(
        "transform,lm1,lm2", "phases whose attention is annealed; lm1,lm2 is the paper's Figure 1"
    )
    transform_steps: int = option(2000, "steps of the transforms alone", least=1)
    transform_lr: float = option(5e-3, "their learning rate", least=0)
    transform_args: str = option("", "more options of their fairseq-train, as one text")
    rounds: int = option(1, "rounds of training the encoders in turn; 0 trains neither", least=0)
    lm_steps: int = option(500, "steps of each encoder's training", least=1)
    lm_lr: float = option(1e-3, "its learning rate", least=0)
    lm_args: str = option("", "more options of its fairseq-train, as one text")

    threshold: float = option(0.0, "maximum distance of pivots; 0 tunes it", least=0)
    tune_on: str = option("valid", "split with a word alignment, for tuning the threshold")

    extract_steps: int = option(
        500, "steps of the key-point classifiers; 0 skips them and R", least=0
    )
    extract_lr: float = option(1e-3, "their learning rate", least=0)
    delta: float = option(0.2, "keep words with p(key-point) above this")
    extract_hidden: int = option(0, "hidden width of the classifiers; 0 is linear", least=0)
    extract_encoder: str = option(
        FROZEN,
        "states the classifiers read: frozen, the aligned ones, or finetune, those of their own "
        "copies of the encoders, which are trained with them",
        choices=ENCODERS,
    )
    confident: bool = option(True, "reweight labels that are probably wrong")
    flip_rates: str = option("", "shares of wrong labels, e.g. 0.2,0.1 (default: estimated)")
    extract_args: str = option("", "more options of their fairseq-train, as one text")

    orders: str = option("rel,abs", "order heads to train; the first is used for encoding")
    order_sides: str = option(
        "first",
        "languages of the pair whose heads are trained to put them into the other's order: first, "
        "second or both with a comma; T+E+R reorders the first that is named",
    )
    order_steps: int = option(1000, "steps of each head; 0 skips them", least=0)
    order_lr: float = option(1e-3, "their learning rate", least=0)
    order_args: str = option("", "more options of their fairseq-train, as one text")
    beam: int = option(10, "beam width of the search for an order", least=1)
    weigh: str = option("", "cost of a wrong order, as of `clcr encode` (default: likelihood)")

    rows: str = option(
        "T,T+E,T+E+R", "sequences to write: T, T+E, T+E+R, T+pGA, T+pGA-target, states"
    )
    encode_pairs: tuple[str, ...] = reads(
        (), "NAME=FILE_A,FILE_B of translations to encode, in the pair's order; repeatable"
    )
    encode_text: tuple[str, ...] = reads(
        (), "NAME.LANG=FILE of text to encode, in rows that need no translation; repeatable"
    )
    dtype: str = option("float16", "type of vectors on disk", choices=("float16", "float32"))
    batch_size: int = option(0, "maximum sentence pairs per batch; 0 is no limit", least=0)
    max_tokens: int = option(4000, "maximum padded tokens per side and batch", least=1)
    update_freq: int = like(Optimiser, "update_freq")
    warmup: int = like(Optimiser, "warmup")
    schedule: str = like(Optimiser, "schedule")
    adam_betas: str = like(Optimiser, "adam_betas")
    adam_eps: float = like(Optimiser, "adam_eps")
    weight_decay: float = like(Optimiser, "weight_decay")
    clip: float = like(Optimiser, "clip")
    every: int = like(Optimiser, "every")
    checkpoint: str = option(
        "last",
        "checkpoint for the next training: last, or best by its loss, for transforms by the "
        "distance to best partners alone",
        choices=CHECKPOINTS,
    )
    train_args: str = option("", "more options of every fairseq-train, as one text")
    seeds: str = seeds_option("1", "seeds of training; each is a separate model")
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = option(1, "steps that run at the same time", least=1)

    @property
    def order_list(self) -> list[str]:
        names = _names("orders", self.orders)
        return names if self.order_steps and self.extract_steps else []

    @property
    def side_list(self) -> list[str]:
        return _names("order-sides", self.order_sides)

    @property
    def row_list(self) -> list[str]:
        return _names("rows", self.rows)

    def words(self, field: str) -> tuple[str, ...]:
        """The options in a field that contains several as one text; errors as of `split_words`."""
        return split_words(f"--{option_name(field)}", getattr(self, field))


def check_config(config: ClcrRunConfig) -> tuple[DataFolder, tuple[str, str]]:
    """The data folder and the pair of a run."""
    if not config.data:
        raise UserError("`--data` must name a data folder with parallel text")
    folder = DataFolder(config.data)
    pair = _pair(folder, config.pair)
    given = [item.partition("=")[0] for item in config.encoder]
    if sorted(given) != sorted(pair):
        raise UserError(
            f"`--encoder` must be given once for {pair[0]} and once for {pair[1]}, got "
            f"{', '.join(config.encoder) or 'none'}"
        )
    from fairseq_xling.models.ordering import SIDES, order_heads
    from fairseq_xling.papers.clcr.sequence_variants import rows
    from fairseq_xling.papers.clcr.start import by_language

    paths = {
        "--encoder": by_language("--encoder", ",".join(config.encoder), pair),
        "--encoder-data": by_language("--encoder-data", ",".join(config.encoder_data), pair),
    }
    for name, given_paths in paths.items():
        for lang, path in given_paths.items():
            if not Path(path).exists():
                raise UserError(f"`{name}` {lang}={path}: no such file or folder")
    folder.parallel("train", *pair)
    _check_choices(config, pair)
    for called, names, known in (
        ("--orders", config.order_list, order_heads),
        ("--order-sides", config.side_list, SIDES),
        ("--rows", config.row_list, rows),
    ):
        for name in names:
            if name not in known:
                raise unknown_name(f"name in `{called}`", name, [*known])
    if config.weigh and config.order_list:
        known_costs = order_heads[config.order_list[0]].weights
        if config.weigh not in known_costs:
            raise unknown_name("`--weigh`", config.weigh, [*known_costs])
    if config.order_list and not config.side_list:
        raise UserError("`--order-sides` must name first, second or both, got none")
    for field in dataclasses.fields(config):
        if field.name.endswith("_args"):
            config.words(field.name)
    if config.checkpoint == "best" and not validates(folder, pair):
        raise UserError(
            f"`--checkpoint best` needs parallel 'valid' text of {'-'.join(pair)} in {folder.path}"
        )
    _ = config.seed_list, texts(config, pair)
    return folder, pair


def validates(folder: DataFolder, pair: tuple[str, str]) -> bool:
    """Whether the pair has text to validate on."""
    return frozenset(pair) in {frozenset(known) for known in folder.pairs("valid")}


def _check_choices(config: ClcrRunConfig, pair: tuple[str, str]) -> None:
    """Check what `fairseq-train` would reject only at its step."""
    from fairseq_xling.models.ordering.beam import MOST_WIDTH
    from fairseq_xling.papers.clcr.modules.extract import parse_rates
    from fairseq_xling.papers.clcr.modules.transform import norms, scores, transforms
    from fairseq_xling.papers.clcr.start import parse_layers

    parse_layers("--layer", config.layer, pair)
    check_optimiser(config)
    # Raises for an unknown name.
    transforms.check(config.transform)
    scores.check(config.attention_score)
    norms.check(config.distance_norm)
    annealed_phases(config.anneal_phases)
    parse_rates(config.flip_rates)
    if config.beam > MOST_WIDTH:
        raise UserError(f"`--beam` must be at most {MOST_WIDTH}, got {config.beam}")


def check_sequences(
    config: ClcrRunConfig, folder: DataFolder, pair: tuple[str, str], encoded: Sequence[Text]
) -> None:
    """Reject errors that would appear only in the steps after the transforms."""
    from fairseq_xling.papers.clcr.sequence_variants import rows

    for text in encoded:
        if not config.row_list:
            raise UserError("`--rows` must name what to write for the texts to encode, got none")
        if not rows_of(config, text):
            raise UserError(
                f"`--rows` {config.rows} needs the translation of a text: give "
                f"{text.name}.{text.lang} with `--encode-pairs`, not `--encode-text`"
            )
    for name in config.row_list:
        for part in rows[name].needs:
            if not getattr(config, f"{part}_steps"):
                raise UserError(
                    f"`--rows` {name} needs `--{part}-steps` above 0; train it or leave the row out"
                )
            if part == "order" and not config.order_list:
                raise UserError(
                    f"`--rows` {name} needs one of `--orders`; name it or leave the row out"
                )
    if not 0 <= config.delta <= 1:
        raise UserError(f"`--delta` must lie in [0, 1], got {config.delta}")
    if not config.threshold:
        _ = folder.order(config.tune_on, *pair)  # the threshold is tuned on its alignment


def _pair(folder: DataFolder, text: str) -> tuple[str, str]:
    known = folder.pairs("train")
    if not text and len(known) == 1:
        return known[0]
    pair = parse_languages(text, "--pair") if text else []
    if len(pair) != 2:
        names = ", ".join("-".join(pair) for pair in known) or "none"
        raise UserError(
            f"`--pair` must be two languages with parallel text in {folder.path} ({names}), got "
            f"{text!r}"
        )
    return pair[0], pair[1]


def _names(field: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if len({*names}) < len(names):
        raise UserError(f"`--{field}` must be different, got {text!r}")
    return names
