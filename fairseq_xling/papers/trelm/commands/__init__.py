"""The verbs of TreLM, one file each."""
