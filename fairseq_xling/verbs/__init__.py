"""The verbs of `fairseq-xling`, one file each."""
