"""The run of `fairseq-xling translate`."""

import argparse
import sys

from fairseq_xling.files import check_files, opened_output
from fairseq_xling.generation.translator import BUFFER, Translation, Translator
from fairseq_xling.progress import progress
from fairseq_xling.sentences import read_sentences

_OPTIONS = (
    *("ordering", "length_candidates", "blank_penalty", "word_bonus", "lookahead", "slot_beam"),
    *("ngram", "ngram_weight", "ngram_bonus", "rescore", "rescore_weight", "rescore_bonus"),
    *("shortlist", "too_long"),
)
_BETWEEN = " ||| "


def translate_text(args: argparse.Namespace) -> None:
    """Translate ``args.input``, or standard input, line by line.

    Raises:
        UserError: for a model that cannot translate, options without effect on it, and a line that
            is not UTF-8; a file of ``args.output`` is not written then.
    """
    check_files(args.input, of="`--input`")
    given = {name: getattr(args, name) for name in _OPTIONS}
    translator = Translator.load(
        args.model,
        args.data,
        source=args.source,
        target=args.target,
        device=args.device,
        precision=args.precision,
        int8=args.int8,
        **{name: value for name, value in given.items() if value is not None},
    )
    at_terminal = args.input is None and sys.stdin.isatty()
    plain = args.nbest == 1 and not args.alignment
    found = translator.hypotheses(
        read_sentences(args.input or "standard input", None if args.input else sys.stdin.buffer),
        nbest=args.nbest,
        alignment=args.alignment,
        scores=not plain,
        batch_tokens=args.batch_tokens,
        buffer=args.buffer or (1 if at_terminal else BUFFER),
    )
    with (
        opened_output(args.output) as output,
        progress(None, "translate", " lines", checks=at_terminal) as bar,
    ):
        for number, row in enumerate(found):
            for one in row:
                output.write(f"{one.text if plain else _shown(number, one, args.alignment)}\n")
            if output is sys.stdout and at_terminal:
                output.flush()
            bar.update()


def _shown(number: int, one: Translation, alignment: bool) -> str:
    """A line of an n-best list, as statistical translation has written them."""
    parts = [str(number), one.text, f"{one.score:.4f}"]
    if alignment:
        links = " ".join(f"{i}-{j}" for i, j in one.alignment)
        parts += [" ".join(one.source), " ".join(one.tokens), links]
    return _BETWEEN.join(parts)
