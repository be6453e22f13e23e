"""The verbs of zero-shot transfer, one file each."""
