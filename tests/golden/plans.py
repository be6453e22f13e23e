"""Goldens of the plans of studies: steps, commands, what they read and leave."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest import mock

from fairseq_xling.workflow.runner import Runner
from fairseq_xling.workflow.step import Plan, Step
from tests.golden.text import ROOT, digest, normalise
from tests.golden.world import call, inside, world
from tests.hostile.calls import VERBS

# By study, options that are added to its call in `VERBS`.
MORE: dict[str, Sequence[str]] = {
    "ablate adversarial-tagging": (
        "--rows 1,2,3,4 --seeds 1,2",
        f"--config {ROOT}/examples/transfer/adversarial_synthetic.yaml",
        f"--config {ROOT}/examples/transfer/adversarial_wikiann.yaml",
    ),
    "ablate clcr-pairs": (
        "--seeds 1,2 --rows T,T+E,states",
        f"--config {ROOT}/examples/clcr/synthetic.yaml",
    ),
    "ablate clcr-readings": (
        "--readings lm-phases,second,finetune",
        f"--config {ROOT}/examples/clcr/synthetic.yaml",
    ),
    "ablate emerging-structure": (
        "--settings A1,A5,A6,C --seeds 1,2 --vocab-size 300",
        "--settings A1,A3,A4,A7,A8,A9,A10 --vocab-type word --vocab-size 300",
        "--preset paper --settings A5 --vocab-size 300 --processes 1 --batch-size 4 "
        "--block 32 --epoch-size 20",
        f"--config {ROOT}/examples/emerging_structure/synthetic.yaml --updates 200 --every 100",
        f"--config {ROOT}/examples/emerging_structure/multi30k.yaml",
        f"--config {ROOT}/examples/transfer/synthetic.yaml",
    ),
    "ablate mapped-layers": ("--seeds 1,2", "--map-split test --seeds 3"),
    "ablate similarity": (
        "--rows bilingual,bilingual-mapped,mapped,unmapped,random --seeds 1,2",
        f"--config {ROOT}/examples/analysis/minilm.yaml --rows mapped",
        f"--config {ROOT}/examples/analysis/six_languages.yaml --languages en,de",
    ),
    "ablate size-window": ("--sizes 10,20 --windows 2,4", "--models word2vec,glove --seeds 1,2"),
    "ablate token-translation": (
        f"--config {ROOT}/examples/transfer/token_translation.yaml --seeds 1",
    ),
    **{
        f"ablate trelm-{study}": (
            "--seeds 1,2",
            "--preset trelm --precision fp32 --max-positions 48",
        )
        for study in (
            *("baselines", "compensated", "init", "objectives", "parts", "translators"),
            *("parallel", "transfers"),
        )
    },
    "clcr-run": (
        f"{ROOT}/examples/clcr/synthetic.yaml",
        f"{ROOT}/examples/clcr/minilm.yaml --layer 1 --seeds 1,2",
        "--checkpoint best",
    ),
    "clcr-train": (f"{ROOT}/examples/clcr/synthetic.yaml", "--seeds 1,2"),
    "demo": ("--seed 2", "--scale mini", "--scale small"),
    "eval-matrix": ("--seeds 1,2", f"--config {ROOT}/examples/transfer/real.yaml"),
    "eval-transfer": (
        "--seeds 1,2 --lrs 1e-3,1e-4 --batch-sizes 8,16",
        "--head ner --columns token=0,tag=2",
        f"--config {ROOT}/examples/transfer/real.yaml",
    ),
    "trelm run": (
        "--seeds 1,2 --languages en,de,zh --embeddings linked",
        "--mapping adversarial --embeddings skip-gram",
        "--vocab-type bpe --autoregressive true --translator-steps 2",
        *(
            f"{ROOT}/examples/trelm/{name}.yaml --languages en,de --max-positions 48"
            for name in ("synthetic", "multi30k", "minilm", "paper", "translators")
        ),
    ),
}
# Studies that train from text alone, so that the call of `VERBS` does not stand in the way.
ALONE = {
    "ablate similarity": (
        f"--data-text w/text --config {ROOT}/examples/analysis/synthetic.yaml",
        f"--data-text w/text --config {ROOT}/examples/analysis/six_languages.yaml "
        "--languages en,de --encoder en=w/lm.pt --data en=w/data",
        f"--data-text w/text --config {ROOT}/examples/analysis/paraphrases.yaml",
        "--data-text w/text --languages en,zh --updates 1 --every 1 --vocab-size 300",
    ),
}


def _step(step: Step, plan: Plan) -> Iterator[str]:
    """A step as text."""
    yield f"step {step.name}"
    after = [other.name for other in plan.before[step.name]]
    outside, held = (sorted(map(str, of[step.name])) for of in (plan.outside, plan.unread))
    for name, what in (("after", after), ("in", outside), ("held", held), ("out", step.outputs)):
        if what:
            yield f"  {name} {' '.join(map(str, what))}"
    about = [f"device {step.device}"] if step.device != "cpu" else []
    about += ["late"] if step.late else []
    about += ["resumable"] if step.resumable else []
    about += ["function"] if step.call else []
    about += [f"effort {step.effort:.6g}"] if step.effort else []
    if about:
        yield f"  {', '.join(about)}"
    for words in step.commands:
        yield f"  $ {' '.join(map(str, words))}"


def _relative(text: str) -> str:
    return normalise(text.replace(f"{Path(sys.executable).parent}/", "{bin}/"), world())


def _plan(words: str, whole: bool) -> Iterator[str]:
    """The plan of a call as text; or its digests, a line a step."""
    plans: list[list[str]] = []

    def note(runner: Runner) -> None:
        lines = []
        for step in runner.steps:
            text = [_relative(line) for line in _step(step, runner.graph)]
            if whole:
                lines += text
                continue
            parts = {line.split()[0]: "" for line in text[1:]}
            for line in text[1:]:
                parts[line.split()[0]] += line
            told = " ".join(f"{name} {digest(part)[:8]}" for name, part in parts.items())
            lines.append(f"{step.name}: {told}")
        plans.append(lines)
        before(runner)

    before = Runner.print_plan
    # Whether programs would take the commands is not what plans are about, and takes far longer.
    quick = mock.patch.object(Runner, "check", lambda *_: None)
    with inside(world()), mock.patch.object(Runner, "print_plan", note), quick:
        status, output, errors = call(words)
    yield f"== {_relative(words)}"
    for lines in plans:
        yield from lines
    printed = _relative(output)
    yield f"status {status}, {len(plans)} plans, printed {digest(printed)}"
    yield from (line for line in printed.splitlines() if not re.match(r"\[\d+/\d+\] |     ", line))
    yield from _relative(errors).splitlines()
    yield ""


def _study(name: str) -> str:
    """The plan of the call in `VERBS`, with all that a step is."""
    words = VERBS[name].replace("{w}", "w")
    return "\n".join(_plan(f"{name} {words}", True)) + "\n"


def _more(name: str) -> str:
    """Plans with other options, as digests of each step."""
    plain = VERBS[name].replace("{w}", "w")
    calls = [f"{plain} {more}" for more in MORE.get(name, ())]
    calls += [f"{more} --output out --dry-run" for more in ALONE.get(name, ())]
    lines = [line for words in calls for line in _plan(f"{name} {words}", False)]
    return "\n".join(lines) + "\n"


def goldens() -> dict[str, Callable[[], str]]:
    """A golden for each study."""
    return {
        f"plans/{name.replace(' ', '-')}": lambda name=name: _study(name)
        for name, words in VERBS.items()
        if "--dry-run" in words
    }


def slow_goldens() -> dict[str, Callable[[], str]]:
    """A golden for each study that has options in `MORE` or `ALONE`."""
    return {
        f"plans-more/{name.replace(' ', '-')}": lambda name=name: _more(name)
        for name in {**MORE, **ALONE}
    }
