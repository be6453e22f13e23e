"""Which version of the package this is, and where fairseq finds its plug-in."""

from pathlib import Path

VERSION = "0.3.0"

# Next to the package both in a clone and in site-packages. fairseq puts the *parent* of a
# --user-dir first on sys.path, so it must not live inside the package, whose rooms
# ("data", "text", "models") would then shadow other people's modules.
USER_DIR = Path(__file__).resolve().parent.parent / "user_dir"
