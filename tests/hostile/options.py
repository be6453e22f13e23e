"""Hostile options: numbers that are none, or out of range, names that are not known, and files of
options."""

import argparse
import dataclasses
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairseq_xling.core.ranges import NOT_NEGATIVE
from fairseq_xling.engine.lean import lean_engine
from tests.hostile.calls import calls, parsers
from tests.hostile.checkpoints import CODE
from tests.hostile.inputs import ALIKE
from tests.hostile.machine import Case
from tests.tiny_world import World

# A sign in front would be taken for an option, so values are joined by "=".
_NO_NUMBERS = ("hello", "nan", "1e400", "9" * 5000, "--", "1,5", "0x10", "3e")
_NEGATIVE = "-1"

# Where -1 is meant, with the reason.
NEGATIVE = {
    "--score-column": "the last column",
    "--alpha": "a shift in the other direction",
    "--shift-alpha": "a shift in the other direction",
    "--null-threshold": "a difference of two scores",
    "--length-weight": "for shorter hypotheses",
    "--prune": "the whole tree",
    "--translator-steps": "as many as of the transfer phase",
    "--held-out": "as many as fit the text, in a migration",
}


def _is_number(action: argparse.Action) -> bool:
    """Whether an option takes one number: by its type, or by the default that its help gives."""
    if not action.option_strings or action.nargs not in (None, "?"):
        return False
    if "--seeds" in action.option_strings or "comma-separated" in (action.help or ""):
        return False
    if action.type is not None:
        try:
            return isinstance(action.type("1"), int | float)
        except Exception:
            return False
    return bool(re.search(r"\(default: [-\d.]+(e-?\d+)?\)$", action.help or ""))


def _verb_cases() -> Iterator[Case]:
    turn = 0
    for name, parser in parsers().items():
        if ALIKE.match(name):
            continue
        for action in parser._actions:
            if not _is_number(action):
                continue
            option = max(action.option_strings, key=len)
            turn += 1
            for value in (_NO_NUMBERS[turn % len(_NO_NUMBERS)], _NEGATIVE):
                meant = NEGATIVE.get(option, "") if value == _NEGATIVE else ""
                yield Case(
                    f"option: {name} {option}={value[:20]}",
                    f"{calls()[name]} {option}={value}",
                    names=(option,),
                    either=meant,
                )


# Owners of fairseq-train's options that are ours, and a call in which they are read.
_OWNERS = {
    "adversarial_tagging": "fairseq-train adversarial_tagging",
    "adversarial_tagger": "fairseq-train adversarial_tagging",
    "bilingual_mlm": "fairseq-train",
    "bilstm_baseline": "fairseq-train bilstm_baseline",
    "cdlm": "fairseq-train cdlm",
    "cross_lingual_transfer": "fairseq-train cross_lingual_transfer",
    "clcr": "fairseq-train clcr",
    "separable_transformer": "fairseq-train",
    "tri_encoder": "fairseq-train cdlm",
    "unified_lm": "fairseq-train",
    "word_alignment": "fairseq-train --initial-encoder",
}
# Numbers that have no range, with the reason; fairseq's own that ours only mention.
_FREE = {"init_std", "lr"}


def _configs() -> Iterator[tuple[str, Any]]:
    """Our tasks, models and criterions with their dataclasses."""
    lean_engine()
    from fairseq.criterions import CRITERION_DATACLASS_REGISTRY
    from fairseq.models import MODEL_DATACLASS_REGISTRY
    from fairseq.tasks import TASK_DATACLASS_REGISTRY

    import fairseq_xling.plugin  # noqa: F401

    registries = (TASK_DATACLASS_REGISTRY, MODEL_DATACLASS_REGISTRY, CRITERION_DATACLASS_REGISTRY)
    for registry in registries:
        for owner, config in registry.items():
            if config is not None and config.__module__.startswith("fairseq_xling."):
                yield owner, config


def unknown_owners() -> set[str]:
    """Tasks, models and criterions of ours that `_OWNERS` lacks."""
    return {owner for owner, _ in _configs()} - set(_OWNERS)


def _field_cases() -> Iterator[Case]:
    turn, seen = 0, set()
    for owner, config in _configs():
        for field in dataclasses.fields(config):
            kind, option = str(field.type), f"--{field.name.replace('_', '-')}"
            if not re.search(r"\b(int|float)\b", kind) or "List" in kind or option in seen:
                continue
            if field.name in _FREE or owner not in _OWNERS:
                continue
            if str(field.default).startswith("${"):  # fairseq's own, whose values are not ours
                continue
            seen.add(option)
            turn += 1
            range = field.metadata.get("range") or NOT_NEGATIVE
            meant = "its range has it" if int(_NEGATIVE) in range else ""
            for value in (_NO_NUMBERS[turn % 3], _NEGATIVE):
                yield Case(
                    f"option: {_OWNERS[owner]} {option}={value[:20]}",
                    f"{calls()[_OWNERS[owner]]} {option}={value}",
                    names=(option,),
                    either=NEGATIVE.get(option, meant) if value == _NEGATIVE else "",
                )


