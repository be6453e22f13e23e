"""What options of zero-shot transfer name as text: sizes of a shift, and files to test on."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.meta import check_test_set
from fairseq_xling.tasks.items import parse_files

# Liu et al. (2020), Section 4.3, choose 1.5, .9, .7, .3 and .5 for five languages: steps of .1.
PAPER = "0.1:2.0:0.1"
_MOST = 1000  # each is a pass over the dev file


def parse_alphas(text: str) -> tuple[float, ...]:
    """Numbers separated by commas, or ``FIRST:LAST:STEP``, both ends included; ascending.

    >>> parse_alphas("0.5,0.3,1"), parse_alphas("0.1:0.5:0.2")
    ((0.3, 0.5, 1.0), (0.1, 0.3, 0.5))
    >>> len(parse_alphas(PAPER)), 0.7 in parse_alphas(PAPER)
    (20, True)
    """
    try:
        if ":" in text:
            first, last, step = map(float, text.split(":"))
            count = math.floor((last - first) / step + 1e-6) + 1
            # Multiples of a step such as 0.1 would otherwise end in 0.30000000000000004.
            found = [round(first + k * step, 9) for k in range(count if count <= _MOST else 0)]
        else:
            found = [float(piece) for piece in text.split(",")]
    except (ValueError, ArithmeticError):
        found = []
    if not found or not all(map(math.isfinite, found)) or len(set(found)) < len(found):
        raise UserError(
            "`--shift-alphas` must be different numbers, or FIRST:LAST:STEP with at most "
            f"{_MOST} steps, got {text!r}"
        )
    return tuple(sorted(found))


def joined(files: Iterable[tuple[str, Path]]) -> str:
    """Files by language as an option names them."""
    return ",".join(f"{lang}={path}" for lang, path in files)


def refuse_twice(flag: str, labels: Sequence[str], advice: str = "") -> None:
    """Reject two files of one language, and of one set: labels as `Test.label`."""
    for label in labels:
        if labels.count(label) > 1:
            name, _, lang = label.rpartition(".")
            where = f" in the set {name}" if name else ""
            raise UserError(
                f"`{flag}` has two files of language {lang!r}{where}{advice.format(lang=lang)}"
            )


@dataclasses.dataclass(frozen=True)
class Test:
    """A test file: under ``lang`` in the table, read as language ``reads`` by the model.

    ``name`` is that of the test set, where a language has several.
    """

    lang: str
    reads: str
    path: Path
    name: str = "test"

    @property
    def label(self) -> str:
        """What it is called in results, as on the command line.

        >>> Test("de", "de", Path("a")).label, Test("de", "de", Path("a"), "test1").label
        ('de', 'test1.de')
        """
        return self.lang if self.name == "test" else f"{self.name}.{self.lang}"


def parse_tests(flag: str, texts: Sequence[str]) -> tuple[Test, ...]:
    """Files to test on, ``LANG=FILE`` or, of a further test set, ``test1.LANG=FILE``.

    >>> [(test.name, test.lang) for test in parse_tests("--test", ["de=a", "test1.de=b,fr=c"])]
    [('test', 'de'), ('test1', 'de'), ('test', 'fr')]
    """
    tests: list[Test] = []
    for piece in names_in(",".join(texts)):
        key, equals, path = piece.partition("=")
        name, dot, lang = key.partition(".")
        if dot and equals:
            check_test_set(f"`{flag}` {key}", name)
            piece = f"{lang}={path}"
        else:
            name = "test"
        tests += [Test(lang, lang, path, name) for lang, path in parse_files(flag, piece)]
    advice = "; name a further set, as in test1.{lang}=FILE"
    refuse_twice(flag, [test.label for test in tests], advice)
    return tuple(tests)
