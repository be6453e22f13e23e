"""Packages that only an extra installs: what needs one that is missing says so in one line."""

import contextlib
import importlib.util
from collections.abc import Iterator

from fairseq_xling.core.errors import UserError

OF_PAGES = ("jinja2", "matplotlib")
OF_STUDIES = ("gensim", *OF_PAGES, "pandas")
# package: its extra in setup.py
EXTRAS = {
    **dict.fromkeys(OF_STUDIES, "studies"),
    "pyarrow": "tables",
    "sacremoses": "moses",
    "submitit": "cluster",
    "tokenizers": "hf",
}


@contextlib.contextmanager
def needed_by(what: str) -> Iterator[None]:
    """Has an import inside that fails for want of an extra end in one line."""
    try:
        yield
    except ImportError as error:
        if error.name not in EXTRAS:
            raise
        raise UserError(
            f"{what} needs the library {error.name}: "
            f"pip install 'fairseq_xling[{EXTRAS[error.name]}]'"
        ) from None


def check_installed(what: str, *packages: str) -> None:
    """Raise a UserError if ``what`` lacks one of ``packages``, none of which is imported yet."""
    with needed_by(what):
        for name in packages:
            if importlib.util.find_spec(name) is None:
                raise ModuleNotFoundError(name=name)
