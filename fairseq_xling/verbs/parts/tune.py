"""The run of `fairseq-xling tune`."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fairseq_xling.errors import UserError
from fairseq_xling.files import refuse_files_above, write_json
from fairseq_xling.generation.autoregressive import load_autoregressive
from fairseq_xling.generation.translator import Translator
from fairseq_xling.generation.tuning import Pair, tune, tune_ngram, tune_rescoring, write_tuned
from fairseq_xling.models.ngram import Ngram
from fairseq_xling.provenance import provenance
from fairseq_xling.ranges import HYPOTHESES
from fairseq_xling.results.tables import text_table

SLOT_BEAM = 20  # hypotheses, unless others are given
_PAIR = ("weight", "bonus")


class Other(NamedTuple):
    """Another model that has a say in what is written.

    Attributes:
        check: refuses its file; called with the file and the translator.
        tune: finds how much it should count.
        most: hypotheses of its searches; an n-gram model takes many searches.
    """

    check: Callable[[str, Translator], Any]
    tune: Callable[..., dict[Pair, float]]
    most: int


def _load_ngram(path: str, translator: Translator) -> Ngram:
    return Ngram.load(path, translator.task.folder, translator.pair[1])


def _load_rescorer(path: str, translator: Translator) -> Any:
    return load_autoregressive(path, translator.task.folder.path, translator.pair, "--rescore")


# By the options that name them. The next is tuned with the best values of the one before.
OTHERS = {
    "ngram": Other(_load_ngram, tune_ngram, 20),
    "rescore": Other(_load_rescorer, tune_rescoring, HYPOTHESES.most),
}


def tune_model(args: argparse.Namespace) -> None:
    """Tune ``args.model`` and write it to ``args.output``.

    Raises:
        UserError: for a model that has nothing to tune, or a split without parallel text.
    """
    others = {name: given for name in OTHERS if (given := getattr(args, name)) is not None}
    for option, path in (("--output", args.output), ("--json", args.json)):
        if path:
            refuse_files_above(option, path)
    if args.slot_beam and not others:
        raise UserError(
            f"`--slot-beam` has no effect without `--ngram` or `--rescore`, got {args.slot_beam}"
        )
    translator = Translator.load(
        args.model, args.data, source=args.source, target=args.target, device=args.device
    )
    for name, given in others.items():  # refused now, not after the long part
        OTHERS[name].check(given, translator)
    found = tune(translator, args.split, args.tokenizer)
    write_tuned(args.model, args.output, found)
    for name, scores in found.bleu.items():
        print(_tried(name, scores, found.chosen[name], args.split))
    print(f"{args.output}: the model with {found.chosen}; BLEU {found.signature}", flush=True)
    searches = {}
    for name, given in others.items():
        other = OTHERS[name]
        beam = min(args.slot_beam or SLOT_BEAM, other.most)
        searched = other.tune(translator, given, beam, args.split, args.tokenizer)
        searches[name] = _record(searched, beam)
        print("\n" + _searched(searched, args.split, name, beam), flush=True)
        translator.task.choose_translation(
            {f"{name}_{key}": value for key, value in searches[name]["chosen"].items()}
        )
    if args.json:
        record = {
            "model": str(args.model),
            "split": args.split,
            "bleu": {
                name: [{"value": value, "bleu": score} for value, score in scores.items()]
                for name, scores in found.bleu.items()
            },
            "chosen": found.chosen,
            **{name: searches.get(name, {}) for name in OTHERS},
            "signature": found.signature,
            **provenance({"model": args.model} | others),
        }
        write_json(args.json, record)


def _record(found: Mapping[Pair, float], beam: int) -> dict[str, Any]:
    def named(pair: Pair) -> dict[str, float]:
        return dict(zip(_PAIR, pair, strict=True))

    return {
        "slot_beam": beam,
        "chosen": named(_best(found)),
        "bleu": [{**named(pair), "bleu": score} for pair, score in found.items()],
    }


def _tried(name: str, scores: Mapping[float, float], chosen: float, split: str) -> str:
    """A row for each value of a name."""
    rows = [
        [f"{value:g}", f"{score:.2f}", "chosen" if value == chosen else ""]
        for value, score in scores.items()
    ]
    return text_table([name.replace("_", " "), f"BLEU, {split}", ""], rows)


def _best(found: Mapping[Pair, float]) -> Pair:
    return max(found, key=lambda pair: found[pair])


def _searched(found: Mapping[Pair, float], split: str, name: str, beam: int) -> str:
    """A row for each weight, a column for each bonus, and the best of both as options."""
    weights, bonuses = (sorted(set(part)) for part in zip(*found, strict=True))
    rows = [
        [f"{w:g}", *(f"{found[w, b]:.2f}" if (w, b) in found else "" for b in bonuses)]
        for w in weights
    ]
    weight, bonus = _best(found)
    return (
        f"BLEU, {split}, with --{name} and --slot-beam {beam}:\n\n"
        + text_table(["weight", *(f"bonus {bonus:g}" for bonus in bonuses)], rows)
        + f"\n\nbest with --{name}-weight {weight:g} --{name}-bonus {bonus:g}"
    )
