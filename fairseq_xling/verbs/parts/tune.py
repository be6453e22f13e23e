"""The run of `fairseq-xling tune`."""

import argparse

from fairseq_xling.errors import UserError
from fairseq_xling.files import refuse_files_above, same_place, write_json
from fairseq_xling.generation.translator import Translator
from fairseq_xling.generation.tuning import tune, write_tuned
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
    translator = Translator.load(
        args.model, args.data, source=args.source, target=args.target, device=args.device
    )
    found = tune(translator, args.split, args.tokenizer)
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
    print(f"{args.output}: the model with {found.chosen}; BLEU {found.signature}")
