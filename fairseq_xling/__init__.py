"""fairseq_xling: cross-lingual encoders as a plug-in for fairseq."""

from pathlib import Path

__version__ = "0.2.0"

# Beside the package both in a clone and in site-packages. fairseq puts the *parent* of a
# --user-dir first on sys.path, so it must not live inside the package, whose rooms
# ("data", "text", "models") would then shadow other people's modules.
USER_DIR = Path(__file__).resolve().parent.parent / "user_dir"
