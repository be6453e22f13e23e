"""The verbs of CLCR, one file each."""
