"""The verbs of Emerging Structure, one file each."""
