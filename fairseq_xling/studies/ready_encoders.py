"""Existing encoders for a study, by ``--encoder LANG=CHECKPOINT --data LANG=FOLDER``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.core.errors import UserError


@dataclass(frozen=True)
class Ready:
    """An existing encoder of one or two languages; ``{seed}`` in a path stands for the seed."""

    name: str  # LANG, or LANG-LANG
    checkpoint: Path
    data: Path

    def of_seed(self, seed: int) -> tuple[str, Path, Path]:
        """The name of the encoder of this seed, its checkpoint and its data folder.

        >>> Ready("en", Path("en.pt"), Path("data")).of_seed(3)[0]
        'ready-en'
        >>> Ready("en", Path("{seed}/en.pt"), Path("data")).of_seed(3)
        ('ready-en-3', PosixPath('3/en.pt'), PosixPath('data'))
        """
        paths = [str(path) for path in (self.checkpoint, self.data)]
        checkpoint, data = (Path(path.replace("{seed}", str(seed))) for path in paths)
        each = f"-{seed}" if any("{seed}" in path for path in paths) else ""
        return f"ready-{self.name}{each}", checkpoint, data


def ready_encoders(encoder: Sequence[str], data: Sequence[str]) -> dict[str, Ready]:
    """The encoders of the two options, by name."""
    found: dict[str, dict[str, Path]] = {"encoder": {}, "data": {}}
    for option, texts in (("encoder", encoder), ("data", data)):
        for text in texts:
            name, _, path = str(text).partition("=")
            if not (name and path):
                raise UserError(f"`--{option}` must be LANG=PATH, got {text!r}")
            found[option][name] = Path(path)
    checkpoints, folders = found.values()
    for name in checkpoints.keys() ^ folders.keys():
        raise UserError(f"`--encoder` and `--data` must both name {name!r}")
    return {name: Ready(name, path, folders[name]) for name, path in checkpoints.items()}
