"""The hand-written words, one module per language."""
