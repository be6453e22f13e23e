"""Which version of the package this is, and where fairseq finds its plug-in."""

from pathlib import Path

VERSION = "0.3.0"

# fairseq puts the *parent* of a --user-dir first on sys.path, so there is nothing else in it: the
# package's own rooms ("data", "text", "models") would shadow other people's modules. The folder's
# name is that of a module, and fairseq refuses another of the same name.
USER_DIR = Path(__file__).resolve().parent / "plugin_dir" / "fairseq_xling_user_dir"