# Call: options, any of which the message must name. "\\s" is a space inside of a word.
_TYPED = [
    *(
        ("fairseq-train", option)
        for option in (
            "--max-tokens=x --lr=x --max-positions=-1 --dropout=nan "
            "--optimizer=zz --lr-scheduler=zz --criterion=zz --arch=zz --task=zz "
            "--train-subset=zz --best-checkpoint-metric=zz --restore-file=zz "
            "--log-format=zz --ddp-backend=zz --device=meta --languages=zz --languages=en,en "
            "--objectives=zz --separate=zz --skip-invalid-size-inputs-valid-test=x"
        ).split()
    ),
    ("fairseq-train", f"--adam-betas={CODE}"),
    *(
        ("fairseq-generate", option)
        for option in (
            "--length-candidates=0 --length-candidates=-1 --gen-subset=zz --source-lang=zz "
            "--target-lang=zz --ordering=zz --scoring=zz --path=zz"
        ).split()
    ),
    ("fairseq-generate", "--results-path=/proc/nothing/here"),
    *(("fairseq-interactive", option) for option in "--input=nowhere --input=/".split()),
    ("fairseq-validate", "--valid-subset=zz"),
    ("fairseq-validate", "--path=zz"),
    *(
        (call, f"--device={device}")
        for call in ("eval", "extract", "predict", "probe", "clcr-encode")
        for device in ("meta", "zz", "cuda:99", "cuda:-1", "mps", "cpu:7")
    ),
    *(
        (call, f"{option}=-1")
        for call, option in (
            *(("predict", "--columns=text"), ("predict", "--columns=token")),
            *(("eval-transfer", "--columns=text"), ("clcr-classify", "--columns=text")),
        )
    ),
    ("prepare", "--vocab=zz"),
    ("prepare", "--vocab-type=zz"),
    ("prepare", "--aligner=zz"),
    ("prepare", "--symmetrise=zz"),
    ("prepare", "--align-unit=zz"),
    ("prepare", "--segment=en=zz"),
    ("prepare", "--languages=../x,de"),
    ("prepare", "--languages=en,en"),
    ("prepare", "--mono=zz"),
    ("prepare", "--mono=train.zz=nowhere"),
    ("prepare", "--parallel=train.en-de=nowhere,nowhere"),
    ("prepare", "--dictionary=en-de=nowhere"),
    ("prepare", "--tokenizer=en=nowhere"),
    ("eval", "--measure=zz"),
    ("eval", "--source=zz"),
    ("eval", "--targets=zz"),
    ("eval", "--bpw-split=zz"),
    ("eval", "--retrieval-split=zz"),
    ("eval", "--dictionary=nowhere"),
    ("extract", "--unit=zz"),
    ("extract", "--layers=99"),
    ("extract", "--layers=2-1"),
    ("extract", "--layers=-1"),
    ("extract", "--dtype=zz"),
    ("extract", "--lang=zz"),
    ("probe", "--seeds=-1"),
    ("probe", "--seeds=x"),
    ("probe", "--classifier=zz"),
    ("trelm run", "--seeds=-1"),
    ("trelm run", "--adam-betas=hello"),
    ("trelm run", f"--adam-betas={CODE}"),
    ("trelm run", "--schedule=zz"),
    ("trelm run", "--train-args=--zz"),
    ("trelm run", "--train-args='"),
    ("trelm run", "--arch=fconv_self_att"),
    ("trelm run", "--aligner=zz"),
    ("trelm run", "--vocab-type=zz"),
    ("trelm run", "--precision=zz"),
    ("clcr-run", f"--adam-betas={CODE}"),
    ("clcr-run", "--seeds=-1"),
    ("clcr-run", "--train-args='"),
    ("eval-transfer", "--seeds=-1"),
    ("eval-transfer", "--lrs=-1"),
    ("eval-transfer", "--batch-sizes=0"),
    ("eval-transfer", "--head=zz"),
    ("eval-transfer", "--head-options=zz"),
    ("eval-transfer", "--metric=zz"),
]


# Options that the call does not need, or that mean something.
_NOT_READ = {
    "--best-checkpoint-metric=zz": "nothing is validated",
    "--columns=token=-1": "the last column",
    "--dictionary=nowhere": "the measures that are asked for need none",
}


