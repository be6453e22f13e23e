"""The run of `fairseq-xling tune`."""

import argparse
import functools
from collections.abc import Mapping

from fairseq_xling.errors import UserError
from fairseq_xling.files import refuse_files_above, same_place, write_json
from fairseq_xling.generation.translator import Translator
from fairseq_xling.generation.tuning import tune, tune_ngram, write_tuned
from fairseq_xling.provenance import provenance
from fairseq_xling.results.tables import text_table


def tune_model(args: argparse.Namespace) -> None:
    """Tune ``args.model`` and write it to ``args.output``.

    Raises:
        UserError: for a model that has nothing to tune, or a split without parallel text.
    """
    if same_place(args.model, args.output):
        raise UserError(f"`--output` must be another file than MODEL, got {args.output}")
    for option, path in (("--output", args.output), ("--json", args.json)):
        if path:
            refuse_files_above(option, path)
    if args.slot_beam and not args.ngram:
        raise UserError(f"`--slot-beam` has no effect without `--ngram`, got {args.slot_beam}")
    load = functools.partial(
        *(Translator.load, args.model, args.data),
        **{"source": args.source, "target": args.target, "device": args.device},
    )
    led = load(ngram=args.ngram, slot_beam=args.slot_beam or 20) if args.ngram else None
    if led is not None:
        led.translate([""])  # reads the n-gram model, which may be refused, before the long part
    found = tune(load(), args.split, args.tokenizer)
    searched = {}
    if led is not None:
        for name, value in found.chosen.items():
            setattr(led.task.cfg, name, value)
        searched = tune_ngram(led, args.split, args.tokenizer)
    write_tuned(args.model, args.output, found)
    if args.json:
        record = {
            "model": str(args.model),
            "split": args.split,
            "bleu": {
                name: [{"value": value, "bleu": score} for value, score in scores.items()]
                for name, scores in found.bleu.items()
            },
            "chosen": found.chosen,
            "ngram": [
                {"weight": weight, "bonus": bonus, "bleu": score}
                for (weight, bonus), score in searched.items()
            ],
            "signature": found.signature,
            **provenance({"model": args.model}),
        }
        write_json(args.json, record)
    for name, scores in found.bleu.items():
        rows = [
            [f"{value:g}", f"{score:.2f}", "chosen" if value == found.chosen[name] else ""]
            for value, score in scores.items()
        ]
        print(text_table([name.replace("_", " "), f"BLEU, {args.split}", ""], rows))
    if searched:
        print(_searched(searched, args.split))
    print(f"{args.output}: the model with {found.chosen}; BLEU {found.signature}")


def _searched(found: Mapping[tuple[float, float], float], split: str) -> str:
    """A row for each weight, a column for each bonus, and the best of both as options."""
    weights, bonuses = (list(dict.fromkeys(part)) for part in zip(*found, strict=True))
    rows = [[f"{w:g}", *(f"{found[w, bonus]:.2f}" for bonus in bonuses)] for w in weights]
    weight, bonus = max(found, key=lambda pair: found[pair])
    return (
        f"BLEU, {split}, with the n-gram model:\n\n"
        + text_table(["weight", *(f"bonus {bonus:g}" for bonus in bonuses)], rows)
        + f"\n\nbest with --ngram-weight {weight:g} --ngram-bonus {bonus:g}"
    )
