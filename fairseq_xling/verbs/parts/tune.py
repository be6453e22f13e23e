"""The run of `fairseq-xling tune`."""

import argparse
from collections.abc import Mapping

from fairseq_xling.errors import UserError
from fairseq_xling.files import refuse_files_above, same_place, write_json
from fairseq_xling.generation.translator import Translator
from fairseq_xling.generation.tuning import tune, tune_ngram, write_tuned
from fairseq_xling.models.ngram import Ngram
from fairseq_xling.provenance import provenance
from fairseq_xling.results.tables import text_table

SLOT_BEAM = 20  # hypotheses, unless others are given
_PAIR = ("weight", "bonus")


def tune_model(args: argparse.Namespace) -> None:
    """Tune ``args.model`` and write it to ``args.output``.

    Raises:
        UserError: for a model that has nothing to tune, or a split without parallel text.
    """
    for option, path in (("--output", args.output), ("--json", args.json)):
        if path:
            refuse_files_above(option, path)
            for name, given in (("MODEL", args.model), ("`--ngram`", args.ngram)):
                if given and same_place(given, path):
                    raise UserError(f"`{option}` must be another file than {name}, got {path}")
    if args.slot_beam and args.ngram is None:
        raise UserError(f"`--slot-beam` has no effect without `--ngram`, got {args.slot_beam}")
    translator = Translator.load(
        args.model, args.data, source=args.source, target=args.target, device=args.device
    )
    if args.ngram is not None:  # refused now, not after the long part
        Ngram.load(args.ngram, translator.task.folder, translator.pair[1])
    found = tune(translator, args.split, args.tokenizer)
    write_tuned(args.model, args.output, found)
    for name, scores in found.bleu.items():
        print(_tried(name, scores, found.chosen[name], args.split))
    print(f"{args.output}: the model with {found.chosen}; BLEU {found.signature}", flush=True)
    search = {}
    if args.ngram is not None:
        beam = args.slot_beam or SLOT_BEAM
        searched = tune_ngram(translator, args.ngram, beam, args.split, args.tokenizer)
        print("\n" + _searched(searched, args.split))
        search = {"slot_beam": beam, "chosen": dict(zip(_PAIR, _best(searched), strict=True))}
        search["bleu"] = [
            {**dict(zip(_PAIR, pair, strict=True)), "bleu": score}
            for pair, score in searched.items()
        ]
    if args.json:
        record = {
            "model": str(args.model),
            "split": args.split,
            "bleu": {
                name: [{"value": value, "bleu": score} for value, score in scores.items()]
                for name, scores in found.bleu.items()
            },
            "chosen": found.chosen,
            "ngram": search,
            "signature": found.signature,
            **provenance({"model": args.model} | ({"ngram": args.ngram} if search else {})),
        }
        write_json(args.json, record)


def _tried(name: str, scores: Mapping[float, float], chosen: float, split: str) -> str:
    """A row for each value of a name."""
    rows = [
        [f"{value:g}", f"{score:.2f}", "chosen" if value == chosen else ""]
        for value, score in scores.items()
    ]
    return text_table([name.replace("_", " "), f"BLEU, {split}", ""], rows)


def _best(found: Mapping[tuple[float, float], float]) -> tuple[float, float]:
    return max(found, key=lambda pair: found[pair])


def _searched(found: Mapping[tuple[float, float], float], split: str) -> str:
    """A row for each weight, a column for each bonus, and the best of both as options."""
    weights, bonuses = (list(dict.fromkeys(part)) for part in zip(*found, strict=True))
    rows = [[f"{w:g}", *(f"{found[w, bonus]:.2f}" for bonus in bonuses)] for w in weights]
    weight, bonus = _best(found)
    return (
        f"BLEU, {split}, with the n-gram model:\n\n"
        + text_table(["weight", *(f"bonus {bonus:g}" for bonus in bonuses)], rows)
        + f"\n\nbest with --ngram-weight {weight:g} --ngram-bonus {bonus:g}"
    )
