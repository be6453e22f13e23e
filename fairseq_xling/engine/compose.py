"""fairseq's options as one configuration, without Hydra's search for files and its grammar.

A program of fairseq writes its options as some 280 lines of Hydra's language (``task.data='x'``)
and has them parsed and merged again: 0.3 s of a processor, more than a short step of a run takes
otherwise. The lines have few forms and the parts are known classes, so they can be put together
at once. Whatever has another form, and whatever fails, goes to Hydra as before; the result is the
same (`tests/unit/engine/test_compose.py` compares them).
"""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

# What fairseq writes for None, numbers, booleans and strings without a backslash.
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?(?P<exponent>e[+-]?[0-9]+)?\Z")
_QUOTED = re.compile(r"'([^'\\]*)'\Z")
_WORDS = {"null": None, "True": True, "False": False}


def install() -> None:
    """Have fairseq compose its configuration here. Called when fairseq is prepared."""
    from fairseq.dataclass import utils

    utils.initialize, utils.compose = _nothing_to_search, compose


@contextlib.contextmanager
def _nothing_to_search(config_path: str) -> Iterator[None]:
    yield


def compose(config_name: str, overrides: Sequence[str], strict: bool) -> Any:
    """What Hydra composes from ``fairseq/config`` and the registered classes.

    Args:
        config_name: ``"config"``.
        overrides: lines as fairseq writes them, ``group=name`` and ``group.option=value``.
        strict: passed on to Hydra.

    Returns:
        A ``DictConfig``.
    """
    try:
        return _compose(overrides)
    except Exception:  # Hydra's own result, or its own message
        return _by_hydra(config_name, overrides, strict)


def _compose(overrides: Sequence[str]) -> Any:
    from fairseq.dataclass.configs import FairseqConfig
    from hydra.core.config_store import ConfigStore
    from omegaconf import OmegaConf

    config = OmegaConf.structured(FairseqConfig)
    OmegaConf.set_struct(config, True)
    lines = [line.partition("=")[::2] for line in overrides]
    groups = {"criterion": "cross_entropy", "lr_scheduler": "fixed"}  # fairseq/config/config.yaml
    groups |= {key: name for key, name in lines if "." not in key}
    store = ConfigStore.instance()
    for group, name in groups.items():
        config[group] = store.load(f"{group}/{name}.yaml").node
    for key, text in lines:
        if "." in key:
            OmegaConf.update(config, key, _value(key, text), merge=True)
    return config


def _value(key: str, text: str) -> Any:
    """The value that Hydra's grammar gives ``text``."""
    if text in _WORDS:
        return _WORDS[text]
    if number := _NUMBER.match(text):
        return float(text) if number["fraction"] or number["exponent"] else int(text)
    if quoted := _QUOTED.match(text):
        return quoted[1]
    if text[:1] == "[" and all(_NUMBER.match(part) for part in text[1:-1].split(", ")):
        return [_value(key, part) for part in text[1:-1].split(", ")]
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create().parse_override(f"{key}={text}").value()


def _by_hydra(config_name: str, overrides: Sequence[str], strict: bool) -> Any:
    import fairseq
    import hydra
    from hydra.experimental import compose as by_hydra

    folder = os.path.join(os.path.dirname(fairseq.__file__), "config")
    with hydra.initialize_config_dir(folder, version_base="1.1"):
        return by_hydra(config_name, overrides=list(overrides), strict=strict)
