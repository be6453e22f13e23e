"""Existing encoders for a study, by ``--encoder LANG=CHECKPOINT --data LANG=FOLDER``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.core.errors import UserError

_SEED = "{seed}"


@dataclass(frozen=True)
class Ready:
    """An existing encoder of one or two languages.

    Attributes:
        name: ``LANG``, or ``LANG-LANG``.
        checkpoint, data: its file and its data folder; ``{seed}`` in one stands for the seed.
    """

    name: str
    checkpoint: Path
    data: Path

    def of_seed(self, seed: int) -> tuple[str, Path, Path]:
        """The name of the encoder of this seed, its checkpoint and its data folder.

        >>> Ready("en", Path("en.pt"), Path("data")).of_seed(3)[0]
        'ready-en'
        >>> Ready("en", Path("{seed}/en.pt"), Path("data")).of_seed(3)
        ('ready-en-3', PosixPath('3/en.pt'), PosixPath('data'))
        """
        own = any(_SEED in str(path) for path in (self.checkpoint, self.data))
        name = f"ready-{self.name}-{seed}" if own else f"ready-{self.name}"
        return name, _filled(self.checkpoint, seed), _filled(self.data, seed)


def ready_encoders(encoder: Sequence[str], data: Sequence[str]) -> dict[str, Ready]:
    """The encoders of the two options, by name.

    Raises:
        UserError: for text that is not an assignment, or a name in only one of the two.
    """
    checkpoints, folders = _assigned("encoder", encoder), _assigned("data", data)
    for name in {*checkpoints, *folders}:
        if name not in checkpoints or name not in folders:
            raise UserError(f"`--encoder` and `--data` must both name {name!r}")
    return {name: Ready(name, path, folders[name]) for name, path in checkpoints.items()}


def _assigned(option: str, texts: Sequence[str]) -> dict[str, Path]:
    found = {}
    for text in texts:
        name, sign, path = str(text).partition("=")
        if not (name and sign and path):
            raise UserError(f"`--{option}` must be LANG=PATH, got {text!r}")
        found[name] = Path(path)
    return found


def _filled(path: Path, seed: int) -> Path:
    return Path(str(path).replace(_SEED, str(seed)))
