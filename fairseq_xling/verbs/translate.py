"""Translate plain text with a model of `--task cdlm`, all words of a sentence at once.

  fairseq-xling translate translator/checkpoint_best.pt < text.en > text.de
  fairseq-xling translate FOLDER --input text.en --nbest 3 --alignment

MODEL is a checkpoint, or a folder that `fairseq-xling export` wrote. A line in is a line out, in
the same order; an empty one stays empty. With --nbest or --alignment a line out is a hypothesis:

  LINE ||| TRANSLATION ||| SCORE
  LINE ||| TRANSLATION ||| SCORE ||| SOURCE PIECES ||| TRANSLATION PIECES ||| LINKS such as 0-1

LINE counts from 0, SCORE is the mean log-probability of a token (in nats). With --slot-beam it is
that of the translation, of a lattice with its bonus for each word.
"""

import argparse
from typing import TYPE_CHECKING

from fairseq_xling import precision
from fairseq_xling.named_files import DATA, FILE, MODEL, NEW_FILE
from fairseq_xling.ranges import (
    ANY,
    CANDIDATES,
    COUNT,
    HYPOTHESES,
    NATS,
    Number,
)

if TYPE_CHECKING:
    from fairseq_xling.generation.translator import Translation

GROUP = "Migrate"
_OPTIONS = (
    *("ordering", "length_candidates", "blank_penalty", "word_bonus", "lookahead", "slot_beam"),
    *("shortlist", "too_long"),
)
_BETWEEN = " ||| "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar=MODEL, help="checkpoint, or folder of `fairseq-xling export`")
    add("--data", metavar=DATA, help="the model's data folder, if it has moved")
    add("--from", dest="source", metavar="LANG", help="language of the text, if several are known")
    add("--to", dest="target", metavar="LANG", help="language to write, if several are known")
    add("--input", metavar=FILE, help="UTF-8 text, also .gz (default: standard input)")
    add("--output", metavar=NEW_FILE, help="file to write (default: standard output)")
    add(
        "--ordering",
        metavar="NAME",
        help="source of the order, as of fairseq-generate (default: what suits the model)",
    )
    add("--length-candidates", type=Number(int, CANDIDATES), metavar="N", help="lengths to try")
    add(
        "--blank-penalty",
        type=Number(float, ANY),
        metavar="X",
        help="for --emission ctc: taken from the logit of writing nothing; more is longer",
    )
    add(
        "--word-bonus",
        type=Number(float, NATS),
        metavar="X",
        help="for --emission lattice: added for each word, in nats; more is longer",
    )
    add(
        "--lookahead",
        action="store_true",
        default=None,
        help="for --emission lattice: the likeliest next slot, not the likeliest path",
    )
    add(
        "--slot-beam",
        type=Number(int, HYPOTHESES),
        metavar="N",
        help="for --emission ctc or lattice: prefixes that a search keeps (default: 1, no search)",
    )
    add(
        "--shortlist",
        metavar=FILE,
        help="of `fairseq-xling shortlist`: write only its words for the sentence's words",
    )
    add("--nbest", type=Number(int, CANDIDATES), default=1, metavar="N", help="hypotheses to write")
    add("--alignment", action="store_true", help="write which pieces come from which")
    add(
        "--batch-tokens",
        type=Number(int, COUNT),
        default=4096,
        metavar="N",
        help="maximum padded source tokens per batch",
    )
    add(
        "--buffer",
        type=Number(int, COUNT),
        metavar="N",
        help="lines that are read before they are translated (default: 2048, 1 at a terminal)",
    )
    add("--too-long", choices=("truncate", "refuse"), help="lines too long for the model")
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add("--precision", default=precision.AUTO, choices=precision.CHOICES, help=precision.HELP)
    add("--int8", action="store_true", help="products with weights in 8 bits, on a CPU")


def run(args: argparse.Namespace) -> None:
    import sys

    from fairseq_xling.files import check_files, opened_output
    from fairseq_xling.generation.translator import BUFFER, Translator
    from fairseq_xling.progress import progress
    from fairseq_xling.sentences import read_sentences

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
                output.write(f"{one.text if plain else _nbest_line(number, one, args.alignment)}\n")
            if output is sys.stdout and at_terminal:
                output.flush()
            bar.update()


def _nbest_line(number: int, one: "Translation", alignment: bool) -> str:
    """A line of an n-best list, as statistical translation has written them."""
    parts = [str(number), one.text, f"{one.score:.4f}"]
    if alignment:
        links = " ".join(f"{i}-{j}" for i, j in one.alignment)
        parts += [" ".join(one.source), " ".join(one.tokens), links]
    return _BETWEEN.join(parts)
