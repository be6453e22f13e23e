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

import dataclasses
from typing import TYPE_CHECKING

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import FILE, MODEL, NEW_FILE
from fairseq_xling.core.options import argument, option
from fairseq_xling.core.ranges import CANDIDATES, COUNT, HYPOTHESES, NATS
from fairseq_xling.engine import precision as formats

if TYPE_CHECKING:
    from fairseq_xling.generation.translator import Translation

GROUP = "Migrate"
_GIVEN = (
    *("ordering", "length_candidates", "blank_penalty", "word_bonus", "lookahead", "slot_beam"),
    *("shortlist", "too_long"),
)
_BETWEEN = " ||| "


@dataclasses.dataclass(frozen=True)
class Options:
    model: str = argument("checkpoint, or folder of `fairseq-xling export`", MODEL)
    data: str | None = shared.moved_data()
    source: str | None = option(
        None, "language of the text, if several are known", metavar="LANG", flag="from"
    )
    target: str | None = option(
        None, "language to write, if several are known", metavar="LANG", flag="to"
    )
    input: str | None = option(None, "UTF-8 text, also .gz (default: standard input)", metavar=FILE)
    output: str | None = option(None, "file to write (default: standard output)", metavar=NEW_FILE)
    ordering: str | None = option(
        None,
        "source of the order, as of fairseq-generate (default: what suits the model)",
        metavar="NAME",
    )
    length_candidates: int | None = option(None, "lengths to try", range=CANDIDATES)
    blank_penalty: float | None = option(
        None, "for --emission ctc: taken from the logit of writing nothing; more is longer"
    )
    word_bonus: float | None = option(
        None,
        "for --emission lattice: added for each word, in nats; more is longer",
        range=NATS,
    )
    lookahead: bool | None = option(
        None, "for --emission lattice: the likeliest next slot, not the likeliest path"
    )
    slot_beam: int | None = option(
        None,
        "for --emission ctc or lattice: prefixes that a search keeps (default: 1, no search)",
        range=HYPOTHESES,
    )
    shortlist: str | None = option(
        None,
        "of `fairseq-xling shortlist`: write only its words for the sentence's words",
        metavar=FILE,
    )
    nbest: int = option(1, "hypotheses to write", range=CANDIDATES)
    alignment: bool = option(False, "write which pieces come from which")
    batch_tokens: int = option(4096, "maximum padded source tokens per batch", range=COUNT)
    buffer: int | None = option(
        None,
        "lines that are read before they are translated (default: 2048, 1 at a terminal)",
        range=COUNT,
    )
    too_long: str | None = option(
        None, "lines too long for the model", choices=("truncate", "refuse"), usage=True
    )
    device: str = shared.device()
    precision: str = option(formats.AUTO, formats.HELP, choices=formats.CHOICES, usage=True)
    int8: bool = option(False, "products with weights in 8 bits, on a CPU")


def run(options: Options) -> None:
    import sys

    from fairseq_xling.core.files import check_files, opened_output
    from fairseq_xling.core.progress import progress
    from fairseq_xling.core.texts import read_sentences
    from fairseq_xling.generation.translator import BUFFER, Translator

    check_files(options.input, of="`--input`")
    given = {name: getattr(options, name) for name in _GIVEN}
    translator = Translator.load(
        options.model,
        options.data,
        source=options.source,
        target=options.target,
        device=options.device,
        precision=options.precision,
        int8=options.int8,
        **{name: value for name, value in given.items() if value is not None},
    )
    at_terminal = options.input is None and sys.stdin.isatty()
    plain = options.nbest == 1 and not options.alignment
    found = translator.hypotheses(
        read_sentences(
            options.input or "standard input", None if options.input else sys.stdin.buffer
        ),
        nbest=options.nbest,
        alignment=options.alignment,
        scores=not plain,
        batch_tokens=options.batch_tokens,
        buffer=options.buffer or (1 if at_terminal else BUFFER),
    )
    with (
        opened_output(options.output) as output,
        progress(None, "translate", " lines", checks=at_terminal) as bar,
    ):
        for number, row in enumerate(found):
            for one in row:
                output.write(
                    f"{one.text if plain else _nbest_line(number, one, options.alignment)}\n"
                )
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