def _typed_cases() -> Iterator[Case]:
    for call, option in _TYPED:
        # A file that is not there, or a folder and the splits that it has, are names as well.
        names = [*re.findall(r"--[\w-]+", option), "nowhere", "not found: zz", "its splits are"]
        names += ["/proc/nothing", "/: is a folder", "trained on en, de, not on 'zz'"]
        names += ["an option must be a plain value"]  # of those that fairseq evaluates
        names += ["would fail: fairseq-train"]  # a run, of the step that it would start
        names += ["--lr-scheduler"] if "--schedule" in option else []
        yield Case(
            f"option: {call} {option[:60]}",
            f"{calls()[call]} {option}",
            names=names,
            either=_NOT_READ.get(option, ""),
        )


# ---- files of options

_YAML: dict[str, str | bytes] = {
    "not UTF-8": b"seeds: \xff\xfe\n",
    "zeros": bytes(100),
    "a list": "- 1\n- 2\n",
    "a number": "7\n",
    "text": "hello\n",
    "an unclosed list": "seeds: [1, 2\n",
    "tabs": "seeds:\n\t- 1\n",
    "an unknown option": "sseeds: 1\n",
    "an option twice": "seeds: 1\nseeds: 2\n",
    "a tag that runs code": f'seeds: !!python/object/apply:eval ["{CODE}"]\n',
    "a tag that imports": "seeds: !!python/module:os\n",
    "an unknown tag": "seeds: !zz 1\n",
    "an odd date": "seeds: 2001-99-99\n",
    "a date": "seeds: 2001-01-01\n",
    "an odd time": "seeds: 2001-01-01 99:99:99\n",
    "a number of 5,000 digits": "seeds: 1" + "0" * 5000 + "\n",
    "NaN": "seeds: .nan\n",
    "infinity": "seeds: .inf\n",
    "a base of 60": "seeds: 190:20:30\n",
    "bytes": "seeds: !!binary aGVsbG8=\n",
    "a set": "seeds: !!set {a, b}\n",
    "a nested value": "seeds: {a: {b: 1}}\n",
    "lists nested": "seeds: [[[1]]]\n",
    "a key that is a list": "? [1, 2]\n: 3\n",
    "a key that is a number": "1: 2\n",
    "a key that is null": "~: 2\n",
    "a key that is a date": "2001-01-01: 2\n",
    "a list of itself": "seeds: &a [*a]\n",
    "an object of itself": "&a seeds: {b: *a}\n",
    "an unknown reference": "seeds: *a\n",
    "two documents": "seeds: 1\n---\nseeds: 2\n",
    "nested 5,000 deep": "seeds: " + "[" * 5000 + "]" * 5000 + "\n",
    "a list bomb": "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "seeds: *i\n",
    "a value of 2 MB": "seeds: " + "x" * (2 << 20) + "\n",
    "control letters": "seeds: \x07\n",
    "a negative number": "seeds: -1\n",
    "text for a number": "seeds: one\n",
    "a truth value": "seeds: yes\n",
}
_CONFIGURED = {
    "trelm run": "{h}/run.yaml",
    "clcr-run": "{h}/run.yaml",
    "eval-transfer": "--config {h}/run.yaml",
    "ablate emerging-structure": "--config {h}/run.yaml",
    "clcr-classify": "--config {h}/run.yaml",
    "demo": "--launcher slurm --launcher-config {h}/run.yaml",
}


def _yaml(content: str | bytes, world: World, here: Path) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (here / "run.yaml").write_bytes(data)


def _yaml_cases() -> Iterator[Case]:
    for call, place in _CONFIGURED.items():
        text = calls()[call]
        for kind, content in _YAML.items():
            yield Case(
                f"YAML: {call}: {kind}",
                f"{text} {place}",
                functools.partial(_yaml, content),
                ("seeds",),
                either="YAML has numbers of base 60" if kind == "a base of 60" else "",
            )
        for kind in ("missing", "a folder"):
            words = f"{text} {place}".replace("run.yaml", "none" if kind == "missing" else ".")
            names = ("none", "config", "case-")
            yield Case(f"YAML: {call}: {kind}", words, names=names)


# ---- output that cannot be written

_OUTPUT = re.compile(r"--(output|save-dir|results-path) \S+")


def _file_there(world: World, here: Path) -> None:
    (here / "file").write_text("a user's own\n")


def _output_cases() -> Iterator[Case]:
    for call, text in calls().items():
        if ALIKE.match(call) or "--dry-run" in text or not _OUTPUT.search(text):
            continue
        names = ("--output", "--save-dir", "file", "/proc")
        for kind, path in (
            ("below a file", "{h}/file/out"),
            ("that cannot be made", "/proc/x/out"),
        ):
            words = _OUTPUT.sub(lambda found, p=path: f"--{found[1]} {p}", text)
            yield Case(f"output {kind}: {call}", words, _file_there, names)


def cases() -> list[Case]:
    """All of them, each once."""
    made = (_verb_cases(), _field_cases(), _typed_cases(), _yaml_cases(), _output_cases())
    found: dict[str, Case] = {}
    for group in made:
        for case in group:
            found.setdefault(case.name, case)
    return list(found.values())
