"""Options of the ablation study, from a YAML file and the command line, checked at once."""

import argparse
import dataclasses
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_lines
from fairseq_xling.languages import parse_languages
from fairseq_xling.registry import unknown_name
from fairseq_xling.runs.sharing_settings import SETTINGS
from fairseq_xling.runs.training_command import Training


def _option(default: Any, help: str) -> Any:
    return dataclasses.field(default=default, metadata={"help": help})


@dataclasses.dataclass(frozen=True)
class AblationConfig:
    """One sentence of help per field; lists are comma-separated text."""

    data_text: str = _option("", "text in the layout of `fairseq-xling synthesize`")
    other_text: str = _option("", "second text in that layout, of another domain (setting A2)")
    languages: str = _option("en,de", "the first with each of the others makes a bilingual model")
    dictionary: str = _option("", "TSV or folder of them; by default that in data-text")
    settings: str = _option("", "codes of the settings to run; all that the text allows by default")
    seeds: str = _option("1,2,3", "seeds of training")
    vocab_type: str = _option("bpe", "bpe, unigram or word")
    vocab_size: int = _option(2000, "pieces of the joint vocabulary; half of it for each language")
    segment: str = _option("", "LANG=HOW for `fairseq-xling prepare`, comma-separated")
    arch: str = _option("separable_transformer_tiny", "architecture of fairseq-train")
    layers: int = _option(4, "depth; the paper's L1-3 and L1-6 are 3/8 and 6/8 of it")
    updates: int = _option(1600, "optimiser steps")
    every: int = _option(200, "steps between validations; a divisor of updates")
    max_tokens: int = _option(2048, "tokens per step")
    lr: float = _option(0.003, "peak learning rate")
    warmup: int = _option(100, "steps of warm-up")
    train_args: str = _option("", "more options for every fairseq-train, as one quoted text")
    words_limit: int = _option(5000, "sentences that give the dictionary's words their contexts")
    device: str = _option("cpu", "cpu or cuda")
    jobs: int = _option(1, "steps that run at the same time")

    @property
    def language_list(self) -> list[str]:
        return parse_languages(self.languages)

    @property
    def seed_list(self) -> list[int]:
        return [int(seed) for seed in self.seeds.split(",")]

    @property
    def dictionary_path(self) -> Path | None:
        """The dictionary given, or the folder beside the text if there is one."""
        if self.dictionary:
            return Path(self.dictionary)
        beside = Path(self.data_text) / "dictionary"
        return beside if beside.is_dir() else None

    @property
    def training(self) -> Training:
        extra = ("--encoder-layers", str(self.layers), "--no-epoch-checkpoints")
        extra += tuple(shlex.split(self.train_args))
        return Training(
            self.arch, self.updates, self.every, self.max_tokens, self.lr, self.warmup, extra
        )


def describe_fields(config: type) -> Iterator[tuple[str, str]]:
    """Name and help text of every field, with its default."""
    for field in dataclasses.fields(config):
        default = f" (default: {field.default})" if field.default != "" else ""
        yield field.name, field.metadata["help"] + default


def load_config(args: argparse.Namespace) -> AblationConfig:
    """The values of ``args``, else of the YAML file ``args.config``, else the defaults.

    Raises:
        UserError: for an unknown key or a value that breaks a rule.
    """
    known = {field.name: field for field in dataclasses.fields(AblationConfig)}
    values = _read_yaml(args.config, list(known)) if args.config else {}
    values.update({name: value for name, value in vars(args).items() if name in known})
    typed = {name: _convert(name, value, known[name].default) for name, value in values.items()}
    config = AblationConfig(**typed)
    _check(config)
    return config


def _read_yaml(path: str, known: list[str]) -> dict[str, Any]:
    try:
        values = yaml.safe_load("\n".join(read_lines(path))) or {}
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML ({error})") from None
    if not isinstance(values, dict):
        raise UserError(f"{path}: must hold `option: value` lines, got {values!r}")
    values = {str(name).replace("-", "_"): value for name, value in values.items()}
    for name in values:
        if name not in known:
            raise UserError(f"{path}: {unknown_name('option', name, known)}")
    return values


def _convert(name: str, value: Any, default: Any) -> Any:
    if isinstance(value, list):
        value = ",".join(map(str, value))
    kind = type(default)
    try:
        return kind(value)
    except (TypeError, ValueError):
        words = {int: "a whole number", float: "a number"}
        option = name.replace("_", "-")
        raise UserError(f"`--{option}` must be {words[kind]}, got {value!r}") from None


def _check(config: AblationConfig) -> None:
    if not config.data_text:
        raise UserError("`--data-text` must name a folder of text")
    for option, folder in (("data-text", config.data_text), ("other-text", config.other_text)):
        if folder and not (Path(folder) / "mono").is_dir():
            raise UserError(f"`--{option}` must be a folder with text in mono/, got {folder!r}")
    if len(config.language_list) < 2:
        raise UserError(f"`--languages` must name at least two, got {config.languages!r}")
    for name in ("vocab_size", "layers", "updates", "every", "max_tokens", "warmup", "jobs"):
        if getattr(config, name) < 1:
            value = getattr(config, name)
            raise UserError(f"`--{name.replace('_', '-')}` must be at least 1, got {value}")
    if config.updates % config.every:
        raise UserError(
            f"`--updates` must be a multiple of `--every`, got {config.updates} and {config.every}"
        )
    try:
        seeds = config.seed_list
    except ValueError:
        raise UserError(f"`--seeds` must be whole numbers, got {config.seeds!r}") from None
    if len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise UserError(f"`--seeds` must be different and not negative, got {config.seeds!r}")
    if config.device not in ("cpu", "cuda"):
        raise UserError(f"`--device` must be cpu or cuda, got {config.device!r}")
    codes = [setting.code for setting in SETTINGS]
    for code in filter(None, config.settings.split(",")):
        if code.strip() not in codes:
            raise unknown_name("setting", code.strip(), codes)
