"""fairseq_xling: cross-lingual encoders as a plug-in for fairseq.

In Python, with text and numpy arrays (torch and fairseq are imported with the first name, not
before):

>>> import fairseq_xling as xling
>>> encoder = xling.Encoder.load("encoder/checkpoint_best.pt")  # doctest: +SKIP
>>> vectors = encoder.encode(["A dog runs."], "en")             # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING, Any

from fairseq_xling.version import USER_DIR as USER_DIR
from fairseq_xling.version import VERSION

if TYPE_CHECKING:
    from fairseq_xling.api import measures as measures
    from fairseq_xling.api.aligner import Aligner as Aligner
    from fairseq_xling.api.encoder import Encoder as Encoder
    from fairseq_xling.engine.extensions import load_plugins as load_plugins
    from fairseq_xling.generation.translator import Translator as Translator
    from fairseq_xling.reports.study import read_study as read_study

__version__ = VERSION

# What `import fairseq_xling as xling` offers, by module; an empty name is the module itself.
_API = {
    "Aligner": ("api.aligner", "Aligner"),
    "Encoder": ("api.encoder", "Encoder"),
    "Translator": ("generation.translator", "Translator"),
    "load_plugins": ("engine.extensions", "load_plugins"),
    "measures": ("api.measures", ""),
    "read_study": ("reports.study", "read_study"),
}


if not TYPE_CHECKING:  # a checker knows the names above, and would take any other for granted

    def __getattr__(name: str) -> Any:
        if name not in _API:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home, attribute = _API[name]
        from fairseq_xling.core.extras import needed_by
        from fairseq_xling.engine.compat import quiet_engine
        from fairseq_xling.engine.extensions import load_plugins
        from fairseq_xling.engine.lean import lean_engine

        lean_engine()
        load_plugins()
        # Importing fairseq would set up the logs of the whole program.
        with quiet_engine(), needed_by(f"`{name}`"):
            module = importlib.import_module(f"{__name__}.{home}")
        return getattr(module, attribute) if attribute else module


def __dir__() -> list[str]:
    return sorted({"USER_DIR", "__version__", "__doc__", "__name__", *_API})
