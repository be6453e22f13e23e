"""The `fast_align` program itself (https://github.com/clab/fast_align), if installed."""

from collections.abc import Callable, Iterator
from pathlib import Path

from fairseq_xling.files import atomic_write, read_lines
from fairseq_xling.text.aligners import aligners
from fairseq_xling.text.aligners.programs import find_program, run_programs

_OPTIONS = ("-d", "-o", "-v")  # favour the diagonal, optimise its tension, variational Bayes


@aligners.register("fast_align_binary")
class FastAlignBinary:
    aligns = True
    gives_probabilities = False
    keeps_parameters = False

    def check(self) -> None:
        self._program()

    def _program(self) -> str:
        return find_program(
            "fast_align", "fast_align_binary", "build https://github.com/clab/fast_align"
        )

    def align(
        self,
        source: Path,
        target: Path,
        forward: Path,
        reverse: Path,
        workers: int,
        report: Callable[[str], None],
    ) -> None:
        both = source.with_name("both.txt")
        with atomic_write(both, "w") as file:
            file.writelines(_joined(source, target))
        command = [self._program(), "-i", str(both), *_OPTIONS]
        run_programs(
            [command, [*command, "-r"]], [forward, reverse], workers, report, marker="ITERATION"
        )


def _joined(source: Path, target: Path) -> Iterator[str]:
    for a, b in zip(read_lines(source), read_lines(target), strict=True):
        yield f"{a} ||| {b}\n"
