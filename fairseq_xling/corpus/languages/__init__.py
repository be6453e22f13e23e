"""The synthetic languages, one module each; a module here registers itself with ``LANGUAGES``."""
